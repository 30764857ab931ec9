"""What a form posted, as the data Pydantic validates. Nothing is judged here but whether JSON is JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict
from pydantic import BaseModel

from sessions_app.core.canonical import NotStorable, parse_json
from sessions_app.forms.schema import NO_DEFAULT, Field, describe

Path = tuple[str | int, ...]
FieldError = tuple[Path, str]
_ABSENT: Any = object()
_WHOLE_NUMBER = re.compile(r"[+-]?\d{1,30}")
ADD_ROW = "_add"
REMOVE_ROW = "_remove"


@dataclass(frozen=True)
class Submission:
    """The data of a posted form, and the fields whose text could not be read at all."""

    values: dict[str, Any] = field(default_factory=dict)
    errors: tuple[FieldError, ...] = ()


class _Unreadable(ValueError):
    pass


def html_name(path: Path) -> str:
    """Return the name a field posts under."""
    return ".".join(map(str, path))


def parse(model_class: type[BaseModel], data: QueryDict) -> Submission:
    """Return what a posted form says. Boxes left empty are left out, so that Pydantic applies or misses defaults."""
    errors: list[FieldError] = []
    values = _collect(describe(model_class), data, errors)
    return Submission(values, tuple(errors))


def _collect(fields: tuple[Field, ...], data: QueryDict, errors: list[FieldError]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for entry in fields:
        try:
            value = _value(entry, data, errors)
        except _Unreadable as error:
            errors.append((entry.path, str(error)))
            continue
        if value is not _ABSENT:
            values[entry.path[-1]] = value
    return values


def _value(entry: Field, data: QueryDict, errors: list[FieldError]) -> Any:
    name = html_name(entry.path)
    match entry.kind:
        case "fieldset":
            return _collect(entry.children, data, errors) or (_ABSENT if not entry.required else {})
        case "checkbox":
            return name in data
        case "checkboxes":
            return [_chosen(entry, token) for token in data.getlist(name) if token] if name in data else _ABSENT
        case "list":
            return _rows(entry, data) if name in data else _ABSENT
        case _:
            return _single(entry, data.get(name))


def _single(entry: Field, posted: str | None) -> Any:
    if posted is None:
        return _ABSENT
    if posted == "":
        return _blank(entry)
    return _read(entry, posted)


def _blank(entry: Field) -> Any:
    """What an empty box means: null where that is a value, else nothing, else the empty text where it was cleared."""
    if entry.nullable:
        return None
    cleared = entry.is_text and not entry.required and entry.default is not NO_DEFAULT
    return "" if cleared else _ABSENT


def _read(entry: Field, posted: str) -> Any:
    match entry.kind:
        case "integer":
            return int(posted) if _WHOLE_NUMBER.fullmatch(posted.strip()) else posted
        case "number":
            return _number(posted)
        case "radio" | "select" | "hidden":
            return _chosen(entry, posted)
        case "textarea":
            return posted.replace("\r\n", "\n")
        case "datetime":
            return f"{posted}Z" if entry.aware and not posted.endswith("Z") else posted
        case "json":
            return _json(posted)
        case _:
            return posted


def _number(posted: str) -> Any:
    try:
        value = float(posted)
    except ValueError:
        return posted
    return value if math.isfinite(value) else posted


def _chosen(entry: Field, token: str) -> Any:
    """Return the value a choice stands for. An unknown one goes on as it is, for Pydantic to refuse."""
    return next((choice.value for choice in entry.choices if choice.token == token), token)


def _json(posted: str) -> Any:
    try:
        return parse_json(posted)
    except NotStorable as error:
        raise _Unreadable(error.message) from None


def row_numbers(name: str, data: QueryDict) -> list[int]:
    """Return the numbers of the rows a list posted, in order."""
    found = (re.fullmatch(re.escape(name) + r"\.(\d{1,4})", key) for key in data)
    return sorted(int(match[1]) for match in found if match)


def _rows(entry: Field, data: QueryDict) -> list[Any]:
    """Return the rows that were filled in; an empty row is only room for another."""
    row = entry.children[0]
    name = html_name(entry.path)
    posted = (data.get(f"{name}.{number}", "") for number in row_numbers(name, data))
    return [_read(row, text) for text in posted if text != ""]


def adjust_rows(data: QueryDict) -> QueryDict | None:
    """Return the data with a row added or removed, or None if neither button was pressed. Needs no script."""
    if not (data.get(ADD_ROW) or data.get(REMOVE_ROW)):
        return None
    adjusted = data.copy()
    if name := data.get(ADD_ROW):
        adjusted[f"{name}.{max(row_numbers(name, data), default=-1) + 1}"] = ""
    if name := data.get(REMOVE_ROW):
        adjusted.pop(name, None)
    return adjusted


def leaves(fields: tuple[Field, ...]) -> Iterator[Field]:
    """Yield every field that is not a fieldset, in order."""
    for entry in fields:
        yield from leaves(entry.children) if entry.kind == "fieldset" else (entry,)
