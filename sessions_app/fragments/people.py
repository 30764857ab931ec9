"""Who looks at a page, and how people are called on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _


@dataclass(frozen=True)
class Viewer:
    """The person a page is drawn for."""

    pk: str = ""
    name: str = ""

    @classmethod
    def of(cls, user: Any) -> Viewer:
        """Return the viewer that a signed-in user is."""
        return cls(str(user.pk), user.get_username())

    def name_of(self, sender_kind: str, sender_id: str, sender_name: str) -> str:
        """Return how this viewer should see the sender of an event called."""
        if sender_kind == "person" and sender_id == self.pk:
            return _("you")
        names = {"schedule": _("a schedule"), "command": _("an operator")}
        return sender_name or names.get(sender_kind, sender_kind)

    def reason(self, reason: str) -> str:
        """Return why something was closed, as this viewer should read it: what they did themselves, "you" did."""
        if self.name and reason == f"Stopped by {self.name}.":
            return _("Stopped by you.")
        if self.name and reason == f"Skipped by {self.name}.":
            return _("Skipped by you.")
        return reason
