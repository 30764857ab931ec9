"""What went wrong in agent code, as text that can be stored and shown."""

from __future__ import annotations

import traceback

from .canonical import clean_text

REASON_LENGTH = 500
TRACEBACK_LENGTH = 20_000


def short_reason(error: BaseException) -> str:
    """Return an error as one line. Never raises, whatever the error's own text does."""
    try:
        text = str(error)
    except BaseException:
        text = "its text cannot be shown"
    return clean_text(" ".join(f"{type(error).__name__}: {text}".split())[:REASON_LENGTH])


def traceback_of(error: BaseException) -> str:
    """Return a traceback for staff, its end where it is long. Never raises."""
    try:
        return clean_text("".join(traceback.format_exception(error))[-TRACEBACK_LENGTH:])
    except BaseException:
        return short_reason(error)
