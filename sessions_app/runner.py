"""The runner: takes claimed effects, runs them on the background loop, and reports one outcome each.

Celery brings the key of an effect; claiming its row decides who runs it. The code of an effect never runs inside a
transaction. Its outcome is saved on the row under the attempt's fence and then applied as an event, in two steps, so
that a result that was paid for survives whatever happens between them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import InterfaceError, OperationalError

from sessions_app import engine, leases
from sessions_app.attempts import perform
from sessions_app.background import background_loop
from sessions_app.conf import configuration
from sessions_app.core.data import find
from sessions_app.core.platform import RunTool
from sessions_app.endings import Ending, ended, failed, overran, policy_of
from sessions_app.leases import Claim
from sessions_app.models import StoredEffect
from sessions_app.registry import get_agent
from sessions_app.threads import in_database

logger = logging.getLogger(__name__)


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
_left_to_others: dict[int, str] = {}
"""Effects this process has no code for, with what it lacks: each is logged once."""
MOST_LEFT_TO_OTHERS = 10_000
PAUSE_BEFORE_SAVING_AGAIN = 1.0


def free_slots() -> int:
    """Return how many more effects this process would run at once."""
    return 0 if _stopping.is_set() else configuration().EFFECTS_PER_WORKER - _slots.taken


def take(effect: StoredEffect) -> bool:
    """Claim an effect and begin to run it on the loop. False where it is not ours to run now."""
    if lacking := missing_code(effect):
        _leave_to_others(effect, lacking)
        return False
    if not _slots.acquire():
        return False
    claimed = None
    try:
        claimed = leases.claim(effect.pk, starts=policy_of(effect).delivery == "at-least-once")
    finally:
        if claimed is None:
            _slots.release()
    if claimed is None:
        return False
    loop = background_loop()
    loop.call_soon_threadsafe(_begin, loop, claimed)
    return True


def missing_code(effect: StoredEffect) -> str:
    """Return what this process lacks to run an effect, "" if nothing. During a deploy another worker may have it."""
    if find("effect", effect.type) is None:
        return f"effect type {effect.type}"
    try:
        agent = get_agent(effect.session.agent)
    except LookupError:
        return f"agent {effect.session.agent}"
    if effect.type != RunTool.type_name():
        return ""
    name = RunTool.model_validate_json(effect.payload).name
    return "" if agent.find_tool(name) else f"tool {name}"


def _leave_to_others(effect: StoredEffect, lacking: str) -> None:
    known = set(_left_to_others.values())
    if len(_left_to_others) >= MOST_LEFT_TO_OTHERS:
        _left_to_others.clear()
    _left_to_others[effect.pk] = lacking
    if lacking not in known:
        logger.warning("this worker leaves work to others, as it lacks its code", extra={"lacking": lacking})


def left_to_others() -> list[int]:
    """Return the keys of effects that this process cannot run, so that looking for work can pass them over."""
    return list(_left_to_others)


def _begin(loop: asyncio.AbstractEventLoop, claimed: Claim) -> None:
    task = loop.create_task(_run(claimed), name=f"effect {claimed.effect.effect_id}")
    _running[claimed.effect.pk] = _Running(claimed, task)


async def _run(claimed: Claim) -> None:
    effect = claimed.effect
    facts = {"session": effect.session.key.hex, "effect": effect.effect_id, "attempt": claimed.attempt}
    try:
        if claimed.started or await in_database(leases.start, claimed):
            await _finish(claimed, await _attempt(claimed))
    except asyncio.CancelledError:
        logger.info("an effect was cancelled here", extra=facts)
    except Exception:
        # The row keeps its lease and the sweeper takes over: nothing is lost by giving up here.
        logger.exception("an effect could not be finished", extra=facts)
    finally:
        running = _running.get(effect.pk)
        if running is not None and running.claim is claimed:
            del _running[effect.pk]
        _slots.release()


async def _attempt(claimed: Claim) -> Ending:
    """Run the effect's code within its deadline and return how it ended, whatever it raised."""
    limit = asyncio.timeout(claimed.remaining)
    try:
        async with limit:
            return await perform(claimed)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        return failed(claimed, error)  # Nobody cancelled it: the author's code raised this by itself.
    except TimeoutError as error:
        if limit.expired():
            return ended(claimed.effect, "timed out", overran(claimed.effect))
        return failed(claimed, error)
    except BaseException as error:
        return failed(claimed, error)


async def _finish(claimed: Claim, ending: Ending) -> None:
    if ending.retry_after is not None:
        await in_database(leases.retry_later, claimed, ending.retry_after, ending.message, ending.request)
    elif await _saved(claimed, ending):
        await in_database(engine.apply_result, claimed.effect)


async def _saved(claimed: Claim, ending: Ending) -> bool:
    """Save an outcome. It was paid for, so a database that is away for a moment must not lose it."""
    while True:
        try:
            return await in_database(leases.report, claimed, ending.type, ending.payload or {}, ending.traceback)
        except (OperationalError, InterfaceError):
            if claimed.time_left <= 0:
                raise
            logger.warning("an outcome could not be saved and will be tried again", extra={"effect": claimed.effect.pk})
            await asyncio.sleep(PAUSE_BEFORE_SAVING_AGAIN)


def running_claims() -> list[Claim]:
    """Return what this process runs at the moment."""
    return [running.claim for running in list(_running.values())]


def cancel_lost(lost: Iterable[Claim]) -> None:
    """Cancel effects that are no longer ours: ended by a person, a deadline or another worker."""
    for claimed in lost:
        running = _running.get(claimed.effect.pk)
        if running is not None and running.claim is claimed:
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
