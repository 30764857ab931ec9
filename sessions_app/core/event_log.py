"""What goes into the reducer and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from .events import Envelope, Sender
from .operations import Operation

EventStatus = Literal["applied", "failed", "dropped"]


@dataclass(frozen=True)
class Incoming:
    """An event on its way in.

    `effect_id` names the effect that sent it, `answers_seen` guards a form, and `late` says why it can only be
    put on record: its effect had ended, or another attempt had begun.
    """

    type: str
    payload: Mapping[str, Any]
    sender: Sender
    time: datetime
    item_id: str = ""
    effect_id: str = ""
    answers_seen: int | None = None
    retry_of: int | None = None
    late: str = ""

    def envelope(self, seq: int) -> Envelope:
        """Return what a handler may know of the event beside its payload."""
        return Envelope(str(seq), self.time, self.sender)


@dataclass(frozen=True)
class Transition:
    """One event as it was handled: its number, how it went and what it changed."""

    seq: int
    event: Incoming
    status: EventStatus
    reason: str = ""
    operations: tuple[Operation, ...] = ()
    cause: int | None = None


@dataclass
class Step:
    """Numbers the items and effects of one event: `<seq>_<n>`."""

    seq: int
    count: int = field(default=0)

    def next_id(self) -> str:
        """Return a new id, unique in the session."""
        self.count += 1
        return f"{self.seq}_{self.count - 1}"
