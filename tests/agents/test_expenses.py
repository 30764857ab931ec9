"""Expenses: a payment waits for a person, and is made exactly as it was approved."""

from decimal import Decimal

import pytest

from sessions_app.core.platform import Approval
from sessions_app.providers import demo
from sessions_app.testing import AgentHarness, tool_calls
from tools_app.agents import ExpensesAgent
from tools_app.services.payments import pay
from tools_app.tools.pay_back import PayBack

TAXI = PayBack(amount=Decimal("42.50"), payee="Zoë", purpose="a taxi")


def test_a_payment_is_made_after_its_approval() -> None:
    session = AgentHarness(ExpensesAgent, model=[tool_calls(TAXI), "Paid."])
    session.say("Pay Zoë back.")
    session.run_all()
    assert session.answer != "Paid."
    session.approve()
    session.run_all()
    assert session.answer == "Paid."
    assert "Paid 42.50 EUR to Zoë for a taxi. Receipt " in session.messages()[-3].parts[0].text  # type: ignore[union-attr]  # a result part has a text


async def test_a_repeated_order_gets_the_receipt_of_the_first() -> None:
    first = await pay("key", Decimal(1), "Ann")
    assert await pay("key", Decimal(1), "Ann") == first
    assert (await pay("another", Decimal(1), "Ann")).number != first.number


@pytest.mark.parametrize(
    ("decide", "answer"),
    [
        (lambda session: session.approve(), "Paid 42.50 EUR to Zoë for a taxi."),
        (lambda session: session.decline("Walk"), "Nothing was paid. A person declined this call: Walk"),
    ],
)
def test_the_demo_model_plays_it(decide, answer: str) -> None:  # type: ignore[no-untyped-def]  # two lambdas
    session = AgentHarness(ExpensesAgent, model=demo())
    session.say(ExpensesAgent.examples[0])
    session.run_all()
    assert session.item(Approval).tool == "pay_back"
    decide(session)
    session.run_all()
    assert session.answer.startswith(answer)


def test_changed_arguments_are_what_is_paid() -> None:
    session = AgentHarness(ExpensesAgent, model=demo())
    session.say(ExpensesAgent.examples[0])
    session.run_all()
    session.change_arguments(amount="40", payee="Zoë", purpose="a taxi")
    session.approve()
    session.run_all()
    assert session.answer.startswith("Paid 40 EUR to Zoë for a taxi.")
