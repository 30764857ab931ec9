"""What the test of several processes runs in a process of its own: makes schedules, lets them be due, edits another.

Prints, as JSON, how many events were sent for each schedule and slot, and the slot that was due.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402

from sessions_app import engine, history, schedules  # noqa: E402
from sessions_app.models import StoredEvent, StoredSchedule  # noqa: E402

PATIENCE = 60


def main(one_offs: int) -> None:
    user = get_user_model().objects.create_user("ann")
    diary = engine.create_session("s-diary", {"about": "tea"}, user=user)
    target = schedules.Target.of(diary)
    tomorrow = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
    rows = [schedules.schedule(target, schedules.When(at=tomorrow), "s-noted") for _ in range(one_offs)]
    other = schedules.schedule(target, schedules.When(every=3600), "s-noted")
    due = tomorrow - timedelta(days=1)
    StoredSchedule.objects.filter(pk__in=[row.pk for row in rows]).update(next_at=due, due_at=due)
    sent = StoredEvent.objects.filter(sender_kind="schedule")
    deadline = time.monotonic() + PATIENCE
    while sent.count() < one_offs and time.monotonic() < deadline:
        schedules.pause(other.pk)
        schedules.change(other.pk, name=f"edited at {time.monotonic()}")
        schedules.resume(other.pk)
    time.sleep(1)  # a second event of a slot would come now
    assert history.replay(diary) is None
    counts = Counter(sent.values_list("sender_id", "client_key"))
    print(json.dumps({"due": due.isoformat(), "sent": [[*pair, count] for pair, count in counts.items()]}))


main(int(sys.argv[1]))
