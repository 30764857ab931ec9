"""`list_schedules`: what time will send, and how the last time went."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.db.models.functions import Now

from sessions_app.management.base import AgentsiteCommand, Answer
from sessions_app.management.schedule_view import data_of, lines_of
from sessions_app.models import StoredSchedule


class Command(AgentsiteCommand):
    help = "List schedules with their next and last runs."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--all", action="store_true", help="also those that have ended or were cancelled")

    def work(self, options: dict[str, Any]) -> Answer:
        alive = (StoredSchedule.Status.ACTIVE, StoredSchedule.Status.PAUSED)
        rows = StoredSchedule.objects.all() if options["all"] else StoredSchedule.objects.filter(status__in=alive)
        rows = rows.select_related("owner", "session", "last_session").order_by("pk")
        found = list(rows.annotate(now=Now()))
        lines = [line for row in found for line in lines_of(row, row.now)] or ["There are no schedules."]
        return Answer([data_of(row, row.now) for row in found], lines)
