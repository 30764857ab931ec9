"""Data and messages as a person reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from sessions_app.forms import in_words

Pairs = Sequence[tuple[str, str]]
_CLASS_NAME = re.compile(
    r"^(?:[\w.]*(?:Error|Exception|Interrupt|Exit|Group|Timeout|Overran)|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+)(?:: |:?$)"
)
"""A name that ends as those of errors do, or one in capitals as classes are written: CalendarDown."""


def for_people(message: str) -> str:
    """Return a message without the name of the class that raised it: that is for the inspector."""
    text = _CLASS_NAME.sub("", message.strip())
    if not text:
        return _("It did not work.") if message.strip() else ""
    return text[:1].upper() + text[1:]


def pairs_of(data: Any) -> Pairs:
    """Return data as labels and texts, in the order it has; what is empty is left out."""
    if not isinstance(data, Mapping):
        return [("", as_words(data))]
    return [(in_words(name), as_words(value)) for name, value in data.items() if value not in (None, "", [], {})]


def as_words(value: Any) -> str:
    """Return a JSON value as a person reads it."""
    match value:
        case bool():
            return _("Yes") if value else _("No")
        case str():
            return value
        case list() if all(isinstance(entry, str | int | float) for entry in value):
            return ", ".join(map(str, value))
        case dict() | list():
            return json.dumps(value, indent=2, ensure_ascii=False)
        case _:
            return str(value)
