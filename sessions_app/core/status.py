"""The one status of a session, derived from plain facts. Page, list and admin all say the same.

A session does not finish: it is at rest, something is under way, or it waits for somebody. Where several are
true at once, what a person can do something about comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

Kind = Literal[
    "idle", "stopped", "generating", "working", "needs-person", "waiting", "retrying", "blocked",
    "needs-migration", "archived",
]  # fmt: skip

WORDS: Final[Mapping[Kind, str]] = {
    "idle": "Ready",
    "stopped": "Stopped",
    "generating": "Writing",
    "working": "Working",
    "needs-person": "Needs you",
    "waiting": "Waiting",
    "retrying": "Trying again",
    "blocked": "No answer",
    "needs-migration": "Needs migration",
    "archived": "Archived",
}
RUNNING: Final[frozenset[Kind]] = frozenset({"generating", "working", "retrying"})
ASKS: Final[frozenset[str]] = frozenset({"request-limit"})
"""Codes of a block that is a question to a person rather than a failure."""


@dataclass(frozen=True)
class Wait:
    """Something visible that is pending. `person` says that a person can move it on."""

    words: str
    since: datetime
    person: bool = False


@dataclass(frozen=True)
class Work:
    """An effect under way. `again` says that an attempt ended and another is due at `due`; `limit` 0 is unknown."""

    since: datetime
    words: str = ""
    model: bool = False
    again: bool = False
    attempt: int = 0
    limit: int = 0
    due: datetime | None = None


@dataclass(frozen=True)
class Facts:
    """What a status depends on."""

    updated: datetime
    blocked_code: str = ""
    blocked_reason: str = ""
    stopped: bool = False
    waits: Sequence[Wait] = ()
    work: Sequence[Work] = ()
    owed: bool = False
    """Whether an answer is owed: with nothing under way, the system prompt waits for something."""
    readable: bool = True
    archived: bool = False


@dataclass(frozen=True)
class Status:
    """How a session is, why, and since when. `count` is how many things wait for a person."""

    kind: Kind
    since: datetime
    reason: str = ""
    count: int = 0
    attempt: int = 0
    limit: int = 0
    due: datetime | None = None

    @property
    def words(self) -> str:
        """The status in a word or two."""
        return WORDS[self.kind]

    @property
    def running(self) -> bool:
        """Whether something is under way that a person could stop."""
        return self.kind in RUNNING


def derive_status(facts: Facts) -> Status:
    """Return the status that the facts add up to."""
    if facts.archived:
        return Status("archived", facts.updated)
    if not facts.readable:
        return Status("needs-migration", facts.updated, "What is stored does not fit the agent's present code.")
    return _needs_person(facts) or _blocked(facts) or _under_way(facts) or _at_rest(facts)


def _needs_person(facts: Facts) -> Status | None:
    asked = [wait for wait in facts.waits if wait.person]
    if facts.blocked_code in ASKS:
        asked = [*asked, Wait(facts.blocked_reason, facts.updated, person=True)]
    if not asked:
        return None
    first = min(asked, key=lambda wait: wait.since)
    return Status("needs-person", first.since, first.words, count=len(asked))


def _blocked(facts: Facts) -> Status | None:
    return Status("blocked", facts.updated, facts.blocked_reason) if facts.blocked_code else None


def _under_way(facts: Facts) -> Status | None:
    again = next((work for work in facts.work if work.again), None)
    if again:
        return Status("retrying", again.since, again.words, 0, again.attempt, again.limit, again.due)
    writing = next((work for work in facts.work if work.model), None)
    if writing:
        return Status("generating", writing.since, writing.words)
    if facts.work:
        first = min(facts.work, key=lambda work: work.since)
        return Status("working", first.since, first.words)
    return None


def _at_rest(facts: Facts) -> Status:
    if facts.waits:
        first = min(facts.waits, key=lambda wait: wait.since)
        return Status("waiting", first.since, first.words)
    if facts.owed:
        return Status("waiting", facts.updated, "Something is missing before the agent can answer.")
    return Status("stopped" if facts.stopped else "idle", facts.updated)
