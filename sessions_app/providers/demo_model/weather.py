"""The weather example: look it up, report it, or say why that does not work now."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .conversation import Call, Conversation, Outcome, Reply
from .reading import locations, reason

WEATHER = "get_weather"
EXAMPLE = "“What is the weather in Tokyo?”"
_OFF = re.compile(r"weather service is switched off.*?“([^”]+)”", re.DOTALL)


def look(conversation: Conversation) -> Reply | None:
    """“What is the weather in Tokyo and Paris?”: one look for each place."""
    if WEATHER not in conversation.offered or "weather" not in conversation.said.lower():
        return None
    wanted = locations(conversation.said)
    if not wanted:
        return Reply(f"Write the city too, for example {EXAMPLE}.")
    return Reply("I will look.", tuple(Call(WEATHER, {"city": city}) for city in wanted))


def is_off(conversation: Conversation) -> Reply | None:
    """Anything said while the system prompt says that the service is off; it also names the button."""
    button = _OFF.search(conversation.system)
    if button is None or WEATHER in conversation.offered:
        return None
    return Reply(f"I have no weather here: the weather service is switched off. Press “{button[1]}” and ask again.")


def report(conversation: Conversation, outcomes: Sequence[Outcome]) -> Reply:
    """The results of looking."""
    lines = [_failure(outcome) if outcome.is_error else f"{outcome.text}." for outcome in outcomes]
    made_up = [] if all(outcome.is_error for outcome in outcomes) else ["The weather is made up."]
    return Reply("\n\n".join([*lines, *made_up]))


def _failure(outcome: Outcome) -> str:
    what = f"The weather in {outcome.argument('city')} could not be looked up"
    return f"{what}: {reason(outcome.text)}. Ask again to look once more."
