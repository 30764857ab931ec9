"""Every error Agentsite raises on purpose, drawn once.

AgentsiteError
├── DefinitionError    an agent author's mistake, found when a class is defined or at start-up
├── HandlerError       agent code returned or did something the machine cannot apply
├── EventRejected      whoever sent an event may not, or sent it ill-formed or too late
└── EventDropped       an event from inside came too late to change anything
NotLoaded              no error of anybody: the reducer needs a part of the session that was not read yet
"""

from __future__ import annotations

from typing import Any, Literal

RejectionCode = Literal["invalid", "forbidden", "not_found", "conflict", "too_large", "busy"]


class AgentsiteError(Exception):
    """Base of every deliberate error."""


class DefinitionError(AgentsiteError):
    """A class an agent author wrote cannot work. The message names the class, the reason and the remedy."""


class HandlerError(AgentsiteError):
    """Agent code broke a rule while handling an event. The event is stored as failed and changes nothing."""


class EventRejected(AgentsiteError):
    """An event is refused and leaves no row. A handler may raise it to tell the sender why.

    `code` says which kind of refusal it is, `errors` lists field errors as `(path, message)`, and
    `details` carries facts the sender may show, such as who answered first.
    Example: `raise EventRejected("conflict", "The door is open already.")`.
    """

    def __init__(
        self,
        code: RejectionCode,
        message: str,
        *,
        errors: tuple[tuple[tuple[str | int, ...], str], ...] = (),
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code: RejectionCode = code
        self.message = message
        self.errors = errors
        self.details = details or {}


class EventDropped(AgentsiteError):
    """An event from an effect, tool or schedule that can no longer be applied. It is stored with the reason."""


Part = Literal["item", "children", "order", "last_effect"]


class NotLoaded(BaseException):
    """The reducer asked a partly read session for something it does not hold.

    The store reads `part` (and `key`) and the pure reducer runs again from the start, so the core stays
    free of I/O and an event reads only what it touches. It is no `Exception`, so that a broad `except` in
    agent code cannot swallow it.
    """

    def __init__(self, part: Part, key: str = "") -> None:
        super().__init__(f"{part} {key}".strip())
        self.part: Part = part
        self.key = key
