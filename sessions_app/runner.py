"""The runner: takes claimed effects, runs them on the background loop, and reports one outcome each.

Celery brings the key of an effect; claiming its row decides who runs it. The code of an effect never runs inside a
transaction. Its outcome is saved on the row under the attempt's fence and then applied as an event, in two steps, so
that a result that was paid for survives whatever happens between them.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from django.db import close_old_connections

from sessions_app import engine, leases
from sessions_app.background import background_loop
from sessions_app.conf import configuration
from sessions_app.core.data import find
from sessions_app.core.effects import Policy
from sessions_app.core.platform import EffectHasEnded
from sessions_app.leases import Claim
from sessions_app.models import StoredEffect

logger = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

DATABASE_THREADS = 4
AUTHOR_THREADS = 32
FIRST_BACKOFF = 1.0
LONGEST_BACKOFF = 60.0

_database = ThreadPoolExecutor(DATABASE_THREADS, thread_name_prefix="effect-database")
author_threads = ThreadPoolExecutor(AUTHOR_THREADS, thread_name_prefix="effect-code")


@dataclass
class _Running:
    claim: Claim
    task: asyncio.Task[None]


class _Slots:
    """Counts the effects this process has taken, so that it never holds more than it can run."""

    def __init__(self) -> None:
        self.taken = 0
        self.lock = threading.Lock()

    def acquire(self) -> bool:
        with self.lock:
            if free_slots() <= 0:
                return False
            self.taken += 1
            return True

    def release(self) -> None:
        with self.lock:
            self.taken -= 1


_running: dict[int, _Running] = {}
_slots = _Slots()
_stopping = threading.Event()
_unknown_types: set[str] = set()


@dataclass(frozen=True)
class Ending:
    """How an attempt ended: the outcome event to save, or a pause before the next attempt."""

    type: str = ""
    payload: dict[str, Any] | None = None
    traceback: str = ""
    retry_after: float | None = None
    message: str = ""
    request: str = ""


def ended(effect: StoredEffect, outcome: str, message: str = "", *, traceback: str = "", event: Any = None) -> Ending:
    """Return the ending of an effect with an outcome."""
    values = {"effect_id": effect.effect_id, "outcome": outcome, "message": message, "event": event}
    payload = EffectHasEnded.model_validate(values).model_dump(mode="json")
    return Ending(EffectHasEnded.type_name(), payload, traceback)


async def in_database(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call blocking database code from the loop, on one of a few threads, and leave no connection open behind it."""

    def call() -> R:
        close_old_connections()
        try:
            return function(*args, **kwargs)
        finally:
            close_old_connections()

    return await asyncio.get_running_loop().run_in_executor(_database, call)


def free_slots() -> int:
    """Return how many more effects this process would run at once."""
    return 0 if _stopping.is_set() else configuration().EFFECTS_PER_WORKER - _slots.taken


def take(effect_pk: int, type: str) -> bool:
    """Claim an effect and begin to run it on the loop. False where it is not ours to run now."""
    if find("effect", type) is None:
        if type not in _unknown_types:
            _unknown_types.add(type)
            logger.warning("this worker does not know an effect type and leaves it to others", extra={"type": type})
        return False
    if not _slots.acquire():
        return False
    claimed = leases.claim(effect_pk)
    if claimed is None:
        _slots.release()
        return False
    loop = background_loop()
    loop.call_soon_threadsafe(_begin, loop, claimed)
    return True


def _begin(loop: asyncio.AbstractEventLoop, claimed: Claim) -> None:
    task = loop.create_task(_run(claimed), name=f"effect {claimed.effect.effect_id}")
    _running[claimed.effect.pk] = _Running(claimed, task)


async def _run(claimed: Claim) -> None:
    effect = claimed.effect
    facts = {"session": effect.session.key.hex, "effect": effect.effect_id, "attempt": claimed.attempt}
    try:
        if await in_database(leases.start, claimed):
            await _finish(claimed, await _attempt(claimed))
    except asyncio.CancelledError:
        logger.info("an effect was cancelled here", extra=facts)
    except Exception:
        # The row keeps its lease and the sweeper takes over: nothing is lost by giving up here.
        logger.exception("an effect could not be finished", extra=facts)
    finally:
        _running.pop(effect.pk, None)
        _slots.release()


async def _attempt(claimed: Claim) -> Ending:
    """Run the effect's code within its deadline and return how it ended, whatever it raised."""
    from sessions_app.attempts import perform

    limit = asyncio.timeout(claimed.remaining)
    try:
        async with limit:
            return await perform(claimed)
    except asyncio.CancelledError:
        raise
    except TimeoutError as error:
        if limit.expired():
            return ended(claimed.effect, "timed out", f"It took longer than {_seconds(claimed)} s.")
        return failed(claimed, error)
    except BaseException as error:
        return failed(claimed, error)


def _seconds(claimed: Claim) -> str:
    return f"{policy_of(claimed.effect).timeout:g}"


def policy_of(effect: StoredEffect) -> Policy:
    """Return the policy an effect runs under."""
    return Policy.model_validate_json(effect.policy, extra="ignore")


def failed(claimed: Claim, error: BaseException) -> Ending:
    """Return the ending after the author's code raised: another attempt where the policy has one left."""
    from sessions_app.core.change import short_reason, traceback_of

    policy = policy_of(claimed.effect)
    failures = claimed.attempt - claimed.effect.losses
    message = short_reason(error)
    if failures <= policy.retries and policy.delivery == "at-least-once":
        return Ending(retry_after=backoff(failures), message=message)
    return ended(claimed.effect, "failed", message, traceback=traceback_of(error))


def backoff(failures: int) -> float:
    """Return the seconds to wait after so many failures: doubling, with up to a quarter of chance added."""
    delay: float = min(FIRST_BACKOFF * 2 ** (failures - 1), LONGEST_BACKOFF)
    return delay * (1 + random.random() / 4)  # noqa: S311  # spreads retries, keeps no secret


async def _finish(claimed: Claim, ending: Ending) -> None:
    if ending.retry_after is not None:
        await in_database(leases.retry_later, claimed, ending.retry_after, ending.message, ending.request)
    elif await in_database(leases.report, claimed, ending.type, ending.payload or {}, ending.traceback):
        await in_database(engine.apply_result, claimed.effect)


def running_claims() -> list[Claim]:
    """Return what this process runs at the moment."""
    return [running.claim for running in list(_running.values())]


def cancel_lost(owned: set[int]) -> None:
    """Cancel the effects that are no longer ours: ended by a person, a deadline or another worker."""
    for effect_pk, running in list(_running.items()):
        if effect_pk not in owned:
            background_loop().call_soon_threadsafe(running.task.cancel)


def resume() -> None:
    """Take new effects (again)."""
    _stopping.clear()


def drain(grace: float) -> None:
    """Take nothing new, let what runs end within `grace` seconds, and hand the rest back."""
    _stopping.set()
    tasks = [running.task for running in list(_running.values())]
    if not tasks:
        return

    async def wait_for_tasks() -> None:
        await asyncio.wait(tasks, timeout=grace)

    asyncio.run_coroutine_threadsafe(wait_for_tasks(), background_loop()).result(grace + 1)
    for claimed in running_claims():
        if policy_of(claimed.effect).delivery == "at-least-once":
            leases.release(claimed)
