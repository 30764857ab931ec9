"""The expenses example: one payment that a person must approve, and what came of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .conversation import Call, Conversation, Outcome, Reply

PAY = "pay_back"
EXAMPLE = "“Pay back 42.50 EUR to Zoë for a taxi”"
_ORDER = re.compile(
    r"(?P<amount>\d+(?:[.,]\d{1,2})?)\s*(?:€|eur|euros?)?\s+to\s+(?P<payee>.+?)\s+for\s+(?P<purpose>.+?)[.!]?\s*$",
    re.IGNORECASE,
)


def pay(conversation: Conversation) -> Reply | None:
    """“Pay back 42.50 EUR to Zoë for a taxi”: the payment, which waits for approval."""
    if PAY not in conversation.offered:
        return None
    found = _ORDER.search(conversation.said)
    if found is None:
        return Reply(f"I pay travel expenses back. Write amount, payee and purpose, for example {EXAMPLE}.")
    order = {**found.groupdict(), "amount": found["amount"].replace(",", ".")}
    return Reply("I have prepared the payment. Please look at it.", (Call(PAY, order),))


def report(conversation: Conversation, payments: Sequence[Outcome]) -> Reply:
    """What came of the payments."""
    return Reply("\n\n".join(_said(payment) for payment in payments))


def _said(payment: Outcome) -> str:
    if payment.is_error:
        return f"Nothing was paid. {payment.text}"
    return f"{payment.text.split(chr(10))[-1]}\n\nNo real money has moved: this is a demonstration."
