"""The meeting example: suggest a time, and another one when that does not suit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta

from .conversation import Call, Conversation, Outcome, Reply

TOOL = "suggest_time"
EXAMPLE = "“Plan a review of the budget”"
_WANTS = re.compile(
    r"\b(?:plan|schedule|arrange|set up|find a time for|meet for)\s+(?:an?\s+|the\s+)?(?P<title>[^.?!\n]+)",
    re.IGNORECASE,
)
_ANOTHER = re.compile(r"\b(?:another|other|later|different)\b", re.IGNORECASE)
_FREE = re.compile(r"room for “(?P<title>.+?)” on (?P<spoken>[^(]+) \((?P<day>\d{4}-\d\d-\d\d)T")


def suggest(conversation: Conversation) -> Reply | None:
    """“Plan a review”, “Another day, please”."""
    if TOOL not in conversation.offered:
        return None
    before = list(_FREE.finditer("\n".join(outcome.text for outcomes in conversation.earlier for outcome in outcomes)))
    if _ANOTHER.search(conversation.said) and before:
        later = date.fromisoformat(before[0]["day"]) + timedelta(days=1)
        return _look(before[0]["title"], day=later.isoformat())
    wanted = _WANTS.search(conversation.said)
    return _look(_as_title(wanted["title"])) if wanted else None


def suggested(conversation: Conversation, outcomes: Sequence[Outcome]) -> Reply:
    """The calendar has answered."""
    return Reply("\n\n".join(map(_report, outcomes)))


def _look(title: str, **first: str) -> Reply:
    return Reply(f"I will look for a time for “{title}”.", (Call(TOOL, {"title": title, **first}),))


def _report(outcome: Outcome) -> str:
    found = _FREE.search(outcome.text)
    if outcome.is_error or found is None:
        return f"The calendar gave no time for “{outcome.argument('title')}”. Ask again to try once more."
    return (
        f"I suggest {found['spoken']} for “{found['title']}”. Press “Confirm the meeting” below to send the "
        "invitation, or write “another day”. The calendar is made up: nobody gets any mail."
    )


def _as_title(text: str) -> str:
    title = " ".join(text.split())[:120].strip()
    return title[:1].upper() + title[1:]
