"""`cancel_schedule`: end a schedule for good."""

from __future__ import annotations

from typing import Any

from sessions_app import schedules
from sessions_app.management.base import Answer
from sessions_app.management.schedule_control import ScheduleControl


class Command(ScheduleControl):
    help = "Cancel a schedule for good. Its last run stays on record."

    def work(self, options: dict[str, Any]) -> Answer:
        return self.answer(schedules.cancel(options["schedule"]))
