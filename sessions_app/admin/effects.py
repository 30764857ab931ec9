"""Effects: what runs, waits or has run, under which limits, and how it ended."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, get_args

from django.contrib import admin
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.base import OfSessionAdmin
from sessions_app.admin.filters import OneSession, one_of
from sessions_app.admin.values import NOTHING, duration, json_tree, list_link, raw
from sessions_app.core.effects import Outcome
from sessions_app.models import StoredEffect, StoredEvent, StoredItem


@admin.register(StoredEffect)
class EffectAdmin(OfSessionAdmin):
    list_display = (
        "effect_id", "type", "session_link", "owner", "status", "outcome", "tries", "due_at", "deadline", "limits_from",
    )  # fmt: skip
    list_display_links = ("effect_id", "type")
    list_filter = (OneSession, "status", one_of("outcome", _("outcome"), get_args(Outcome)), "due_at")
    search_fields = ("type", "effect_id", "owner_item")
    search_help_text = _("The effect's type or id, the id of its item, or the first characters of its session's key.")
    deferred = ("payload", "message", "traceback", "result", "request")
    fieldsets = (
        (None, {"fields": ("session_link", "effect_id", "type", "owner", "status", "outcome", "message", "sent")}),
        (_("Attempts"), {"fields": ("attempt", "losses", "worker", "lease_until", "idempotency")}),
        (_("Times"), {"fields": ("created_at", "due_at", "started_at", "ended_at", "took", "deadline")}),
        (_("Limits in force"), {"fields": ("policy_tree",)}),
        (_("Payload"), {"fields": ("payload_tree",)}),
        (_("What its code left"), {"fields": ("traceback_text", "result_tree", "request_tree")}),
    )

    @admin.display(description=_("owner"))
    def owner(self, obj: StoredEffect) -> str:
        if not obj.owner_item:
            return str(_("the session"))
        return list_link(StoredItem, obj.owner_item, session=obj.session_id, item_id=obj.owner_item)

    @admin.display(description=_("attempts"), ordering="attempt")
    def tries(self, obj: StoredEffect) -> str:
        lost = format_html(" ({} {})", obj.losses, _("lost")) if obj.losses else ""
        return format_html("{}{}", obj.attempt, lost)

    @admin.display(description=_("limits"))
    def limits_from(self, obj: StoredEffect) -> str:
        policy: Any = json.loads(obj.policy)
        return f"{policy.get('timeout', 0):g} s, {policy.get('source', '')}"

    @admin.display(description=_("events it sent"))
    def sent(self, obj: StoredEffect) -> str:
        return list_link(StoredEvent, _("events"), session=obj.session_id, effect_id=obj.effect_id)

    @admin.display(description=_("idempotency key"))
    def idempotency(self, obj: StoredEffect) -> str:
        return obj.idempotency_key

    @admin.display(description=_("took"))
    def took(self, obj: StoredEffect) -> str:
        ended: timedelta | None = obj.ended_at - obj.started_at if obj.ended_at and obj.started_at else None
        return duration(ended)

    @admin.display(description=_("limits"))
    def policy_tree(self, obj: StoredEffect) -> str:
        return json_tree(obj.policy)

    @admin.display(description=_("payload"))
    def payload_tree(self, obj: StoredEffect) -> str:
        return json_tree(obj.payload)

    @admin.display(description=_("traceback"))
    def traceback_text(self, obj: StoredEffect) -> str:
        return raw(obj.traceback) if obj.traceback else NOTHING

    @admin.display(description=_("saved result"))
    def result_tree(self, obj: StoredEffect) -> str:
        return json_tree(obj.result)

    @admin.display(description=_("request to send again"))
    def request_tree(self, obj: StoredEffect) -> str:
        return json_tree(obj.request)
