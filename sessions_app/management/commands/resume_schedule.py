"""`resume_schedule`: go on with a paused schedule."""

from __future__ import annotations

from typing import Any

from sessions_app import schedules
from sessions_app.management.base import Answer
from sessions_app.management.schedule_control import ScheduleControl


class Command(ScheduleControl):
    help = "Resume a schedule; what passed during the pause is not made up."

    def work(self, options: dict[str, Any]) -> Answer:
        return self.answer(schedules.resume(options["schedule"]))
