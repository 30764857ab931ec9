"""Django's admin for operators: everything that is stored, to look at and to search, nothing to change.

Sessions change through events only, so no page here writes; schedules can be paused, resumed and cancelled. Lists read
a fixed number of queries and no long texts; what a model, a tool or a person wrote is always escaped.
"""

from sessions_app.admin import effects, events, items, schedules, sessions, texts

__all__ = ["effects", "events", "items", "schedules", "sessions", "texts"]
