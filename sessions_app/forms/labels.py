"""Names that code gave, in words a person reads; and validation messages, likewise."""

from __future__ import annotations

import re

from django.utils.translation import gettext as _

_BOUNDARY = re.compile(r"[\s_\-./]+|(?<=[a-z0-9])(?=[A-Z])")
_CAPITALS = frozenset({"id", "url", "pdf", "api", "ip", "iban", "vat", "utc"})


def in_words(name: str) -> str:
    """Return a code name as a phrase: "find_flights" becomes "Find flights", "patientId" becomes "Patient ID"."""
    parts = [part for part in _BOUNDARY.split(name) if part]
    words = [part.upper() if part.lower() in _CAPITALS else part if part.isupper() else part.lower() for part in parts]
    phrase = " ".join(words)
    return phrase[:1].upper() + phrase[1:]


def message_in_words(message: str) -> str:
    """Return a validation message in plain words; one we have no better words for stays as it is."""
    for pattern, words in _plain_messages():
        if found := re.fullmatch(pattern, message):
            return words.format(*found.groups())
    return message.removeprefix("Value error, ")


def _plain_messages() -> tuple[tuple[str, str], ...]:
    return (
        (r"Field required", _("Fill this in.")),
        (r"Input should be a valid integer.*", _("Write a whole number.")),
        (r"Input should be a valid number.*", _("Write a number.")),
        (r"Input should be a valid date(?!time).*", _("Choose a date.")),
        (r"Input should be a valid datetime.*", _("Choose a date and a time.")),
        (r"Input should be in a valid time format.*", _("Choose a time.")),
        (r"Input should be greater than or equal to (.+)", _("Must be {0} or more.")),
        (r"Input should be less than or equal to (.+)", _("Must be {0} or less.")),
        (r"Input should be greater than (.+)", _("Must be more than {0}.")),
        (r"Input should be less than (.+)", _("Must be less than {0}.")),
        (r"String should have at least 1 character", _("Write something first.")),
        (r"String should have at least (\d+) characters?", _("Write at least {0} characters.")),
        (r"String should have at most (\d+) characters?", _("Write at most {0} characters.")),
        (r"List should have at least (\d+) items?.*", _("Give at least {0}.")),
        (r"List should have at most (\d+) items?.*", _("Give at most {0}.")),
        (r"String should match pattern .*", _("This does not have the expected form.")),
        (r"Input should be (?!a |an |in |finite)(.+)", _("Choose one of {0}.")),
    )
