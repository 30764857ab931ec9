"""`dispatch_scheduled_events`: dispatch what is due. Workers do this by themselves; this is for sites without one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError, close_old_connections
from django.db.models.functions import Now

from sessions_app import schedules
from sessions_app.management.base import AgentsiteCommand, Answer, as_json_text, cut, printable
from sessions_app.management.schedule_view import sending
from sessions_app.models import StoredSchedule
from sessions_app.sentences import sentence_of

PAUSE = 2.0
STOPS = (signal.SIGINT, signal.SIGTERM)


class Command(AgentsiteCommand):
    help = "Dispatch the scheduled events that are due, once or again and again. Workers do it by themselves too."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--loop", type=float, nargs="?", const=PAUSE, metavar="SECONDS",
            help=f"go on until Ctrl-C, with a pause between two looks (default {PAUSE:g})",
        )  # fmt: skip
        parser.add_argument("--dry-run", action="store_true", help="only print what is due")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["dry_run"] or options["loop"] is None:
            super().handle(*args, **options)
            return
        if not 0 < options["loop"] < threading.TIMEOUT_MAX:
            raise CommandError("Give the pause in seconds, more than 0.", returncode=2)
        if not options["json"]:
            self.stdout.write("Dispatching what is due. Ctrl-C stops.")
        with stop_on_signals() as stop:
            while not stop.is_set():
                self._look(stop, as_json=options["json"])
                stop.wait(options["loop"])

    def work(self, options: dict[str, Any]) -> Answer:
        if options["dry_run"]:
            due = StoredSchedule.objects.filter(due_at__lte=Now()).order_by("due_at").select_related("owner", "session")
            return Answer(
                [{"schedule": row.pk, "name": row.name, "slot": row.next_at} for row in due],
                [f"{row.pk}  {sending(row)}" for row in due] or ["Nothing is due."],
            )
        runs: list[schedules.Run] = []
        while found := schedules.dispatch_due():
            runs += found
        return Answer([run_data(run) for run in runs], [run_line(run) for run in runs] or ["Nothing was due."])

    def _look(self, stop: threading.Event, *, as_json: bool) -> None:
        close_old_connections()
        try:
            for run in schedules.dispatch_due(stopped=stop.is_set):
                self.stdout.write(as_json_text(run_data(run)) if as_json else printable(run_line(run)))
            self.stdout.flush()
        except DatabaseError as error:
            self.stderr.write(f"The database did not answer and is asked again. {sentence_of(error)}")


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """Finish what is being done and stop when asked to; asked a second time, stop at once."""
    stop = threading.Event()
    before = {number: signal.getsignal(number) for number in STOPS}

    def ask(number: int, frame: object) -> None:
        stop.set()
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in STOPS:
        signal.signal(number, ask)
    try:
        yield stop
    finally:
        restore()


def run_data(run: schedules.Run) -> dict[str, Any]:
    """Return what came of a slot as data."""
    return {
        "schedule": run.schedule.pk,
        "name": run.schedule.name,
        "slot": run.schedule.next_at,
        "outcome": run.outcome,
        "reason": run.reason,
        "session": run.session.key.hex if run.session else None,
        "seq": run.seq,
    }


def run_line(run: schedules.Run) -> str:
    """Return the same in a line."""
    event = f", event {run.seq} of session {run.session.key.hex[:8]}" if run.session and run.seq else ""
    slot = schedules.local_time(run.schedule.next_at, run.schedule.zone) if run.schedule.next_at else ""
    return f"{run.schedule.pk}  {run.schedule}, {slot}: {run.outcome}{event} {cut(run.reason, 200)}".rstrip()
