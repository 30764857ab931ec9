"""Tool calls: what runs, what the model reads of it, and what goes wrong."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from sessions_app.core.change import EFFECTS_PER_EVENT
from sessions_app.core.errors import HandlerError
from sessions_app.core.language_model import ModelResponse
from sessions_app.core.messages import ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from sessions_app.core.platform import (
    AssistantMessage,
    GenerateResponse,
    ModelResponded,
    Retry,
    RunTool,
    Skip,
    ToolCall,
    ToolError,
    TryAgain,
    UserMessage,
)
from sessions_app.core.request import NO_OUTPUT, REMOVED, RESULT_LIMIT
from sessions_app.core.turn import REQUEST_LIMIT
from sessions_app.sdk import (
    Agent,
    ContextItem,
    EventRejected,
    Message,
    RenderResult,
    Tool,
    ToolContext,
    ToolResult,
)
from sessions_app.testing import SYSTEM, AgentHarness, tool_calls
from tests.core.checked import CheckedHarness, lab
from tests.core.lab import (
    Answer,
    AskTool,
    BoomTool,
    Card,
    CountTool,
    Found,
    LabAgent,
    LabState,
    NoteTool,
    PinTool,
    Poke,
    Progress,
    Question,
    Remove,
    RunSearch,
    Search,
    SearchTool,
    SetPrompt,
    SurveyTool,
)


def calls(*named: tuple[str, str, str]) -> ModelResponse:
    """Return a response that calls tools by name, with arguments as they come and a provider's id."""
    return ModelResponse(parts=tuple(ToolCallPart(id=own, name=name, arguments=args) for name, args, own in named))


def asked(*answers: Any, text: str = "Go") -> CheckedHarness:
    """Return a session whose model has been asked once."""
    session = lab(*answers)
    session.say(text)
    session.run(GenerateResponse)
    return session


def results(session: CheckedHarness) -> list[ToolResultPart]:
    return [part for message in session.messages() for part in message.parts if isinstance(part, ToolResultPart)]


# --- results


def test_a_call_completes_when_all_its_items_are_ready_and_the_model_reads_them_in_order() -> None:
    session = asked(tool_calls(SearchTool(topics=["tea", "milk"])), "Done.")
    session.run(SearchTool)
    tea, milk = session.effects
    session.end(milk, "done", event=Found(text="white"))
    assert [effect.id for effect in session.effects] == [tea.id]
    session.end(tea, "done", event=Found(text="green"))
    assert [part.text for part in results(session)] == ["green\n\nwhite"]
    assert session.effects[0].type == GenerateResponse.type_name()


@pytest.mark.fault("B23")
def test_results_stand_in_call_order_whatever_finishes_first() -> None:
    session = asked(tool_calls(*[PinTool(texts=[str(number)]) for number in range(5)]), "Done.")
    for effect in reversed(session.effects):
        session.run(effect)
    assert [part.text.split(": ")[1] for part in results(session)] == ["0", "1", "2", "3", "4"]
    assert [part.call_id for part in results(session)] == [f"2_1_{index}" for index in range(5)]


@pytest.mark.fault("B23")
def test_one_failing_call_does_not_disturb_the_others() -> None:
    session = asked(tool_calls(PinTool(texts=["a"]), PinTool(texts=["b"]), BoomTool(), PinTool(texts=["d"])), "Done.")
    session.run(BoomTool)
    assert session.effects != []
    session.run_all()
    found = results(session)
    assert [part.is_error for part in found] == [False, False, True, False]
    assert "The tool is broken." in found[2].text
    assert session.answer == "Done."


@pytest.mark.fault("B02", "B16", "B24")
def test_a_call_with_an_open_question_does_not_hold_up_the_others() -> None:
    session = asked(tool_calls(AskTool(question="A?"), PinTool(texts=["b"]), AskTool(question="C?")), "Done.")
    for effect in session.effects:
        session.run(effect)
    first, second = session.items(Question)
    assert session.effects == []
    session.dispatch(Answer(text="c"), second.id)
    assert session.effects == []
    session.dispatch(Answer(text="a"), first.id)
    assert [part.text.split(": ")[-1] for part in results(session)] == ["a", "b", "c"]
    session.run_all()
    assert session.answer == "Done."


