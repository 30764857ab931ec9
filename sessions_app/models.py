"""Rows and constraints only. What they mean is decided in `core`; every query stands in `store`.

JSON is canonical text, never a database JSON type: that would change numbers and key order and refuse NUL.
The unique constraints below carry the machine's promises.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q


class StoredSession(models.Model):
    """One agent session. Everything here is decided by events; `seq` is the number of the last one."""

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="agent_sessions")
    create_key = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001 (NULL is outside the constraint)
    agent = models.CharField(max_length=100)
    version = models.CharField(max_length=40)
    title = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    seq = models.PositiveBigIntegerField(default=0)
    owed_seq = models.PositiveBigIntegerField(default=0)
    answered_seq = models.PositiveBigIntegerField(default=0)
    request = models.CharField(max_length=40, blank=True, help_text="Id of the running model request's effect.")
    requests = models.PositiveIntegerField(default=0, help_text="Model requests since a person last spoke.")
    cuts = models.PositiveIntegerField(default=0, help_text="Replies in a row that the output limit cut off.")
    blocked_code = models.CharField(max_length=40, blank=True)
    blocked_reason = models.TextField(blank=True)
    stopped = models.BooleanField(default=False)
    input_tokens = models.PositiveBigIntegerField(default=0)
    output_tokens = models.PositiveBigIntegerField(default=0)

    class Meta:
        verbose_name = "session"
        ordering = ("-updated_at", "-id")
        constraints = (
            models.UniqueConstraint(fields=("owner", "agent", "create_key"), name="one_session_per_create_key"),
        )
        indexes = (models.Index(fields=("owner", "-updated_at"), name="sessions_of_owner"),)

    def __str__(self) -> str:
        return self.title or f"{self.agent} {self.key.hex[:8]}"


class StoredState(models.Model):
    """The agent state of a session, in a row of its own so that a large one is read only when needed."""

    session = models.OneToOneField(
        StoredSession, on_delete=models.CASCADE, primary_key=True, related_name="stored_state"
    )
    data = models.TextField(default="{}")

    class Meta:
        verbose_name = "agent state"

    def __str__(self) -> str:
        return f"state of {self.session_id}"


class StoredEvent(models.Model):
    """One accepted event and what it changed."""

    class Status(models.TextChoices):
        APPLIED = "applied"
        FAILED = "failed"
        DROPPED = "dropped"

    session = models.ForeignKey(StoredSession, on_delete=models.CASCADE, related_name="events")
    seq = models.PositiveBigIntegerField()
    type = models.CharField(max_length=100)
    item_id = models.CharField(max_length=40, blank=True, help_text="The item the event went to, if it went to one.")
    payload = models.TextField()
    sender_kind = models.CharField(max_length=16)
    sender_id = models.CharField(max_length=80, blank=True)
    sender_name = models.CharField(max_length=150, blank=True)
    time = models.DateTimeField()
    status = models.CharField(max_length=8, choices=Status.choices)
    reason = models.TextField(blank=True, help_text="Why it was dropped or failed; a traceback for a failed one.")
    delta = models.TextField(default="[]")
    cause = models.PositiveBigIntegerField(null=True, blank=True, help_text="The event whose handling caused this one.")
    retry_of = models.PositiveBigIntegerField(null=True, blank=True)
    client_key = models.CharField(max_length=80, null=True, blank=True)  # noqa: DJ001 (NULL is outside the constraint)
    digest = models.CharField(max_length=64, blank=True)
    repeats = models.PositiveIntegerField(default=0, help_text="How often the same client key came again.")
    effect_id = models.CharField(max_length=40, null=True, blank=True)  # noqa: DJ001 (NULL is outside the constraint)
    ordinal = models.PositiveIntegerField(null=True, blank=True, help_text="The k-th event of its type by its effect.")
    duration_us = models.PositiveIntegerField(default=0, help_text="Time spent in the handler, in microseconds.")

    class Meta:
        verbose_name = "event"
        ordering = ("session_id", "seq")
        constraints = (
            models.UniqueConstraint(fields=("session", "seq"), name="one_event_per_seq"),
            models.UniqueConstraint(
                fields=("session", "sender_kind", "sender_id", "client_key"), name="one_event_per_client_key"
            ),
            models.UniqueConstraint(
                fields=("session", "effect_id", "type", "ordinal"), name="one_event_per_effect_type_and_ordinal"
            ),
        )
        indexes = (
            models.Index(fields=("session",), name="events_failed", condition=Q(status="failed")),
            models.Index(fields=("session", "item_id"), name="events_of_item", condition=~Q(item_id="")),
        )

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"

    @property
    def last_words(self) -> str:
        """The line of `reason` that says what went wrong: of a traceback the last one."""
        lines = self.reason.strip().splitlines()
        return lines[-1][:300] if lines else ""


class StoredItem(models.Model):
    """One context item or tool call as it is now."""

    session = models.ForeignKey(StoredSession, on_delete=models.CASCADE, related_name="items")
    item_id = models.CharField(max_length=40)
    type = models.CharField(max_length=100)
    parent = models.CharField(max_length=40, blank=True, help_text="The call, or a call's assistant message.")
    index = models.PositiveIntegerField(default=0, help_text="Place under the parent.")
    position = models.BigIntegerField(null=True, blank=True, help_text="Place in the order; empty when hidden.")
    data = models.TextField()
    render_status = models.CharField(max_length=8)
    render_label = models.CharField(max_length=300, blank=True)
    render_fraction = models.FloatField(null=True, blank=True)
    render_messages = models.TextField(blank=True, help_text="Empty for platform items, whose data says it all.")
    closed = models.CharField(max_length=20, blank=True)
    closed_reason = models.TextField(blank=True)
    answers = models.PositiveIntegerField(default=0, help_text="Applied events from outside.")
    created_seq = models.PositiveBigIntegerField()
    updated_seq = models.PositiveBigIntegerField()
    created_at = models.DateTimeField()
    settled_at = models.DateTimeField(null=True, blank=True, help_text="When it last became ready or was closed.")

    class Meta:
        verbose_name = "item"
        ordering = ("session_id", "position", "id")
        constraints = (models.UniqueConstraint(fields=("session", "item_id"), name="one_item_per_id"),)
        indexes = (
            models.Index(fields=("session", "parent"), name="items_of_parent"),
            models.Index(fields=("session", "position"), name="items_in_order", condition=Q(position__isnull=False)),
            models.Index(fields=("session",), name="items_pending", condition=Q(render_status="pending")),
        )

    def __str__(self) -> str:
        return f"{self.item_id} {self.type}"


class StoredEffect(models.Model):
    """One effect. The open ones are the outbox: what Celery carries is only a hint that one is due."""

    class Status(models.TextChoices):
        PENDING = "pending"
        CLAIMED = "claimed"
        RUNNING = "running"
        REPORTED = "reported"
        ENDED = "ended"

    OPEN = (Status.PENDING, Status.CLAIMED, Status.RUNNING, Status.REPORTED)

    session = models.ForeignKey(StoredSession, on_delete=models.CASCADE, related_name="effects")
    effect_id = models.CharField(max_length=40)
    type = models.CharField(max_length=100)
    payload = models.TextField()
    owner_item = models.CharField(max_length=40, blank=True)
    policy = models.TextField(help_text="The limits in force, and where they came from.")
    status = models.CharField(max_length=8, choices=Status.choices, default=Status.PENDING)
    outcome = models.CharField(max_length=20, blank=True)
    message = models.TextField(blank=True, help_text="How it ended, in words a person may read.")
    traceback = models.TextField(blank=True, help_text="For staff.")
    attempt = models.PositiveIntegerField(default=0, help_text="The fence: news of an older attempt is refused.")
    losses = models.PositiveIntegerField(default=0, help_text="Attempts that ended by a lost worker.")
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    deadline = models.DateTimeField()
    lease_until = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    worker = models.CharField(max_length=120, blank=True)
    result = models.TextField(blank=True, help_text="A result that was saved and is not applied yet.")
    request = models.TextField(blank=True, help_text="The model request to send again, kept between its attempts.")

    class Meta:
        verbose_name = "effect"
        ordering = ("session_id", "id")
        constraints = (models.UniqueConstraint(fields=("session", "effect_id"), name="one_effect_per_id"),)
        indexes = (
            models.Index(fields=("session", "owner_item"), name="effects_of_item"),
            models.Index(fields=("due_at",), name="effects_pending", condition=Q(status="pending")),
            models.Index(
                fields=("lease_until",), name="effects_at_work", condition=Q(status__in=("claimed", "running"))
            ),
            models.Index(fields=("id",), name="effects_reported", condition=Q(status="reported")),
            models.Index(fields=("session",), name="effects_open", condition=~Q(status="ended")),
            models.Index(fields=("deadline",), name="effects_deadline", condition=~Q(status="ended")),
        )

    def __str__(self) -> str:
        return f"{self.effect_id} {self.type}"

    @property
    def idempotency_key(self) -> str:
        """The same in every attempt, and unlike that of any other effect anywhere."""
        return f"{self.session.key.hex}-{self.effect_id}"


class StoredStream(models.Model):
    """The text a running model request has streamed so far. Part of every page, never of the history."""

    effect = models.OneToOneField(StoredEffect, on_delete=models.CASCADE, primary_key=True, related_name="stream")
    item_id = models.CharField(max_length=40)
    attempt = models.PositiveIntegerField()
    stream_no = models.PositiveIntegerField(default=0, help_text="Raised when the text begins anew.")
    text = models.TextField(blank=True)

    class Meta:
        verbose_name = "streamed text"

    def __str__(self) -> str:
        return f"stream of {self.effect_id}"


class StoredBlob(models.Model):
    """A text that many rows point to by its digest: system prompts and tool lists of model requests."""

    digest = models.CharField(max_length=64, primary_key=True)
    text = models.TextField()

    class Meta:
        verbose_name = "blob"

    def __str__(self) -> str:
        return self.digest[:12]


class StoredSchedule(models.Model):
    """An event that time sends: to one session, or to a new session each time. `schedules` says what it all means."""

    class Status(models.TextChoices):
        ACTIVE = "active"
        PAUSED = "paused"
        ENDED = "ended"
        CANCELLED = "cancelled"

    class Missed(models.TextChoices):
        RUN_ONCE = "run-once"
        SKIP = "skip"

    name = models.CharField(max_length=100, blank=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="agent_schedules")
    session = models.ForeignKey(
        StoredSession, on_delete=models.SET_NULL, null=True, blank=True, related_name="schedules"
    )
    agent = models.CharField(max_length=100, blank=True, help_text="Set where each slot makes a new session.")
    args = models.TextField(default="{}", help_text="The arguments of each new session.")
    event_type = models.CharField(max_length=100, blank=True, help_text="Empty where a new session is all there is.")
    payload = models.TextField(default="{}")
    at = models.DateTimeField(help_text="The time of a one-off, the first of an interval; cron begins after it.")
    every = models.PositiveIntegerField(default=0, help_text="Seconds between two slots of an interval.")
    cron = models.CharField(max_length=100, blank=True)
    zone = models.CharField(max_length=64, blank=True)
    until = models.DateTimeField(null=True, blank=True)
    missed = models.CharField(max_length=8, choices=Missed.choices, default=Missed.RUN_ONCE)
    status = models.CharField(max_length=9, choices=Status.choices, default=Status.ACTIVE)
    created_at = models.DateTimeField()
    next_at = models.DateTimeField(null=True, blank=True, help_text="The slot that is dispatched next.")
    due_at = models.DateTimeField(null=True, blank=True, help_text="When a dispatcher may take it; empty at rest.")
    trouble = models.TextField(blank=True, help_text="Why a slot that is due could not be dispatched so far.")
    last_slot = models.DateTimeField(null=True, blank=True)
    last_at = models.DateTimeField(null=True, blank=True)
    last_outcome = models.CharField(max_length=8, blank=True)
    last_reason = models.TextField(blank=True)
    last_seq = models.PositiveBigIntegerField(null=True, blank=True)
    last_session = models.ForeignKey(StoredSession, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        verbose_name = "schedule"
        ordering = ("pk",)
        indexes = (models.Index(fields=("due_at",), name="schedules_due", condition=Q(due_at__isnull=False)),)

    def __str__(self) -> str:
        return self.name or f"schedule {self.pk}"
