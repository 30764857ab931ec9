"""What Hypothesis makes up for tests all over the project: texts as people and models write them, and JSON."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

unhurried = settings(deadline=None)
"""How long an example takes depends on what else the machine has to do."""

VISIBLE_CHARACTERS = (
    "a", "Z", "7", "é", "e\u0301", "ß", "日", "ก\u0e33", "\u0939\u093f", "\u1100\u1161\u11a8", "👍", "👍🏽", "❤\ufe0f",
    "1\ufe0f\u20e3", "👩‍👩‍👧‍👦", "🏳\ufe0f‍🌈", "🇩🇪", "🇯🇵",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "Z\u0351\u036b\u0343\u036a", "\r\n", " ",
)  # fmt: skip
"""Each is what a person sees as one character, in one to many code points."""

UNSTORABLE_CHARACTERS = ("\x00", "\ud800", "\udfff", "\udc80")
BLANK_CHARACTERS = (" ", "\t", "\n", "\u00a0", "\u200b", "\u2060", "\u2028", "\ufeff", "\u00ad")
POINTER_LOOKALIKES = ("$payload", "$literal")


def visible_texts(min_size: int = 0, max_size: int = 40) -> st.SearchStrategy[list[str]]:
    """Texts as lists of what a person sees as one character."""
    return st.lists(st.sampled_from(VISIBLE_CHARACTERS), min_size=min_size, max_size=max_size)


def wild_texts() -> st.SearchStrategy[str]:
    """Texts with everything in them, also what cannot be stored or seen."""
    pieces = (*VISIBLE_CHARACTERS, *UNSTORABLE_CHARACTERS, *BLANK_CHARACTERS, *POINTER_LOOKALIKES)
    odd = st.lists(st.sampled_from(pieces), max_size=12).map("".join)
    return odd | st.text(st.characters(codec="utf-8"), max_size=20) | st.text(alphabet="ab", min_size=30, max_size=60)


def blank_texts() -> st.SearchStrategy[str]:
    """Texts that show nothing."""
    return st.lists(st.sampled_from(BLANK_CHARACTERS), max_size=6).map("".join)


def storable_texts() -> st.SearchStrategy[str]:
    """Texts that need no cleaning."""
    return st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=60)


def json_values(texts: st.SearchStrategy[str] | None = None, max_leaves: int = 12) -> st.SearchStrategy[Any]:
    """JSON values that can be stored; keys and texts also look like the pointers of stored deltas."""
    words = storable_texts() if texts is None else texts
    keys = words | st.sampled_from(POINTER_LOOKALIKES)
    numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    leaves = st.none() | st.booleans() | numbers | words | st.sampled_from([["a", 0], {"$payload": ["a"]}])
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=max_leaves,
    )


def json_objects() -> st.SearchStrategy[dict[str, Any]]:
    """JSON objects, as payloads and data are."""
    return st.dictionaries(storable_texts() | st.sampled_from(POINTER_LOOKALIKES), json_values(), max_size=5)
