"""Celery's entry points. A message carries a key and is only a hint: losing or repeating it is harmless."""

from __future__ import annotations

from celery import shared_task

from sessions_app import leases, runner
from sessions_app.outbox import RUN_EFFECT


@shared_task(name=RUN_EFFECT)
def run_effect(effect_pk: int) -> None:
    """Run an effect on this worker, if it is still to be run."""
    effect = leases.find(effect_pk)
    if effect is not None:
        runner.take(effect)
