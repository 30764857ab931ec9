"""What the commands that control one schedule have in common."""

from __future__ import annotations

from django.core.management.base import CommandParser

from sessions_app import store
from sessions_app.management.base import AgentsiteCommand, Answer
from sessions_app.management.schedule_view import data_of, lines_of
from sessions_app.models import StoredSchedule


class ScheduleControl(AgentsiteCommand):
    """A command for one schedule."""

    writes = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("schedule", type=int, help="the schedule's number, as list_schedules shows it")

    def answer(self, row: StoredSchedule) -> Answer:
        """Return the schedule as it is now."""
        now = store.database_now(row.owner_id)
        return Answer(data_of(row, now), list(lines_of(row, now)))
