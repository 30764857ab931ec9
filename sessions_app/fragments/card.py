"""A card: one custom item, or one call of a tool, as a person sees it. The templates in `templates/items/` draw it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sessions_app.fragments.asking import EventForm
from sessions_app.fragments.wording import Pairs

State = Literal["asking", "queued", "running", "retrying", "waiting", "failed", "done", "answered", "closed"]


@dataclass(frozen=True)
class Answer:
    """What somebody answered."""

    who: str
    when: datetime
    pairs: Pairs


@dataclass(frozen=True)
class FailedEvent:
    """An event that could not be handled, with what a form needs to send it again."""

    seq: int
    type: str
    words: str
    text: str
    item_id: str

    @property
    def key(self) -> str:
        """Two presses are one retry."""
        return f"retry-{self.seq}"


@dataclass(frozen=True)
class Card:
    """Everything the templates in `templates/items/` may draw. `data` is the item's own data."""

    id: str
    type: str
    data: Mapping[str, Any]
    name: str
    state: State
    since: datetime
    title: str = ""
    subject: str = ""
    note: str = ""
    reason: str = ""
    closed: str = ""
    settled: datetime | None = None
    fraction: float | None = None
    attempt: int = 0
    limit: int = 0
    due: datetime | None = None
    trouble: str = ""
    """Why the attempt before this one ended."""
    forms: Sequence[EventForm] = ()
    answers: Sequence[Answer] = ()
    details: Pairs = ()
    result: str = ""
    failed_events: Sequence[FailedEvent] = ()
    can_try_again: bool = False
    can_skip: bool = False
    takes_answers: bool = False
    key: str = ""

    @property
    def skip_key(self) -> str:
        """Two presses are one skip."""
        return f"skip-{self.key}"

    @property
    def templates(self) -> list[str]:
        """The templates that may draw it, the most particular first."""
        return [f"items/{self.type}.html", "items/default.html"]

    @property
    def percent(self) -> int | None:
        """How far it is, in whole per cent."""
        return None if self.fraction is None else round(self.fraction * 100)

    @property
    def skips_beside(self) -> bool:
        """Whether Skip stands beside the button that answers."""
        return self.can_skip and any(form.skip for form in self.forms)

    @property
    def skips_apart(self) -> bool:
        """Whether Skip stands by itself."""
        return self.can_skip and not self.skips_beside

    @property
    def has_buttons(self) -> bool:
        """Whether there is anything to press that asks for nothing."""
        return self.can_try_again or self.skips_apart or any(form.is_button for form in self.forms)

    @property
    def is_busy(self) -> bool:
        """Whether something is under way for it."""
        return self.state in ("queued", "running", "retrying")
