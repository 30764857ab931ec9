"""Messages grouped as providers read them: one turn per change of speaker."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ..core.messages import Message


def in_turns(messages: Sequence[Message]) -> list[Message]:
    """Join neighbouring messages of one role; providers do the same, or refuse them where they are apart."""
    return [
        Message(role=role, parts=tuple(part for message in group for part in message.parts))
        for role, group in groupby(messages, key=lambda message: message.role)
    ]
