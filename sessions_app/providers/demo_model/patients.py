"""The patient example: it answers from the record in the system prompt."""

from __future__ import annotations

import re

from .conversation import Conversation, Reply

_RECORD = re.compile(r"^Patient record:\n((?:- .+(?:\n|\Z))+)", re.MULTILINE)
_LINE = re.compile(r"^- ([^:]+): (.+)$", re.MULTILINE)
_ABOUT = {
    "Allergies": ("allerg",),
    "Medication": ("medic", "pill", "drug", "take"),
    "Next appointment": ("appointment", "next", "when"),
    "Born": ("born", "birth", "how old"),
    "Name": ("name", "who"),
}


def answer(conversation: Conversation) -> Reply | None:
    """A question about the record: the lines it is about, or all of them."""
    found = _RECORD.search(conversation.system)
    if found is None:
        return None
    record: dict[str, str] = dict(_LINE.findall(found[1]))
    said = conversation.said.lower()
    asked = [label for label, words in _ABOUT.items() if label in record and any(word in said for word in words)]
    shown = asked or list(record)
    lines = "\n".join(f"- {label}: {record[label]}" for label in shown)
    start = "Your record says:" if asked else "I can tell you what your record says:"
    return Reply(f"{start}\n\n{lines}\n\nThe patient is made up. Your practice answers anything else.")
