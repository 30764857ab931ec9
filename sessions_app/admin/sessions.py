"""Sessions: how each is, whose it is, and the ways to all that belongs to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.base import ReadOnlyAdmin, short_key
from sessions_app.admin.filters import InState, OfAgent
from sessions_app.admin.values import json_tree, list_link, page_link
from sessions_app.core.status import Status
from sessions_app.fragments import status_of
from sessions_app.models import StoredEffect, StoredEvent, StoredItem, StoredSession, StoredState
from sessions_app.reading.sessions import open_of


class SessionList(ChangeList):
    """Reads what the status of the shown sessions depends on, all at once."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows = list(self.result_list)
        found = open_of(row.pk for row in rows)
        for row in rows:
            row.status = status_of(row, found[row.pk])
        self.result_list = rows


@admin.register(StoredSession)
class SessionAdmin(ReadOnlyAdmin):
    list_display = ("short_key", "title", "status", "owner", "agent", "version", "seq", "updated_at")
    list_display_links = ("short_key", "title")
    list_filter = (InState, OfAgent, "updated_at")
    list_select_related = ("owner",)
    raw_id_fields = ("owner",)
    search_fields = ("title", "owner__username")
    search_help_text = _("The first characters of the session's key, words of its title, or its owner.")
    key_field = "key"
    fieldsets = (
        (None, {"fields": ("key", "title", "status", "owner", "agent", "version", "contents")}),
        (_("Events"), {"fields": ("seq", "created_at", "updated_at")}),
        (
            _("Model requests"),
            {
                "fields": (
                    "owed_seq", "answered_seq", "request", "requests", "cuts",
                    "blocked_code", "blocked_reason", "stopped", "input_tokens", "output_tokens",
                )
            },
        ),
        (_("Agent state"), {"fields": ("agent_state",)}),
    )  # fmt: skip

    def get_changelist(self, request: HttpRequest, **_options: Any) -> type[ChangeList]:
        return SessionList

    def links(self, request: HttpRequest, obj: Any) -> Iterable[tuple[str, str]]:
        if obj.owner_id == request.user.pk:  # To anybody else the page says that there is no such session.
            yield str(_("Open session page")), reverse("session", args=[obj.key.hex])

    @admin.display(description=_("key"), ordering="key")
    def short_key(self, obj: StoredSession) -> str:
        return short_key(obj)

    @admin.display(description=_("status"))
    def status(self, obj: Any) -> str:
        status: Status | None = getattr(obj, "status", None)
        if status is None:
            status = status_of(obj, open_of([obj.pk])[obj.pk])
        return format_html("{} – {}", status.words, status.reason) if status.reason else status.words

    @admin.display(description=_("contents"))
    def contents(self, obj: StoredSession) -> str:
        return format_html(
            "{} · {} · {}",
            list_link(StoredEvent, _("events"), session=obj.pk),
            list_link(StoredItem, _("items"), session=obj.pk),
            list_link(StoredEffect, _("effects"), session=obj.pk),
        )

    @admin.display(description=_("agent state"))
    def agent_state(self, obj: StoredSession) -> str:
        state = StoredState.objects.filter(pk=obj.pk).first()
        if state is None:
            return ""
        return format_html("{}{}", json_tree(state.data), page_link(StoredState, obj.pk, _("on a page of its own")))
