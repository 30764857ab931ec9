"""Approval: a person decides before a tool runs, and exactly what they saw is what runs."""

from __future__ import annotations

import pytest

from sessions_app.core.language_model import ModelResponse
from sessions_app.core.messages import ToolCallPart
from sessions_app.core.platform import Approval, Approve, ChangeArguments, Decline, RunTool, Skip, ToolCall, ToolError
from sessions_app.sdk import Agent, EventRejected, Tool, ToolContext, ToolResult
from sessions_app.testing import AgentHarness, tool_calls
from tests.core.checked import CheckedHarness, lab
from tests.core.lab import Card, RefundTool


def waiting(*answers: str, amounts: tuple[int, ...] = (5,)) -> CheckedHarness:
    """Return a session whose model wants to pay back."""
    session = lab(tool_calls(*(RefundTool(amount=amount) for amount in amounts)), *answers)
    session.say("I want my money back.")
    session.run_all()
    return session


def result_of(session: CheckedHarness) -> str:
    return session.messages()[2].parts[0].text  # type: ignore[union-attr]  # a result part has a text


def test_no_tool_runs_before_it_is_approved_and_the_call_waits() -> None:
    session = waiting()
    assert session.effects == []
    approval = session.item(Approval)
    assert (approval.tool, approval.arguments, approval.decision) == ("refund", '{"amount":5}', "")
    assert session.items(Card) == []


@pytest.mark.fault("B04")
def test_an_approved_call_runs_with_the_stored_arguments() -> None:
    session = waiting("Done.")
    session.approve()
    (effect,) = session.effects
    assert (effect.type, effect.payload) == (RunTool.type_name(), {"name": "refund", "arguments": '{"amount":5}'})
    session.run_all()
    assert session.answer == "Done."
    assert session.item(Approval).decision == "approved"
    assert session.item(Approval).by == "Test person"
    assert "Paid back 5." in result_of(session)


@pytest.mark.fault("B04")
def test_an_approval_for_other_arguments_is_refused() -> None:
    session = waiting()
    record, _approval = session._asked_approval()
    with pytest.raises(EventRejected) as rejected:
        session.dispatch(Approve(digest=Approval.of("refund", '{"amount":500}').digest), record.id)
    assert rejected.value.code == "conflict"
    assert session.effects == []


def test_a_declined_call_tells_the_model_the_reason_and_the_turn_goes_on() -> None:
    session = waiting("I see.")
    session.decline("Too much")
    assert session.item(ToolError).message == "A person declined this call: Too much"
    session.run_all()
    assert session.answer == "I see."
    assert session.items(Card) == []


def test_changed_arguments_are_asked_about_again_and_the_model_hears_of_the_change() -> None:
    session = waiting("Done.")
    session.change_arguments(amount=2)
    first, second = session.items(Approval)
    assert (first.decision, second.decision, second.arguments) == ("changed", "", '{"amount":2}')
    assert session.effects == []
    session.approve()
    session.run_all()
    assert "changed the arguments" in result_of(session)
    assert "Paid back 2." in result_of(session)


def test_wrong_arguments_are_refused_field_by_field_and_the_question_stays() -> None:
    session = waiting()
    with pytest.raises(EventRejected) as rejected:
        session.change_arguments(amount="much")
    assert (rejected.value.code, rejected.value.errors[0][0]) == ("invalid", ("amount",))
    assert session.item(Approval).decision == ""


@pytest.mark.parametrize("late", [Decline(), ChangeArguments(arguments={"amount": 1})])
def test_a_decision_is_made_once(late: Decline | ChangeArguments) -> None:
    session = waiting()
    record, approval = session._asked_approval()
    session.approve()
    for event in (late, Approve(digest=approval.digest)):
        with pytest.raises(EventRejected) as rejected:
            session.dispatch(event, record.id)
        assert rejected.value.code == "conflict"
    assert len(session.effects) == 1


@pytest.mark.fault("B71")
def test_each_parallel_call_is_decided_by_itself() -> None:
    session = waiting("Done.", amounts=(5, 7))
    session.approve()
    session.decline()
    session.run_all()
    assert [card.text for card in session.items(Card)] == ["Paid back 5."]
    assert session.answer == "Done."


def test_a_message_in_between_waits_for_the_decision() -> None:
    session = waiting("Done.")
    session.say("Well?")
    assert session.effects == []
    session.decline()
    session.run_all()
    assert session.answer == "Done."


def test_stop_and_skip_end_the_question() -> None:
    session = waiting()
    session.stop()
    assert session.memory.items[session.item(ToolCall).id].closed == "cancelled"
    session = waiting("All right.")
    session.dispatch(Skip(), session._asked_approval()[0].id)
    session.run_all()
    assert session.answer == "All right."


def test_half_a_character_among_the_arguments_is_replaced_before_anybody_is_asked() -> None:
    call = ToolCallPart(id="", name="buy", arguments='{"price": 500, "note": "\\ud800x"}')
    session = AgentHarness(Shop, model=[ModelResponse(parts=(call,)), "Done."])
    session.say("Buy it.")
    session.run_all()
    assert session.item(Approval).arguments == '{"note":"\ufffdx","price":500}'
    session.approve()
    session.run_all()
    assert session.answer == "Done."


def test_no_agent_code_approves_by_itself() -> None:
    with pytest.raises(Exception, match="Only a person"):
        Approval.of("refund", "{}").handle_event(Decline())


class Buy(Tool, name="buy"):
    """Buy something."""

    price: int
    note: str = ""

    def needs_approval(self) -> bool:
        if self.price < 0:
            raise ValueError("What is a negative price?")
        return self.price > 100

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult(context_items=[])


class Shop(Agent, name="shop-of-approvals"):
    tools = (Buy,)


@pytest.mark.parametrize(("price", "asked"), [(1, False), (101, True), (-1, True)])
def test_a_tool_can_decide_by_its_arguments_and_asks_where_it_cannot(price: int, asked: bool) -> None:
    session = AgentHarness(Shop, model=[tool_calls(Buy(price=price)), "Done."])
    session.say("Buy it.")
    session.run_all()
    assert bool(session.items(Approval)) == asked
    assert session.items(ToolCall)
