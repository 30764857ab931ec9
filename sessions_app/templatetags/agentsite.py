"""Times, durations and icons as the pages show them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from django import template
from django.conf import settings
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from sessions_app.core.status import Status
from sessions_app.forms import in_words

register = template.Library()

# Drawn for a box of 20 by 20, with lines of the text's colour.
ICONS = {
    "back": '<path d="M12 4 6 10l6 6"/>',
    "check": '<path d="m5 10.5 3.5 3.5L15 6.5"/>',
    "chevron": '<path d="m8 6 4 4-4 4"/>',
    "clock": '<circle cx="10" cy="10" r="6.5"/><path d="M10 6.5V10l2.5 1.5"/>',
    "cross": '<path d="m6 6 8 8m0-8-8 8"/>',
    "down": '<path d="M10 4v12m-5-5 5 5 5-5"/>',
    "dot": '<circle cx="10" cy="10" r="4" class="solid"/>',
    "half": '<circle cx="10" cy="10" r="5.5"/><path class="solid" d="M10 4.5a5.5 5.5 0 0 1 0 11z"/>',
    "mark": '<circle cx="10" cy="10" r="7.5"/><circle cx="10" cy="10" r="3" class="solid"/>',
    "pause": '<path d="M7.5 6v8m5-8v8"/>',
    "question": '<path d="M7.5 7.6a2.5 2.5 0 1 1 3.6 2.3c-.8.4-1.1.9-1.1 1.8"/><path d="M10 14.5v.1"/>',
    "send": '<path d="M10 16V4M5 9l5-5 5 5"/>',
    "spin": '<circle cx="10" cy="10" r="6.5" class="faint"/><path d="M10 3.5a6.5 6.5 0 0 1 6.5 6.5"/>',
    "square": '<rect x="6" y="6" width="8" height="8" rx="1.5" class="solid"/>',
    "warn": '<path d="M10 5.5v5m0 3.4v.1"/>',
}
OF_STATUS = {
    "idle": "check", "stopped": "pause", "generating": "half", "working": "half", "needs-person": "dot",
    "waiting": "clock", "retrying": "half", "blocked": "cross", "needs-migration": "warn", "archived": "pause",
}  # fmt: skip
MINUTE, HOUR, DAY = 60, 3600, 86400


@register.simple_tag
def icon(name: str, extra: str = "") -> SafeString:
    """Return an icon. It says nothing that the words beside it do not say."""
    classes = f"icon icon-{name} {extra}".strip()
    drawing = mark_safe(ICONS[name])  # noqa: S308 (a constant of this module)
    return format_html('<svg class="{}" viewBox="0 0 20 20" aria-hidden="true">{}</svg>', classes, drawing)


@register.simple_tag
def status_icon(status: Status) -> SafeString:
    """Return the shape of a status; its colour alone would not reach everybody."""
    return icon(OF_STATUS[status.kind])


@register.simple_tag
def moment(time: datetime | None, form: str = "clock") -> str:
    """Return a time as an element. Scripts show it in the viewer's zone; without them it says UTC."""
    if time is None:
        return ""
    utc = time.astimezone(UTC)
    text = f"{utc:%H:%M} UTC" if form == "clock" else f"{utc:%-d %b %Y, %H:%M} UTC"
    return format_html('<time datetime="{}">{}</time>', _iso(utc), text)


@register.filter
def wall_clock(text: str) -> str:
    """Return a stored time without a zone as a day and an hour; what is no such time stays as it is."""
    try:
        return date_format(datetime.fromisoformat(text), "D j M Y, H:i")
    except ValueError:
        return text


@register.filter
def calendar_day(text: str) -> str:
    """Return a stored date as a day; what is no date stays as it is."""
    try:
        return date_format(date.fromisoformat(text), "j M Y")
    except ValueError:
        return text


@register.simple_tag
def elapsed(since: datetime | None) -> str:
    """Return the time since then, which scripts keep ticking."""
    if since is None:
        return ""
    seconds = max(0, int((timezone.now() - since).total_seconds()))
    return format_html('<span class="elapsed" data-since="{}">{}</span>', _iso(since), ticking(seconds))


@register.simple_tag
def countdown(due: datetime | None) -> str:
    """Return the time until then, which scripts keep ticking."""
    if due is None:
        return ""
    seconds = max(0, int((due - timezone.now()).total_seconds()))
    return format_html('<span data-due="{}">{}</span>', _iso(due), ticking(seconds))


@register.simple_tag
def demo_login() -> str:
    """Return the address that signs a developer in with one click; "" where the site does not run for development."""
    if not settings.DEBUG:
        return ""
    try:
        return reverse("demo-login")
    except NoReverseMatch:
        return ""


@register.filter
def iso(time: datetime) -> str:
    """Return a time for scripts."""
    return _iso(time)


def _iso(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def ticking(seconds: int) -> str:
    """Return a duration as a clock that runs: 0:42, 1:02:03."""
    minutes, rest = divmod(seconds, MINUTE)
    hours, minutes = divmod(minutes, MINUTE)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@register.filter
def took(end: datetime | None, begin: datetime) -> str:
    """Return how long something took, in words; "" where it was too short to matter."""
    seconds = int((end - begin).total_seconds()) if end else 0
    if seconds < 1:
        return ""
    if seconds < MINUTE:
        return _("took {seconds} s").format(seconds=seconds)
    if seconds < HOUR:
        return _("took {minutes} min").format(minutes=seconds // MINUTE)
    if seconds < DAY:
        return _("took {hours} h").format(hours=seconds // HOUR)
    return ngettext("took {days} day", "took {days} days", seconds // DAY).format(days=seconds // DAY)


@register.filter
def words(name: Any) -> str:
    """Return a code name in words."""
    return in_words(str(name))


@register.filter
def word_count(text: str) -> int:
    """Return how many words a text has."""
    return len(text.split())


@register.simple_tag
def page_title(status: Status, title: str) -> str:
    """Return a page's title with the state first, so that a tab says what it needs."""
    if status.kind == "needs-person":
        return f"({status.count}) {_(status.words)} – {title}"
    return title if status.kind == "idle" else f"{_(status.words)} – {title}"
