"""Events: what happened, who sent it, how it went and what it changed."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, get_args

from django.contrib import admin
from django.utils.html import format_html_join
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.base import OfSessionAdmin
from sessions_app.admin.filters import OneSession, one_of
from sessions_app.admin.values import NOTHING, duration, json_tree, list_link, page_link, raw
from sessions_app.core.events import SenderKind
from sessions_app.models import StoredBlob, StoredEffect, StoredEvent, StoredItem

DIGESTS = ("system_digest", "tools_digest")


@admin.register(StoredEvent)
class EventAdmin(OfSessionAdmin):
    list_display = ("seq", "type", "session_link", "item", "sender", "status", "time", "took", "caused_by")
    list_display_links = ("seq", "type")
    list_filter = (OneSession, "status", one_of("sender_kind", _("sender"), get_args(SenderKind)), "time")
    search_fields = ("type", "item_id")
    search_help_text = _("The event's type, the id of its item, or the first characters of its session's key.")
    deferred = ("payload", "delta", "reason")
    fieldsets = (
        (None, {"fields": ("session_link", "seq", "type", "item", "sender", "time", "status", "why", "took")}),
        (_("Cause and effect"), {"fields": ("caused_by", "caused", "effect", "ordinal", "retry_of", "tried_again")}),
        (_("Payload"), {"fields": ("payload_tree", "blobs")}),
        (_("What it changed"), {"fields": ("delta_tree",)}),
        (_("Key of the sender"), {"fields": ("client_key", "digest", "repeats")}),
    )

    @admin.display(description=_("item"))
    def item(self, obj: StoredEvent) -> str:
        if not obj.item_id:
            return NOTHING
        return list_link(StoredItem, obj.item_id, session=obj.session_id, item_id=obj.item_id)

    @admin.display(description=_("sender"))
    def sender(self, obj: StoredEvent) -> str:
        return f"{obj.sender_kind} {obj.sender_name or obj.sender_id}".strip()

    @admin.display(description=_("took"), ordering="duration_us")
    def took(self, obj: StoredEvent) -> str:
        return duration(timedelta(microseconds=obj.duration_us))

    @admin.display(description=_("caused by"), ordering="cause")
    def caused_by(self, obj: StoredEvent) -> str:
        return list_link(StoredEvent, obj.cause, session=obj.session_id, seq=obj.cause) if obj.cause else NOTHING

    @admin.display(description=_("events it caused"))
    def caused(self, obj: StoredEvent) -> str:
        return list_link(StoredEvent, _("those caused by it"), session=obj.session_id, cause=obj.seq)

    @admin.display(description=_("tried again"))
    def tried_again(self, obj: StoredEvent) -> str:
        if obj.status != StoredEvent.Status.FAILED:
            return NOTHING
        return list_link(StoredEvent, _("the events that tried it again"), session=obj.session_id, retry_of=obj.seq)

    @admin.display(description=_("effect"))
    def effect(self, obj: StoredEvent) -> str:
        if not obj.effect_id:
            return NOTHING
        return list_link(StoredEffect, obj.effect_id, session=obj.session_id, effect_id=obj.effect_id)

    @admin.display(description=_("reason"))
    def why(self, obj: StoredEvent) -> str:
        return raw(obj.reason, obj.reason.strip().splitlines()[-1] if obj.reason.strip() else "")

    @admin.display(description=_("payload"))
    def payload_tree(self, obj: StoredEvent) -> str:
        return json_tree(obj.payload)

    @admin.display(description=_("changes"))
    def delta_tree(self, obj: StoredEvent) -> str:
        return json_tree(obj.delta)

    @admin.display(description=_("texts it points to"))
    def blobs(self, obj: StoredEvent) -> str:
        """Link what a model request was made of."""
        payload: Any = json.loads(obj.payload) if "_digest" in obj.payload else {}
        digests = [(name, payload.get(name)) for name in DIGESTS if isinstance(payload, dict)]
        links = [
            (page_link(StoredBlob, digest, name),) for name, digest in digests if isinstance(digest, str) and digest
        ]
        return format_html_join(" · ", "{}", links) or NOTHING
