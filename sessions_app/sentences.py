"""Errors in a sentence or two, for operators: on a terminal, and beside what did not work."""

from __future__ import annotations

from sessions_app.core.errors import AgentsiteError, EventRejected
from sessions_app.core.reasons import short_reason


def sentence_of(error: BaseException) -> str:
    """Return what went wrong, with the fields that are wrong, and never a traceback."""
    if isinstance(error, EventRejected):
        fields = [f"{'.'.join(map(str, path))}: {message}" for path, message in error.errors if path]
        return " ".join([error.message, *(f"{field.rstrip('.')}." for field in fields)])
    if isinstance(error, AgentsiteError):
        # A handler's error carries its traceback for staff: what failed stands first, and why stands last.
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return lines[0] if len(lines) == 1 else f"{lines[0]} {lines[-1].strip()}"
    return short_reason(error)
