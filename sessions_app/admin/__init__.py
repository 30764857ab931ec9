"""Django's admin for operators: everything that is stored, to look at and to search, nothing to change.

Sessions change through events only, so no page here writes. Lists read a fixed number of queries and no long texts;
what a model, a tool or a person wrote is always escaped.
"""

from sessions_app.admin import effects, events, items, sessions, texts

__all__ = ["effects", "events", "items", "sessions", "texts"]
