"""The travel helper: searches flights and asks which one to take."""

from __future__ import annotations

from sessions_app.providers import default_model
from sessions_app.sdk import Agent
from tools_app.tools.ask_user import AskUser
from tools_app.tools.flights import FindFlights


class TravelAgent(Agent, name="flights"):
    """Finds flights and asks before it notes one. Nothing is ever booked."""

    title = "Travel helper"
    description = "Finds flights and asks which one to take. Nothing is booked: airlines and prices are made up."
    examples = ("Find flights to Tokyo", "Find flights to Tokyo and Paris", "I want to fly to Lisbon next week")
    system_prompt = (
        "You help a person find flights. Search with find_flights, once for each destination. Tell the person in a "
        "few sentences what was found, then ask with ask_user which flight to take. When the answer comes, repeat "
        "the chosen flight and say that nothing was booked: this is a demonstration with made-up airlines. "
        "If a search fails, say what failed and offer to try again."
    )
    model = default_model()
    tools = (FindFlights, AskUser)
