"""Every agent of the site behaves alike in memory and on the database: what the harness says, holds.

Each agent is played twice by one script, with the same model: through `AgentHarness`, and through the engine with its
runner and rows. Both histories must tell the same events with the same outcomes and the same changes, one by one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

import tools_app.agents
from sessions_app import engine, history
from sessions_app.core.canonical import canonical
from sessions_app.core.data import dump
from sessions_app.core.events import Sender
from sessions_app.core.operations import Operation, load_delta
from sessions_app.core.platform import Approval, Approve, Decline, UserMessageSent
from sessions_app.models import StoredEvent, StoredItem, StoredSession
from sessions_app.providers.scripted import ScriptedModel, ScriptedResponse
from sessions_app.sdk import Agent, ContextItem, ContextItemEvent, ModelRequest, ModelResponse, SessionEvent
from sessions_app.testing import AgentHarness, tool_calls
from tests.engine.conftest import Pump
from tools_app.agents import (
    BackupAgent,
    ExpensesAgent,
    ExplainerAgent,
    PatientAgent,
    ResearchAgent,
    SchedulingAgent,
    TravelAgent,
    TwoSpeedsAgent,
    WeatherAgent,
)
from tools_app.agents.backup import PrimaryPutBack
from tools_app.agents.explainer import AudienceChanged
from tools_app.agents.two_speeds import DetailedModelChosen, FastModelChosen
from tools_app.agents.weather import WeatherSwitchedOff, WeatherSwitchedOn
from tools_app.services.patients import OUT_OF_ORDER
from tools_app.tools.ask_user import AnswerProvided, AskUser, UserQuestion
from tools_app.tools.flights import FindFlights
from tools_app.tools.meetings import MeetingConfirmed, SuggestTime
from tools_app.tools.notes import DigestDue, HideNote, RestoreNote, TakeNote
from tools_app.tools.patients import LoadAgain
from tools_app.tools.pay_back import PayBack
from tools_app.tools.weather import WeatherTool

AGENTS: dict[str, type[Agent[Any, Any]]] = {name: getattr(tools_app.agents, name) for name in tools_app.agents.__all__}
TEN = datetime.fromisoformat("2030-01-08T10:00")
TAXI = PayBack(amount=Decimal("42.50"), payee="Zoë", purpose="a taxi")
TAXI_SEEN = Approval.of(TAXI.tool_name, TAXI.model_dump_json(by_alias=True)).digest
FROM_A_KEY = re.compile(r"(?<=/)[0-9a-f]{12}\b|(?<=Receipt )[0-9A-F]{8}\b")
"""What the calendar and the payment office make of their key, which is another one in every session."""
History = list[tuple[str, str, list[str]]]


@dataclass(frozen=True)
class Answer:
    """An event for the newest item of a class."""

    item: type[ContextItem[Any]]
    event: ContextItemEvent


@dataclass(frozen=True)
class Script:
    """What is done, in order: a text is a message, an event goes to the session. All work is done after each step.

    Let the model call one tool at a time: what runs at once may end in any order.
    """

    steps: Sequence[str | SessionEvent | Answer]
    model: Sequence[ScriptedResponse] = ()
    args: Mapping[str, Any] = field(default_factory=dict)


def hide_the_newest(request: ModelRequest) -> ModelResponse:
    numbers = re.findall(r"Research note (\S+):", " ".join(message.text for message in request.messages))
    return tool_calls(HideNote(context_item_id=numbers[-1]))


SCRIPTS: dict[type[Agent[Any, Any]], Sequence[Script]] = {
    BackupAgent: [
        Script(
            ["When are you open?", PrimaryPutBack(), PrimaryPutBack(), "Thank you"],
            ["At ten.", "You are welcome."],
            {"primary_out_of_service": True},
        )
    ],
    ExplainerAgent: [
        Script(
            ["Why is the sky blue?", AudienceChanged(audience="expert"), "And now?"],
            ["Like a ball.", "It goes with λ⁻⁴."],
            {"audience": "child"},
        )
    ],
    TwoSpeedsAgent: [Script(["Why?", DetailedModelChosen(), "Why?", FastModelChosen()], ["So.", "So, and so."])],
    WeatherAgent: [
        Script(
            ["Tokyo?", WeatherSwitchedOff(), "Oslo?", WeatherSwitchedOn(), "Nowhere?"],
            [
                tool_calls(WeatherTool(city="Tokyo")),
                "It is fine.",
                "It is switched off.",
                tool_calls(WeatherTool(city="Nowhere")),
                "Nobody answers there.",
            ],
        )
    ],
    TravelAgent: [
        Script(
            ["Find flights to Tokyo", Answer(UserQuestion, AnswerProvided(answer="The first")), "And to Nowhere?"],
            [
                tool_calls(FindFlights(destination="Tokyo")),
                tool_calls(AskUser(question="Which one?"), text="There are some."),
                "Noted.",
                tool_calls(FindFlights(destination="Nowhere")),
                "Nobody answers there.",
            ],
        )
    ],
    ExpensesAgent: [
        Script(
            ["Pay Zoë back", Answer(Approval, Approve(digest=TAXI_SEEN))],
            [tool_calls(TAXI), "It is paid."],
        ),
        Script(
            ["Pay Zoë back", Answer(Approval, Decline(reason="She walked"))],
            [tool_calls(TAXI), "Nothing was paid."],
        ),
    ],
    ResearchAgent: [
        Script(
            ["Bees dance", "Hives face south", "The last one is wrong", DigestDue(), RestoreNote(), DigestDue()],
            [
                tool_calls(TakeNote(text="Bees dance")),
                "Noted.",
                tool_calls(TakeNote(text="Hives face south")),
                "Noted too.",
                hide_the_newest,
                "It is hidden.",
                "Bees dance.",
                "Bees dance, and hives face south.",
            ],
        ),
        Script([DigestDue()]),
    ],
    SchedulingAgent: [
        Script(
            [
                "Plan a review",
                MeetingConfirmed(title="Outage", start_time=TEN),
                MeetingConfirmed(title="Review", start_time=TEN),
                "Thank you",
            ],
            [tool_calls(SuggestTime(title="Review", day=date(2030, 1, 5))), "Monday?", "Enjoy it."],
        )
    ],
    PatientAgent: [
        Script(["What do I take?"], ["Ramipril."], {"patient_id": "P1001"}),
        Script(["What do I take?", LoadAgain()], (), {"patient_id": OUT_OF_ORDER}),
    ],
}
PLAYS = [
    pytest.param(agent, script, id=f"{agent.name}-{number}")
    for agent, scripts in SCRIPTS.items()
    for number, script in enumerate(scripts)
]


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_has_a_script(name: str) -> None:
    assert AGENTS[name] in SCRIPTS, (
        f"No script plays {name}, so nobody knows whether it does on the database what it does in memory. Add "
        f"`{name}: [Script(steps, model)]` to SCRIPTS in {__file__}: what people send, and what the model answers."
    )


@pytest.mark.parametrize("name", AGENTS)
def test_every_agent_says_what_it_is_for(name: str) -> None:
    agent = AGENTS[name]
    assert all((agent.title, agent.description, agent.examples, agent.__doc__)), name


@pytest.mark.database
@pytest.mark.parametrize(("agent", "script"), PLAYS)
def test_memory_and_database_tell_the_same_history(
    agent: type[Agent[Any, Any]], script: Script, user: Any, pump: Pump, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = Sender("person", str(user.pk), user.username)
    in_memory, asked_in_memory = play_in_memory(agent, script, ann)
    model = ScriptedModel(script.model)
    monkeypatch.setattr(agent, "get_model", lambda self, state: model)
    session = engine.create_session(agent.name, script.args, user=user)
    in_database = play_in_database(session, script, ann, pump)
    assert in_database == in_memory
    assert list(map(asked, model.requests)) == list(map(asked, asked_in_memory))
    assert len(model.requests) == len(script.model), "The script has answers that nobody asked for."
    assert model.faults == []


def play_in_memory(agent: type[Agent[Any, Any]], script: Script, sender: Sender) -> tuple[History, list[ModelRequest]]:
    model = ScriptedModel(script.model)
    session = AgentHarness(agent, script.args, model=model)
    session.run_all()
    for step in script.steps:
        event, item = read(step)
        session.dispatch(event, session.items(item)[-1].id if item else "", sender=sender)
        session.run_all()
    return [told(t.event.type, t.status, t.operations) for t in session.log], model.requests


def play_in_database(session: StoredSession, script: Script, sender: Sender, pump: Pump) -> History:
    pump()
    for step in script.steps:
        event, item = read(step)
        item_id = newest(session, item) if item else ""
        engine.dispatch_event(session, event.type_name(), dump(event), sender=sender, item_id=item_id)
        pump()
    assert history.replay(session) is None
    rows = StoredEvent.objects.filter(session=session).order_by("seq")
    return [told(row.type, row.status, load_delta(json.loads(row.delta), json.loads(row.payload))) for row in rows]


def read(step: str | SessionEvent | Answer) -> tuple[SessionEvent | ContextItemEvent, type[ContextItem[Any]] | None]:
    match step:
        case str():
            return UserMessageSent(text=step), None
        case Answer(item=item, event=event):
            return event, item
        case SessionEvent():
            return step, None


def newest(session: StoredSession, item: type[ContextItem[Any]]) -> str:
    return str(StoredItem.objects.filter(session=session, type=item.type_name()).latest("pk").item_id)


def told(event_type: str, status: str, operations: Sequence[Operation]) -> tuple[str, str, list[str]]:
    """Return what must be the same of an event."""
    changes = [canonical(operation.model_dump(mode="json")) for operation in operations]
    return event_type, status, [FROM_A_KEY.sub("KEY", change) for change in changes]


def asked(request: ModelRequest) -> str:
    """Return what must be the same of a request."""
    messages = [message.model_dump(mode="json") for message in request.messages]
    tools = [tool.name for tool in request.tools]
    return FROM_A_KEY.sub("KEY", canonical([list(request.system), messages, tools]))