@pytest.mark.parametrize("texts", [[], [""], [" \n"], ["\u200b"], ["", "\u2060"]])
@pytest.mark.fault("B22")
def test_a_result_that_shows_nothing_is_said_to_be_nothing(texts: list[str]) -> None:
    session = asked(tool_calls(PinTool(texts=texts)), *["Fine."] * 6)
    session.run_all()
    assert [part.text for part in results(session)] == [NO_OUTPUT]
    for turn in range(5):
        session.say(f"turn {turn}")
        session.run_all()


@pytest.mark.fault("B33", "B35")
def test_a_large_result_is_cut_in_the_request_and_kept_whole_in_the_session() -> None:
    session = asked(tool_calls(PinTool(texts=["x" * (RESULT_LIMIT + 1000)])), "Long.")
    session.run(PinTool)
    (result,) = results(session)
    assert len(result.text.encode()) < RESULT_LIMIT + 100
    assert f"Shortened: {RESULT_LIMIT} of" in result.text
    assert len(session.item(Card).text) == RESULT_LIMIT + 1000


def test_a_result_once_complete_stays_as_the_model_read_it() -> None:
    session = asked(tool_calls(PinTool(texts=["one"])), "Done.")
    session.run_all()
    before = results(session)
    card = session.item(Card)
    for text in ("two", "wait", " "):
        session.dispatch(Poke(item_ids=[card.id], text=text))
        assert session.item(Card).text == text
        assert results(session) == before
    assert session.memory.open_items() == []


def test_a_result_freezes_when_its_call_completes_also_before_it_is_sent() -> None:
    session = asked(tool_calls(PinTool(texts=["one"]), AskTool(question="?")), "Done.")
    session.run(PinTool)
    session.dispatch(Poke(item_ids=[session.item(Card).id], text="two"))
    session.run(AskTool)
    assert results(session)[0].text.endswith("one")


def test_deleting_a_nested_item_leaves_the_rest_or_says_that_it_was_removed() -> None:
    session = asked(tool_calls(PinTool(texts=["one", "two"])), "Done.")
    session.run_all()
    one, two = session.items(Card)
    session.dispatch(Remove(item_id=one.id))
    assert [part.text for part in results(session)] == [f"{two.id}: two"]
    session.dispatch(Remove(item_id=two.id))
    assert [part.text for part in results(session)] == [REMOVED]


def test_deleting_the_last_open_item_of_a_call_completes_it() -> None:
    session = asked(tool_calls(AskTool(question="?")), "Never mind.")
    session.run(AskTool)
    session.dispatch(Remove(item_id=session.item(Question).id))
    session.run_all()
    assert session.answer == "Never mind."


def test_a_call_itself_cannot_be_deleted() -> None:
    session = asked(tool_calls(PinTool(texts=["one"]), AskTool(question="?")))
    failed = session.dispatch(Remove(item_id=session.items(ToolCall)[1].id))
    assert failed.status == "failed"
    assert "Delete its assistant message" in failed.reason


@pytest.mark.fault("B44")
def test_deleting_an_assistant_message_cancels_and_removes_everything_beneath_it() -> None:
    session = asked(tool_calls(SearchTool(topics=["tea"]), AskTool(question="?")))
    session.run(SearchTool)
    message = session.items(AssistantMessage)[0]
    search, ask = session.effects[-1], session.effects[0]
    session.dispatch(Remove(item_id=message.id))
    assert session.effects == []
    assert list(session.memory.items) == [session.item(UserMessage).id]
    assert {session.memory.effects[effect.id].outcome for effect in (search, ask)} == {"cancelled"}
    assert session.end(search, "done", event=Found(text="late")).status == "dropped"


def test_a_message_can_hold_text_and_calls() -> None:
    session = asked(tool_calls(PinTool(texts=["one"]), text="Let me see."), "Done.")
    session.run_all()
    roles = [(message.role, [part.type for part in message.parts]) for message in session.messages()]
    assert roles[1:3] == [("assistant", ["text", "tool_call"]), ("user", ["tool_result"])]


