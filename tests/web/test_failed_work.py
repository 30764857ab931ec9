"""Work of the session's own that failed is on the page, and can be run again or put away."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from sessions_app import engine
from sessions_app.core.events import Sender
from sessions_app.core.platform import EffectFailed
from sessions_app.models import StoredEffect, StoredItem
from sessions_app.sdk import Agent, EffectContext, EventResult, SessionEffect, SessionEvent, SessionState
from tests.engine.conftest import Pump
from tests.web.test_posting import HTMX, Desk


class Order(SessionEvent, type="w-order"):
    """Order something."""


class SendOrder(SessionEffect, type="w-send-order"):
    what: str

    async def run(self, context: EffectContext) -> None:
        raise RuntimeError("The shop did not answer <b>.")


class OrderingAgent(Agent[Any, Order], name="w-ordering"):
    """Orders things, in vain."""

    def handle_event(self, state: SessionState[Any], event: Order) -> EventResult:
        return EventResult(effects=[SendOrder(what="darjeeling")])


@pytest.fixture
def failed(page: Client, user: Any, ann: Sender, pump: Pump) -> Desk:
    session = engine.create_session(OrderingAgent.name, {}, user=user)
    engine.dispatch_event(session, Order.type_name(), {}, sender=ann)
    pump()
    return Desk(page, session)


def failures(desk: Desk) -> Any:
    return StoredItem.objects.filter(session=desk.session, type=EffectFailed.type_name())


def test_the_page_says_what_failed_and_why(failed: Desk) -> None:
    html = failed.show()
    for text in ("W send order", "The shop did not answer &lt;b&gt;.", "Try again", "Skip"):
        assert text in html, text
    assert "darjeeling" not in html


@pytest.mark.parametrize("htmx", [True, False])
def test_it_is_run_again_once_however_often_it_is_pressed(failed: Desk, pump: Pump, htmx: bool) -> None:
    item = failures(failed).get()
    data = {"_type": "@platform/try-again", "_item": item.item_id, "_key": item.item_id}
    for _ in range(2):
        assert failed.send(data, **(HTMX if htmx else {})).status_code in (200, 303)
    pump()
    assert StoredEffect.objects.filter(session=failed.session, type=SendOrder.type_name()).count() == 2
    assert failures(failed).get().item_id != item.item_id


def test_it_is_put_away(failed: Desk) -> None:
    item = failures(failed).get()
    failed.send({"_type": "@platform/skip", "_item": item.item_id, "_key": f"skip-{item.item_id}"}, **HTMX)
    assert not failures(failed).exists()
    assert "W send order" not in failed.show()
