"""Filters of the admin's lists. None of them reads a table to know what can be chosen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from sessions_app.models import StoredEffect, StoredEvent, StoredItem
from sessions_app.registry import agents

Lookups = Iterable[tuple[str, Any]]


class OneSession(SimpleListFilter):
    """Shows that a list is of one session, with a way back to all. Links set it; it offers no other."""

    title = _("session")
    parameter_name = "session"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        chosen = self.value()
        return [(chosen, _("only this one"))] if chosen else []

    def has_output(self) -> bool:
        return bool(self.value())

    def value(self) -> str | None:
        chosen = super().value()
        return chosen if chosen and chosen.isdecimal() and len(chosen) < 19 else None

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(session_id=self.value()) if self.value() else queryset


def one_of(column: str, label: Any, values: Iterable[str]) -> type[SimpleListFilter]:
    """Return a filter on a column that holds one of a few known values; Django's own would read them from the table."""

    class OneOf(SimpleListFilter):
        title = label
        parameter_name = column

        def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
            return [(value, value) for value in values]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            return queryset.filter(**{column: self.value()}) if self.value() else queryset

    return OneOf


class OfAgent(SimpleListFilter):
    title = _("agent")
    parameter_name = "agent"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        return [(agent.name, agent.title or agent.name) for agent in agents()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(agent=self.value()) if self.value() else queryset


class InState(SimpleListFilter):
    """What an operator looks for. The status itself is derived and stands in no column."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Lookups:
        return [
            ("working", _("at work")),
            ("pending", _("something is pending")),
            ("blocked", _("blocked")),
            ("stopped", _("stopped")),
            ("failed", _("has failed events")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        match self.value():
            case "working":
                return queryset.filter(_has(StoredEffect, ~Q(status=StoredEffect.Status.ENDED)))
            case "pending":
                return queryset.filter(_has(StoredItem, Q(render_status="pending", closed="")))
            case "blocked":
                return queryset.exclude(blocked_code="")
            case "stopped":
                return queryset.filter(stopped=True)
            case "failed":
                return queryset.filter(_has(StoredEvent, Q(status=StoredEvent.Status.FAILED)))
            case _:
                return queryset


def _has(model: Any, condition: Q) -> Exists:
    return Exists(model.objects.filter(condition, session_id=OuterRef("pk")).order_by())
