"""Items and tool calls as they are now."""

from __future__ import annotations

from typing import get_args

from django.contrib import admin
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.base import OfSessionAdmin
from sessions_app.admin.filters import OneSession, one_of
from sessions_app.admin.values import NOTHING, json_tree, list_link
from sessions_app.core.items import Closed
from sessions_app.models import StoredEffect, StoredEvent, StoredItem


@admin.register(StoredItem)
class ItemAdmin(OfSessionAdmin):
    list_display = ("item_id", "type", "session_link", "place", "state", "answers", "created_seq", "updated_seq")
    list_display_links = ("item_id", "type")
    list_filter = (
        OneSession,
        one_of("render_status", _("render"), ("pending", "ready")),
        one_of("closed", _("closed"), get_args(Closed)),
    )
    search_fields = ("type", "item_id")
    search_help_text = _("The item's type or id, or the first characters of its session's key.")
    deferred = ("data", "render_messages", "closed_reason")
    fieldsets = (
        (None, {"fields": ("session_link", "item_id", "type", "place", "index", "state", "closed_reason", "contents")}),
        (_("Data"), {"fields": ("data_tree",)}),
        (_("What a model reads"), {"fields": ("render_label", "render_fraction", "messages_tree")}),
        (_("History"), {"fields": ("created_seq", "updated_seq", "created_at", "settled_at", "answers")}),
    )

    @admin.display(description=_("place"), ordering="position")
    def place(self, obj: StoredItem) -> str:
        if obj.parent:
            parent = list_link(StoredItem, obj.parent, session=obj.session_id, item_id=obj.parent)
            return format_html("{} {}", _("under"), parent)
        return str(_("hidden") if obj.position is None else _("in the order"))

    @admin.display(description=_("state"), ordering="render_status")
    def state(self, obj: StoredItem) -> str:
        return obj.closed or obj.render_status

    @admin.display(description=_("contents"))
    def contents(self, obj: StoredItem) -> str:
        return format_html(
            "{} · {} · {}",
            list_link(StoredEvent, _("events"), session=obj.session_id, item_id=obj.item_id),
            list_link(StoredEffect, _("effects"), session=obj.session_id, owner_item=obj.item_id),
            list_link(StoredItem, _("items under it"), session=obj.session_id, parent=obj.item_id),
        )

    @admin.display(description=_("data"))
    def data_tree(self, obj: StoredItem) -> str:
        return json_tree(obj.data)

    @admin.display(description=_("messages"))
    def messages_tree(self, obj: StoredItem) -> str:
        return json_tree(obj.render_messages) if obj.render_messages else NOTHING
