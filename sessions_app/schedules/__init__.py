"""Scheduled events: what time sends, exactly once for each slot, however many dispatchers run.

A slot is sent like any other event, by a sender of its own and under a key made of its time: the constraint that makes
a person's double click harmless is the one that makes a second dispatcher harmless. Sending comes first and moving on
to the next slot second, so that what a dispatcher that dies in between has left is sent again, to no effect, and never
missed. The claim on a schedule only spares others the work.

A slot is on time for a minute, and then it is sent, whatever else is. One that no dispatcher saw by then was missed:
"run-once" sends one event for it and all that followed until now, "skip" sends none of the missed ones.

Every worker's sweeper dispatches what is due, so no process is needed beside the workers. All times are the database's.
"""

from sessions_app.schedules.booking import Target, schedule
from sessions_app.schedules.controls import cancel, change, pause, resume
from sessions_app.schedules.dispatching import Run, dispatch_due
from sessions_app.schedules.rows import is_late, when_of
from sessions_app.schedules.slots import When, in_words, local_time, next_slot, upcoming

__all__ = [
    "Run", "Target", "When", "cancel", "change", "dispatch_due", "in_words", "is_late", "local_time", "next_slot",
    "pause", "resume", "schedule", "upcoming", "when_of",
]  # fmt: skip
