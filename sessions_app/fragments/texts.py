"""Streamed text on its way to one browser: what it has, and what it still lacks. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sessions_app.fragments.frames import Mark


class Gap(Exception):
    """A piece of text begins behind the end of what the browser has."""


@dataclass(frozen=True)
class News:
    """All of a text from `offset` on. A higher attempt or number is another text that replaces the one before."""

    attempt: int
    stream_no: int
    offset: int
    text: str

    @property
    def text_no(self) -> tuple[int, int]:
        """Which text it is."""
        return self.attempt, self.stream_no

    @property
    def order(self) -> tuple[int, int, int]:
        """Sorts news of one item by how much they know."""
        return self.attempt, self.stream_no, self.offset + len(self.text)


class Texts:
    """How much of each text being streamed one browser has."""

    def __init__(self) -> None:
        self._marks: dict[str, Mark] = {}

    def drawn(self, marks: Mapping[str, Mark]) -> None:
        """Note what a frame brought. A browser that has more of the same text keeps what it has."""
        for item_id, mark in marks.items():
            known = self._marks.get(item_id)
            if known is None or known.text_no != mark.text_no or known.length < mark.length:
                self._marks[item_id] = mark

    def fits(self, item_id: str, news: News) -> bool:
        """Whether a piece joins what the browser has."""
        mark = self._marks.get(item_id)
        if mark is None or news.text_no > mark.text_no:
            return news.offset == 0
        return news.text_no < mark.text_no or news.offset <= mark.length

    def advance(self, item_id: str, news: News) -> tuple[int, str] | None:
        """Return the new suffix and where it begins, and count it as sent; None if there is nothing new.

        Raises `Gap` for a piece that does not join. A text whose entry the browser does not show yet is left to
        the frame that will bring the entry.
        """
        mark = self._marks.get(item_id)
        if mark is None or news.text_no < mark.text_no:
            return None
        if not self.fits(item_id, news):
            raise Gap
        begin = mark.length if news.text_no == mark.text_no else 0
        suffix = news.text[max(0, begin - news.offset) :]
        end = news.offset + len(news.text)
        if news.text_no == mark.text_no and end <= begin:
            return None
        self._marks[item_id] = Mark(news.attempt, news.stream_no, end)
        return begin, suffix

    def lacks(self, streams: Iterable[tuple[str, int, int, int]]) -> bool:
        """Whether the rows hold more than the browser has. Each is (item, attempt, number, length)."""
        for item_id, attempt, stream_no, length in streams:
            mark = self._marks.get(item_id)
            if mark is not None and (attempt, stream_no, length) > (*mark.text_no, mark.length):
                return True
        return False
