"""Effects in the hands of a test: claimed as another worker would, lost, or made to be overdue."""

from __future__ import annotations

import json
from datetime import timedelta

from django.db.models.functions import Now

from sessions_app import leases
from sessions_app.leases import Claim
from sessions_app.models import StoredEffect, StoredSession


def only_effect(session: StoredSession) -> StoredEffect:
    """Return the session's one open effect."""
    return StoredEffect.objects.select_related("session").exclude(status="ended").get(session=session)


def claim(effect: StoredEffect, *, starts: bool = True) -> Claim:
    """Claim an effect as another worker would, which then does nothing with it."""
    claimed = leases.claim(effect.pk, starts=starts)
    assert claimed is not None
    return claimed


def lose(effect: StoredEffect) -> None:
    """Let the lease of an effect run out, as it does when its worker dies."""
    StoredEffect.objects.filter(pk=effect.pk).update(lease_until=Now() - timedelta(seconds=1))


def give_up(effect: StoredEffect) -> None:
    """Let the lease run out and the sweeper take the effect from its worker."""
    lose(effect)
    effect.refresh_from_db()
    assert leases.put_back(effect)


def overdue(effect: StoredEffect) -> None:
    """Let the deadline of an effect pass."""
    StoredEffect.objects.filter(pk=effect.pk).update(deadline=Now() - timedelta(seconds=1))


def words(session: StoredSession) -> list[str]:
    """Return what the private events of a session have said so far."""
    session.stored_state.refresh_from_db()
    said: list[str] = json.loads(session.stored_state.data)["words"]
    return said
