"""Where agent code is called, and where what it returns is checked and applied."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from .canonical import clean_text
from .change import Change, is_tool_call, load_item
from .data import dump, explain, load
from .effects import EffectEnded, SessionEffect
from .errors import HandlerError
from .events import ContextItemEvent, Event, Sender
from .items import ContextItem
from .operations import ItemChanged, ItemMoved
from .results import (
    AddContextItem,
    AgentState,
    DeleteContextItem,
    DispatchToContextItem,
    EventResult,
    SessionResult,
    SetAgentState,
    SetContextItemOrder,
    SetTitle,
    StateUpdate,
    as_result,
)
from .state import Draft, ItemRecord

UPDATES_PER_EVENT = 1000
TITLE_LENGTH = 200


class SessionView:
    """The session state an agent's handler reads. Reading marks what is read; nothing can be changed through it."""

    def __init__(self, agent_state: Any, draft: Draft) -> None:
        self.agent_state = agent_state
        self._draft = draft

    @property
    def context_item_order(self) -> list[str]:
        return self._draft.order()

    @property
    def title(self) -> str:
        return self._draft.session.title

    def get_context_item(self, item_id: str) -> ContextItem[Any] | None:
        record = self._draft.item(item_id)
        return load_item(record) if record else None


def load_agent_state(change: Change) -> AgentState:
    """Return the agent state as its author's class. Raises `HandlerError` where today's class cannot read it."""
    cls = change.agent.state_type()
    try:
        return load(cls, change.draft.agent_state)
    except ValidationError as error:
        raise HandlerError(f"{cls.__name__} cannot read the stored agent state: {explain(error)}") from error


def create(change: Change, args: Any) -> None:
    """Run `create_session` and apply first state, items and effects."""
    result: Any = change.agent.create_session(args)
    if not isinstance(result, SessionResult) or not isinstance(result.agent_state, change.agent.state_type()):
        raise HandlerError(
            f"{type(change.agent).__name__}.create_session must return "
            f"SessionResult({change.agent.state_type().__name__}(…), …), not {type(result).__name__}."
        )
    change.set_state(dump(result.agent_state))
    for item in result.context_items:
        change.create_item(as_result(item))
    _start_session_effects(change, result.effects)


def handle_session_event(change: Change, event: Event) -> None:
    """Run the agent's handler and apply what it returns."""
    _keeping_changes(change, lambda view: change.agent.handle_event(view, event))


def handle_session_effect_ended(change: Change, ended: EffectEnded) -> bool:
    """Tell the agent how one of its effects ended, and return whether it made something of it."""
    handled = True

    def handle(view: SessionView) -> Any:
        nonlocal handled
        result = change.agent.handle_effect_ended(view, ended)
        handled = result is not None
        return result if handled else EventResult()

    _keeping_changes(change, handle)
    return handled


def _keeping_changes(change: Change, handle: Callable[[SessionView], Any]) -> None:
    """Call a handler and apply its result. What it changed in its state without returning it would be lost."""
    view = SessionView(load_agent_state(change), change.draft)
    before = dump(view.agent_state)
    result = handle(view)
    apply_event_result(change, result)
    if dump(view.agent_state) != before and not any(isinstance(each, SetAgentState) for each in result.state_updates):
        raise HandlerError(
            f"The handler changed {type(view.agent_state).__name__} in place, which nobody keeps. "
            "Return set_agent_state(state.agent_state.evolve(…))."
        )


def handle_item_event(change: Change, record: ItemRecord, event: Event) -> None:
    """Run an item's handler and apply what it returns."""
    change.change_item(record, load_item(record).handle_event(event))


def handle_item_effect_ended(change: Change, record: ItemRecord, ended: EffectEnded) -> bool:
    """Tell an item how one of its effects ended, and return whether it made something of it."""
    result = load_item(record).handle_effect_ended(ended)
    if result is not None:
        change.change_item(record, result)
    return result is not None


def apply_event_result(change: Change, result: Any) -> None:
    """Apply a handler's updates in list order, then start its effects."""
    if not isinstance(result, EventResult):
        raise HandlerError(f"handle_event must return an EventResult, not {type(result).__name__}.")
    if len(result.state_updates) > UPDATES_PER_EVENT:
        raise HandlerError(f"One event may make {UPDATES_PER_EVENT} updates.")
    for update in result.state_updates:
        _apply_update(change, update)
    _start_session_effects(change, result.effects)


def _start_session_effects(change: Change, effects: Any) -> None:
    for effect in effects:
        if not isinstance(effect, SessionEffect):
            raise HandlerError(f"A session starts SessionEffect objects, not {type(effect).__name__}.")
        change.start_effect(effect)


