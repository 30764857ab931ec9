"""Expenses: nothing is paid before a person has seen the exact payment and approved it."""

from __future__ import annotations

from sessions_app.providers import default_model
from sessions_app.sdk import Agent
from tools_app.tools.pay_back import PayBack


class ExpensesAgent(Agent, name="expenses"):
    """Pays travel expenses back, each after a person's approval."""

    title = "Expenses"
    description = "Pays travel expenses back. You approve, change or decline each payment. No real money moves."
    examples = ("Pay back 42.50 EUR to Zoë for a taxi", "Pay back 120 EUR to Ann for a hotel")
    system_prompt = (
        "You pay travel expenses back with pay_back, one call for each payment. Ask for what is missing: amount, "
        "payee, purpose. Every payment is shown to a person, who may approve, change or decline it; say in one "
        "sentence what came of it, with the receipt's number if it was made. This is a demonstration: no money moves."
    )
    model = default_model()
    tools = (PayBack,)