# --- what a model gets wrong


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("nonsense", "{}", "Tools offered: search, ask, survey, count, note, pin, boom"),
        ("Search", "{}", 'There is no tool "Search"'),
        ("", "{}", 'There is no tool ""'),
        ("größe!", "{}", 'There is no tool "größe!"'),
        ("search", "{", "not valid JSON"),
        ("search", "", "topics: Field required"),
        ("search", "[]", "search are wrong"),
        ("search", "null", "search are wrong"),
        ("search", '{"topics": "tea"}', "topics: Input should be a valid list"),
        ("search", '{"topics": [1]}', "topics.0: Input should be a valid string"),
        ("search", '{"topics": [], "more": 1}', "more: Extra inputs are not permitted"),
        ("search", '{"topics": [NaN]}', "NaN and infinity are not allowed"),
        ("search", '{"topics": ' + "[" * 5000 + "]" * 5000 + "}", "nested deeper"),
        ("count", '{"steps": [' + "9" * 4000 + "]}", "64 bits"),
    ],
)
@pytest.mark.fault("B26")
def test_a_wrong_call_becomes_an_error_the_model_can_act_on(name: str, arguments: str, said: str) -> None:
    session = asked(calls((name, arguments, "")), "Sorry.")
    assert said in session.item(ToolError).message
    assert not any(effect.type == RunTool.type_name() for effect in session.effects)
    session.run_all()
    assert session.answer == "Sorry."


@pytest.mark.fault("B26")
def test_a_tool_that_was_offered_earlier_but_not_now_is_an_unknown_one() -> None:
    session = lab(tool_calls(PinTool()), "Sorry.")
    session.dispatch(SetPrompt(prompt="bare"))
    session.say("Go")
    session.run(GenerateResponse)
    assert session.item(ToolError).message == 'There is no tool "pin" to call now. Tools offered: none.'


@pytest.mark.fault("B26")
def test_a_call_is_judged_by_what_its_own_request_offered() -> None:
    session = lab(tool_calls(PinTool(texts=["one"])), "Done.")
    session.say("Go")
    offered = session.request().offered
    session.dispatch(SetPrompt(prompt="bare"))
    response = tool_calls(PinTool(texts=["one"]))
    session.dispatch(ModelResponded(effect_id=session.effects[0].id, response=response, offered=offered), sender=SYSTEM)
    assert session.items(ToolError) == []
    assert [effect.type for effect in session.effects] == [RunTool.type_name()]


@pytest.mark.fault("B26")
def test_a_model_that_never_gets_a_call_right_is_stopped_and_what_was_good_stays() -> None:
    session = lab(
        *[f"Answer {turn}." for turn in range(9)], *[calls(("Pin", "{}", ""))] * (2 * REQUEST_LIMIT), "Sorry."
    )
    for turn in range(9):
        session.say(f"Turn {turn}")
        session.run_all()
    good = list(session.memory.items.values())
    session.say("Go")
    session.run_all()
    assert len(session.items(ToolError)) == REQUEST_LIMIT
    assert session.memory.session.blocked_code == "request-limit"
    assert list(session.memory.items.values())[: len(good)] == good
    session.say("Stop that")
    assert [effect.type for effect in session.effects] == [GenerateResponse.type_name()]


def test_an_error_about_a_call_is_never_longer_than_it_is_useful() -> None:
    arguments = '{"topics": [' + ",".join(["1"] * 20_000) + "]}"
    session = asked(calls(("search", arguments, "")), "Sorry.")
    assert len(session.item(ToolError).message) <= 4000


def test_calls_beyond_the_limit_of_one_event_are_answered_with_an_error() -> None:
    session = asked(calls(*[("count", '{"steps": [1]}', "")] * (EFFECTS_PER_EVENT + 2)), "Puh.")
    assert len(session.effects) == EFFECTS_PER_EVENT
    assert len(session.items(ToolError)) == 2


