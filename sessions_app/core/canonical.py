"""Canonical JSON, and the one border where values from outside become values we can store.

What passes `clean` can be written to and read back from every database and provider unchanged.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any

MAX_DEPTH = 50
MAX_INTEGER = 2**63 - 1
MIN_INTEGER = -(2**63)
REPLACEMENT = "\ufffd"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class NotStorable(ValueError):
    """A value has no canonical form. `path` says where it stands."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


def canonical(value: Any) -> str:
    """Return the canonical JSON text of a cleaned value: sorted keys, no spaces, no NaN, UTF-8 as it is."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(text: str) -> str:
    """Return the SHA-256 of a text as 64 hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def clean_text(text: str) -> str:
    """Replace NUL and lone surrogates, which neither PostgreSQL nor a provider takes, by U+FFFD."""
    return _UNSTORABLE.sub(REPLACEMENT, text)


def clean(value: Any, path: tuple[str | int, ...] = ()) -> Any:
    """Return `value` with its texts made storable.

    Raises `NotStorable` for NaN and infinities, whole numbers beyond 64 bits, nesting beyond 50 levels,
    keys that are not text, and anything JSON does not know.
    """
    if len(path) > MAX_DEPTH:
        raise NotStorable(path[:3], f"nested deeper than {MAX_DEPTH} levels")
    match value:
        case None | bool():
            return value
        case str():
            return clean_text(value)
        case int():
            if MIN_INTEGER <= value <= MAX_INTEGER:
                return int(value)
            raise NotStorable(path, "a whole number must fit in 64 bits")
        case float():
            if math.isfinite(value):
                return float(value)
            raise NotStorable(path, "NaN and infinity are not allowed")
        case list() | tuple():
            return [clean(entry, (*path, index)) for index, entry in enumerate(value)]
        case dict():
            return {_clean_key(key, path): clean(entry, (*path, str(key))) for key, entry in value.items()}
        case _:
            raise NotStorable(path, f"{type(value).__name__} is not a JSON value")


def _clean_key(key: Any, path: tuple[str | int, ...]) -> str:
    if not isinstance(key, str):
        raise NotStorable(path, f"keys must be text, not {type(key).__name__}")
    return clean_text(key)


def parse_json(text: str) -> Any:
    """Parse and clean JSON text from outside. Raises `NotStorable` with a reason a person understands."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise NotStorable((), f"nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise NotStorable((), f"not valid JSON: {error}") from None
    return clean(value)
