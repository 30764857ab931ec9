"""Looks at a site's rows, and sends events as an operator's command would, for a test in another process.

`python -m tests.process.driver` answers each line of JSON on its input, `[name, {arguments}]`, with a line of JSON:
`{"value": …}`, or `{"rejected": code, "message": …}` where the engine refuses. It runs no worker: effects it starts
are left to the processes under test.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import django
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command

Function = Callable[..., Any]
functions: dict[str, Function] = {}


def function(called: Function) -> Function:
    functions[called.__name__] = called
    return called


@function
def migrate() -> None:
    call_command("migrate", interactive=False, verbosity=0)


@function
def add_user(name: str, password: str) -> int:
    user, _ = get_user_model().objects.get_or_create(username=name)
    user.set_password(password)
    user.save()
    return user.pk


@function
def create(user: str, agent: str, args: dict[str, Any]) -> str:
    from sessions_app import engine

    owner = get_user_model().objects.get(username=user)
    return engine.create_session(agent, args, user=owner).key.hex


@function
def dispatch(
    session: str, type: str, payload: dict[str, Any], user: str, item: str = "", key: str | None = None
) -> dict[str, Any]:
    from sessions_app import engine
    from sessions_app.core.events import Sender

    person = get_user_model().objects.get(username=user)
    sender = Sender("person", str(person.pk), person.username)
    receipt = engine.dispatch_event(row_of(session), type, payload, sender=sender, item_id=item, client_key=key)
    return {"seq": receipt.seq, "status": receipt.status, "repeated": receipt.repeated}


@function
def look(session: str) -> dict[str, Any]:
    row = row_of(session)
    return {
        "seq": row.seq,
        "blocked": row.blocked_reason,
        "stopped": row.stopped,
        "items": [item_facts(item) for item in row.items.order_by("position", "parent", "index", "pk")],
        "effects": [effect_facts(effect) for effect in row.effects.order_by("pk")],
        "events": [event_facts(event) for event in row.events.order_by("seq")],
    }


@function
def sessions() -> list[str]:
    from sessions_app.models import StoredSession

    return [key.hex for key in StoredSession.objects.order_by("pk").values_list("key", flat=True)]


@function
def difference(session: str) -> str | None:
    """What replaying a session's history gives other than its rows; None where they are equal."""
    from sessions_app import history

    found = history.replay(row_of(session))
    return None if found is None else str(found)


@function
def effective_settings() -> dict[str, Any]:
    from channels.layers import get_channel_layer

    from agentsite.celery import app
    from sessions_app.conf import configuration

    with app.connection() as broker:
        transport = broker.transport_cls
    return {
        "broker": transport,
        "eager": bool(app.conf.task_always_eager),
        "layer": type(get_channel_layer()).__name__,
        "database": settings.DATABASES["default"]["ENGINE"],
        "embedded": configuration().EMBEDDED_WORKER,
        "debug": settings.DEBUG,
        "lease": configuration().LEASE,
        "sweep": configuration().SWEEP_INTERVAL,
    }


def row_of(session: str) -> Any:
    from sessions_app.models import StoredSession

    return StoredSession.objects.get(key=session)


def item_facts(item: Any) -> dict[str, Any]:
    return {
        "id": item.item_id,
        "type": item.type,
        "parent": item.parent,
        "visible": item.position is not None,
        "status": item.render_status,
        "label": item.render_label,
        "closed": item.closed,
        "reason": item.closed_reason,
        "data": json.loads(item.data),
    }


def effect_facts(effect: Any) -> dict[str, Any]:
    return {
        "id": effect.effect_id,
        "type": effect.type,
        "owner": effect.owner_item,
        "status": effect.status,
        "outcome": effect.outcome,
        "message": effect.message,
        "attempt": effect.attempt,
        "losses": effect.losses,
        "worker": effect.worker,
        "key": effect.idempotency_key,
    }


def event_facts(event: Any) -> dict[str, Any]:
    operations = json.loads(event.delta)
    return {
        "seq": event.seq,
        "type": event.type,
        "status": event.status,
        "item": event.item_id,
        "reason": event.reason,
        "payload": json.loads(event.payload),
        "started": [operation["id"] for operation in operations if operation["op"] == "effect-started"],
        "ended": [operation["id"] for operation in operations if operation["op"] == "effect-ended"],
    }


def answer(line: str) -> dict[str, Any]:
    from sessions_app.core.errors import EventRejected

    name, arguments = json.loads(line)
    try:
        return {"value": functions[name](**arguments)}
    except EventRejected as rejection:
        return {"rejected": rejection.code, "message": rejection.message}


def main() -> None:
    # What anything else prints must not end up between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    sys.stdout = sys.stderr
    django.setup()
    for line in sys.stdin:
        print(json.dumps(answer(line)), file=answers, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
