"""Reads places, listed options and choices out of plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

_FLYING = re.compile(r"\b(?:flights?|fly|flying|airfares?|plane)\b", re.IGNORECASE)
_NOT_A_PLACE = re.compile(
    r"(?:fly|go|travel|get|be|see|visit|find|book|look|search|take|have|know|a|an|my|me|you)\b", re.IGNORECASE
)
_PLACE_ENDS = re.compile(
    r"[.?!;:()\d\n]|\b(?:next|on|in|for|from|this|tomorrow|today|tonight|at|by|with|please|under|during|after|before"
    r"|around|and then|as soon|leaving|if|to)\b",
    re.IGNORECASE,
)
_BETWEEN_PLACES = re.compile(r",|&|/|\band\b|\bor\b", re.IGNORECASE)
_OPTION = re.compile(r"^\s*(\d{1,2})[.)]\s+(\S.*?)\s*$", re.MULTILINE)
_CODE = re.compile(r"\b([A-Z]{2})\s?(\d{2,4})\b")
_PRICE = re.compile(r"\b(\d[\d,]*) EUR\b")
_AGAIN = re.compile(r"\b(?:try (?:it |that )?again|retry|once more)\b", re.IGNORECASE)
_NONE = re.compile(r"\b(?:neither|none|nothing|no|nope|not any|cancel)\b", re.IGNORECASE)
_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_CARDINALS = ("one", "two", "three", "four", "five")
_COMMON_NAMES = frozenset({"airlines", "airways", "lines", "flights"})
_FRAME = re.compile(r"^([a-z][a-z ]*: [a-z ]+\. ?)?([A-Za-z_]+: )?")
MOST_PLACES = 4

T = TypeVar("T")


@dataclass(frozen=True)
class Option:
    """One line of a numbered list."""

    number: int
    text: str

    @property
    def code(self) -> str:
        """The flight code in the line, without space and in small letters; empty where there is none."""
        found = _CODE.search(self.text)
        return "".join(found.groups()).lower() if found else ""

    @property
    def price(self) -> int | None:
        """The price in the line, in euros."""
        found = _PRICE.search(self.text)
        return int(found[1].replace(",", "")) if found else None

    @property
    def names(self) -> frozenset[str]:
        """The words the line begins with, which tell it from others: an airline's name."""
        head = _CODE.split(self.text)[0].split(",")[0]
        return frozenset(word for word in _words(head) if len(word) > 3) - _COMMON_NAMES


def speaks_of_flights(text: str) -> bool:
    """Whether a text is about flying."""
    return bool(_FLYING.search(text))


def wants_again(text: str) -> bool:
    """Whether a text asks to repeat what was done last."""
    return bool(_AGAIN.search(text))


def declines(text: str) -> bool:
    """Whether an answer turns everything down."""
    return bool(_NONE.search(text))


def destinations(text: str) -> list[str]:
    """Return the places a text wants to go to, at most four: "flights to Tokyo and Paris" gives both."""
    return _places_after(r"\bto\b", text)


def locations(text: str) -> list[str]:
    """Return the places a text is about, at most four: "the weather in Tokyo and Paris" gives both."""
    return _places_after(r"\b(?:in|for|at|of)\b", text)


def _places_after(word: str, text: str) -> list[str]:
    spans = re.split(word, text, flags=re.IGNORECASE)[1:]
    return places(" , ".join(_PLACE_ENDS.split(span)[0] for span in spans))


def places(text: str) -> list[str]:
    """Return the places a text lists, at most four, each once and with a capital letter."""
    named = [" ".join(piece.split()) for piece in _BETWEEN_PLACES.split(text)]
    named = [name for name in named if re.search(r"[^\W\d_]", name) and not _NOT_A_PLACE.match(name)]
    written_large = [name for name in named if not name.islower()]
    found = [name.title() if name.islower() else name for name in written_large or named]
    return list(dict.fromkeys(found))[:MOST_PLACES]


def topic(text: str, known: Mapping[str, T]) -> T | None:
    """Return what is known under the first word that occurs in a text, also as part of a longer word."""
    return next((value for word, value in known.items() if word in text.lower()), None)


def reason(text: str) -> str:
    """Return what went wrong without the platform's frame around it: brackets, outcome, and the error's class."""
    line = next(iter(text.strip().splitlines()), "").strip("()")
    return _FRAME.sub("", line).rstrip(".)") or "no reason was given"


def options(text: str) -> list[Option]:
    """Return the lines of a numbered list."""
    return [Option(int(number), line) for number, line in _OPTION.findall(text)]


def chosen(answer: str, listed: Sequence[Option]) -> list[Option]:
    """Return the options an answer can mean: by flight code, name, price or number, whichever tells first."""
    for reading in (_by_code, _by_name, _by_price, _by_number):
        found = reading(answer, listed)
        if found:
            return found
    return []


def _by_code(answer: str, listed: Sequence[Option]) -> list[Option]:
    squeezed = re.sub(r"\s", "", answer).lower()
    return [option for option in listed if option.code and option.code in squeezed]


def _by_name(answer: str, listed: Sequence[Option]) -> list[Option]:
    said = set(_words(answer))
    return [option for option in listed if option.names & said]


def _by_price(answer: str, listed: Sequence[Option]) -> list[Option]:
    return cheapest(listed) if "cheap" in answer.lower() else []


def _by_number(answer: str, listed: Sequence[Option]) -> list[Option]:
    words = _words(answer)
    wanted = {int(word) for word in words if word.isdecimal() and len(word) < 3}
    wanted |= {number for number, word in enumerate(_ORDINALS, 1) if word in words}
    if not wanted:  # "the second one" holds a "one" that counts nothing
        wanted = {number for number, word in enumerate(_CARDINALS, 1) if word in words}
    if "last" in words and listed:
        wanted.add(listed[-1].number)
    return [option for option in listed if option.number in wanted]


def cheapest(listed: Sequence[Option]) -> list[Option]:
    """Return the option with the lowest price, or nothing where no line has a price."""
    priced: list[tuple[int, int]] = [(option.price, index) for index, option in enumerate(listed) if option.price]
    return [listed[min(priced)[1]]] if priced else []


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