def _apply_update(change: Change, update: StateUpdate) -> None:
    match update:
        case SetAgentState(state=state):
            _set_agent_state(change, state)
        case SetTitle(title=title):
            change.set_session(title=clean_text(title)[:TITLE_LENGTH])
        case SetContextItemOrder(order=order):
            _set_order(change, list(order))
        case AddContextItem():
            _add(change, update)
        case DeleteContextItem(item_id=item_id):
            _delete(change, _existing(change, item_id))
        case DispatchToContextItem(item_id=item_id, event=event):
            _dispatch(change, _existing(change, item_id), event)
        case _:
            raise HandlerError(f"{type(update).__name__} is no update. Use set_agent_state(…), add_context_item(…) ….")


def _set_agent_state(change: Change, state: Any) -> None:
    expected = change.agent.state_type()
    if not isinstance(state, expected):
        raise HandlerError(f"set_agent_state takes a {expected.__name__}, not {type(state).__name__}.")
    change.set_state(dump(state))


def _existing(change: Change, item_id: str) -> ItemRecord:
    record = change.draft.item(item_id)
    if record is None:
        raise HandlerError(f'There is no item "{item_id}".')
    return record


def _add(change: Change, update: AddContextItem) -> None:
    change.create_item(update.item, after=_place(change, update))
    if update.generate:
        change.set_session(owed_seq=change.step.seq)


def _place(change: Change, update: AddContextItem) -> str | None:
    if update.before is None and update.after is None:
        return None
    order = change.draft.order()
    beside = update.after if update.after is not None else update.before
    if beside not in order:
        raise HandlerError(f'There is no visible item "{beside}" to add another beside it.')
    if update.after is not None:
        return update.after
    index = order.index(beside)
    return order[index - 1] if index else ""


def _delete(change: Change, record: ItemRecord) -> None:
    """Delete an item. A call without its result, or a result without its call, must not be left behind."""
    if is_tool_call(record):
        raise HandlerError(f"Item {record.id} is a tool call. Delete its assistant message, or the items beneath it.")
    call = change.draft.item(record.parent) if record.parent else None
    change.delete(record)
    if call is not None and not change.draft.children(call.id):
        change.draft.record(ItemChanged(id=call.id, set={"emptied": True}))


def _dispatch(change: Change, record: ItemRecord, event: ContextItemEvent) -> None:
    if record.closed:
        raise HandlerError(f"Item {record.id} was closed ({record.closed}) and takes no events.")
    item = load_item(record)
    if not isinstance(event, item.event_types()):
        raise HandlerError(f"{type(item).__name__} does not take {type(event).__name__}. Declare it on the item.")
    sender = Sender("handler", change.agent.name)
    change.change_item(record, item.handle_event(event.sent(replace(change.envelope, sender=sender))))


def _set_order(change: Change, wanted: list[str]) -> None:
    current = change.draft.order()
    rank = {item_id: index for index, item_id in enumerate(wanted)}
    _check_order(change, wanted, current)
    for item_id in current:
        if item_id not in rank:
            change.draft.record(ItemMoved(id=item_id, hidden=True))
    stay = _longest_increasing([item_id for item_id in current if item_id in rank], rank)
    for before, item_id in zip(["", *wanted], wanted, strict=False):
        if item_id not in stay:
            change.draft.record(ItemMoved(id=item_id, after=before))


def _check_order(change: Change, wanted: list[str], current: list[str]) -> None:
    if len(set(wanted)) != len(wanted):
        raise HandlerError("set_context_item_order got an id twice.")
    visible = set(current)
    for item_id in wanted:
        if item_id not in visible:
            record = _existing(change, item_id)
            if record.parent:
                raise HandlerError(f"Item {item_id} hangs under a tool call. Only top-level items have an order.")
    running = _placeholder(change)
    if running:
        _check_running_reply(running, wanted, current)


def _check_running_reply(running: str, wanted: list[str], current: list[str]) -> None:
    """What stands before a running reply is its request, and what came later is answered by the next one."""
    if running not in wanted:
        raise HandlerError("The reply that is being written cannot be hidden. Keep its id in the order.")
    before, wanted_before = current[: current.index(running)], wanted[: wanted.index(running)]
    behind, wanted_behind = current[len(before) :], wanted[len(wanted_before) :]
    if not (set(before).isdisjoint(wanted_behind) and set(behind).isdisjoint(wanted_before)):
        raise HandlerError(
            "Nothing can be moved past the reply that is being written. Wait for it, or leave it in place."
        )


def _placeholder(change: Change) -> str:
    request = change.draft.session.request
    return next((effect.owner for effect in change.draft.open_effects() if effect.id == request), "") if request else ""


def _longest_increasing(ids: list[str], rank: dict[str, int]) -> set[str]:
    """Return the longest run of ids that already stand in the wanted order, so that the fewest others move."""
    ranks: list[int] = []
    ends: list[str] = []
    before: dict[str, str] = {}
    for item_id in ids:
        place = bisect_left(ranks, rank[item_id])
        before[item_id] = ends[place - 1] if place else ""
        ranks[place : place + 1] = [rank[item_id]]
        ends[place : place + 1] = [item_id]
    run: set[str] = set()
    item_id = ends[-1] if ends else ""
    while item_id:
        run.add(item_id)
        item_id = before[item_id]
    return run
