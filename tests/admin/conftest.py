"""Rows for the admin to show: many, and written by somebody who means harm."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from sessions_app.models import StoredBlob, StoredEffect, StoredEvent, StoredItem, StoredSession, StoredState

HOSTILE = """<script>alert(1)</script>"><img src=x onerror=alert(2)>'"&amp;{{ 7*7 }}{% now %}</pre></details>"""
TIME = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MODELS = ("session", "event", "item", "effect", "state", "blob")


@dataclass
class Stored:
    """One row of each kind, the first of many."""

    session: StoredSession
    event: StoredEvent
    item: StoredItem
    effect: StoredEffect
    state: StoredState
    blob: StoredBlob


def build(count: int) -> Stored:
    """Store so many sessions, each with an event, an item and an effect that hold what a browser must not run."""
    owner = get_user_model().objects.get_or_create(username="<b>owner</b>")[0]
    sessions = StoredSession.objects.bulk_create(
        StoredSession(
            owner=owner, agent="flights", version=HOSTILE[:40], title=HOSTILE, created_at=TIME, updated_at=TIME, seq=3,
            blocked_code="error", blocked_reason=HOSTILE,
        )
        for _ in range(count)
    )  # fmt: skip
    data = json.dumps({HOSTILE: [HOSTILE, {"deep": [[[HOSTILE]]]}, None, True, 1.5, "a\nb"], "long": HOSTILE * 50})
    StoredState.objects.bulk_create(StoredState(session=session, data=data) for session in sessions)
    digest = StoredBlob.objects.get_or_create(digest="d" * 64, defaults={"text": json.dumps([HOSTILE])})[0].digest
    events = StoredEvent.objects.bulk_create(
        StoredEvent(
            session=session, seq=3, type=HOSTILE[:90], item_id="1_0", sender_kind="person", sender_name=HOSTILE,
            payload=json.dumps({"system_digest": digest, "tools_digest": 7, "x": HOSTILE}), delta=f"[{data}]",
            time=TIME, status="failed", reason=f"Traceback\n{HOSTILE}", cause=2, effect_id="2_0", retry_of=1,
            client_key=HOSTILE[:80],
        )
        for session in sessions
    )  # fmt: skip
    items = StoredItem.objects.bulk_create(
        StoredItem(
            session=session, item_id="1_0", type=HOSTILE[:90], parent="0_0_0", data=data, render_status="pending",
            render_label=HOSTILE, render_messages=json.dumps([HOSTILE]), closed_reason=HOSTILE,
            created_seq=1, updated_seq=3, created_at=TIME,
        )
        for session in sessions
    )  # fmt: skip
    effects = StoredEffect.objects.bulk_create(
        StoredEffect(
            session=session, effect_id="2_0", type=HOSTILE[:90], payload=data, owner_item="1_0", status="running",
            policy=json.dumps({"timeout": 60.0, "retries": 1, "source": HOSTILE}), message=HOSTILE, traceback=HOSTILE,
            attempt=2, losses=1, created_at=TIME, due_at=TIME, deadline=TIME + timedelta(60), worker=HOSTILE[:120],
            result=HOSTILE, request=data, started_at=TIME, ended_at=TIME + timedelta(seconds=2),
        )
        for session in sessions
    )  # fmt: skip
    state = StoredState.objects.get(session=sessions[0])
    return Stored(sessions[0], events[0], items[0], effects[0], state, StoredBlob.objects.get())


@pytest.fixture
def stored(db: None) -> Stored:
    return build(1)


@pytest.fixture
def operator(client: Client, db: None) -> Client:
    """A browser in which somebody who may do everything is signed in."""
    client.force_login(get_user_model().objects.create_superuser("operator"))
    return client


@pytest.fixture
def people(db: None) -> Any:
    """Returns a browser for a person of a kind."""

    def signed_in(kind: str) -> Client:
        client = Client()
        if kind != "nobody":
            client.force_login(get_user_model().objects.create_user(kind, is_staff=kind == "staff"))
        return client

    return signed_in
