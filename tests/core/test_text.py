"""Texts: what shows nothing, and cutting without breaking a visible character."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.core.text import is_blank, shorten
from tests.strategies import BLANK_CHARACTERS, VISIBLE_CHARACTERS, blank_texts, unhurried, visible_texts


@unhurried
@given(visible_texts(max_size=60), st.integers(1, 200))
@pytest.mark.fault("B33")
def test_a_cut_never_splits_a_visible_character(characters: list[str], limit: int) -> None:
    text = "".join(characters)
    found = shorten(text, limit)
    if len(text.encode()) <= limit:
        assert found == text
        return
    kept, note = found.split("\n\n(Shortened: ")
    assert len(kept.encode()) <= limit
    assert note == f"{len(kept.encode())} of {len(text.encode())} bytes shown.)"
    boundaries = {len("".join(characters[:count])) for count in range(len(characters) + 1)}
    assert text.startswith(kept)
    assert len(kept) in boundaries


@pytest.mark.parametrize("character", VISIBLE_CHARACTERS)
@pytest.mark.fault("B33")
def test_every_offset_of_a_large_text_can_be_the_cut(character: str) -> None:
    """A window of twenty offsets."""
    text = character * (200_000 // len(character.encode()))
    for limit in range(100_000, 100_020):
        kept = shorten(text, limit).split("\n\n(Shortened")[0]
        assert len(kept) % len(character) == 0
        assert limit - len(character.encode()) < len(kept.encode()) <= limit


def test_a_text_of_one_endless_character_is_cut_in_good_time() -> None:
    began = time.perf_counter()
    assert "Shortened: 0 of" in shorten("e" + "\u0301" * 500_000, 100_000)
    assert "Shortened" in shorten("🇩" * 200_000, 100_000)
    assert time.perf_counter() - began < 2


def test_a_text_within_the_limit_is_left_alone() -> None:
    assert shorten("é" * 50, 100) == "é" * 50


@unhurried
@given(blank_texts())
@pytest.mark.fault("B22")
def test_a_text_of_blank_characters_is_blank(text: str) -> None:
    assert is_blank(text)


@unhurried
@given(blank_texts(), st.sampled_from([c for c in VISIBLE_CHARACTERS if c not in (" ", "\r\n")]), blank_texts())
def test_one_visible_character_makes_a_text_visible(before: str, character: str, after: str) -> None:
    assert not is_blank(before + character + after)


def test_the_characters_of_the_strategies_are_what_they_say() -> None:
    assert all(is_blank(character) for character in BLANK_CHARACTERS)
