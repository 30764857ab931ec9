"""A harness that holds the promises of the machine against every event it handles."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from sessions_app.core.agent import Agent
from sessions_app.core.canonical import canonical
from sessions_app.core.errors import EventRejected, NotLoaded
from sessions_app.core.event_log import Incoming, Transition
from sessions_app.core.language_model import ModelRequest
from sessions_app.core.memory import Memory
from sessions_app.core.messages import Message, ToolCallPart, ToolResultPart
from sessions_app.core.platform import AssistantMessage, GenerateResponse, Stop, ToolCall, UserMessage
from sessions_app.core.reducer import reduce_event
from sessions_app.core.request import PreparedRequest, messages_of
from sessions_app.core.state import EffectRecord, ItemRecord, SessionRecord
from sessions_app.core.turn import takes_public_event, visible_pending
from sessions_app.providers.scripted import ScriptedResponse
from sessions_app.providers.strict import provider_faults
from sessions_app.testing import AgentHarness, Which
from tests.core.lab import LabAgent

MOST_LOADS = 8
"""Parts of a session that one event may ask for beyond what is read at first."""


class Partial:
    """A session of which only the open parts were read, as the store reads it; the rest is read on demand."""

    def __init__(self, memory: Memory, item_id: str) -> None:
        self.memory = memory
        self.loads: list[str] = []
        self.items = {item_id} if item_id else set()
        for record in memory.open_items():
            while record.id not in self.items:
                self.items.add(record.id)
                record = memory.items.get(record.parent, record)
        self.held: set[tuple[str, str]] = set()

    @property
    def session(self) -> SessionRecord:
        return self.memory.session

    @property
    def agent_state(self) -> Mapping[str, Any]:
        return self.memory.agent_state

    def item(self, item_id: str) -> ItemRecord | None:
        if item_id not in self.items:
            raise NotLoaded("item", item_id)
        return self.memory.item(item_id)

    def children(self, parent: str) -> list[ItemRecord]:
        if ("children", parent) not in self.held:
            raise NotLoaded("children", parent)
        return self.memory.children(parent)

    def order(self) -> list[str]:
        if ("order", "") not in self.held:
            raise NotLoaded("order")
        return self.memory.order()

    def open_items(self) -> list[ItemRecord]:
        return self.memory.open_items()

    def open_effects(self) -> list[EffectRecord]:
        return self.memory.open_effects()

    def last_effect(self, owner: str) -> EffectRecord | None:
        if ("last_effect", owner) not in self.held:
            raise NotLoaded("last_effect", owner)
        return self.memory.last_effect(owner)

    def load(self, missing: NotLoaded) -> None:
        self.loads.append(str(missing))
        assert len(self.loads) <= MOST_LOADS, f"One event asked for {self.loads}."
        self.held.add((missing.part, missing.key))
        if missing.part == "item":
            self.items.add(missing.key)
        if missing.part == "children":
            self.items |= {child.id for child in self.memory.children(missing.key)}


def reduce_partly(agent: Agent[Any, Any], memory: Memory, incoming: Incoming) -> list[Transition]:
    """Reduce an event over a partly read session, reading more until it is enough."""
    partial = Partial(memory, incoming.item_id)
    while True:
        try:
            return reduce_event(agent, partial, incoming)
        except NotLoaded as missing:
            partial.load(missing)


def finish(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine that waits for nothing but its turn, without an event loop."""
    try:
        while coroutine.send(None) is None:
            pass
    except StopIteration as stopped:
        return stopped.value
    raise AssertionError("The coroutine waits for something.")


