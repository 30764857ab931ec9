"""Values as an operator reads them: JSON as a tree that folds, long texts that fold, links to lists.

Every text is escaped here, whoever wrote it; none of it can become markup. The tree is plain `details` and lists, so
it needs no script and no style of its own. (The lists are `menu` elements: the admin indents each `ul` by 160 pixels.)
"""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import Model
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

NOTHING = "–"
SHOWN_AT_MOST = 100_000
"""Characters of one text on a page."""
ENTRIES_AT_MOST = 200
"""Entries of one list or object."""
LONG = 500
"""Characters after which a text folds."""


def json_tree(text: str) -> str:
    """Return JSON text as a tree that folds, or the raw text where it is too long or no JSON."""
    if not text:
        return NOTHING
    try:
        value = json.loads(text) if len(text) <= SHOWN_AT_MOST else None
    except (ValueError, RecursionError):
        value = None
    return raw(text) if value is None else _tree(value, _("data"), 0)


def raw(text: str, summary: str = "") -> str:
    """Return a long text as it is, folded; cut where it is very long."""
    if not text:
        return NOTHING
    kept = text[:SHOWN_AT_MOST]
    length = ngettext("%d character", "%d characters", len(text)) % len(text)
    cut = _("The first %d of them are shown.") % SHOWN_AT_MOST if len(kept) < len(text) else ""
    return format_html("<details><summary>{}</summary><pre>{}</pre>{}</details>", summary or length, kept, cut)


def _tree(value: Any, name: str, depth: int) -> SafeString:
    match value:
        case dict() | list() if value:
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            entries = [_tree(entry, str(key), depth + 1) for key, entry in list(pairs)[:ENTRIES_AT_MOST]]
            left_out = len(value) - len(entries)
            if left_out:
                entries.append(format_html("{}", _("… and %d more") % left_out))
            return format_html(
                "<details{}><summary>{} {}</summary><menu>{}</menu></details>",
                mark_safe(" open") if depth < 2 else "",
                name,
                f"{{{len(value)}}}" if isinstance(value, dict) else f"[{len(value)}]",
                format_html_join("", "<li>{}</li>", ((entry,) for entry in entries)),
            )
        case str() if len(value) > LONG:
            return format_html("{}: {}", name, raw(value))
        case str():
            return format_html("{}: {}", name, _quoted(value))
        case _:
            return format_html("{}: {}", name, json.dumps(value))


def _quoted(text: str) -> SafeString:
    lines = format_html_join(mark_safe("<br>"), "{}", ((line,) for line in text.split("\n")))
    return format_html("“{}”", lines)


def list_link(model: type[Model], label: object, **query: object) -> SafeString:
    """Return a link to a model's list, filtered by a query."""
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return format_html('<a href="{}?{}">{}</a>', address, urlencode(query), label)


def page_link(model: type[Model], pk: object, label: object) -> SafeString:
    """Return a link to the page of one row."""
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[pk])
    return format_html('<a href="{}">{}</a>', address, label)


def duration(span: timedelta | None) -> str:
    """Return a span of time in the unit that suits it."""
    if span is None:
        return NOTHING
    seconds = span.total_seconds()
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