@pytest.mark.parametrize("ids", [("same", "same"), ("", "")])
@pytest.mark.fault("B15", "B71")
def test_repeated_and_missing_call_ids_are_told_apart_by_our_own(ids: tuple[str, str]) -> None:
    response = calls(*[("pin", f'{{"texts": ["{text}"]}}', own) for text, own in zip("ab", ids, strict=True)])
    session = asked(response, response, "Done.")
    session.run_all()
    found = results(session)
    assert len({part.call_id for part in found}) == 4
    assert [part.text.split(": ")[1] for part in found] == ["a", "b", "a", "b"]
    parts = [part for message in session.messages() for part in message.parts if isinstance(part, ToolCallPart)]
    assert [part.provider_id for part in parts] == [*ids, *ids]


@pytest.mark.fault("B04")
def test_arguments_are_kept_byte_for_byte() -> None:
    arguments = '{ "texts":["\\u00e9", "b"],\n "texts": ["é"] }'
    session = asked(calls(("pin", arguments, "")), "Done.")
    (effect,) = session.effects
    assert effect.payload["arguments"] == arguments
    session.run_all()
    parts = [part for message in session.messages() for part in message.parts if isinstance(part, ToolCallPart)]
    assert [part.arguments for part in parts] == [arguments]


def test_a_call_by_a_name_no_provider_takes_is_shown_by_one_it_takes() -> None:
    session = asked(calls(("größe!", "{}", ""), ("", "{}", ""), ("x" * 100, "{}", "")), "Done.")
    session.run_all()
    parts = [part for message in session.messages() for part in message.parts if isinstance(part, ToolCallPart)]
    assert [part.name for part in parts] == ["_gr__e_", "_", "_" + "x" * 63]
    assert [item.name for item in session.items(ToolCall)] == ["größe!", "", "x" * 100]


# --- what a tool gets wrong


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


class Interruption(BaseException):
    pass


class Unpicklable(Exception):
    def __reduce__(self) -> Any:
        raise TypeError("not picklable")


TROUBLES: dict[str, BaseException] = {
    "plain": ValueError("plain"),
    "base": Interruption("base"),
    "exit": SystemExit(3),
    "group": ExceptionGroup("several", [ValueError("one"), TypeError("two")]),
    "unprintable": Unprintable(),
    "unpicklable": Unpicklable("x"),
    "nul": ValueError("a\x00b\ud800c"),
}


class TroubleTool(Tool, name="trouble"):
    """Raises what it is told to raise."""

    kind: str

    async def execute(self, context: ToolContext) -> ToolResult:
        raise TROUBLES[self.kind]


class TroubleAgent(Agent[LabState], name="trouble"):
    tools = (TroubleTool,)


@pytest.mark.parametrize("kind", TROUBLES)
@pytest.mark.fault("B12")
def test_whatever_a_tool_raises_becomes_an_error_with_a_safe_text(kind: str) -> None:
    session = CheckedHarness(TroubleAgent, model=[tool_calls(TroubleTool(kind=kind)), "Sorry."])
    session.say("Go")
    session.run_all()
    message = session.item(ToolError).message
    assert type(TROUBLES[kind]).__name__ in message
    assert "\x00" not in message
    message.encode()
    assert session.answer == "Sorry."


def test_an_outcome_from_outside_a_tool_becomes_its_error() -> None:
    session = asked(tool_calls(BoomTool()), "Sorry.")
    session.end(BoomTool, "timed out", "It took longer than 60 s.")
    assert session.item(ToolError).message == "It took longer than 60 s."
    session.run_all()
    assert session.answer == "Sorry."


def test_an_outcome_without_words_gets_some() -> None:
    session = asked(tool_calls(BoomTool()), "Sorry.")
    session.end(BoomTool, "outcome unknown")
    assert session.item(ToolError).message == "boom ended: outcome unknown."


# --- items of a call that fail


def test_an_exhausted_effect_closes_its_item_and_the_model_goes_on() -> None:
    session = asked(tool_calls(SearchTool(topics=["tea"])), "No tea.")
    session.run(SearchTool)
    session.end(RunSearch, "timed out", "It took too long.")
    assert session.memory.items[session.item(Search).id].closed == "timed out"
    (result,) = results(session)
    assert (result.text, result.is_error) == ("(lab search: timed out. It took too long.)", True)
    session.run_all()
    assert session.answer == "No tea."


