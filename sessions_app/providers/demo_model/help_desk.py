"""The example of a backup: the help desk of a library, which answers whichever model is asked."""

from __future__ import annotations

from collections.abc import Mapping

from .conversation import Conversation, Reply
from .reading import topic

_DESK = "help desk of the Lantern Street library"

_TOPICS: Mapping[str, str] = {
    "open": "The library is open from 10:00 to 19:00, Tuesday to Saturday.",
    "keep": "Books can be kept for four weeks, and twice as long if nobody else waits for them.",
    "card": "A card costs nothing. Bring something that shows your address.",
}


def answer(conversation: Conversation) -> Reply | None:
    """“When are you open?”, and two questions more."""
    if _DESK not in conversation.system:
        return None
    known = topic(conversation.said, _TOPICS)
    if known is None:
        return Reply("I know when the library is open, how long you can keep a book, and how to get a card.")
    return Reply(f"{known} The library is made up.")
