"""What all the admin's pages have in common: they cannot write, and lists load no long texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from sessions_app.admin.values import page_link
from sessions_app.models import StoredSession

if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
else:
    Base = admin.ModelAdmin

KEY_START = re.compile(r"[0-9a-f-]{4,36}", re.IGNORECASE)


class ReadOnlyAdmin(Base):
    """Shows rows. Nothing can be added, changed or deleted here, whatever a user's permissions say."""

    actions = None
    list_per_page = 50
    show_full_result_count = False
    key_field: ClassVar[str] = "session__key"
    """Where the key of the session stands, by whose first characters every list can be searched."""
    deferred: ClassVar[Sequence[str]] = ()
    """Columns that can be long; the list does not read them."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        match = request.resolver_match
        is_list = match is not None and (match.url_name or "").endswith("_changelist")
        return rows.defer(*self.deferred) if is_list else rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        found, may_repeat = super().get_search_results(request, queryset, search_term)
        bounds = key_bounds(search_term.strip())
        if bounds and self.search_fields:
            found = found | queryset.filter(**{f"{self.key_field}__range": bounds})
        return found, may_repeat

    def links(self, request: HttpRequest, obj: Any) -> Iterable[tuple[str, str]]:
        """Return label and address of the links at the top of a row's page."""
        return ()

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        context["links"] = self.links(request, obj) if obj is not None else ()
        return super().render_change_form(request, context, add, change, form_url, obj)


def key_bounds(start: str) -> tuple[UUID, UUID] | None:
    """Return the first and last key that begin so, which the index on keys finds; None where it begins none."""
    digits = start.replace("-", "").lower()
    if not KEY_START.fullmatch(start) or not 4 <= len(digits) <= 32:
        return None
    return UUID(digits.ljust(32, "0")), UUID(digits.ljust(32, "f"))


class OfSessionAdmin(ReadOnlyAdmin):
    """Rows that belong to a session."""

    list_select_related = ("session",)
    raw_id_fields = ("session",)
    ordering = ("-pk",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).select_related("session")

    @admin.display(description=_("session"), ordering="session_id")
    def session_link(self, obj: Any) -> str:
        return page_link(StoredSession, obj.session_id, short_key(obj.session))


def short_key(session: StoredSession) -> str:
    """Return the start of a session's key, enough to tell sessions apart."""
    return session.key.hex[:8]
