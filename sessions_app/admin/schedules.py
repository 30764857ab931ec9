"""Schedules: when each is due next, how the last time went, and pausing, resuming and cancelling them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from sessions_app import schedules
from sessions_app.admin.base import ReadOnlyAdmin, short_key
from sessions_app.admin.filters import OfAgent, one_of
from sessions_app.admin.values import NOTHING, json_tree, page_link
from sessions_app.core.errors import EventRejected
from sessions_app.models import StoredSchedule, StoredSession
from sessions_app.sentences import sentence_of

OUTCOMES = ("applied", "created", "failed", "refused", "skipped")


@admin.register(StoredSchedule)
class ScheduleAdmin(ReadOnlyAdmin):
    list_display = ("number", "name", "sends", "times", "status", "next", "last", "result", "owner")
    list_display_links = ("number", "name")
    list_filter = ("status", one_of("last_outcome", _("last outcome"), OUTCOMES), OfAgent)
    list_select_related = ("owner", "session", "last_session")
    search_fields = ("name", "event_type", "owner__username")
    search_help_text = _("A schedule's name, event or owner, or the first characters of its session's key.")
    deferred = ("args", "payload")
    ordering = ("-pk",)
    actions = ("pause", "resume", "cancel")  # type: ignore[assignment]  # the base has none
    fieldsets = (
        (None, {"fields": ("number", "name", "owner", "sends", "status")}),
        (_("Times"), {"fields": ("times", "at", "until", "missed", "next", "due_at", "trouble")}),
        (_("Last run"), {"fields": ("last", "last_at", "result", "last_session_link")}),
        (_("Payload"), {"fields": ("payload_tree", "args_tree")}),
    )

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Whether a user may pause, resume and cancel."""
        return bool(request.user.has_perm("sessions_app.change_storedschedule"))

    @admin.display(description=_("number"), ordering="pk")
    def number(self, obj: StoredSchedule) -> int:
        return obj.pk

    @admin.display(description=_("sends"))
    def sends(self, obj: StoredSchedule) -> str:
        event = obj.event_type or _("nothing more")
        if obj.agent:
            return format_html("{}: {}", _("new session of %s") % obj.agent, event)
        target = page_link(StoredSession, obj.session_id, short_key(obj.session)) if obj.session else _("deleted")
        return format_html("{}: {}", target, event)

    @admin.display(description=_("times"))
    def times(self, obj: StoredSchedule) -> str:
        return schedules.in_words(schedules.when_of(obj))

    @admin.display(description=_("next run"), ordering="next_at")
    def next(self, obj: StoredSchedule) -> str:
        if obj.next_at is None or obj.status != StoredSchedule.Status.ACTIVE:
            return NOTHING
        slot = schedules.local_time(obj.next_at, obj.zone)
        return format_html("{} – {}", slot, obj.trouble) if obj.trouble else slot

    @admin.display(description=_("last run"), ordering="last_slot")
    def last(self, obj: StoredSchedule) -> str:
        return schedules.local_time(obj.last_slot, obj.zone) if obj.last_slot else NOTHING

    @admin.display(description=_("result"), ordering="last_outcome")
    def result(self, obj: StoredSchedule) -> str:
        return format_html("{} {}", obj.last_outcome, obj.last_reason) if obj.last_outcome else NOTHING

    @admin.display(description=_("session and event"))
    def last_session_link(self, obj: StoredSchedule) -> str:
        if obj.last_session is None:
            return NOTHING
        link = page_link(StoredSession, obj.last_session_id, short_key(obj.last_session))
        return format_html("{} {}", link, _("event %d") % obj.last_seq if obj.last_seq else "")

    @admin.display(description=_("payload"))
    def payload_tree(self, obj: StoredSchedule) -> str:
        return json_tree(obj.payload)

    @admin.display(description=_("arguments of each new session"))
    def args_tree(self, obj: StoredSchedule) -> str:
        return json_tree(obj.args) if obj.agent else NOTHING

    @admin.action(description=_("Pause"), permissions=["operate"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._each(request, queryset, schedules.pause)

    @admin.action(description=_("Resume"), permissions=["operate"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._each(request, queryset, schedules.resume)

    @admin.action(description=_("Cancel for good"), permissions=["operate"])
    def cancel(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._each(request, queryset, schedules.cancel)

    def _each(self, request: HttpRequest, queryset: QuerySet[Any], act: Callable[[int], object]) -> None:
        done = 0
        for pk in queryset.values_list("pk", flat=True):
            try:
                act(pk)
                done += 1
            except EventRejected as rejection:
                self.message_user(request, sentence_of(rejection), messages.WARNING)
        if done:
            self.message_user(request, ngettext("%d schedule was changed.", "%d schedules were changed.", done) % done)
