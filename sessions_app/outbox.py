"""What is announced after a commit: effects to Celery, changes to Channels. Hints only; losing one costs seconds.

Nothing here may hold up or fail the change that was committed, so hints leave through one thread of their own.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from celery import current_app
from channels.layers import get_channel_layer
from django.db import transaction

from sessions_app.background import submit

logger = logging.getLogger(__name__)

RUN_EFFECT = "sessions_app.run_effect"
"""The name of the Celery task in `tasks`; by name, as that module builds on this one."""
LONGEST_SEND = 2.0
"""Seconds after which a hint is given up, so that a layer that hangs piles nothing up."""
PAUSE_AFTER_FAILURE = 5.0
"""Seconds without hints after the broker failed; the sweepers find the work meanwhile."""

_sender = ThreadPoolExecutor(max_workers=1, thread_name_prefix="outbox")


@dataclass
class _Pause:
    until: float = 0.0


_pause = _Pause()


def group_name(session_key: str) -> str:
    """Return the Channels group of the pages that show a session."""
    return f"session.{session_key}"


def announce_on_commit(session_key: str, seq: int, effect_pks: Sequence[int]) -> None:
    """Announce a change, and the effects it started, once it is committed."""
    transaction.on_commit(lambda: announce(session_key, seq, effect_pks), robust=True)


def announce(session_key: str, seq: int, effect_pks: Sequence[int]) -> None:
    """Send the hints for a committed change."""
    if effect_pks:
        _sender.submit(_hint_effects, list(effect_pks))
    notify(session_key, {"type": "session.changed", "seq": seq})


def notify(session_key: str, message: dict[str, Any]) -> None:
    """Send a message to the pages that show a session. It may be lost."""
    submit(_group_send(group_name(session_key), message))


async def _group_send(group: str, message: dict[str, Any]) -> None:
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async with asyncio.timeout(LONGEST_SEND):
            await layer.group_send(group, message)
    except Exception as error:
        logger.warning("the channel layer did not take a hint", extra={"group": group, "error": type(error).__name__})


def _hint_effects(effect_pks: Sequence[int]) -> None:
    if time.monotonic() < _pause.until:
        return
    try:
        for effect_pk in effect_pks:
            current_app.send_task(RUN_EFFECT, [effect_pk])
    except Exception as error:
        _pause.until = time.monotonic() + PAUSE_AFTER_FAILURE
        logger.warning("the broker did not take a hint; sweepers will find the work", extra={"error": str(error)[:200]})
