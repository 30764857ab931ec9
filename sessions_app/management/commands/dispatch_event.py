"""`dispatch_event`: send any public event to a session, or to one of its items."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from sessions_app import engine
from sessions_app.management.arguments import find_session, json_object
from sessions_app.management.base import COMMAND_LINE, AgentsiteCommand, Answer, cut
from sessions_app.models import StoredEvent, StoredSession


class Command(AgentsiteCommand):
    help = "Send a public event to a session, or to one of its items, and print how it went."
    writes = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("session", help="the session's key, or its first 6 or more digits")
        parser.add_argument("type", help="the event's type, such as @platform/user-message")
        parser.add_argument("--payload", type=json_object, default={}, metavar="JSON", help="what the event says")
        parser.add_argument("--item", default="", metavar="ID", help="the item it goes to, if it goes to one")
        parser.add_argument("--key", help="only the first event with this key counts")

    def work(self, options: dict[str, Any]) -> Answer:
        session = find_session(options["session"])
        receipt = engine.dispatch_event(
            session,
            options["type"],
            options["payload"],
            sender=COMMAND_LINE,
            item_id=options["item"],
            client_key=options["key"],
        )
        reason = "" if receipt.status == "applied" else _reason(session, receipt.seq)
        before = ", sent before" if receipt.repeated else ""
        line = f"Event {receipt.seq} {receipt.status}{before}."
        data = {
            "session": session.key.hex,
            "seq": receipt.seq,
            "status": receipt.status,
            "repeated": receipt.repeated,
            "reason": reason,
        }
        return Answer(data, [line], f"Handling it {receipt.status}. {reason}" if reason else "")


def _reason(session: StoredSession, seq: int) -> str:
    """Return why an event was not applied, without the way there."""
    reason = StoredEvent.objects.values_list("reason", flat=True).get(session=session, seq=seq)
    return cut(reason.strip().splitlines()[-1] if reason.strip() else "No reason was given.", 300)
