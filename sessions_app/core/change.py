"""The vocabulary of change: what handlers of events may do to a session, written as operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pydantic import ValidationError

from .agent import Agent
from .canonical import NotStorable, canonical, clean, clean_text
from .data import dump, explain, find, load
from .effects import ContextItemEffect, Effect, Policy
from .errors import EventDropped, HandlerError, NotLoaded
from .event_log import Step
from .events import Envelope
from .items import ContextItem, ItemResult, RenderResult
from .operations import (
    EffectFinished,
    EffectStarted,
    ItemChanged,
    ItemClosed,
    ItemCreated,
    ItemDeleted,
    Render,
    SessionChanged,
    StateChanged,
)
from .platform import (
    MODEL_POLICY,
    PLATFORM_ITEMS,
    AssistantMessage,
    EmittedValue,
    GenerateResponse,
    RunTool,
    ToolCall,
    UserMessage,
)
from .reasons import short_reason
from .state import Draft, EffectRecord, ItemRecord
from .text import shorten

ITEM_LIMIT = 256 * 1024
"""Bytes of one item's data."""
REPLY_LIMIT = 200 * 1024
"""Bytes of one reply's text as it is stored; a longer one is shortened, with a note."""
EFFECTS_PER_EVENT = 100
LABEL_LENGTH = 300
"""Characters of the label a pending item shows."""
PARENTS = frozenset({AssistantMessage.type_name(), ToolCall.type_name()})
"""The types of the items that others hang under."""


@dataclass
class Change:
    """One event being handled: the agent, the draft it writes, the numbers it gives out, and who sent it when."""

    agent: Agent[Any, Any]
    draft: Draft
    step: Step
    envelope: Envelope

    def set_session(self, **fields: Any) -> None:
        """Change fields of the session row; equal values leave no trace."""
        session = self.draft.session
        changed = {name: value for name, value in fields.items() if getattr(session, name) != value}
        if changed:
            self.draft.record(SessionChanged(set=changed))

    def set_state(self, raw: Mapping[str, Any]) -> None:
        """Set the agent state, recording the top-level fields that changed."""
        changed = difference(self.draft.agent_state, storable(raw, "the agent state"))
        if changed:
            self.draft.record(StateChanged(set=changed))

    def create_item(
        self, result: ItemResult[Any], *, parent: str = "", index: int = 0, after: str | None = None
    ) -> str:
        """Create an item with its effects and return its id. A user message at the top level owes an answer."""
        item = _checked_item(result)
        item_id = self.step.next_id()
        if item.type_name() == UserMessage.type_name() and not parent:
            self.set_session(owed_seq=self.step.seq)
        return self.create_stored(item_id, item.type_name(), dump(item), result.effects, parent, index, after)

    def create_stored(
        self,
        item_id: str,
        type: str,
        data: Mapping[str, Any],
        effects: Sequence[Effect] = (),
        parent: str = "",
        index: int = 0,
        after: str | None = None,
    ) -> str:
        """Create an item from plain data under a given id."""
        cls = item_class(type)
        item = load(cls, data)
        raw = storable(dump(item), cls.__name__)
        render, failure = _render(item, item_id)
        self.draft.record(
            ItemCreated(id=item_id, type=type, data=raw, render=render, parent=parent, index=index, after=after)
        )
        if failure:
            self.close(item_id, "failed", failure)
        self._start_item_effects(effects, item_id)
        return item_id

    def change_item(self, record: ItemRecord, result: ItemResult[Any]) -> None:
        """Take over what an item's handler returned."""
        item = _checked_item(result)
        if item.type_name() != record.type:
            raise HandlerError(f"The handler of {record.type} returned a {item.type_name()}. Return the same type.")
        raw = storable(dump(item), type(item).__name__)
        changed = difference(record.data, raw)
        frozen = self._result_is_frozen(record)
        render, failure = (None, "") if frozen else _render(item, record.id)
        new_render = render if render != record.render else None
        moved_on = result.effects or (render is not None and render.status == "ready")
        reason = "" if record.reason and moved_on else None
        if changed or new_render or reason is not None:
            self.draft.record(ItemChanged(id=record.id, set=changed, render=new_render, reason=reason))
        if failure:
            self.close(record.id, "failed", failure)
        self._start_item_effects(result.effects, record.id)

    def _start_item_effects(self, effects: Sequence[Any], item_id: str) -> None:
        for effect in effects:
            if not isinstance(effect, ContextItemEffect):
                raise HandlerError(f"A context item starts ContextItemEffect objects, not {type(effect).__name__}.")
            self.start_effect(effect, owner=item_id)

    def _result_is_frozen(self, record: ItemRecord) -> bool:
        """A call's result stays what the model was shown, so renders under a completed call no longer change."""
        call = self.draft.item(record.parent) if record.parent else None
        return call is not None and not call.open

    def start_effect(self, effect: Effect, owner: str = "") -> str:
        """Start an effect and return its id. Asking the model is always possible; an author's effects have a limit."""
        started = sum(isinstance(op, EffectStarted) for op in self.draft.operations)
        if started >= EFFECTS_PER_EVENT and not isinstance(effect, GenerateResponse):
            raise HandlerError(f"One event may start {EFFECTS_PER_EVENT} effects. Split the work over several events.")
        effect_id = self.step.next_id()
        payload = storable(dump(effect), type(effect).__name__)
        policy = self._policy(effect).model_dump(mode="json")
        self.draft.record(
            EffectStarted(id=effect_id, type=effect.type_name(), payload=payload, policy=policy, owner=owner)
        )
        return effect_id

    def _policy(self, effect: Effect) -> Policy:
        match effect:
            case GenerateResponse():
                return MODEL_POLICY
            case RunTool():
                tool = self.agent.find_tool(effect.name)
                return tool.policy_in_force() if tool else Policy()
            case _:
                return effect.policy_in_force()

    def restart_effect(self, effect: EffectRecord) -> str:
        """Start an ended effect again, from what is stored, as a new effect."""
        effect_id = self.step.next_id()
        self.draft.record(
            EffectStarted(
                id=effect_id, type=effect.type, payload=effect.payload, policy=effect.policy, owner=effect.owner
            )
        )
        return effect_id

    def end_effect(self, effect_id: str, outcome: str, message: str = "") -> None:
        """Give an open effect its outcome."""
        self.draft.record(EffectFinished(id=effect_id, outcome=outcome, message=message))

    def cancel_effects(self, owner: str) -> bool:
        """Cancel the open effects of an item and tell whether there were any."""
        own = [effect for effect in self.draft.open_effects() if effect.owner == owner]
        for effect in own:
            self.end_effect(effect.id, "cancelled")
        return bool(own)

    def open_effect(self, effect_id: str) -> EffectRecord:
        """Return an open effect. Raises `EventDropped` for one that has ended."""
        found = next((effect for effect in self.draft.open_effects() if effect.id == effect_id), None)
        if found is None:
            raise EventDropped(f"Effect {effect_id} had ended before this arrived.")
        return found

    def close(self, item_id: str, closed: str, reason: str = "") -> None:
        """Close an item; it counts as ready from now on."""
        self.draft.record(ItemClosed(id=item_id, closed=closed, reason=reason))

    def delete(self, record: ItemRecord) -> None:
        """Remove an item with all beneath it, and cancel their effects."""
        if record.type in PARENTS:
            for child in self.draft.children(record.id):
                self.delete(child)
        if any(e.id == self.draft.session.request for e in self.draft.open_effects() if e.owner == record.id):
            self.set_session(request="")
        self.cancel_effects(record.id)
        self.draft.record(ItemDeleted(id=record.id))