@pytest.mark.fault("B73")
def test_an_effect_that_ends_without_a_result_closes_its_item() -> None:
    session = asked(tool_calls(SearchTool(topics=["tea"])), "No tea.")
    session.run(SearchTool)
    session.end(RunSearch, "done")
    record = session.memory.items[session.item(Search).id]
    assert (record.closed, record.reason) == ("failed", "It ended without a result.")


def test_an_item_with_another_effect_under_way_is_not_given_up() -> None:
    session = asked(tool_calls(SearchTool(topics=["hook-again"])), "Second try.")
    session.run(SearchTool)
    session.end(RunSearch)
    assert session.memory.items[session.item(Search).id].open
    session.end(RunSearch, "done", event=Found(text="tea"))
    assert [part.text for part in results(session)] == ["tea"]


def test_an_item_a_person_could_answer_is_not_given_up() -> None:
    session = asked(tool_calls(SurveyTool()), "Noted.")
    session.run(SurveyTool)
    session.end(RunSearch, "failed", "No reminder.")
    (record,) = [record for record in session.memory.open_items() if record.type != ToolCall.type_name()]
    assert record.reason == "No reminder."
    session.dispatch(Answer(text="five"), record.id)
    session.run_all()
    assert session.answer == "Noted."


def test_an_item_whose_render_raises_is_closed_as_failed() -> None:
    session = asked(tool_calls(SearchTool(topics=["tea"])), "Odd.")
    session.run(SearchTool)
    session.end(RunSearch, "done", event=Found(text="unprintable"))
    record = session.memory.items[session.item(Search).id]
    assert record.closed == "failed"
    assert "could not be rendered" in record.reason
    assert results(session)[0].is_error


def test_skipping_a_nested_item_lets_the_model_go_on() -> None:
    session = asked(tool_calls(AskTool(question="?"), SearchTool(topics=["tea"])), "All right.")
    session.run(AskTool)
    session.run(SearchTool)
    session.dispatch(Skip(), session.item(Question).id)
    (search,) = session.effects
    session.dispatch(Skip(), session.item(Search).id)
    assert session.memory.effects[search.id].outcome == "cancelled"
    assert [part.text for part in results(session)] == [
        "(lab question: skipped. Skipped by Test person.)",
        "(lab search: skipped. Skipped by Test person.)",
    ]
    session.run_all()
    assert session.answer == "All right."


def test_a_failed_item_can_be_tried_again_until_its_call_is_complete() -> None:
    session = asked(tool_calls(SearchTool(topics=["tea", "milk"])), "Done.")
    session.run(SearchTool)
    tea, milk = session.items(Search)
    session.end(session.effects[0])
    assert session.memory.items[tea.id].closed == "failed"
    session.dispatch(TryAgain(), tea.id)
    assert session.memory.items[tea.id].open
    with pytest.raises(EventRejected):
        session.dispatch(TryAgain(), tea.id)
    for effect in session.effects:
        session.end(effect)
    with pytest.raises(EventRejected) as too_late:
        session.dispatch(TryAgain(), milk.id)
    assert too_late.value.code == "conflict"


def test_news_for_a_closed_item_is_dropped_and_refused() -> None:
    session = asked(tool_calls(SearchTool(topics=["tea"]), AskTool(question="?")))
    session.run(SearchTool)
    session.run(AskTool)
    (effect,) = session.effects
    session.dispatch(Skip(), session.item(Question).id)
    with pytest.raises(EventRejected) as refused:
        session.dispatch(Answer(text="late"), session.item(Question).id)
    assert refused.value.code == "conflict"
    session.dispatch(Skip(), session.item(Search).id)
    assert session.send_from(effect, Progress(done=1)).status == "dropped"


def test_progress_shows_and_changes_nothing_else() -> None:
    session = asked(tool_calls(SearchTool(topics=["tea"])))
    session.run(SearchTool)
    session.send_from(session.effects[0], Progress(done=4))
    render = session.memory.items[session.item(Search).id].render
    assert (render.status, render.label, render.fraction) == ("pending", "Searching tea…", 0.4)
    assert len(session.effects) == 1


