"""What a form for a Pydantic class asks for, read off the class's JSON Schema.

The schema and not the annotations: it is one small language instead of all of Python's types, and it says
title, description, default, bounds and examples in one place. What it cannot say, the field asks for as JSON.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeGuard

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from sessions_app.forms.labels import in_words

Kind = Literal[
    "text", "textarea", "secret", "integer", "number", "checkbox", "radio", "select", "checkboxes",
    "date", "time", "datetime", "list", "fieldset", "json", "hidden",
]  # fmt: skip
Schema = Mapping[str, Any]

MAX_FIELDSETS = 2
"""How deep nested classes become fieldsets; deeper ones are asked for as JSON."""
MAX_RADIOS = 5
LONG_TEXT = 200
NO_DEFAULT: Any = object()
_SAME_IN_BROWSERS = re.compile(
    r"\^(?:[A-Za-z0-9 _]|\\d|\[(?:[A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9])+\]|[+*?]|\{\d+(?:,\d*)?\})+\$"
)


@dataclass(frozen=True)
class Choice:
    """One value of a closed set: what the form posts, what it means, how it reads."""

    token: str
    value: Any
    label: str


@dataclass(frozen=True)
class Field:
    """One thing a form asks for. `path` says where its value stands in the data."""

    path: tuple[str, ...]
    kind: Kind
    label: str
    hint: str = ""
    required: bool = True
    nullable: bool = False
    aware: bool = False
    default: Any = NO_DEFAULT
    choices: tuple[Choice, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    children: tuple[Field, ...] = ()

    @property
    def is_text(self) -> bool:
        """Whether an empty box can be a value."""
        return self.kind in ("text", "textarea", "secret")


class _FormSchema(GenerateJsonSchema):
    """Leaves out titles nobody wrote, says which times need a zone, and gives `{}` for what JSON Schema cannot say."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> JsonSchemaValue:
        return {**super().datetime_schema(schema), "x-aware": schema.get("tz_constraint") == "aware"}

    def handle_invalid_for_json_schema(self, schema: Any, error_info: str) -> JsonSchemaValue:
        return {}


@functools.lru_cache(maxsize=256)
def describe(model_class: type[BaseModel]) -> tuple[Field, ...]:
    """Return the fields of a form for `model_class`, in schema order."""
    schema = model_class.model_json_schema(schema_generator=_FormSchema, mode="validation")
    reader = _Reader(schema.get("$defs", {}))
    return tuple(_fields(reader, reader.follow(schema), (), 0))


@dataclass(frozen=True)
class _Reader:
    definitions: Mapping[str, Schema]

    def follow(self, schema: Schema) -> Schema:
        """Return the schema with a reference replaced by what it names; what stands beside it wins."""
        while reference := schema.get("$ref"):
            target = self.definitions.get(str(reference).rsplit("/", 1)[-1], {})
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            # A class's own docstring and name describe the class, not the field that holds it.
            schema = {**{key: value for key, value in target.items() if key not in ("title", "description")}, **beside}
        return schema

    def without_null(self, schema: Schema) -> tuple[Schema, bool]:
        """Return the schema of the value itself, and whether null is allowed too."""
        schema = self.follow(schema)
        options = schema.get("anyOf")
        if not options:
            return schema, False
        rest = [self.follow(option) for option in options if option.get("type") != "null"]
        nullable = len(rest) < len(options)
        beside = {key: value for key, value in schema.items() if key != "anyOf"}
        if len(rest) == 1:
            return {**rest[0], **beside}, nullable
        if {option.get("type") for option in rest} == {"number", "string"}:
            return {"type": "string", "inputmode": "decimal", **beside}, nullable
        return beside, nullable


def _fields(reader: _Reader, schema: Schema, path: tuple[str, ...], depth: int) -> Iterator[Field]:
    required = schema.get("required", ())
    for name, written in schema.get("properties", {}).items():
        yield _field(reader, written, (*path, name), depth, required=name in required)


def _field(reader: _Reader, written: Schema, path: tuple[str, ...], depth: int, *, required: bool) -> Field:
    schema, nullable = reader.without_null(written)
    base = Field(
        path=path,
        kind="json",
        label=written.get("title") or in_words(path[-1]),
        hint=_hint(schema),
        required=required,
        nullable=nullable,
        default=schema.get("default", NO_DEFAULT),
    )
    if _is_object(schema) and not nullable and depth < MAX_FIELDSETS:
        children = tuple(_fields(reader, schema, path, depth + 1))
        return replace(base, kind="fieldset", children=_with_defaults(children, base.default))
    if schema.get("type") == "array" and not nullable:
        return _list_field(reader, schema, base)
    return _leaf(schema, base)


def _is_object(schema: Schema) -> bool:
    return schema.get("type") == "object" and bool(schema.get("properties"))