def item_class(type_name: str) -> type[ContextItem[Any]]:
    """Return the class of an item type. Raises `HandlerError` where this process does not know it."""
    cls = find("item", type_name)
    if cls is None:
        raise HandlerError(f'No context item has the type "{type_name}". Import the module that defines it.')
    return cast("type[ContextItem[Any]]", cls)


def load_item(record: ItemRecord) -> ContextItem[Any]:
    """Return an item as its author's class."""
    cls = item_class(record.type)
    try:
        return load(cls, record.data).with_id(record.id)
    except ValidationError as error:
        raise HandlerError(f"{cls.__name__} cannot read item {record.id}: {explain(error)}") from error


def load_effect(value: EmittedValue) -> Effect:
    """Return an effect as its author's class. Raises `HandlerError` where this process does not know it."""
    cls = find("effect", value.type)
    if cls is None:
        raise HandlerError(f'No effect has the type "{value.type}". Import the module that defines it.')
    loaded: Effect = load(cls, value.payload)
    return loaded


def storable(value: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return cleaned data. Raises `HandlerError` naming what cannot be stored."""
    try:
        cleaned: dict[str, Any] = clean(value)
    except NotStorable as error:
        path = ".".join(map(str, error.path))
        raise HandlerError(f"{what} cannot be stored: {path or 'value'}: {error.message}") from error
    if len(canonical(cleaned).encode()) > ITEM_LIMIT:
        limit = f"{ITEM_LIMIT // 1024} KB"
        raise HandlerError(f"{what} is larger than {limit}. Keep large data elsewhere and store a reference.")
    return cleaned


def kept_reply(text: str) -> str:
    """Return a reply's text as it is kept. What JSON must escape takes more room than it shows."""
    limit = REPLY_LIMIT
    while len(canonical(kept := shorten(text, limit)).encode()) > (REPLY_LIMIT + ITEM_LIMIT) // 2:
        limit //= 2
    return kept


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the top-level fields that are new or changed. One that `after` lacks is newer code's and stays."""
    return {name: value for name, value in after.items() if name not in before or not _same(before[name], value)}


def _same(left: Any, right: Any) -> bool:
    """Compare as JSON: in Python 1, 1.0 and True are equal, in storage they are not."""
    return bool(left == right) and canonical(left) == canonical(right)


def _checked_item(result: Any) -> ContextItem[Any]:
    if not isinstance(result, ItemResult) or not isinstance(result.data, ContextItem):
        raise HandlerError(f"Expected ItemResult(item, effects=…), got {type(result).__name__}.")
    return result.data


def _render(item: ContextItem[Any], item_id: str) -> tuple[Render, str]:
    """Return the stored form of an item's render, and why it failed if it did."""
    try:
        rendered: Any = item.with_id(item_id).render()
        if not isinstance(rendered, RenderResult):
            raise HandlerError(f"render returned {type(rendered).__name__}, not a RenderResult.")
        return _stored_render(item, rendered), ""
    except NotLoaded:
        raise
    except BaseException as error:
        return Render(status="pending"), f"It could not be rendered. {short_reason(error)}"


def _stored_render(item: ContextItem[Any], rendered: RenderResult) -> Render:
    if item.type_name() in PLATFORM_ITEMS:
        return Render(status=rendered.status, label=rendered.label)
    messages = clean([message.model_dump(mode="json") for message in rendered.messages])
    label = clean_text(rendered.label)[:LABEL_LENGTH]
    return Render.model_validate(
        {"status": rendered.status, "label": label, "fraction": rendered.fraction, "messages": messages}
    )


def is_tool_call(record: ItemRecord | None) -> bool:
    """Whether a record is a tool call."""
    return record is not None and record.type == ToolCall.type_name()
