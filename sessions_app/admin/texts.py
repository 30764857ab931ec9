"""Long texts on pages of their own: agent states, and what model requests are made of. Links lead to them."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.base import OfSessionAdmin, ReadOnlyAdmin
from sessions_app.admin.filters import OneSession
from sessions_app.admin.values import json_tree
from sessions_app.models import StoredBlob, StoredState


@admin.register(StoredState)
class StateAdmin(OfSessionAdmin):
    list_display = ("__str__", "session_link")
    list_filter = (OneSession,)
    deferred = ("data",)
    fields = ("session_link", "data_tree")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.display(description=_("agent state"))
    def data_tree(self, obj: StoredState) -> str:
        return json_tree(obj.data)


@admin.register(StoredBlob)
class BlobAdmin(ReadOnlyAdmin):
    list_display = ("digest",)
    ordering = ("digest",)
    deferred = ("text",)
    fields = ("digest", "text_tree")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.display(description=_("text"))
    def text_tree(self, obj: StoredBlob) -> str:
        return json_tree(obj.text)