def _with_defaults(children: tuple[Field, ...], default: Any) -> tuple[Field, ...]:
    """A default of the whole shows as the defaults of its parts, and then none of the parts has to be filled in."""
    if not isinstance(default, dict):
        return children
    return tuple(
        replace(child, default=default[child.path[-1]], required=False) if child.path[-1] in default else child
        for child in children
    )


def _list_field(reader: _Reader, schema: Schema, base: Field) -> Field:
    items, nullable = reader.without_null(schema.get("items", {}))
    row = _leaf(items, Field(path=(*base.path, "0"), kind="json", label=base.label, required=False))
    if row.kind == "json" or nullable or "prefixItems" in schema:
        return base
    if row.kind in ("radio", "select") and row.choices:
        return replace(base, kind="checkboxes", choices=row.choices)
    if row.kind == "checkbox":
        row = replace(row, kind="select", choices=_yes_no())
    return replace(base, kind="list", children=(row,))


def _leaf(schema: Schema, base: Field) -> Field:
    if "const" in schema:
        return replace(base, kind="hidden", choices=_choices([schema["const"]]))
    if "enum" in schema:
        kind: Kind = "radio" if len(schema["enum"]) <= MAX_RADIOS else "select"
        return replace(base, kind=kind, choices=_choices(schema["enum"]))
    match schema.get("type"):
        case "string":
            return _text_field(schema, base)
        case "integer":
            return replace(base, kind="integer", attributes={"step": "1", **_bounds(schema)})
        case "number":
            return replace(base, kind="number", attributes={"step": "any", **_bounds(schema)})
        case "boolean" if base.nullable:
            return replace(base, kind="select", choices=_yes_no())
        case "boolean":
            return replace(base, kind="checkbox")
        case _:
            return base


def _text_field(schema: Schema, base: Field) -> Field:
    kinds: dict[str, Kind] = {"date": "date", "time": "time", "date-time": "datetime", "password": "secret"}
    if kind := kinds.get(schema.get("format", "")):
        return replace(base, kind=kind, aware=bool(schema.get("x-aware")))
    attributes = _text_attributes(schema)
    one_line = "type" in attributes or "pattern" in attributes or "inputmode" in attributes or "format" in schema
    if one_line or schema.get("maxLength", LONG_TEXT + 1) <= LONG_TEXT:
        return replace(base, kind="text", attributes=attributes)
    return replace(base, kind="textarea", attributes=attributes)


def _text_attributes(schema: Schema) -> dict[str, str]:
    attributes = {"email": {"type": "email"}, "uri": {"type": "url"}}.get(schema.get("format", ""), {})
    if "maxLength" in schema:
        attributes = {**attributes, "maxlength": str(schema["maxLength"])}
    if pattern := _browser_pattern(schema.get("pattern")):
        attributes = {**attributes, "pattern": pattern}
    if "inputmode" in schema:
        attributes = {**attributes, "inputmode": schema["inputmode"]}
    return attributes


def _browser_pattern(pattern: Any) -> str:
    """Return a pattern for the `pattern` attribute, which always means the whole value; "" where it could differ.

    A browser must never refuse what the server takes, and it reads regular expressions in its own dialect.
    """
    if not isinstance(pattern, str) or not _SAME_IN_BROWSERS.fullmatch(pattern):
        return ""
    return pattern[1:-1].replace("\\d", "\\p{Nd}")


def _bounds(schema: Schema) -> dict[str, str]:
    found = {"min": schema.get("minimum"), "max": schema.get("maximum")}
    return {name: _number(value) for name, value in found.items() if _is_number(value)}


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: int | float) -> str:
    return repr(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(value)


def _choices(values: list[Any]) -> tuple[Choice, ...]:
    tokens = [value if isinstance(value, str) else json.dumps(value) for value in values]
    if len(set(tokens)) < len(tokens) or "" in tokens:
        tokens = [str(number) for number in range(len(values))]
    pairs = zip(tokens, values, strict=True)
    return tuple(Choice(token, value, _choice_label(value)) for token, value in pairs)


def _choice_label(value: Any) -> str:
    """A name as code writes it is put in words; what is written for people stays."""
    text = str(value)
    written_for_people = any(letter.isupper() or letter.isspace() for letter in text)
    return text if written_for_people or not text else in_words(text)


def _yes_no() -> tuple[Choice, ...]:
    return (Choice("true", True, in_words("yes")), Choice("false", False, in_words("no")))


def _hint(schema: Schema) -> str:
    """Return the description, with the first example behind it."""
    examples = schema.get("examples") or ()
    example = f"For example {_shown(examples[0])}." if examples else ""
    return " ".join(part for part in (schema.get("description", ""), example) if part)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
