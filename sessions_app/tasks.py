"""Celery's entry points. A message carries a key and is only a hint: losing or repeating it is harmless."""

from __future__ import annotations

from celery import shared_task

from sessions_app import runner
from sessions_app.models import StoredEffect


@shared_task(name="sessions_app.run_effect")
def run_effect(effect_pk: int) -> None:
    """Run an effect on this worker, if it is still to be run."""
    type = StoredEffect.objects.filter(pk=effect_pk).values_list("type", flat=True).first()
    if type is not None:
        runner.take(effect_pk, type)