# --- events a tool returns


def test_a_tools_events_follow_its_items_each_with_its_own_number_and_cause() -> None:
    session = asked(tool_calls(CountTool(steps=[1, 2])), "Three.")
    session.run(CountTool)
    finished, *counted = session.log[-3:]
    assert [transition.event.type for transition in counted] == ["lab-counted", "lab-counted"]
    assert [transition.seq for transition in counted] == [finished.seq + 1, finished.seq + 2]
    assert {transition.cause for transition in counted} == {finished.seq}
    assert finished.cause is None
    assert counted[0].event.sender.kind == "tool"
    assert session.memory.agent_state["count"] == 3


def test_a_follow_up_that_fails_undoes_neither_its_siblings_nor_the_result() -> None:
    session = asked(tool_calls(CountTool(steps=[1, -1, 3])), "Four.")
    session.run(CountTool)
    assert [transition.status for transition in session.log[-4:]] == ["applied", "applied", "failed", "applied"]
    assert session.log[-2].operations == ()
    assert session.memory.agent_state["count"] == 4
    session.run_all()
    assert session.answer == "Four."


def test_what_a_tools_events_add_stands_before_the_next_reply() -> None:
    session = asked(tool_calls(NoteTool(texts=["a", "b"])), "Noted.")
    session.run(NoteTool)
    assert [session.memory.items[item_id].type for item_id in session.memory.order()[-3:]] == [
        Card.type_name(),
        Card.type_name(),
        AssistantMessage.type_name(),
    ]
    assert session.request().request.messages[-1].text == "5_0: a\n\n6_0: b"
    settled = session.log[-1].operations
    assert session.memory.order()[-1] in {operation.id for operation in settled if operation.op == "item-created"}


def test_where_the_last_follow_up_fails_the_session_settles_all_the_same() -> None:
    session = asked(tool_calls(CountTool(steps=[1, -1])), "One.")
    session.run(CountTool)
    session.run_all()
    assert session.answer == "One."


# --- what a tool may hand back


class PickyTool(Tool, name="picky"):
    """Returns what a test wants."""

    async def execute(self, context: ToolContext) -> ToolResult:
        return PickyAgent.result  # type: ignore[no-any-return]


class PickyAgent(Agent[LabState], name="picky"):
    tools = (PickyTool,)
    result: Any = None


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (None, "picky returned NoneType, not a ToolResult"),
        (ToolResult(context_items=["text"]), "picky returned str among its items"),  # type: ignore[list-item]
        (ToolResult(events=[Found(text="x")]), "picky sent Found, but declares no events"),  # type: ignore[type-var]
        (ToolResult(context_items=[AssistantMessage(text="x")]), "only the platform makes"),
        (ToolResult(context_items=[Card(text="x" * 300_000)]), "Card is larger than 256 KB"),
        (ToolResult(context_items=[ToolCall(name="x", arguments="{}")]), "only the platform makes"),
    ],
)
def test_a_result_that_breaks_a_rule_is_a_tool_error_that_names_it(result: Any, said: str) -> None:
    PickyAgent.result = result
    session = AgentHarness(PickyAgent, model=[tool_calls(PickyTool()), "Sorry."], mistakes="keep")
    session.say("Go")
    session.run_all()
    assert said in session.item(ToolError).message
    assert session.answer == "Sorry."


class Loose(ContextItem, type="loose"):
    """Holds anything, which is shown in words."""

    value: Any

    def render(self) -> RenderResult:
        return RenderResult.ready(Message.user(f"It is {self.value}."))


@pytest.mark.fault("B34")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), ""),
        (float("inf"), ""),
        (-1e400, ""),
        (10**4000, ""),
        (b"\xff", ""),
        ({1, 2}, "It is [1, 2]."),
        ({1: 2}, "It is {'1': 2}."),
        (Decimal("1.50"), "It is 1.50."),
        (datetime(2030, 1, 1, tzinfo=UTC), "It is 2030-01-01T00:00:00Z."),
    ],
)
def test_a_result_of_odd_values_has_a_stored_form_or_is_an_error_that_names_the_field(value: Any, text: str) -> None:
    PickyAgent.result = ToolResult(context_items=[Loose(value=value)])
    session = AgentHarness(PickyAgent, model=[tool_calls(PickyTool()), "Thanks."], mistakes="keep")
    session.say("Go")
    session.run_all()
    parts = [part for message in session.messages() for part in message.parts if isinstance(part, ToolResultPart)]
    assert [part.is_error for part in parts] == [not text]
    assert (text or "Loose cannot be stored: value") in parts[0].text
    assert session.answer == "Thanks."


