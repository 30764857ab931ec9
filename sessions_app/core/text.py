"""Text as people see it: whether it shows anything, and where it can be cut without breaking a character."""

from __future__ import annotations

import unicodedata

_WITHOUT_INK = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
_JOINER = "\u200d"
_FLAG_LETTERS = frozenset(map(chr, range(0x1F1E6, 0x1F200)))
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_TAGS = range(0xE0020, 0xE0080)
_LATER_JAMO = range(0x1160, 0x1200)
_EXTENDING = frozenset({_JOINER, "\u200c", "\u0e33", "\u0eb3", *map(chr, (*_SKIN_TONES, *_TAGS, *_LATER_JAMO))})
"""Characters beside accents and other marks that belong to the one before them."""


def is_blank(text: str) -> bool:
    """Whether a text shows nothing: it is empty, or only spaces, controls and characters without width."""
    return all(unicodedata.category(character) in _WITHOUT_INK for character in text)


def shorten(text: str, limit: int) -> str:
    """Return a text cut to `limit` bytes of UTF-8, never inside a visible character, with a note that says so."""
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    length = len(encoded[:limit].decode(errors="ignore"))
    while length and _joined(text, length):
        length -= 1
    kept = text[:length]
    return f"{kept}\n\n(Shortened: {len(kept.encode())} of {len(encoded)} bytes shown.)"


def _joined(text: str, place: int) -> bool:
    """Whether a cut at a place would split what is seen as one character: an accent, an emoji family, a flag."""
    before, after = text[place - 1], text[place]
    return (
        unicodedata.category(after).startswith("M")
        or after in _EXTENDING
        or before == _JOINER
        or (before, after) == ("\r", "\n")
        or (after in _FLAG_LETTERS and _flag_letters_before(text, place) % 2 == 1)
    )


def _flag_letters_before(text: str, place: int) -> int:
    start = place
    while start and text[start - 1] in _FLAG_LETTERS:
        start -= 1
    return place - start
