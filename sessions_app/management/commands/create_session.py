"""`create_session`: create a session for a user, as the start form does."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from sessions_app import engine
from sessions_app.management.arguments import find_user, json_object
from sessions_app.management.base import AgentsiteCommand, Answer


class Command(AgentsiteCommand):
    help = "Create a session of an agent for a user, and print its key."
    writes = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("agent", help="the agent's name")
        parser.add_argument("--user", required=True, help="the name the session's owner signs in with")
        parser.add_argument(
            "--args", dest="start", type=json_object, default={}, metavar="JSON", help="what the agent asks to start"
        )
        parser.add_argument("--key", help="a repeat with the same key gives the same session")

    def work(self, options: dict[str, Any]) -> Answer:
        user = find_user(options["user"])
        session = engine.create_session(options["agent"], options["start"], user=user, key=options["key"])
        data = {
            "session": session.key.hex,
            "agent": session.agent,
            "version": session.version,
            "owner": user.get_username(),
            "seq": session.seq,
        }
        return Answer(data, [session.key.hex])
