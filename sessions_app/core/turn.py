"""The turn: when a session is at rest, and when a model is asked.

The theory in one paragraph. Events come one at a time, each is handled whole, and only when the last event of
a cascade is through does the machine settle. Settling looks at facts, never at what just happened: which
effects ended and left their item with nobody to move it; which calls have all their results; and whether an
answer is owed while nothing visible is pending and no request runs. Then, and only then, a request begins:
an empty assistant message takes its place in the order, and an effect will fill it. What comes later stands
behind it and is answered by the next request. Because an owed answer is a number compared with a number,
hiding, restoring, reordering and deleting can neither lose one nor invent one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .agent import Agent
from .author import load_agent_state
from .change import Change, is_tool_call, item_class
from .errors import HandlerError, NotLoaded
from .operations import ItemChanged, ItemCreated, Render
from .platform import AssistantMessage, GenerateResponse
from .reasons import short_reason
from .results import SystemPromptRenderResult
from .state import EffectRecord, ItemRecord, Snapshot

REQUEST_LIMIT = 20
"""Model requests in a row before a person is asked whether to go on."""
CLOSED_BY_OUTCOME = {"timed out": "timed out", "outcome unknown": "outcome unknown", "cancelled": "cancelled"}
MAY_BE_TRIED_AGAIN = frozenset({"failed", "timed out", "outcome unknown"})


def settle(change: Change, unhandled: Mapping[str, int]) -> None:
    """Bring a session to rest after an event and all it caused.

    `unhandled` names the effects whose event, by number, could not be handled.
    """
    _close_abandoned_items(change, unhandled)
    _complete_calls(change)
    _unblock(change)
    if generation_is_due(change.draft):
        _begin_generation(change)


def is_visible(state: Snapshot, record: ItemRecord) -> bool:
    """Whether an item, or the top-level item it hangs under, stands in the order."""
    while record.parent:
        parent = state.item(record.parent)
        if parent is None:
            return False
        record = parent
    return record.visible


def visible_pending(state: Snapshot) -> list[ItemRecord]:
    """Return the items that make generation wait."""
    return [record for record in state.open_items() if is_visible(state, record)]


def generation_is_due(state: Snapshot) -> bool:
    """Whether an answer is owed and nothing stands in its way."""
    session = state.session
    return session.owes_answer and not session.request and not session.blocked_code and not visible_pending(state)


def _close_abandoned_items(change: Change, unhandled: Mapping[str, int]) -> None:
    """An effect that ended and left its item pending, with nobody to move it on, must not leave a silence."""
    busy = {effect.owner for effect in change.draft.open_effects()}
    for effect in list(change.draft.effects.values()):
        record = change.draft.item(effect.owner) if effect.owner else None
        if record is None or not effect.outcome or record.id in busy:
            continue
        if record.open and not is_tool_call(record) and record.type != AssistantMessage.type_name():
            _give_up(change, record, _as_it_counts(effect, unhandled))


def _as_it_counts(effect: EffectRecord, unhandled: Mapping[str, int]) -> EffectRecord:
    """An effect whose event could not be handled has failed, whatever it says itself."""
    if effect.id not in unhandled:
        return effect
    return replace(effect, outcome="failed", message=f"Its event {unhandled[effect.id]} could not be handled.")


def _give_up(change: Change, record: ItemRecord, effect: EffectRecord) -> None:
    waits_for_person = takes_public_event(record)
    if effect.outcome == "done" and waits_for_person:
        return
    how = "without a result" if effect.outcome == "done" else f"as {effect.outcome}"
    reason = effect.message or f"It ended {how}."
    if waits_for_person or (not record.parent and effect.outcome in MAY_BE_TRIED_AGAIN):
        change.draft.record(ItemChanged(id=record.id, reason=reason))
    else:
        change.close(record.id, CLOSED_BY_OUTCOME.get(effect.outcome, "failed"), reason)


def takes_public_event(record: ItemRecord) -> bool:
    """Whether a person could move this item on."""
    try:
        events = item_class(record.type).event_types()
    except HandlerError:
        return False
    return any(not event.is_private() for event in events)


def _complete_calls(change: Change) -> None:
    """Complete each call whose tool has ended and whose items are all ready; the last one owes an answer."""
    open_items = change.draft.open_items()
    unfinished = {record.parent for record in open_items} | {e.owner for e in change.draft.open_effects()}
    calls = [record for record in open_items if is_tool_call(record)]
    completed = [call for call in calls if call.id not in unfinished]
    for call in completed:
        change.draft.record(ItemChanged(id=call.id, render=Render(status="ready")))
    still_open = {call.parent for call in calls if call.id in unfinished}
    for message_id in sorted({call.parent for call in completed} - still_open):
        message = change.draft.item(message_id)
        if message is not None and message.visible:
            change.set_session(owed_seq=change.step.seq)


def _unblock(change: Change) -> None:
    """A request that waits for the system prompt goes on by itself once that may come, or is there."""
    if change.draft.session.blocked_code == "prompt-pending" and (
        change.draft.open_effects() or not _prompt_is_pending(change)
    ):
        change.set_session(blocked_code="", blocked_reason="")


def _prompt_is_pending(change: Change) -> bool:
    try:
        return system_prompt(change.agent, load_agent_state(change)).status == "pending"
    except NotLoaded:
        raise
    except BaseException:
        return False  # Whoever asks for the prompt next says what is wrong.


def _begin_generation(change: Change) -> None:
    session = change.draft.session
    if session.requests >= REQUEST_LIMIT:
        reason = f"The agent made {session.requests} model requests in a row without you. Go on?"
        change.set_session(blocked_code="request-limit", blocked_reason=reason)
        return
    try:
        prompt = system_prompt(change.agent, load_agent_state(change))
    except NotLoaded:
        raise
    except BaseException as error:
        reason = f"The agent could not say its system prompt. {short_reason(error)}"
        change.set_session(blocked_code="agent-error", blocked_reason=reason)
        return
    if prompt.status == "ready":
        _ask_model(change)
    elif not change.draft.open_effects() and not _offers_actions(change):
        reason = "The system prompt is still missing something, and nothing is under way that could bring it."
        change.set_session(blocked_code="prompt-pending", blocked_reason=reason)


def system_prompt(agent: Agent[Any, Any], state: Any) -> SystemPromptRenderResult:
    """Return an agent's system prompt. Raises `HandlerError` where it returns something else."""
    prompt: Any = agent.get_system_prompt(state)
    if not isinstance(prompt, SystemPromptRenderResult):
        raise HandlerError(f"get_system_prompt returned {type(prompt).__name__}, not a SystemPromptRenderResult.")
    return prompt


def _offers_actions(change: Change) -> bool:
    return any(not event.is_private() for event in change.agent.event_types())


def _ask_model(change: Change) -> None:
    """Give the coming answer its place, and start the request that will fill it."""
    item_id = change.step.next_id()
    data = AssistantMessage().model_dump(mode="json")
    change.draft.record(
        ItemCreated(id=item_id, type=AssistantMessage.type_name(), data=data, render=Render(status="pending"))
    )
    effect_id = change.start_effect(GenerateResponse(), owner=item_id)
    change.set_session(request=effect_id, requests=change.draft.session.requests + 1, stopped=False)
