"""`show_session`: how a session is, and what is in it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from sessions_app.management.arguments import find_session
from sessions_app.management.base import AgentsiteCommand, Answer
from sessions_app.management.session_view import lines_of, view_of


class Command(AgentsiteCommand):
    help = "Show a session: status, agent state, items in order, open effects, last events."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("session", help="the session's key, or its first 6 or more digits")
        parser.add_argument("--last", type=int, default=20, metavar="N", help="items and events to show (default 20)")

    def work(self, options: dict[str, Any]) -> Answer:
        view = view_of(find_session(options["session"]), max(1, options["last"]))
        return Answer(view, list(lines_of(view)))
