"""`replay_session`: does today's code still do what was done? Runs no effects and writes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser

from sessions_app import history
from sessions_app.management.arguments import find_session
from sessions_app.management.base import AgentsiteCommand, Answer
from sessions_app.models import StoredSession
from sessions_app.sentences import sentence_of


class Command(AgentsiteCommand):
    help = "Handle the history of sessions with today's code, and print the first difference of each."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("sessions", nargs="*", metavar="session", help="keys, or their first 6 or more digits")
        parser.add_argument("--all", action="store_true", help="all sessions: the check before a deploy")

    def work(self, options: dict[str, Any]) -> Answer:
        if bool(options["sessions"]) == options["all"]:
            raise CommandError("Name sessions, or say --all.", returncode=2)
        every = StoredSession.objects.order_by("pk").iterator(chunk_size=100)
        sessions: Iterable[StoredSession] = every if options["all"] else map(find_session, options["sessions"])
        found = [_replayed(session) for session in sessions]
        differing = [one for one in found if not one["same"]]
        events = sum(one["seq"] for one in found)
        lines = [f"{one['session']}  {_words(one)}" for one in (differing if options["all"] else found)]
        lines.append(f"Sessions: {len(found)}. Events: {events}. Not the same: {len(differing)}.")
        problem = f"{differing[0]['session']}: {_words(differing[0])}" if differing else ""
        return Answer(found, lines, problem)


def _replayed(session: StoredSession) -> dict[str, Any]:
    one: dict[str, Any] = {"session": session.key.hex, "seq": session.seq, "same": False}
    try:
        difference = history.replay(session)
    except Exception as error:  # one session that cannot be read must not hide what the others say
        return one | {"difference": None, "problem": sentence_of(error)}
    facts = {**asdict(difference), "words": str(difference)} if difference else None
    return one | {"same": difference is None, "difference": facts, "problem": ""}


def _words(one: dict[str, Any]) -> str:
    if one["same"]:
        return f"the same, {one['seq']} events"
    return str(one["problem"] or one["difference"]["words"])
