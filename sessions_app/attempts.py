"""One attempt at an effect: a model request, a tool, or an author's own effect."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from pydantic import ValidationError

from sessions_app import engine
from sessions_app.core.data import dump, explain, find, load
from sessions_app.core.effects import Effect
from sessions_app.core.errors import EventRejected, HandlerError
from sessions_app.core.events import Event
from sessions_app.core.platform import GenerateResponse, RunTool, ToolFinished
from sessions_app.core.tool_results import check_emits, emitted, tool_finished_payload
from sessions_app.core.tools import ToolContext
from sessions_app.endings import Ending, ended
from sessions_app.leases import Claim
from sessions_app.model_calls import request_response
from sessions_app.models import StoredEffect
from sessions_app.receipts import Receipt
from sessions_app.registry import get_agent
from sessions_app.threads import in_author_thread, in_database

P = ParamSpec("P")
R = TypeVar("R")

PAUSE_WHEN_BUSY = 0.5


async def perform(claimed: Claim) -> Ending:
    """Run an effect's code and return how it ended. What the code raises passes through."""
    match claimed.effect.type:
        case GenerateResponse.__definition__.type:
            return await request_response(claimed)
        case RunTool.__definition__.type:
            return await _run_tool(claimed)
        case _:
            return await _run_effect(claimed)


async def _run_tool(claimed: Claim) -> Ending:
    effect = claimed.effect
    call = RunTool.model_validate_json(effect.payload)
    tool_class = get_agent(effect.session.agent).find_tool(call.name)
    if tool_class is None:
        raise HandlerError(f'There is no tool "{call.name}" here.')
    try:
        tool = tool_class.model_validate_json(call.arguments)
    except ValidationError as error:
        return ended(effect, "failed", f"The arguments of {call.name} are wrong: {explain(error)}.")
    result = await tool.execute(ToolContext(effect.idempotency_key, claimed.attempt, in_author_thread))
    return Ending(ToolFinished.type_name(), tool_finished_payload(tool, effect.effect_id, result))


async def _run_effect(claimed: Claim) -> Ending:
    effect = load_effect(claimed.effect)
    context = RunningContext(claimed, effect)
    try:
        returned = await effect.run(context)  # type: ignore[attr-defined]  # every effect that is run has one
    finally:
        context.close()
    if context.unhandled:
        return ended(claimed.effect, "failed", f"Its event {context.unhandled} could not be handled.")
    if returned is None:
        return ended(claimed.effect, "done")
    check_emits(effect, returned)
    return ended(claimed.effect, "done", event=emitted(returned))


def load_effect(row: StoredEffect) -> Effect:
    """Return an effect as its author's class. Raises `HandlerError` where today's class cannot read it."""
    cls = find("effect", row.type)
    if cls is None:
        raise HandlerError(f'No effect has the type "{row.type}".')
    try:
        effect: Effect = load(cls, json.loads(row.payload))
    except ValidationError as error:
        raise HandlerError(f"{cls.__name__} cannot read its stored payload: {explain(error)}") from error
    return effect


class RunningContext:
    """What a running effect may use; the real `EffectContext`."""

    def __init__(self, claimed: Claim, effect: Effect) -> None:
        self._claim = claimed
        self._effect = effect
        self._sent: Counter[str] = Counter()
        self._closed = False
        self.unhandled = ""

    @property
    def idempotency_key(self) -> str:
        return self._claim.effect.idempotency_key

    @property
    def attempt(self) -> int:
        return self._claim.attempt

    async def dispatch_event(self, event: Event) -> None:
        if self._closed:
            raise HandlerError(f"{type(self._effect).__name__} has returned and can send no more events.")
        check_emits(self._effect, event)
        name = event.type_name()
        self._sent[name] += 1
        receipt = await self._dispatch(name, self._sent[name], dump(event))
        if receipt.status == "failed":
            self.unhandled = f"{name} (event {receipt.seq})"

    async def _dispatch(self, name: str, ordinal: int, payload: Mapping[str, Any]) -> Receipt:
        """Send an event, again while the session is busy: that is no fault of the author's code."""
        while True:
            try:
                return await in_database(
                    engine.dispatch_from_effect, self._claim.effect, self.attempt, ordinal, name, payload
                )
            except EventRejected as rejection:
                if rejection.code != "busy":
                    raise
                await asyncio.sleep(PAUSE_WHEN_BUSY)

    async def in_thread(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await in_author_thread(function, *args, **kwargs)

    def close(self) -> None:
        """Take no more events."""
        self._closed = True
