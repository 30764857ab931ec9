"""Effect facts: who runs an effect, until when, and what came of it. Written under the attempt as a fence.

These are no session facts, so they need no session lock; each is one UPDATE that changes nothing when the attempt
it speaks for is no longer the current one. All times are the database's.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, F, Q, QuerySet, When
from django.db.models.functions import Coalesce, Now

from sessions_app.conf import configuration
from sessions_app.core.canonical import canonical
from sessions_app.locks import writing
from sessions_app.models import StoredEffect, StoredStream

Status = StoredEffect.Status
AT_WORK = (Status.CLAIMED, Status.RUNNING)
WORKER = f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
TRACEBACK_LENGTH = 20_000


@dataclass(frozen=True)
class Claim:
    """An effect this process may run: the row, its attempt, and the seconds left until its deadline."""

    effect: StoredEffect
    attempt: int
    remaining: float
    claimed_at: float = field(default_factory=time.monotonic)

    @property
    def time_left(self) -> float:
        """Seconds until the deadline, counted here since the claim."""
        return self.claimed_at + self.remaining - time.monotonic()

    @property
    def started(self) -> bool:
        """Whether the effect's own code counts as begun."""
        return self.effect.status == Status.RUNNING

    @property
    def rows(self) -> QuerySet[StoredEffect]:
        """The effect's row, as long as this attempt is the current one and has not ended."""
        return StoredEffect.objects.filter(pk=self.effect.pk, attempt=self.attempt, status__in=AT_WORK)


def _lease_end() -> Any:
    return Now() + timedelta(seconds=configuration().LEASE)


def claim(effect_pk: int, *, starts: bool) -> Claim | None:
    """Claim a pending effect that is due; None where somebody else has it or there is nothing to do.

    With `starts` its code counts as begun at once. That spares a write, and is right where a repeat does no harm.
    """
    due = StoredEffect.objects.filter(pk=effect_pk, status=Status.PENDING, due_at__lte=Now(), deadline__gt=Now())
    begun = {"status": Status.RUNNING, "started_at": Coalesce("started_at", Now())}
    claimed = begun if starts else {"status": Status.CLAIMED}
    with writing():
        if not due.update(**claimed, attempt=F("attempt") + 1, lease_until=_lease_end(), worker=WORKER):
            return None
        effect = StoredEffect.objects.select_related("session").annotate(now=Now()).get(pk=effect_pk)
    now: datetime = effect.now
    return Claim(effect, effect.attempt, (effect.deadline - now).total_seconds())


def start(claimed: Claim) -> bool:
    """Note that the effect's own code begins. From here on a lost worker leaves an at-most-once outcome unknown."""
    with writing():
        return bool(claimed.rows.update(status=Status.RUNNING, started_at=Coalesce("started_at", Now())))


def report(claimed: Claim, type: str, payload: Mapping[str, Any], traceback: str = "") -> bool:
    """Save the outcome event of an attempt before it is applied, so that it survives whatever happens next."""
    result = canonical({"type": type, "payload": payload})
    with writing():
        return bool(
            claimed.rows.update(
                status=Status.REPORTED, result=result, traceback=traceback[-TRACEBACK_LENGTH:], lease_until=_lease_end()
            )
        )


def retry_later(claimed: Claim, delay: float, message: str, request: str = "") -> bool:
    """Give an attempt up and let another begin after `delay` seconds, with the same model request if there is one."""
    with writing():
        return bool(
            claimed.rows.update(
                status=Status.PENDING,
                due_at=Now() + timedelta(seconds=delay),
                lease_until=None,
                message=message,
                request=request,
            )
        )


def release(claimed: Claim) -> None:
    """Hand an effect back untouched, as this worker is about to stop."""
    with writing():
        claimed.rows.update(status=Status.PENDING, lease_until=None)


