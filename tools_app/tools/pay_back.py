"""A tool that moves money, so a person looks at the exact arguments before it runs."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import Field

from sessions_app.sdk import Tool, ToolContext, ToolResult, UserMessage
from tools_app.services.payments import pay


class PayBack(Tool, name="pay_back", requires_approval=True):
    """Pay travel expenses back to a person. Somebody approves each payment before it is made."""

    amount: Annotated[Decimal, Field(gt=0, le=5000, decimal_places=2, title="Amount in euros")]
    payee: Annotated[str, Field(min_length=1, max_length=80, title="Paid to")]
    purpose: Annotated[str, Field(min_length=1, max_length=200, title="For")]

    async def execute(self, context: ToolContext) -> ToolResult:
        receipt = await pay(context.idempotency_key, self.amount, self.payee)
        text = f"Paid {receipt.amount} EUR to {receipt.payee} for {self.purpose}. Receipt {receipt.number}."
        return ToolResult(context_items=[UserMessage(text=text)])
