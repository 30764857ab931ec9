"""A form with values in it: what the templates in `templates/forms/` draw."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from django.http import QueryDict
from pydantic import BaseModel

from sessions_app.forms.labels import message_in_words
from sessions_app.forms.schema import NO_DEFAULT, Choice, Field, describe
from sessions_app.forms.submission import FieldError, Path, html_name, row_numbers


@dataclass(frozen=True)
class BoundField:
    """One field with its current value, as text, and the message that belongs to it."""

    field: Field
    name: str
    id: str
    value: str = ""
    chosen: frozenset[str] = frozenset()
    error: str = ""
    parts: tuple[BoundField, ...] = ()

    @property
    def template(self) -> str:
        """The template that draws this kind of field."""
        inputs = ("text", "secret", "integer", "number", "date", "time", "datetime")
        return f"forms/{'input' if self.field.kind in inputs else self.field.kind}.html"

    @property
    def input_type(self) -> str:
        """The `type` attribute of an `<input>`."""
        types = {"secret": "password", "integer": "number", "datetime": "datetime-local", "text": "text"}
        return self.field.attributes.get("type") or types.get(self.field.kind, self.field.kind)

    @property
    def attributes(self) -> list[tuple[str, str]]:
        """Further attributes of the control."""
        return [(name, value) for name, value in self.field.attributes.items() if name != "type"]

    @property
    def options(self) -> list[tuple[Choice, bool]]:
        """The choices, each with whether it is chosen."""
        return [(choice, choice.token in self.chosen) for choice in self.field.choices]

    @property
    def described_by(self) -> str:
        """Ids of the texts that describe the control."""
        return " ".join([f"{self.id}-hint"] * bool(self.field.hint) + [f"{self.id}-error"] * bool(self.error))


@dataclass(frozen=True)
class BoundForm:
    """All fields of a form, and what was wrong with it as a whole."""

    fields: tuple[BoundField, ...] = ()
    errors: tuple[str, ...] = ()
    summary: tuple[tuple[str, str, str], ...] = field(default=())
    """(label, message, id of the control) of every field with an error, in order."""

    @property
    def wrong(self) -> bool:
        """Whether there is anything to report."""
        return bool(self.errors or self.summary)

    @property
    def has_rows(self) -> bool:
        """Whether the form has buttons of its own besides the one that sends it."""
        return any(entry.field.kind == "list" for entry in _every(self.fields))


@dataclass(frozen=True)
class _Source:
    """Where values come from: what was posted, else data, else defaults."""

    prefix: str
    posted: QueryDict | None
    data: Mapping[str, Any]
    errors: dict[Path, str]


def bind(
    model_class: type[BaseModel],
    *,
    prefix: str,
    posted: QueryDict | None = None,
    data: Mapping[str, Any] | None = None,
    errors: Iterable[FieldError] = (),
) -> BoundForm:
    """Return a form to draw. `prefix` begins every id, so that several forms share a page.

    What was posted is shown as it was typed, also where it is wrong. An error stands at the field its path leads
    to, or at the nearest one around it; the rest belongs to the form as a whole.
    """
    fields = describe(model_class)
    placed, general = _place(fields, posted, errors)
    source = _Source(prefix, posted, data or {}, placed)
    bound = tuple(_bind(entry, source) for entry in fields)
    summary = tuple((entry.field.label, entry.error, entry.id) for entry in _every(bound) if entry.error)
    return BoundForm(bound, general, summary)


def _place(
    fields: tuple[Field, ...], posted: QueryDict | None, errors: Iterable[FieldError]
) -> tuple[dict[Path, str], tuple[str, ...]]:
    known = set(_paths(fields, posted))
    placed: dict[Path, str] = {}
    general: list[str] = []
    for path, message in errors:
        spots = [path[:length] for length in range(len(path), 0, -1) if path[:length] in known]
        if spots:
            placed.setdefault(spots[0], message_in_words(message))
        else:
            general.append(": ".join([*map(str, path), message_in_words(message)]))
    return placed, tuple(general)


def _paths(fields: tuple[Field, ...], posted: QueryDict | None) -> Iterator[Path]:
    for entry in fields:
        yield entry.path
        if entry.kind == "fieldset":
            yield from _paths(entry.children, posted)
        if entry.kind == "list" and posted is not None:
            for index in range(len(_filled(entry, posted))):
                yield (*entry.path, index)


def _filled(entry: Field, posted: QueryDict) -> list[int]:
    """Numbers of the rows with something in them: Pydantic counts only these."""
    name = html_name(entry.path)
    return [number for number in row_numbers(name, posted) if posted.get(f"{name}.{number}")]


def _bind(entry: Field, source: _Source) -> BoundField:
    name = html_name(entry.path)
    control_id = f"{source.prefix}-{name.replace('.', '-')}"
    return _with_value(BoundField(entry, name, control_id, error=source.errors.get(entry.path, "")), source)


def _with_value(bound: BoundField, source: _Source) -> BoundField:
    entry = bound.field
    match entry.kind:
        case "fieldset":
            return replace(bound, parts=tuple(_bind(child, source) for child in entry.children))
        case "list":
            return replace(bound, parts=_rows(bound, source))
        case "checkbox" | "checkboxes" | "radio" | "select":
            return replace(bound, chosen=frozenset(_tokens(bound, source)))
        case "hidden":
            return replace(bound, value=entry.choices[0].token)
        case "secret":
            return bound
        case _:
            return replace(bound, value=_text(bound, source))


def _text(bound: BoundField, source: _Source) -> str:
    if source.posted is not None:
        return source.posted.get(bound.name, "")
    return as_text(bound.field, _datum(bound.field, source))


def _tokens(bound: BoundField, source: _Source) -> list[str]:
    if source.posted is not None:
        return source.posted.getlist(bound.name)
    value = _datum(bound.field, source)
    if bound.field.kind == "checkbox":
        return ["on"] if value is True else []
    values = value if isinstance(value, list | tuple | set | frozenset) else [value]
    return [choice.token for choice in bound.field.choices for one in values if _same(choice.value, one)]


def _same(first: Any, second: Any) -> bool:
    return type(first) is type(second) and bool(first == second)


def _datum(entry: Field, source: _Source) -> Any:
    value: Any = source.data
    for key in entry.path:
        if not isinstance(value, Mapping) or key not in value:
            return None if entry.default is NO_DEFAULT else entry.default
        value = value[key]
    return value


def _rows(bound: BoundField, source: _Source) -> tuple[BoundField, ...]:
    """The rows of a list, renumbered, and always room for one."""
    template = bound.field.children[0]
    texts, errors = _row_texts(bound, source)
    rows = []
    for number, text in enumerate(texts or [""]):
        name = f"{bound.name}.{number}"
        row = BoundField(template, name, f"{bound.id}-{number}", error=errors.get(number, ""))
        chosen = frozenset([text]) if template.choices else frozenset()
        rows.append(replace(row, value=text, chosen=chosen))
    return tuple(rows)


def _row_texts(bound: BoundField, source: _Source) -> tuple[list[str], dict[int, str]]:
    entry = bound.field
    if source.posted is None:
        values = _datum(entry, source)
        listed = values if isinstance(values, list | tuple | set | frozenset) else ()
        return [_row_text(entry.children[0], value) for value in listed], {}
    numbers = row_numbers(bound.name, source.posted)
    filled = _filled(entry, source.posted)
    errors = {
        numbers.index(number): source.errors[(*entry.path, index)]
        for index, number in enumerate(filled)
        if (*entry.path, index) in source.errors
    }
    return [source.posted.get(f"{bound.name}.{number}", "") for number in numbers], errors


def _row_text(row: Field, value: Any) -> str:
    if row.choices:
        return next((choice.token for choice in row.choices if _same(choice.value, value)), "")
    return as_text(row, value)


def as_text(entry: Field, value: Any) -> str:
    """Return a JSON value as the text its control holds."""
    if entry.kind == "json":
        return "" if value is None else json.dumps(value, indent=2, ensure_ascii=False, default=str)
    if value is None:
        return ""
    if entry.kind == "datetime":
        return _local(str(value))
    return repr(value) if isinstance(value, float) else str(value)


def _local(text: str) -> str:
    """Return a time as `datetime-local` wants it: without a zone, which is UTC for all of them."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    return (moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment).isoformat()


def _every(fields: Iterable[BoundField]) -> Iterator[BoundField]:
    for entry in fields:
        yield entry
        yield from _every(entry.parts)