class CheckedHarness(AgentHarness):
    """An `AgentHarness` that checks after each event what must always hold, and keeps what requests held."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.seen: set[str] = set()
        self.sent: dict[str, ToolResultPart] = {}
        self.emptied: set[str] = set()
        self.hidden: set[str] = set()
        self.stopped_at = 0
        self.began: set[str] = set()
        super().__init__(*args, mistakes="keep", **kwargs)

    def run(self, which: Which) -> Transition:
        transition: Transition = finish(self._perform(self._find(which)))
        return transition

    def handle(self, incoming: Incoming) -> Transition:
        before = _contents(self.memory)
        try:
            expected = reduce_event(self.agent, self.memory, incoming)
        except EventRejected as rejected:
            self._check_rejected(incoming, rejected, before)
            raise
        assert reduce_partly(self.agent, self.memory, incoming) == expected, (
            "A partly read session gave another result."
        )
        assert _contents(self.memory) == before, "Reducing changed the session."
        self._keep_track(expected)
        first = super().handle(incoming)
        self._check_failures(expected, before)
        self.hidden |= {record.id for record in self.memory.items.values() if not record.visible}
        self.check()
        return first

    async def _ask_model(self, effect: EffectRecord) -> Transition:
        self.answered(self.request(), effect.owner)
        return await super()._ask_model(effect)

    def request(self) -> PreparedRequest:
        prepared = super().request()
        self._check_request(prepared.request)
        return prepared

    def answered(self, prepared: PreparedRequest, placeholder: str) -> None:
        """Note that a model has read a request."""
        for part in _parts(prepared.request.messages, ToolResultPart):
            if part.call_id not in self.emptied:
                known = self.sent.setdefault(part.call_id, part)
                assert known == part, f"The result of {part.call_id} changed after it was sent."
        order = self.memory.order()
        self.seen.update(order[: order.index(placeholder)])

    # --- what one event may do

    def _check_rejected(self, incoming: Incoming, rejected: EventRejected, before: Any) -> None:
        assert incoming.sender.outside, "What comes from inside is dropped, not rejected."
        assert _contents(self.memory) == before
        with pytest.raises(EventRejected) as again:
            reduce_partly(self.agent, self.memory, incoming)
        assert (again.value.code, again.value.message) == (rejected.code, rejected.message)

    def _check_failures(self, transitions: list[Transition], before: Any) -> None:
        for transition in transitions:
            if transition.status == "failed":
                assert not transition.event.type.startswith("@platform/") or "larger than" in transition.reason
                assert "Boom" in transition.reason or "HandlerError" in transition.reason, transition.reason
            if transition.status != "applied":
                assert transition.operations == (), "What was not applied has changed something."
                assert transition.reason
        if all(transition.status != "applied" for transition in transitions):
            assert _contents(self.memory) == before
        seqs = [transition.seq for transition in self.log]
        assert seqs == list(range(1, len(seqs) + 1))

    def _keep_track(self, transitions: list[Transition]) -> None:
        self.began = {op.owner for t in transitions for op in t.operations if op.op == "effect-started"}
        for transition in transitions:
            if transition.status == "applied" and transition.event.type == Stop.type_name():
                self.stopped_at = transition.seq
            for operation in transition.operations:
                if operation.op == "item-changed" and operation.id in self.memory.items:
                    allowed = not self.memory.items[operation.id].closed or operation.set.keys() <= {"emptied"}
                    assert allowed, "A closed item has changed."
                if operation.op == "item-deleted" and operation.id in self.memory.items:
                    self.emptied.add(self.memory.items[operation.id].parent)

    # --- what must hold at any time

    def check(self) -> None:
        """Check the invariants that need no look at the past."""
        self._check_structure()
        self._check_generation()
        self._check_calls()
        self._check_nothing_waits_in_silence()
        self._check_idle()
        messages = messages_of(self.memory, self.memory.order())
        if not visible_pending(self.memory):
            assert provider_faults(ModelRequest((), messages, ())) == []

    def _check_structure(self) -> None:
        items = self.memory.items
        visible = {record.id for record in items.values() if record.visible and not record.parent}
        assert sorted(self.memory.placed) == sorted(visible), "The order is not the set of visible top-level items."
        for record in items.values():
            assert not record.parent or record.parent in items, f"{record.id} hangs under nothing."
        for effect in self.memory.open_effects():
            assert not effect.owner or effect.owner in items, f"{effect.id} works for an item that is gone."
        waiting = {record.id for record in items.values() if record.open and _top(items, record).visible}
        assert {record.id for record in visible_pending(self.memory)} == waiting

    def _check_generation(self) -> None:
        session = self.memory.session
        requests = [e for e in self.memory.open_effects() if e.type == GenerateResponse.type_name()]
        assert [effect.id for effect in requests] == ([session.request] if session.request else [])
        placeholders = [r.id for r in self.memory.items.values() if r.type == AssistantMessage.type_name() and r.open]
        assert placeholders == [effect.owner for effect in requests], "A reply is awaited that nobody writes."
        assert not requests or placeholders[0] in self.memory.placed
        if requests and placeholders[0] in self.began:
            waiting = [record.id for record in visible_pending(self.memory)]
            assert waiting == placeholders, f"A request began while {waiting} were pending."
            assert self.memory.placed[-1] == placeholders[0], "A reply began before the end of the conversation."
        due = session.owes_answer and not session.request and not session.blocked_code
        if due and not visible_pending(self.memory):
            waits = self.memory.agent_state.get("prompt") == "pending"
            assert waits, "An answer is owed, and nobody was asked for it."

    def _check_calls(self) -> None:
        busy = {effect.owner for effect in self.memory.open_effects()}
        for call in self.memory.items.values():
            if call.type == ToolCall.type_name():
                waits = call.id in busy or any(child.open for child in self.memory.children(call.id))
                assert call.open == (waits and not call.closed), f"Call {call.id} is open: {call.open}, waits: {waits}."

    def _check_nothing_waits_in_silence(self) -> None:
        busy = {effect.owner for effect in self.memory.open_effects()}
        for record in self.memory.items.values():
            if record.open and record.type not in (ToolCall.type_name(), AssistantMessage.type_name()):
                by_handler = record.data.get("text") == "wait"
                by_somebody = record.id in busy or takes_public_event(record) or by_handler
                assert by_somebody or record.reason, f"{record.id} waits in silence."

    def _check_idle(self) -> None:
        session = self.memory.session
        if session.owes_answer or session.request or visible_pending(self.memory):
            return
        for item_id in self.memory.placed:
            if self.memory.items[item_id].type == UserMessage.type_name() and item_id not in self.hidden:
                stopped = int(item_id.split("_")[0]) < self.stopped_at
                assert item_id in self.seen or stopped, f"Message {item_id} was never answered."

    def _check_request(self, request: ModelRequest) -> None:
        assert provider_faults(request) == []
        calls = [part.id for part in _parts(request.messages, ToolCallPart)]
        results = [part.call_id for part in _parts(request.messages, ToolResultPart)]
        placed = self.memory.placed
        before = placed[: placed.index(self._find(GenerateResponse).owner)]
        expected = [child.id for item_id in before for child in self.memory.children(item_id)]
        assert calls == results == expected, "Calls and results are not paired in order."


def lab(*answers: ScriptedResponse, topics: Sequence[str] = ()) -> CheckedHarness:
    """Return a new session of the lab agent, whose model gives these answers."""
    return CheckedHarness(LabAgent, {"topics": list(topics)}, model=answers)


def _contents(memory: Memory) -> Any:
    """Return what a session holds: records cannot change, and what handlers are handed is kept as text."""
    handed = [canonical(memory.agent_state), *(canonical(record.data) for record in memory.open_items())]
    return replace(memory.session, seq=0), handed, dict(memory.items), dict(memory.effects), list(memory.placed)


def _top(items: Mapping[str, ItemRecord], record: ItemRecord) -> ItemRecord:
    while record.parent:
        record = items[record.parent]
    return record


def _parts(messages: Any, kind: type[Any]) -> list[Any]:
    typed: list[Message] = list(messages)
    return [part for message in typed for part in message.parts if isinstance(part, kind)]
