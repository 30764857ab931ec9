"""`schedule_event`: send an event at a time, every so often, or by a cron line."""

from __future__ import annotations

from argparse import RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import CommandError, CommandParser, DjangoHelpFormatter

from sessions_app import schedules, store
from sessions_app.management.arguments import find_session, find_user, json_object, moment, span
from sessions_app.management.base import AgentsiteCommand, Answer
from sessions_app.management.schedule_view import data_of, lines_of
from sessions_app.models import StoredSchedule

EXAMPLES = """
An event to a session, once:
  schedule_event @platform/user-message --payload '{"text": "Any news?"}' --session 8f3a12cd --at 2026-03-29T09:00+02:00
A new session on every working day, with its first message:
  schedule_event @platform/user-message --payload '{"text": "Today?"}' --agent digest --user ann \\
    --cron '0 9 * * MON-FRI' --zone Europe/Berlin
Where clocks change, a time of day still comes once a day, and a line with * for the hour at every real hour.
"""


class AsWritten(DjangoHelpFormatter, RawDescriptionHelpFormatter):
    """Leaves the examples as they are."""


class Command(AgentsiteCommand):
    help = "Send an event at a time, every so often, or by a cron line; to a session, or to a new one each time."
    writes = True

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        return super().create_parser(prog_name, subcommand, epilog=EXAMPLES, formatter_class=AsWritten, **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("type", nargs="?", default="", help="the event's type; a new session needs none")
        parser.add_argument("--payload", type=json_object, default={}, metavar="JSON", help="what the event says")
        parser.add_argument("--session", help="the session's key, or its first 6 or more digits")
        parser.add_argument("--agent", help="a new session of this agent each time, owned by --user")
        parser.add_argument("--user", help="the name the owner of the new sessions signs in with")
        parser.add_argument(
            "--args", dest="start", type=json_object, default={}, metavar="JSON", help="what the agent asks to start"
        )
        parser.add_argument("--at", type=moment, metavar="TIME", help="once at this time, or the start of the rest")
        parser.add_argument("--every", type=span, default=0, metavar="SPAN", help="an interval, such as 90m or 1d")
        parser.add_argument("--cron", default="", metavar="LINE", help="minute, hour, day, month and day of week")
        parser.add_argument("--zone", default="", help="the time zone of --cron and of times without an offset")
        parser.add_argument("--until", type=moment, metavar="TIME", help="nothing is sent after this time")
        parser.add_argument(
            "--missed",
            choices=StoredSchedule.Missed.values,
            default=StoredSchedule.Missed.RUN_ONCE,
            help="slots that nobody was there to send: one event for all of them (default), or none",
        )
        parser.add_argument("--name", default="", help="what people see as the sender")

    def work(self, options: dict[str, Any]) -> Answer:
        when = schedules.When(*(options[name] for name in ("at", "every", "cron", "zone", "until")))
        row = schedules.schedule(
            _target(options), when, options["type"], options["payload"], name=options["name"], missed=options["missed"]
        )
        now = store.database_now(row.owner_id)
        slots = schedules.upcoming(schedules.when_of(row), now, 5)
        lines = [
            *lines_of(row, now),
            "    then " + ", ".join(schedules.local_time(slot, row.zone) for slot in slots[1:]),
        ]
        return Answer(data_of(row, now), lines if len(slots) > 1 else lines[:-1])


def _target(options: dict[str, Any]) -> schedules.Target:
    if bool(options["session"]) == bool(options["agent"]):
        raise CommandError("Name a session, or an agent for a new session each time.", returncode=2)
    if options["session"]:
        if options["user"] or options["start"]:
            raise CommandError("--user and --args belong to --agent: a session has its owner.", returncode=2)
        return schedules.Target.of(find_session(options["session"]))
    if not options["user"]:
        raise CommandError("Name the owner of the new sessions with --user.", returncode=2)
    return schedules.Target(find_user(options["user"]), agent=options["agent"], args=options["start"])
