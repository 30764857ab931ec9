"""An agent that streams numbered words slowly, so that a test sees whether one is lost or comes twice.

“count 80” streams "w1 w2 … w80", a word every 40 ms; anything else is answered with "You said: …".
"""

from sessions_app.providers.scripted import ScriptedModel
from sessions_app.sdk import Agent, ModelRequest, TextPart

SECONDS_A_WORD = 0.04


def counted(words: int) -> str:
    return " ".join(f"w{number}" for number in range(1, words + 1))


def answer(request: ModelRequest) -> str:
    part = request.messages[-1].parts[-1]
    said = part.text if isinstance(part, TextPart) else ""
    verb, _, number = said.strip().partition(" ")
    return counted(int(number)) if verb == "count" and number.isdecimal() else f"You said: {said}"


class CountingAgent(Agent, name="counting"):
    """Counts."""

    title = "Counting"
    system_prompt = "Count."
    model = ScriptedModel(answer, delay=SECONDS_A_WORD)
