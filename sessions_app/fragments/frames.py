"""What is sent to a page that is open: its parts, each named with the place it goes to.

A frame is a set of upserts. Applying one twice, or one that is older than the page, does no harm: the page compares
`seq`, and a part says what a place looks like now, not how it changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from sessions_app import reading
from sessions_app.fragments.entries import Entry
from sessions_app.fragments.page import SessionPage
from sessions_app.fragments.people import Viewer
from sessions_app.models import StoredSession
from sessions_app.reading import Touched, predecessors, read_items, read_touched, read_transcript

AROUND = ("head", "tail", "actions", "foot", "say")
"""The parts around the conversation, by the id of their place and the name of their template."""


@dataclass(frozen=True)
class Part:
    """One place of the page as it is now."""

    target: str
    swap: str
    html: str = ""

    def __str__(self) -> str:
        return format_html(
            '<hx-partial hx-target="{}" hx-swap="{}">{}</hx-partial>',
            self.target,
            self.swap,
            mark_safe(self.html),  # noqa: S308 (rendered by templates, which escape)
        )


@dataclass(frozen=True)
class Mark:
    """How much of a streamed text a frame holds."""

    attempt: int
    stream_no: int
    length: int

    @property
    def text_no(self) -> tuple[int, int]:
        """Which text it is: a higher number replaces the one before."""
        return self.attempt, self.stream_no


@dataclass(frozen=True)
class Frame:
    """Parts of a page that shows at least event `seq`, and the streamed texts that are in them."""

    seq: int
    parts: Sequence[Part] = ()
    marks: Mapping[str, Mark] = field(default_factory=dict)
    effects: frozenset[tuple[str, str, bool, int]] = frozenset()
    """What was under way, as `reading.Pulse` says it."""

    @property
    def around(self) -> Sequence[Part]:
        """The parts around the conversation."""
        places = {f"#{name}" for name in AROUND}
        return [part for part in self.parts if part.target in places]

    @property
    def html(self) -> SafeString:
        """The frame as htmx takes it in."""
        return mark_safe("\n".join(map(str, self.parts)))  # noqa: S308 (each part is escaped)


def whole_frame(session: StoredSession, viewer: Viewer, first: str = "") -> Frame:
    """Return everything that changes on a page, from the item `first` on if the page reaches back that far."""
    page = SessionPage(read_transcript(session, first=first), viewer)
    parts = [
        Part("#earlier", "outerMorph", draw("earlier", page)),
        Part("#items", "innerMorph", "".join(draw_entry(page, entry) for entry in page.entries)),
        *_around(page),
    ]
    return _frame(page, parts)


def changed_frame(session: StoredSession, viewer: Viewer, since: int, also: Collection[str] = ()) -> Frame:
    """Return the parts that events after `since` touched, and the entries of the items in `also`."""
    touched = read_touched(session, since, also)
    if touched is None:
        return whole_frame(session, viewer)
    page = SessionPage(read_items(session, touched.tops), viewer)
    parts = [*_removed(touched), *_entries(page, touched), *_around(page)]
    return _frame(page, parts)


def earlier_frame(session: StoredSession, viewer: Viewer, before: str) -> Frame:
    """Return the entries before a page's first one, and the link to those before them."""
    page = SessionPage(read_transcript(session, before=before), viewer)
    entries = "".join(draw_entry(page, entry) for entry in page.entries)
    return Frame(session.seq, [Part("#items", "place", entries), Part("#earlier", "outerMorph", draw("earlier", page))])


def _frame(page: SessionPage, parts: Sequence[Part]) -> Frame:
    effects = frozenset(reading.sign_of(effect) for effect in page.transcript.open.effects)
    return Frame(page.session.seq, parts, marks_of(page.entries), effects)


def _removed(touched: Touched) -> list[Part]:
    return [Part(f"#item-{item_id}", "delete") for item_id in sorted(touched.gone)]


def _entries(page: SessionPage, touched: Touched) -> list[Part]:
    before = predecessors(page.session.pk, touched.moved)
    parts = []
    for entry in page.entries:
        html = draw_entry(page, entry)
        if entry.id in before:
            place = f" after:item-{before[entry.id]}" if before[entry.id] else ""
            parts.append(Part("#items", f"place{place}", html))
        else:
            parts.append(Part(f"#item-{entry.id}", "outerMorph", html))
    return parts


def _around(page: SessionPage) -> list[Part]:
    return [Part(f"#{name}", "outerMorph", draw(name, page)) for name in AROUND]


def draw(name: str, page: SessionPage) -> str:
    """Return one of the parts around the conversation."""
    return render_to_string(f"sessions/fragments/{name}.html", {"page": page})


def draw_entry(page: SessionPage, entry: Entry) -> str:
    """Return one entry of the conversation."""
    return render_to_string("sessions/fragments/entry.html", {"page": page, "entry": entry})


def marks_of(entries: Sequence[Entry]) -> dict[str, Mark]:
    """Return how much streamed text is in these entries, by item."""
    return {
        entry.id: Mark(entry.writing.attempt, entry.writing.stream_no, len(entry.writing.text))
        for entry in entries
        if entry.writing
    }
