"""How a reply or an error of Anthropic's ends a request: a reason, a sentence for a person, and whether to retry."""

from __future__ import annotations

import time
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz
from typing import Literal

from ...core.language_model import Completed, Terminated, TerminationReason
from ...core.messages import AssistantPart, TextPart, ToolCallPart
from ...core.text import is_blank
from .reply import Reply

NO_KEY = Terminated(
    reason="authentication",
    message="No Anthropic API key is set. Set ANTHROPIC_API_KEY and restart.",
)
CONNECTION_LOST = Terminated(
    reason="connection",
    message="The connection to Anthropic was lost before the answer was complete.",
    retryable=True,
)

STALLED = Terminated(
    reason="connection",
    message="Anthropic stopped sending, and the answer was given up.",
    retryable=True,
)
UNREACHABLE = Terminated(
    reason="connection",
    message="Anthropic could not be reached.",
    retryable=True,
)


def status_of(reply: Reply, parts: tuple[AssistantPart, ...]) -> Completed | Terminated:
    """Return how a reply ended that arrived without an error."""
    if not reply.ended:
        return CONNECTION_LOST
    match reply.stop_reason:
        case "end_turn" | "stop_sequence" | "tool_use":
            return Completed() if _says_something(parts) else _terminated("empty", "sent an empty answer", retry=True)
        case "max_tokens":
            return _terminated("length", "reached the length limit set for one answer (max_tokens)")
        case "model_context_window_exceeded":
            return _terminated("length", "has no room left for a longer answer: the session fills its memory")
        case "refusal":
            return _terminated("refused", f"declined to answer. {reply.explanation or 'Put the request another way'}")
        case other:
            return _terminated("error", f"stopped for a reason that is not known here ({other})", retry=True)


def status_of_error(status: int, kind: str | None, message: str, headers: Mapping[str, str]) -> Terminated:
    """Return how a request ended that Anthropic answered with an error.

    `status` is the HTTP status and `kind` the error's type. An error inside a stream has the status 200 of the
    stream that had begun well, so the type decides where there is one.
    """
    reason, sentence = _explain(_KINDS.get(kind or "", status), message)
    transient = reason in ("rate_limited", "overloaded", "error")
    return Terminated(
        reason=reason,
        message=sentence,
        retryable=transient,
        retry_after=retry_after(headers) if transient else None,
    )


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds Anthropic asks to wait, from its headers; None where it does not say."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) * unit)
        except (KeyError, ValueError):
            continue
    date = parsedate_tz(headers.get("retry-after", ""))
    return max(0.0, mktime_tz(date) - (time.time() if now is None else now)) if date else None


_KINDS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def _explain(status: int, message: str) -> tuple[TerminationReason, str]:
    match status:
        case 401:
            return "authentication", "The Anthropic API key was refused. Check ANTHROPIC_API_KEY."
        case 402:
            return "authentication", f"Anthropic asks for payment: {message} Check the account's billing."
        case 403:
            return "authentication", f"Anthropic does not allow this: {message} Check what ANTHROPIC_API_KEY may use."
        case 404:
            return "invalid_request", f"Anthropic does not know what was asked for: {message} Check ANTHROPIC_MODEL."
        case 413:
            return "invalid_request", "The session is larger than Anthropic takes in one request. Start a new one."
        case 429:
            return "rate_limited", "Anthropic takes no more requests from this account right now."
        case 503 | 529:
            return "overloaded", "Anthropic is overloaded right now."
        case 408 | 409:
            return "error", f"Anthropic did not finish the request ({status})."
        case _ if status >= 500 or status < 400:
            return "error", f"Anthropic had a fault of its own ({status})."
        case _:
            return "invalid_request", f"Anthropic refused the request: {message}"


def _says_something(parts: tuple[AssistantPart, ...]) -> bool:
    return any(
        isinstance(part, ToolCallPart) or (isinstance(part, TextPart) and not is_blank(part.text)) for part in parts
    )


def _terminated(reason: Literal["empty", "error", "length", "refused"], what: str, retry: bool = False) -> Terminated:
    return Terminated(reason=reason, message=f"The model {what.rstrip('.')}.", retryable=retry)
