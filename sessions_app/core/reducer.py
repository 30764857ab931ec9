"""The reducer: the one function that decides what an event does.

`reduce_event` is pure. It sees an agent, a session and an event, and returns the event and those it caused,
each with what it changed. The idea is The Elm Architecture's update function; that news of the outside world
is data which comes in as events is from h11's sans-I/O state machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .admission import admit
from .agent import Agent
from .approval import decide_approval
from .author import create, handle_item_event, handle_session_event
from .change import Change
from .errors import EventDropped, EventRejected, NotLoaded
from .event_log import Incoming, Step, Transition
from .events import Event
from .operations import ItemChanged
from .outcomes import handle_effect_ended, handle_model_responded, handle_tool_finished
from .people import handled_by_people, person_acted, person_spoke
from .platform import (
    Approval,
    Approve,
    ChangeArguments,
    Decline,
    EffectHasEnded,
    ModelResponded,
    SessionCreated,
    ToolFinished,
)
from .reasons import traceback_of
from .state import Draft, ItemRecord, Snapshot
from .turn import settle


def reduce_event(agent: Agent[Any, Any], state: Snapshot, incoming: Incoming) -> list[Transition]:
    """Return the event and those it causes, in order, as transitions numbered from the session's next seq.

    Raises `EventRejected` for an event from outside that must leave no row (what comes from inside is dropped
    instead), and `NotLoaded` where `state` is partly read and more of it is needed. Nothing else: whatever agent
    code raises becomes a failed event.
    """
    draft = Draft(state)
    transitions: list[Transition] = []
    last_applied: tuple[int, Step] | None = None
    queue: deque[tuple[Incoming, int | None]] = deque([(incoming, None)])
    while queue:
        event, cause = queue.popleft()
        step = Step(state.session.seq + len(transitions) + 1)
        change = Change(agent, Draft(draft), step, event.envelope(step.seq))
        transition, caused = _handle(change, draft, event, cause)
        transitions.append(transition)
        queue.extend((follower, step.seq) for follower in caused)
        if transition.status == "applied":
            last_applied = (len(transitions) - 1, step)
    if last_applied is not None:
        index, step = last_applied
        unhandled = {failed.event.effect_id: failed.seq for failed in transitions if failed.status == "failed"}
        settling = Change(agent, draft, step, incoming.envelope(step.seq))
        transitions[index] = _settled(settling, unhandled, transitions[index])
    return transitions


def _settled(change: Change, unhandled: Mapping[str, int], last: Transition) -> Transition:
    """Settle once, after the last event of a cascade; what that changes belongs to the last applied event."""
    before = len(change.draft.operations)
    settle(change, unhandled)
    return replace(last, operations=(*last.operations, *change.draft.operations[before:]))


def _handle(change: Change, draft: Draft, incoming: Incoming, cause: int | None) -> tuple[Transition, list[Incoming]]:
    """Handle one event on a draft of its own, which is taken over only if all went well."""
    seq = change.step.seq
    try:
        if incoming.late:
            raise EventDropped(incoming.late)
        event = admit(change.agent, change.draft, incoming, seq)
        caused = _decide(change, incoming, event)
    except NotLoaded:
        raise
    except EventRejected as rejected:
        if incoming.sender.outside or incoming.type == SessionCreated.type_name():
            raise
        return Transition(seq, incoming, "dropped", rejected.message, cause=cause), []
    except EventDropped as dropped:
        return Transition(seq, incoming, "dropped", str(dropped), cause=cause), []
    except BaseException as error:
        return Transition(seq, incoming, "failed", traceback_of(error), cause=cause), []
    draft.absorb(change.draft)
    return Transition(seq, incoming, "applied", "", tuple(change.draft.operations), cause), caused


def _decide(change: Change, incoming: Incoming, event: Event) -> list[Incoming]:
    record = change.draft.item(incoming.item_id) if incoming.item_id else None
    match event:
        case SessionCreated():
            _create(change, event)
        case ModelResponded():
            handle_model_responded(change, event)
        case ToolFinished():
            return handle_tool_finished(change, event)
        case EffectHasEnded():
            return handle_effect_ended(change, event)
        case _ if handled_by_people(change, event, record):
            pass
        case Approve() | Decline() | ChangeArguments() if record is not None and record.type == Approval.type_name():
            decide_approval(change, event, record)
            _answered(change, record)
        case _ if record is not None:
            _item_event(change, incoming, event, record)
        case _:
            _session_event(change, incoming, event)
    return []


def _create(change: Change, event: SessionCreated) -> None:
    change.set_session(agent=event.agent, version=event.version)
    create(change, change.agent.args_type().model_validate(dict(event.args)))


def _session_event(change: Change, incoming: Incoming, event: Event) -> None:
    handle_session_event(change, event)
    if incoming.sender.outside and not event.is_private():
        person_acted(change)


def _item_event(change: Change, incoming: Incoming, event: Event, record: ItemRecord) -> None:
    handle_item_event(change, record, event)
    if incoming.sender.outside and not event.is_private():
        _answered(change, record)


def _answered(change: Change, record: ItemRecord) -> None:
    change.draft.record(ItemChanged(id=record.id, answers=record.answers + 1))
    person_spoke(change)