def renew(claims: Sequence[Claim]) -> list[Claim]:
    """Renew the leases of running effects in one UPDATE and return those that are no longer ours."""
    wanted = Q(pk__in=[])
    for claimed in claims:
        wanted |= Q(pk=claimed.effect.pk, attempt=claimed.attempt)
    rows = StoredEffect.objects.filter(wanted)
    at_work = Q(status__in=AT_WORK, deadline__gt=Now())
    with writing():
        # In a fixed order and past rows that an event holds: one UPDATE would lock them in any order and wait.
        free = rows.filter(at_work).order_by("pk").select_for_update(skip_locked=True).values_list("pk", flat=True)
        StoredEffect.objects.filter(pk__in=list(free)).update(lease_until=_lease_end())
    # A saved result is ours too: it waits for a thread to apply it.
    kept = set(rows.filter(at_work | Q(status=Status.REPORTED)).values_list("pk", flat=True))
    return [claimed for claimed in claims if claimed.effect.pk not in kept]


def write_stream(claimed: Claim, stream_no: int, text: str) -> bool:
    """Save what a model has streamed so far, renewing the lease. False where the attempt is no longer current."""
    with writing():
        if not claimed.rows.update(lease_until=_lease_end()):
            return False
        row = StoredStream(
            effect=claimed.effect,
            item_id=claimed.effect.owner_item,
            attempt=claimed.attempt,
            stream_no=stream_no,
            text=text,
        )
        StoredStream.objects.bulk_create(
            [row],
            update_conflicts=True,
            unique_fields=["effect"],
            update_fields=["item_id", "attempt", "stream_no", "text"],
        )
    return True


def find(effect_pk: int) -> StoredEffect | None:
    """Return an effect with its session."""
    return StoredEffect.objects.select_related("session").filter(pk=effect_pk).first()


def needs_attention(limit: int, passed_over: Collection[int]) -> list[StoredEffect]:
    """Return effects that are due, were left by a lost worker, hold a saved result, or are past their deadline.

    Effects in `passed_over` cannot be run here and only count when they are past their deadline. Those that are to be
    started come last: a worker that is full can still do the rest.
    """
    due = Q(status=Status.PENDING, due_at__lte=Now())
    left = Q(status__in=AT_WORK, lease_until__lt=Now())
    saved = Q(status=Status.REPORTED, lease_until__lt=Now())
    late = ~Q(status=Status.ENDED) & Q(deadline__lt=Now())
    waiting = (due | left | saved) & ~Q(pk__in=passed_over) if passed_over else due | left | saved
    to_start = Case(When(Q(status=Status.PENDING, deadline__gte=Now()), then=1), default=0)
    effects = StoredEffect.objects.filter(waiting | late).select_related("session").annotate(now=Now())
    return list(effects.order_by(to_start, "due_at")[:limit])


def put_back(effect: StoredEffect) -> bool:
    """Make the effect of a lost worker pending again and count the loss."""
    with writing():
        return bool(
            StoredEffect.objects.filter(
                pk=effect.pk, attempt=effect.attempt, status__in=AT_WORK, lease_until__lt=Now()
            ).update(
                status=Status.PENDING,
                losses=F("losses") + 1,
                lease_until=None,
                due_at=Now(),
                message="The worker stopped; another takes over.",
            )
        )


def begin_applying(effect: StoredEffect) -> bool:
    """Take over a saved result that its worker did not apply, and count that as a loss. False where another did."""
    with writing():
        return bool(
            StoredEffect.objects.filter(
                pk=effect.pk, attempt=effect.attempt, status=Status.REPORTED, lease_until=effect.lease_until
            ).update(losses=F("losses") + 1, lease_until=_lease_end())
        )


def not_applied(effect: StoredEffect) -> None:
    """Leave a saved result for the next look: it could not be applied now, but no worker was lost over it."""
    with writing():
        StoredEffect.objects.filter(pk=effect.pk, attempt=effect.attempt, status=Status.REPORTED).update(
            losses=F("losses") - 1, lease_until=effect.lease_until
        )
