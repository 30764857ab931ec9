"""Streamed text: whatever is lost, doubled or late, no browser shows a wrong letter, and in the end it shows all."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.fragments import Mark
from sessions_app.fragments.texts import Gap, News, Texts

ITEM = "3_0"


class Browser:
    """Applies what it is sent as the page's script does."""

    def __init__(self) -> None:
        self.text_no = (1, 0)
        self.text = ""

    def take(self, news: News, delta: tuple[int, str] | None) -> None:
        if delta is None:
            return
        at, text = delta
        if news.text_no != self.text_no:
            self.text_no, self.text = news.text_no, ""
        assert at <= len(self.text), "a gap"
        self.text += text[len(self.text) - at :]


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[str], list[News]]:
    """Return texts that replace one another, and news of them as they may arrive: lost, doubled, out of order."""
    texts = draw(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=3))
    news = []
    for number, text in enumerate(texts):
        saved = 0
        for end in sorted(draw(st.lists(st.integers(0, len(text)), max_size=6))):
            news.append(News(1, number, saved, text[saved:end]))
            saved = draw(st.sampled_from([saved, end]))
    arriving = draw(st.permutations(news + draw(st.lists(st.sampled_from(news), max_size=4)) if news else news))
    return texts, arriving[: draw(st.integers(0, len(arriving)))]


@given(streams())
def test_a_browser_shows_a_beginning_of_the_text_and_at_last_all_of_it(drawn: tuple[list[str], list[News]]) -> None:
    texts, arriving = drawn
    known, browser = Texts(), Browser()
    known.drawn({ITEM: Mark(1, 0, 0)})
    for news in arriving:
        with suppress(Gap):
            browser.take(news, known.advance(ITEM, news))
        assert texts[browser.text_no[1]].startswith(browser.text)
    last = News(1, len(texts) - 1, 0, texts[-1])
    assert known.lacks([(ITEM, 1, last.stream_no, len(last.text))]) is (
        browser.text != last.text or browser.text_no != last.text_no
    )
    browser.take(last, known.advance(ITEM, last))
    assert browser.text == texts[-1]


def test_news_of_an_entry_that_is_not_drawn_waits_for_its_frame() -> None:
    known = Texts()
    assert known.advance(ITEM, News(1, 0, 0, "Hello")) is None
    assert not known.lacks([(ITEM, 1, 0, 5)])


def test_news_behind_a_gap_is_not_shown() -> None:
    known = Texts()
    known.drawn({ITEM: Mark(1, 0, 3)})
    with pytest.raises(Gap):
        known.advance(ITEM, News(1, 0, 4, "x"))
    with pytest.raises(Gap):
        known.advance(ITEM, News(2, 0, 1, "x"))


def test_a_frame_with_less_text_does_not_take_back_what_was_sent() -> None:
    known = Texts()
    known.drawn({ITEM: Mark(1, 0, 0)})
    known.advance(ITEM, News(1, 0, 0, "Hello"))
    known.drawn({ITEM: Mark(1, 0, 2)})
    assert known.advance(ITEM, News(1, 0, 0, "Hello you")) == (5, " you")


def test_a_new_attempt_begins_at_nothing() -> None:
    known = Texts()
    known.drawn({ITEM: Mark(1, 0, 5)})
    assert known.advance(ITEM, News(2, 0, 0, "Anew")) == (0, "Anew")
    assert known.advance(ITEM, News(1, 0, 0, "Hello again")) is None
