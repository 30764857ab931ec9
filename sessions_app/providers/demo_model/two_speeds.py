"""The example of two speeds: brief or in detail, as the system prompt asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .conversation import Conversation, Reply
from .reading import topic

_BRIEF = "Answer in one short sentence."
_DETAILED = "Answer in detail, step by step."


@dataclass(frozen=True)
class _Answers:
    brief: str
    detailed: str


_TOPICS: Mapping[str, _Answers] = {
    "bread": _Answers(
        "Yeast eats sugar in the dough and gives off gas, which the dough traps.",
        "Bread rises in four steps:\n\n"
        "1. Flour and water form gluten, an elastic net that holds gas.\n"
        "2. Enzymes in the flour cut starch into sugars.\n"
        "3. Yeast turns the sugars into carbon dioxide and a little alcohol, and the gas blows the net up.\n"
        "4. In the oven the bubbles grow once more, until heat ends the yeast and the starch sets.\n\n"
        "Dough that rests in the cold rises more slowly, and tastes of more.",
    ),
    "leaves": _Answers(
        "Trees take the green chlorophyll back, and the other colours show.",
        "Leaves change colour in four steps:\n\n"
        "1. Shorter days tell the tree that winter comes.\n"
        "2. It breaks its green chlorophyll down, and moves the nitrogen in it to wood and roots.\n"
        "3. Yellow and orange carotenoids, which were there all summer, come to light.\n"
        "4. Some trees make red anthocyanins anew, which may shade the leaf while it is emptied.\n\n"
        "Cool, sunny days give the brightest colours.",
    ),
    "compass": _Answers(
        "Its needle is a magnet that turns along the Earth's magnetic field.",
        "A compass works in four steps:\n\n"
        "1. Molten iron moves in the Earth's outer core and keeps a magnetic field going.\n"
        "2. The needle is a small magnet on a nearly frictionless pin.\n"
        "3. The field turns it until it lies along the field lines.\n"
        "4. Its north end then points to magnetic north, which is not quite true north.\n\n"
        "The difference is called declination, and maps say how large it is.",
    ),
}


def answer(conversation: Conversation) -> Reply | None:
    """“How does bread rise?”, in a sentence or step by step."""
    detailed = _DETAILED in conversation.system
    if not detailed and _BRIEF not in conversation.system:
        return None
    answers = topic(conversation.said, _TOPICS)
    if answers is None:
        return Reply("The demo model knows how bread rises, why leaves change colour and how a compass works.")
    return Reply(answers.detailed if detailed else answers.brief)
