"""A session as the reducer sees it: a snapshot to read, and a draft to change.

A draft lies over a snapshot. Nothing reaches the snapshot before the draft is absorbed, so a handler that
raises leaves no trace. `Draft.apply` is the one place that says what an operation does; the store, the
history and the tests all go through it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, assert_never

from .operations import (
    EffectFinished,
    EffectStarted,
    ItemChanged,
    ItemClosed,
    ItemCreated,
    ItemDeleted,
    ItemMoved,
    ItemOperation,
    Operation,
    Render,
    SessionChanged,
    StateChanged,
)


@dataclass(frozen=True)
class SessionRecord:
    """The facts of a session that are not items, effects or agent state.

    An answer is owed while `owed_seq` (the last event that asked for one) is beyond `answered_seq` (what the
    last answered request had seen). Both are numbers, so reordering and hiding cannot change what is owed.
    """

    agent: str = ""
    version: str = ""
    title: str = ""
    seq: int = 0
    owed_seq: int = 0
    answered_seq: int = 0
    request: str = ""
    requests: int = 0
    cuts: int = 0
    blocked_code: str = ""
    blocked_reason: str = ""
    stopped: bool = False
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def owes_answer(self) -> bool:
        """Whether a model request is owed."""
        return self.owed_seq > self.answered_seq


@dataclass(frozen=True)
class ItemRecord:
    """One item or tool call."""

    id: str
    type: str
    data: Mapping[str, Any]
    render: Render
    parent: str = ""
    index: int = 0
    visible: bool = True
    closed: str = ""
    reason: str = ""
    answers: int = 0

    @property
    def open(self) -> bool:
        """Whether the item still waits for something."""
        return self.render.status == "pending" and not self.closed

    @property
    def order_key(self) -> tuple[int, tuple[int, ...]]:
        """Sorts siblings: by place under the parent, then by creation."""
        return self.index, id_key(self.id)


@dataclass(frozen=True)
class EffectRecord:
    """One effect; `outcome` is empty while it is open."""

    id: str
    type: str
    payload: Mapping[str, Any]
    policy: Mapping[str, Any]
    owner: str = ""
    outcome: str = ""
    message: str = ""


def id_key(identifier: str) -> tuple[int, ...]:
    """Return the numbers of an id, so that "10_0" sorts behind "9_1"."""
    return tuple(int(number) for number in identifier.split("_"))


class Snapshot(Protocol):
    """What can be read of a session. A partly read one raises `NotLoaded` for what it does not hold."""

    @property
    def session(self) -> SessionRecord: ...
    @property
    def agent_state(self) -> Mapping[str, Any]: ...
    def item(self, item_id: str) -> ItemRecord | None: ...
    def children(self, parent: str) -> list[ItemRecord]: ...
    def order(self) -> list[str]: ...
    def open_items(self) -> list[ItemRecord]: ...
    def open_effects(self) -> list[EffectRecord]: ...
    def last_effect(self, owner: str) -> EffectRecord | None: ...


@dataclass(frozen=True)
class Placement:
    """One change of the order: an id goes behind `after` ("" is the head, None the end) or out of it."""

    id: str
    after: str | None = None
    hidden: bool = False

    def apply(self, order: list[str]) -> None:
        """Change an order in place."""
        if self.id in order:
            order.remove(self.id)
        if self.hidden:
            return
        if self.after is None:
            order.append(self.id)
        else:
            order.insert(order.index(self.after) + 1 if self.after else 0, self.id)


class Draft:
    """Changes over a snapshot, with the operations that made them."""

    def __init__(self, base: Snapshot) -> None:
        self.base = base
        self.operations: list[Operation] = []
        self.session = base.session
        self.state_changes: dict[str, Any] | None = None
        self.items: dict[str, ItemRecord | None] = {}
        self.moved: dict[str, bool] = {}
        """Whether items are visible that were moved without being read: hiding a thousand must not read them."""
        self.effects: dict[str, EffectRecord] = {}
        self.placements: list[Placement] = []
        self._order: list[str] | None = None

    @property
    def agent_state(self) -> Mapping[str, Any]:
        return self.base.agent_state if self.state_changes is None else self.state_changes

    def item(self, item_id: str) -> ItemRecord | None:
        if item_id in self.items:
            return self.items[item_id]
        record = self.base.item(item_id)
        return self._as_moved(record) if record else None

    def children(self, parent: str) -> list[ItemRecord]:
        known = {} if self._is_new(parent) else {child.id: child for child in self.base.children(parent)}
        return sorted(self._overlay(known, lambda item: item.parent == parent), key=lambda item: item.order_key)

    def open_items(self) -> list[ItemRecord]:
        known = {item.id: self._as_moved(item) for item in self.base.open_items()}
        return sorted(self._overlay(known, lambda item: item.open), key=lambda item: id_key(item.id))

    def open_effects(self) -> list[EffectRecord]:
        known = {effect.id: effect for effect in self.base.open_effects()} | self.effects
        return sorted((e for e in known.values() if not e.outcome), key=lambda effect: id_key(effect.id))

    def last_effect(self, owner: str) -> EffectRecord | None:
        before = self.base.last_effect(owner)
        own = [effect for effect in self.effects.values() if effect.owner == owner]
        return max([*own, *([before] if before else [])], key=lambda effect: id_key(effect.id), default=None)

    def order(self) -> list[str]:
        if self._order is None:
            self._order = self.base.order()
            for placement in self.placements:
                placement.apply(self._order)
        return list(self._order)

    def _place(self, placement: Placement) -> None:
        self.placements.append(placement)
        if self._order is not None:
            placement.apply(self._order)

    def _as_moved(self, record: ItemRecord) -> ItemRecord:
        return replace(record, visible=self.moved[record.id]) if record.id in self.moved else record

    def _is_new(self, item_id: str) -> bool:
        return any(isinstance(op, ItemCreated) and op.id == item_id for op in self.operations)

    def _overlay(self, known: dict[str, ItemRecord], fits: Any) -> list[ItemRecord]:
        merged: dict[str, ItemRecord | None] = {**known, **self.items}
        return [item for item in merged.values() if item is not None and fits(item)]

    def record(self, operation: Operation) -> None:
        """Apply an operation and keep it for the delta."""
        self.apply(operation)
        self.operations.append(operation)

    def apply(self, operation: Operation) -> None:
        """Do what an operation says."""
        match operation:
            case SessionChanged():
                self.session = replace(self.session, **operation.set)
            case StateChanged():
                self.state_changes = {**self.agent_state, **operation.set}
            case EffectStarted():
                self.effects[operation.id] = EffectRecord(
                    operation.id, operation.type, operation.payload, operation.policy, operation.owner
                )
            case EffectFinished():
                effect = self._open_effect(operation.id)
                self.effects[operation.id] = replace(effect, outcome=operation.outcome, message=operation.message)
            case _:
                self._apply_to_item(operation)

    def _apply_to_item(self, operation: ItemOperation) -> None:
        match operation:
            case ItemCreated(id=item_id):
                self.items[item_id] = ItemRecord(
                    item_id, operation.type, operation.data, operation.render, operation.parent, operation.index
                )
                if not operation.parent:
                    self._place(Placement(item_id, operation.after))
            case ItemChanged(id=item_id):
                self.items[item_id] = _changed(self._existing(item_id), operation)
            case ItemClosed(id=item_id):
                item = self._existing(item_id)
                self.items[item_id] = replace(item, closed=operation.closed, reason=operation.reason)
            case ItemDeleted(id=item_id):
                self.items[item_id] = None
                self._place(Placement(item_id, hidden=True))
            case ItemMoved(id=item_id):
                self._move(item_id, visible=not operation.hidden)
                self._place(Placement(item_id, operation.after, operation.hidden))
            case _:
                assert_never(operation)

    def absorb(self, draft: Draft) -> None:
        """Take over the changes of a draft that lies over this one."""
        self.operations.extend(draft.operations)
        self.session = draft.session
        self.state_changes = draft.state_changes if draft.state_changes is not None else self.state_changes
        for item_id, visible in draft.moved.items():
            self._move(item_id, visible=visible)
        self.items.update(draft.items)
        self.effects.update(draft.effects)
        for placement in draft.placements:
            self._place(placement)

    def _move(self, item_id: str, *, visible: bool) -> None:
        record = self.items.get(item_id)
        if record is None:
            self.moved[item_id] = visible
        else:
            self.items[item_id] = replace(record, visible=visible)

    def _existing(self, item_id: str) -> ItemRecord:
        item = self.item(item_id)
        if item is None:
            raise LookupError(f"There is no item {item_id}.")
        return item

    def _open_effect(self, effect_id: str) -> EffectRecord:
        return next(effect for effect in self.open_effects() if effect.id == effect_id)


def _changed(item: ItemRecord, change: ItemChanged) -> ItemRecord:
    return replace(
        item,
        data={**item.data, **change.set},
        render=change.render or item.render,
        answers=item.answers if change.answers is None else change.answers,
        reason=item.reason if change.reason is None else change.reason,
    )
