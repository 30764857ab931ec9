"""The notebook example: take a note, hide one, write a digest of those that can be seen."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .conversation import Call, Conversation, Outcome, Reply

TAKE = "take_note"
HIDE = "hide_note"
EXAMPLE = "“Note: Honey bees dance”"
_NOTE = re.compile(r"^Research note (\d+_\d+): (.*?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)
_WANTS_NOTE = re.compile(r"^\W*(?:take a note|note|remember)\b(?: that)?[\s:,–-]*(\S.*)", re.IGNORECASE | re.DOTALL)
_WANTS_HIDDEN = re.compile(r"\b(?:hide|forget|drop)\b", re.IGNORECASE)
_WANTS_DIGEST = re.compile(r"\b(?:digest|summary|summarise|summarize)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\b\d+_\d+\b")
_NO_NOTES = f"There are no notes. To take one, write for example {EXAMPLE}."


def answer(conversation: Conversation) -> Reply | None:
    """“Note: …”, “Hide the last note”, “Write a digest”."""
    said = _NOTE.sub("", conversation.said).strip()
    if TAKE not in conversation.offered or not said:
        return None
    if wanted := _WANTS_NOTE.match(said):
        return Reply("I will note that.", (Call(TAKE, {"text": wanted[1].strip()}),))
    if _WANTS_DIGEST.search(said):
        return _digest(_notes(conversation))
    return _hide(said, _notes(conversation)) if _WANTS_HIDDEN.search(said) else None


def taken(conversation: Conversation, outcomes: Sequence[Outcome]) -> Reply:
    """A note was taken."""
    if faults := _faults(outcomes):
        return Reply(f"The note was not taken: {faults}")
    return Reply("Noted. Tell me the next finding, write “Hide the last note”, or ask for a digest.")


def hidden(conversation: Conversation, outcomes: Sequence[Outcome]) -> Reply:
    """A note was hidden."""
    if faults := _faults(outcomes):
        return Reply(f"The note was not hidden: {faults}")
    return Reply("It is hidden, and no digest will mention it. “Restore a note” below brings it back.")


def _hide(said: str, notes: dict[str, str]) -> Reply:
    numbers = list(notes)
    if not numbers:
        return Reply(_NO_NOTES)
    named = next((number for number in _NUMBER.findall(said) if number in notes), "")
    wanted = named or (numbers[0] if "first" in said.lower() else numbers[-1])
    return Reply(f"I will hide note {wanted}.", (Call(HIDE, {"context_item_id": wanted}),))


def _digest(notes: dict[str, str]) -> Reply:
    if not notes:
        return Reply(_NO_NOTES)
    count = "1 note" if len(notes) == 1 else f"{len(notes)} notes"
    lines = "\n".join(f"- {' '.join(text.split())}" for text in notes.values())
    return Reply(f"Digest of {count}:\n\n{lines}")


def _notes(conversation: Conversation) -> dict[str, str]:
    """Return the visible notes by number, in order."""
    return dict(_NOTE.findall(conversation.heard))


def _faults(outcomes: Sequence[Outcome]) -> str:
    return " ".join(outcome.text for outcome in outcomes if outcome.is_error)
