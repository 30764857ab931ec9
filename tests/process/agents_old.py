"""The agents of a release, as a worker that was not restarted yet still has them; agents_new.py is the next one."""

from sessions_app.providers.scripted import ScriptedModel
from sessions_app.sdk import Agent


class GrowingAgent(Agent, name="growing"):
    """Has neither the effect nor the tool of its next version."""

    system_prompt = "Grow."
    model = ScriptedModel(lambda request: "The old worker answered.")


class SteadyAgent(Agent, name="steady"):
    """The same in both releases."""

    system_prompt = "Stay."
    model = ScriptedModel(lambda request: "Steady.")
