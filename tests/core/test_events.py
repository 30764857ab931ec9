"""Who may send what, and what happens where handling an event goes wrong."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sessions_app.core.event_log import Incoming
from sessions_app.core.events import Sender, SenderKind
from sessions_app.core.memory import Memory
from sessions_app.core.operations import StateChanged
from sessions_app.core.platform import GenerateResponse, SessionCreated
from sessions_app.core.reasons import TRACEBACK_LENGTH, short_reason, traceback_of
from sessions_app.core.reducer import reduce_event
from sessions_app.sdk import (
    Agent,
    AgentState,
    ContextItemEvent,
    DefinitionError,
    EventRejected,
    EventResult,
    SessionArgs,
    SessionEffect,
    SessionEvent,
    SessionResult,
    SessionState,
    SystemPromptRenderResult,
    add_context_item,
    set_agent_state,
    set_title,
)
from sessions_app.testing import PERSON, SYSTEM, AgentHarness, tool_calls
from tests.core.checked import lab
from tests.core.lab import (
    Answer,
    Boom,
    Card,
    CountTool,
    Crash,
    Found,
    Hide,
    LabAgent,
    Pin,
    Progress,
    Question,
    Remove,
    Search,
    StartWork,
    Work,
    Worked,
)
from tests.core.sloppy import Sloppy, SloppyAgent, SloppyState

OUTSIDE: list[SenderKind] = ["person", "command", "schedule"]


def rejection(session: AgentHarness, *args: Any, **kwargs: Any) -> EventRejected:
    """Return how sending something is refused."""
    log = list(session.log)
    with pytest.raises(EventRejected) as refused:
        session.send(*args, **kwargs)
    assert session.log == log
    return refused.value


# --- from outside


@pytest.mark.parametrize("kind", OUTSIDE)
@pytest.mark.parametrize("type", ["lab-worked", "lab-counted", "lab-found", "@platform/model-responded", "@platform/x"])
def test_private_and_reserved_events_are_forbidden_from_outside(type: str, kind: SenderKind) -> None:
    assert rejection(lab(), type, {}, sender=Sender(kind)).code == "forbidden"


@pytest.mark.parametrize("type", ["lab-unheard-of", "", "other-agents-event"])
def test_an_unknown_or_undeclared_event_is_invalid(type: str) -> None:
    assert rejection(lab(), type, {}).code == "invalid"


class OtherAgentsEvent(SessionEvent, type="other-agents-event"):
    pass


@pytest.mark.parametrize(
    ("payload", "path"),
    [
        ({}, ("item_id",)),
        ({"item_id": 7}, ("item_id",)),
        ({"item_id": None}, ("item_id",)),
        ({"item_id": "1_0", "extra": 1}, ("extra",)),
        ({"item_id": ["1_0"]}, ("item_id",)),
    ],
)
@pytest.mark.fault("B40")
def test_an_ill_formed_payload_is_refused_field_by_field(payload: dict[str, Any], path: tuple[str, ...]) -> None:
    refused = rejection(lab(), "lab-hide", payload)
    assert refused.code == "invalid"
    assert [where for where, _ in refused.errors] == [path]


@pytest.mark.fault("B44")
def test_an_event_for_an_unknown_item_is_not_found() -> None:
    for item_id in ("9_9", "nonsense", "1_0_0"):
        assert rejection(lab(), "lab-answer", {"text": "x"}, item_id).code == "not_found"


def test_a_private_event_of_an_item_is_forbidden_and_a_session_event_is_not_for_items() -> None:
    session = lab()
    session.dispatch(Pin(text="survey"))
    session.dispatch(Pin(text="Really?"))
    for record in list(session.memory.items.values()):
        assert rejection(session, "lab-found", {"text": "forged"}, record.id).code == "forbidden"
        assert rejection(session, "lab-pin", {"text": "x"}, record.id).code == "invalid"
        assert rejection(session, "@platform/stop", {}, record.id).code == "forbidden"


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u200b\u2060", "\u00ad"])
def test_a_message_that_shows_nothing_is_refused(text: str) -> None:
    refused = rejection(lab(), "@platform/user-message", {"text": text})
    assert refused.code == "invalid"
    assert refused.errors[0][0] == ("text",)


def test_an_agent_may_refuse_an_event_from_outside_itself() -> None:
    session = AgentHarness(StrictAgent)
    assert rejection(session, "strict", {"allowed": False}).message == "Not today."
    assert session.send("strict", {"allowed": True}).status == "applied"


def test_the_same_refusal_of_an_event_from_inside_drops_it() -> None:
    session = AgentHarness(StrictAgent)
    transition = session.send("strict", {"allowed": False}, sender=Sender("effect", "1_0"))
    assert (transition.status, transition.reason, transition.operations) == ("dropped", "Not today.", ())


class Strict(SessionEvent, type="strict"):
    allowed: bool


class StrictAgent(Agent[AgentState, Strict], name="strict"):
    def handle_event(self, state: SessionState[AgentState], event: Strict) -> EventResult:
        if not event.allowed:
            raise EventRejected("conflict", "Not today.")
        return EventResult()


# --- from inside


def test_what_comes_too_late_from_inside_is_dropped_with_the_reason() -> None:
    session = lab(topics=["tea"])
    (effect,) = session.effects
    session.end(effect, "done", event=Found(text="green"))
    for late in (session.send_from(effect, Progress(done=9)), session.end(effect, "done", event=Found(text="black"))):
        assert late.status == "dropped"
        assert late.reason
        assert late.operations == ()
    assert session.item(Search).found == "green"


@pytest.mark.parametrize("kind", ["effect", "tool", "handler", "system"])
@pytest.mark.fault("B44")
def test_what_nobody_takes_is_dropped_from_inside(kind: SenderKind) -> None:
    session = lab()
    for type, item_id in (("lab-unheard-of", ""), ("lab-found", "9_9"), ("@platform/skip", "9_9")):
        assert session.send(type, {}, item_id, sender=Sender(kind)).status == "dropped"


@pytest.mark.fault("B44")
def test_an_event_for_what_is_hidden_deleted_or_unknown_has_its_end_and_the_next_goes_on() -> None:
    session = lab()
    for text in ("search a", "search b", "search c"):
        session.dispatch(Pin(text=text))
    hidden, deleted, _ = session.items(Search)
    of_hidden, of_deleted, last = session.effects
    session.dispatch(Hide(item_id=hidden.id))
    session.dispatch(Remove(item_id=deleted.id))
    order = session.memory.order()
    assert session.send_from(of_hidden, Found(text="found")).status == "applied"
    assert session.memory.items[hidden.id].data["found"] == "found"
    unknown = session.send("lab-found", {}, "9_9", sender=SYSTEM)
    for late in (session.send_from(of_deleted, Found(text="late")), unknown):
        assert (late.status, late.operations) == ("dropped", ())
        assert late.reason
    assert session.memory.order() == order
    assert session.end(last, "done", event=Found(text="the next")).status == "applied"


@pytest.mark.fault("B73")
def test_an_ill_formed_payload_from_inside_is_a_failure_that_names_the_class() -> None:
    session = lab(topics=["tea"])
    transition = session.send("lab-found", {"txt": 1}, "1_0", sender=Sender("effect", "1_1"))
    assert transition.status == "failed"
    assert "Found was sent with a payload it does not take" in transition.reason


@pytest.mark.fault("B21")
def test_an_outcome_arrives_once_however_often_it_is_delivered() -> None:
    session = lab(tool_calls(CountTool(steps=[1])), "One.")
    session.say("Count")
    session.run_all()
    state = (session.memory.agent_state, dict(session.memory.items), dict(session.memory.effects))
    for transition in [t for t in session.log if t.event.sender == SYSTEM and t.seq > 1]:
        assert session.handle(transition.event).status == "dropped"
    assert state == (session.memory.agent_state, dict(session.memory.items), dict(session.memory.effects))


# --- handlers that fail


@pytest.mark.fault("B74")
def test_an_event_whose_handler_raises_changes_nothing_and_later_events_go_on() -> None:
    session = lab()
    failed = session.dispatch(Crash())
    assert (failed.status, failed.operations) == ("failed", ())
    assert "Boom" in failed.reason
    assert session.memory.agent_state["trace"] == []
    assert session.dispatch(Pin(text="note")).seq == failed.seq + 1


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text for you")

    __repr__ = __str__


class Interruption(BaseException):
    pass


TROUBLES: dict[str, BaseException] = {
    "plain": ValueError("plain"),
    "base": Interruption(),
    "exit": SystemExit(1),
    "interrupt": KeyboardInterrupt(),
    "group": BaseExceptionGroup("several", [Interruption(), ValueError("two")]),
    "unprintable": Unprintable(),
    "recursion": RecursionError("deep"),
    "memory": MemoryError(),
    "stop": StopIteration(3),
    "nul": ValueError("a\x00b\ud800c"),
    "long": ValueError("x" * 1_000_000),
}


class Trouble(SessionEvent, type="trouble"):
    kind: str


class TroubledAgent(Agent[AgentState, Trouble], name="troubled"):
    def handle_event(self, state: SessionState[AgentState], event: Trouble) -> EventResult:
        raise TROUBLES[event.kind]


@pytest.mark.parametrize("kind", TROUBLES)
@pytest.mark.fault("B12", "B74")
def test_whatever_a_handler_raises_is_a_failed_event_with_a_storable_text(kind: str) -> None:
    transition = AgentHarness(TroubledAgent, mistakes="keep").dispatch(Trouble(kind=kind))
    assert transition.status == "failed"
    assert 0 < len(transition.reason) <= TRACEBACK_LENGTH
    assert "\x00" not in transition.reason
    transition.reason.encode()


def test_a_short_reason_is_one_storable_line() -> None:
    for error in TROUBLES.values():
        reason = short_reason(error)
        assert reason.startswith(type(error).__name__)
        assert "\n" not in reason
        assert len(reason) <= 500
        reason.encode()
    assert "cannot be shown" in short_reason(Unprintable())
    assert traceback_of(Unprintable())


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("none", "must return an EventResult, not NoneType"),
        ("list", "must return an EventResult, not list"),
        ("update", "str is no update"),
        ("other-state", "set_agent_state takes a SloppyState, not LabState"),
        ("too-many", "1000 updates"),
        ("effect", "A session starts SessionEffect objects, not RunSearch"),
        ("no-effect", "A session starts SessionEffect objects, not str"),
        ("too-many-effects", "100 effects"),
        ("item", "ItemResult"),
        ("too-large", "larger than 256 KB"),
        ("nan", "anything.here: NaN and infinity are not allowed"),
        ("infinity", "anything.here: NaN and infinity are not allowed"),
        ("large", "anything.here: a whole number must fit in 64 bits"),
        ("object", "Unable to serialize"),
        ("bytes", "UnicodeDecodeError"),
        ("deep", "nested deeper than 50 levels"),
    ],
)
@pytest.mark.fault("B34")
def test_what_a_handler_may_not_return_is_said_and_changes_nothing(kind: str, said: str) -> None:
    transition = AgentHarness(SloppyAgent, mistakes="keep").dispatch(Sloppy(kind=kind))
    assert transition.status == "failed"
    assert transition.operations == ()
    assert said in transition.reason


class Mutating(SessionEvent, type="mutating"):
    fail: bool = False


class MutatingAgent(Agent[SloppyState, Mutating], name="mutating"):
    """Changes its state in place, as one should not."""

    def create_session(self, args: Any) -> SessionResult[SloppyState]:
        return SessionResult(SloppyState(anything={"deep": []}))

    def handle_event(self, state: SessionState[SloppyState], event: Mutating) -> EventResult:
        state.agent_state.anything["deep"].append(1)
        state.agent_state.numbers.append(1)
        if event.fail:
            raise Boom
        return EventResult([set_agent_state(state.agent_state)])


def test_a_handler_that_changes_data_in_place_does_not_change_the_past() -> None:
    session = AgentHarness(MutatingAgent, mistakes="keep")
    session.dispatch(Mutating(fail=True))
    assert session.memory.agent_state == {"anything": {"deep": []}, "numbers": [], "words": []}
    transition = session.dispatch(Mutating())
    assert transition.operations == (StateChanged(set={"anything": {"deep": [1]}, "numbers": [1]}),)


# --- creating a session


class StartArgs(SessionArgs):
    title: str
    count: int = 1


class StartingAgent(Agent[SloppyState], name="starting"):
    def create_session(self, args: StartArgs) -> SessionResult[SloppyState]:
        if args.count < 0:
            raise Boom
        return SessionResult(
            SloppyState(words={"b", "a"}),
            context_items=[Card(text=args.title)] * args.count,
            effects=[Load()],
        )


class Loaded(SessionEvent, type="loaded", private=True):
    pass


class Load(SessionEffect[Loaded], type="load"):
    pass


def test_the_first_event_makes_state_items_and_effects() -> None:
    session = AgentHarness(StartingAgent, StartArgs(title="Hi", count=2))
    (created,) = session.log
    assert created.seq == 1
    assert session.memory.order() == ["1_0", "1_1"]
    assert [effect.type for effect in session.effects] == ["load"]
    assert session.memory.session.agent == "starting"
    assert session.memory.agent_state["words"] == ["a", "b"]


def test_a_session_whose_creation_fails_does_not_come_to_be() -> None:
    with pytest.raises(AssertionError, match="Boom"):
        AgentHarness(StartingAgent, {"title": "x", "count": -1})


def test_the_history_starts_from_nothing() -> None:
    session = AgentHarness(StartingAgent, {"title": "x"})
    memory = Memory()
    for transition in session.log:
        memory.fold(transition.operations)
    assert memory.items == session.memory.items
    assert memory.agent_state == session.memory.agent_state


# --- session effects


def test_a_session_effect_reports_by_events_and_its_end_can_be_handled() -> None:
    session = lab()
    session.dispatch(StartWork(by=2))
    (work,) = session.effects
    session.send_from(work, Worked(by=1))
    assert session.memory.agent_state["count"] == 1
    session.run(Work)
    assert session.memory.agent_state["count"] == 3
    session.dispatch(StartWork(by=2))
    session.end(Work, "failed", "No.")
    assert session.memory.agent_state["count"] == 0


def test_an_agents_hook_that_raises_does_not_keep_the_effect_open() -> None:
    session = lab()
    session.dispatch(StartWork(by=13))
    assert session.end(Work, "timed out").status == "applied"
    assert session.effects == []


def test_an_effect_ends_once() -> None:
    session = lab()
    session.dispatch(StartWork(by=2))
    (work,) = session.effects
    session.end(work, "failed")
    assert session.end(work, "done", event=Worked(by=9)).status == "dropped"
    assert session.memory.effects[work.id].outcome == "failed"


def test_the_model_is_asked_also_by_an_event_that_used_up_its_effects() -> None:
    session = AgentHarness(BusyAgent, model=["Puh."])
    session.dispatch(Busy())
    assert len(session.effects) == 101
    session.run(GenerateResponse)
    assert session.answer == "Puh."


class Busy(SessionEvent, type="busy"):
    pass


class BusyAgent(Agent[AgentState, Busy], name="busy"):
    def handle_event(self, state: SessionState[AgentState], event: Busy) -> EventResult:
        return EventResult([add_context_item(Card(text="x"), generate=True)], effects=[Work(by=1)] * 100)


def test_no_prompt_no_work_and_nobody_to_ask_is_a_block_with_a_reason() -> None:
    session = AgentHarness(StuckAgent, model=["Hi."])
    session.say("Hi")
    assert session.memory.session.blocked_code == "prompt-pending"
    assert "nothing is under way" in session.memory.session.blocked_reason


class StuckAgent(Agent[SloppyState], name="stuck"):
    def get_system_prompt(self, state: SloppyState) -> Any:
        return SystemPromptRenderResult.pending() if state.anything is None else SystemPromptRenderResult.ready("Go")


def test_a_prompt_of_the_wrong_kind_blocks_with_the_reason() -> None:
    session = AgentHarness(TalkativeAgent, model=["Hi."])
    session.say("Hi")
    assert session.memory.session.blocked_code == "agent-error"
    assert "get_system_prompt returned str" in session.memory.session.blocked_reason


class TalkativeAgent(Agent[AgentState], name="talkative"):
    def get_system_prompt(self, state: AgentState) -> Any:
        return "You are a poet."


# --- what an event carries


def test_an_event_carries_number_time_and_sender_and_none_of_them_is_payload() -> None:
    session = AgentHarness(WitnessAgent)
    session.dispatch(Seen())
    assert session.memory.session.title == f"2 {session.now.isoformat()} Test person"
    assert session.log[-1].event.payload == {}
    with pytest.raises(LookupError, match="not sent yet"):
        _ = Seen().id


class Seen(SessionEvent, type="seen"):
    pass


class WitnessAgent(Agent[AgentState, Seen], name="witness"):
    def handle_event(self, state: SessionState[AgentState], event: Seen) -> EventResult:
        return EventResult([set_title(f"{event.id} {event.time.isoformat()} {event.sender.name}")])


def test_titles_are_storable_and_short() -> None:
    session = AgentHarness(TitleAgent)
    session.dispatch(Seen())
    assert session.memory.session.title == "a\ufffdb\ufffd" + "x" * 196


class TitleAgent(Agent[AgentState, Seen], name="titled"):
    def handle_event(self, state: SessionState[AgentState], event: Seen) -> EventResult:
        return EventResult([set_title("a\x00b\ud800" + "x" * 500)])


def test_the_fields_the_engine_sets_cannot_be_defined() -> None:
    with pytest.raises(DefinitionError, match="time"):

        class Timed(ContextItemEvent, type="timed"):
            time: int  # type: ignore[assignment]


# --- the same everywhere


def test_reducing_the_same_event_twice_gives_the_same() -> None:
    session = lab("Hello.", topics=["tea", "hook"])
    session.say("Hi")
    memory = Memory()
    for transition in session.log:
        assert reduce_event(session.agent, memory, transition.event)[0].operations == transition.operations
        memory.fold(transition.operations)
        memory.session = replace(memory.session, seq=transition.seq)


PROGRAM = """
import json
from sessions_app.core.canonical import canonical
from sessions_app.core.operations import dump_delta
from tests.core.play import play_at_random
for seed in range(6):
    for found in play_at_random(seed, 60).session.log:
        print(found.seq, found.status, canonical(dump_delta(found.operations, found.event.payload)))
from tests.core.test_events import AgentHarness, StartingAgent
print(canonical(AgentHarness(StartingAgent, {"title": "x"}).memory.agent_state))
"""


@pytest.mark.parametrize("hash_seed", ["0", "1", "4321"])
def test_histories_are_the_same_under_any_hash_seed(hash_seed: str, history: str) -> None:
    assert _run(hash_seed) == history


@pytest.fixture(scope="module")
def history() -> str:
    return _run("7")


def _run(hash_seed: str) -> str:
    root = Path(__file__).resolve().parents[2]
    environment = {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_question_survives_being_answered_by_a_command() -> None:
    session = lab()
    session.dispatch(Pin(text="Really?"))
    session.dispatch(Answer(text="yes"), session.item(Question).id, sender=Sender("command", "manage"))
    assert session.item(Question).answer == "yes"


def test_only_the_system_begins_a_session() -> None:
    created = SessionCreated(agent="lab", version="1").model_dump(mode="json")
    incoming = Incoming(SessionCreated.type_name(), created, PERSON, lab().now)
    with pytest.raises(EventRejected):
        reduce_event(LabAgent(), Memory(), incoming)
