"""A whole session in memory: what histories are folded into, and what tests play on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .operations import Operation
from .state import Draft, EffectRecord, ItemRecord, SessionRecord, id_key


@dataclass
class Memory:
    """A whole session in memory: what tests, replay and history fold into."""

    session: SessionRecord = field(default_factory=SessionRecord)
    agent_state: Mapping[str, Any] = field(default_factory=dict)
    items: dict[str, ItemRecord] = field(default_factory=dict)
    effects: dict[str, EffectRecord] = field(default_factory=dict)
    placed: list[str] = field(default_factory=list)

    def item(self, item_id: str) -> ItemRecord | None:
        return self.items.get(item_id)

    def children(self, parent: str) -> list[ItemRecord]:
        return sorted((i for i in self.items.values() if i.parent == parent), key=lambda item: item.order_key)

    def order(self) -> list[str]:
        return list(self.placed)

    def open_items(self) -> list[ItemRecord]:
        return [item for item in self.items.values() if item.open]

    def open_effects(self) -> list[EffectRecord]:
        return [effect for effect in self.effects.values() if not effect.outcome]

    def last_effect(self, owner: str) -> EffectRecord | None:
        own = [effect for effect in self.effects.values() if effect.owner == owner]
        return max(own, key=lambda effect: id_key(effect.id), default=None)

    def absorb(self, draft: Draft) -> None:
        """Take over a draft that lies over this memory."""
        for placement in draft.placements:
            placement.apply(self.placed)
        self.session = draft.session
        self.agent_state = draft.agent_state
        self.effects.update(draft.effects)
        for item_id, visible in draft.moved.items():
            self.items[item_id] = replace(self.items[item_id], visible=visible)
        for item_id, item in draft.items.items():
            if item is None:
                self.items.pop(item_id, None)
            else:
                self.items[item_id] = item

    def fold(self, operations: Sequence[Operation]) -> None:
        """Apply a stored delta."""
        draft = Draft(self)
        for operation in operations:
            draft.apply(operation)
        self.absorb(draft)