@pytest.mark.fault("B32")
def test_a_nul_in_a_result_is_replaced_before_it_is_stored_or_sent() -> None:
    PickyAgent.result = ToolResult(context_items=[Card(text="a\x00b"), Card(text="c\ud800d")])
    session = AgentHarness(PickyAgent, model=[tool_calls(PickyTool()), "Done."])
    session.say("Go")
    session.run_all()
    assert [card.text for card in session.items(Card)] == ["a\ufffdb", "c\ufffdd"]
    assert [text in session.messages()[2].parts[0].text for text in ("a\ufffdb", "c\ufffdd")] == [True, True]
    assert session.answer == "Done."


@pytest.mark.fault("B33")
@pytest.mark.parametrize("character", ["😀", "🇩🇪", "👨‍👩‍👧‍👦", "e\u0301\u0323"])
def test_a_long_result_is_cut_between_whole_characters_at_any_offset(character: str) -> None:
    count = RESULT_LIMIT // len(character.encode()) + 10
    for offset in range(20):
        session = lab(tool_calls(PinTool(texts=["x" * offset + character * count])), *["Done."] * 3)
        session.say("Go")
        for turn in range(3):
            session.run_all()
            session.say(f"turn {turn}")
        shown = results(session)[0].text
        shown.encode()
        assert "Shortened" in shown
        assert shown.partition(": ")[2].partition("\n")[0][offset:].replace(character, "") == ""


@pytest.mark.parametrize("character", ["x", "é", '"', "\n.", "\x01.", "👍🏽"])
def test_a_reply_longer_than_can_be_stored_is_shortened_with_a_note(character: str) -> None:
    session = asked(character * 300_000)
    assert session.answer.startswith(character * 10_000)
    assert session.answer.endswith("bytes shown.)")
    session = lab()
    session.say("Go")
    session.stop(character * 300_000)
    assert session.answer.endswith("bytes shown.)")


def test_a_reply_that_cannot_be_stored_at_all_is_a_failed_request() -> None:
    endless = ReasoningPart(text="x" * 300_000)
    session = asked(ModelResponse(parts=(endless, TextPart(text="So."))), "Short.")
    assert session.memory.session.blocked_code == "failed"
    assert session.effects == []
    session.dispatch(Retry())
    session.run_all()
    assert session.answer == "Short."


def test_a_user_message_can_be_a_tools_result() -> None:
    PickyAgent.result = ToolResult(context_items=[UserMessage(text="Note hidden from context.")])
    session = AgentHarness(PickyAgent, model=[tool_calls(PickyTool()), "Done."])
    session.say("Go")
    session.run_all()
    parts = [part for message in session.messages() for part in message.parts if isinstance(part, ToolResultPart)]
    assert [part.text for part in parts] == ["Note hidden from context."]


class CarelessAgent(LabAgent, name="careless"):
    """Offers a tool that its catalogue does not list."""

    tools = (PinTool,)

    def get_tools(self, state: LabState) -> Any:
        return [PinTool, PinTool, BoomTool]


def test_a_tool_that_is_offered_must_stand_in_the_catalogue() -> None:
    session = AgentHarness(CarelessAgent, model=["Never."], mistakes="keep")
    session.say("Go")
    with pytest.raises(HandlerError, match="BoomTool"):
        session.request()
    session.run_all()
    assert session.memory.session.blocked_code == "failed"


def test_text_beside_blank_parts_is_kept() -> None:
    session = asked(ModelResponse(parts=(TextPart(text=" "), TextPart(text="Hello"), TextPart(text="\u200b"))))
    assert session.answer == "Hello"
