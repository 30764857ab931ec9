"""`pause_schedule`: send nothing by a schedule until it is resumed."""

from __future__ import annotations

from typing import Any

from sessions_app import schedules
from sessions_app.management.base import Answer
from sessions_app.management.schedule_control import ScheduleControl


class Command(ScheduleControl):
    help = "Pause a schedule: nothing is sent until it is resumed."

    def work(self, options: dict[str, Any]) -> Answer:
        return self.answer(schedules.pause(options["schedule"]))
