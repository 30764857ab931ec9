"""The sweeper: in every worker, two threads that make sure that nothing waits in silence.

One renews the leases of what runs here. The other looks every two seconds for what no message announced, what a lost
worker left behind, what is past its deadline, for results that were saved but not applied, and for schedules that are
due. One indexed query finds the effects and one the schedules, so an idle site costs next to nothing.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
from collections.abc import Callable

from django.db import close_old_connections

from sessions_app import engine, leases, runner, schedules
from sessions_app.background import background_loop
from sessions_app.conf import configuration
from sessions_app.core.effects import Policy
from sessions_app.core.errors import EventRejected
from sessions_app.endings import overran, policy_of
from sessions_app.models import StoredEffect

logger = logging.getLogger(__name__)

DRAIN_GRACE = 1.5
"""Seconds that running effects have when the worker stops."""
BESIDE_STARTING = 100
"""Effects that one sweep may end or put back beside those it starts."""
MOST_LOSSES_APPLYING = 2
"""Workers that may be lost over a saved result, beyond those its policy allows while it runs."""

_stop = threading.Event()
_threads: list[threading.Thread] = []
_lock = threading.Lock()


def start() -> None:
    """Start the threads; a second call while they run does nothing."""
    with _lock:
        if any(thread.is_alive() for thread in _threads):
            return
        _stop.clear()
        runner.resume()
        _threads[:] = [
            threading.Thread(target=_repeat, args=[sweep, _sweep_pause], name="sweeper", daemon=True),
            threading.Thread(target=_repeat, args=[renew_leases, _renewal_pause], name="lease-renewal", daemon=True),
        ]
        for thread in _threads:
            thread.start()


def stop() -> None:
    """Stop taking work, give what runs a moment to end, and hand the rest back."""
    with _lock:
        if _stop.is_set():
            return
        _stop.set()
    runner.drain(DRAIN_GRACE)


def _sweep_pause() -> float:
    return configuration().SWEEP_INTERVAL * (0.75 + random.random() / 2)  # noqa: S311  # spreads sweeps


def _renewal_pause() -> float:
    return configuration().LEASE / 3


def _repeat(work: Callable[[], object], pause: Callable[[], float]) -> None:
    while not _stop.wait(pause()):
        try:
            close_old_connections()
            work()
        except Exception:
            logger.exception("a sweep failed and will be tried again")
        finally:
            close_old_connections()


def sweep() -> int:
    """Look once, and return how many effects were seen to."""
    effects = leases.needs_attention(runner.free_slots() + BESIDE_STARTING, runner.left_to_others())
    stuck = bool(runner.running_claims()) and not _loop_is_alive()
    for effect in effects:
        if _stop.is_set():
            break
        if stuck and _needs_the_loop(effect):
            continue  # What runs here has not been lost, and what would be started here would only wait.
        try:
            attend(effect)
        except EventRejected as rejection:
            logger.info("an effect was left for the next sweep", extra={"effect": effect.pk, "why": rejection.message})
        except Exception:
            logger.exception("an effect could not be seen to", extra={"effect": effect.pk})
    schedules.dispatch_due(stopped=_stop.is_set)
    return len(effects)


def _needs_the_loop(effect: StoredEffect) -> bool:
    overdue: bool = effect.deadline < effect.now  # type: ignore[attr-defined]  # annotated by the query
    return not overdue and effect.status != StoredEffect.Status.REPORTED


def attend(effect: StoredEffect) -> None:
    """Do for one effect what it waits for."""
    policy = policy_of(effect)
    overdue = effect.deadline < effect.now  # type: ignore[attr-defined]  # annotated by the query
    if effect.status == StoredEffect.Status.REPORTED:
        _apply(effect, policy, overdue)
    elif overdue:
        engine.end_effect(effect, "timed out", overran(effect))
    elif effect.status == StoredEffect.Status.PENDING:
        runner.take(effect)
    elif effect.started_at is not None and policy.delivery == "at-most-once":
        message = "The worker was lost while it ran. It may or may not have happened; it was not repeated."
        engine.end_effect(effect, "outcome unknown", message, lost=True)
    elif effect.losses + 1 >= policy.losses:
        message = f"The worker was lost {effect.losses + 1} times while it ran."
        engine.end_effect(effect, "failed", message, lost=True)
    elif leases.put_back(effect):
        runner.take(effect)


def _apply(effect: StoredEffect, policy: Policy, overdue: bool) -> None:
    """Apply a saved result.

    It is given up where the database still refuses it at the deadline, and where workers are lost over it again and
    again: a handler that ends its process would take down one worker after the other.
    """
    if not leases.begin_applying(effect):
        return
    if effect.losses >= MOST_LOSSES_APPLYING + policy.losses:
        message = "The worker was lost each time its result was applied."
        engine.end_effect(effect, "failed", message, result_too=True, untold=True)
        return
    try:
        engine.apply_result(effect)
    except EventRejected:
        leases.not_applied(effect)
        raise
    except Exception:
        if not overdue:
            leases.not_applied(effect)
            raise
        logger.exception("a result could not be stored", extra={"effect": effect.pk})
        engine.end_effect(effect, "failed", "Its result could not be stored.", result_too=True)


def renew_leases() -> None:
    """Renew what runs here while the loop is alive, and cancel here what is no longer ours."""
    claims = runner.running_claims()
    if claims and _loop_is_alive():
        runner.cancel_lost(leases.renew(claims))


def _loop_is_alive() -> bool:
    """A loop that an effect blocks renews nothing, so that its work goes to another worker."""
    beat = asyncio.run_coroutine_threadsafe(asyncio.sleep(0), background_loop())
    deadline = time.monotonic() + configuration().LEASE / 3
    while not beat.done() and time.monotonic() < deadline:
        time.sleep(0.02)
    return beat.done()
