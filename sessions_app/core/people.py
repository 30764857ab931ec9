"""The platform's events that people send: a message, stop, retry, try again, skip."""

from __future__ import annotations

from .canonical import parse_json
from .change import Change, is_tool_call, kept_reply, load_effect
from .errors import EventRejected
from .events import Event, Sender
from .items import ItemResult
from .operations import ItemChanged
from .outcomes import tell_owner
from .platform import (
    AssistantMessage,
    EffectFailed,
    EffectHasEnded,
    EmittedValue,
    Retry,
    Skip,
    Stop,
    TryAgain,
    UserMessage,
    UserMessageSent,
)
from .state import Draft, EffectRecord, ItemRecord
from .text import is_blank
from .turn import MAY_BE_TRIED_AGAIN

TITLE_FROM_MESSAGE = 60
"""Characters of the first message that name a session until its agent does."""


def handle_user_message(change: Change, event: UserMessageSent) -> None:
    """Append the message, which owes an answer, and unblock a session that was waiting for a person."""
    if is_blank(event.text):
        raise EventRejected("invalid", "The message is empty.", errors=((("text",), "Write something first."),))
    change.create_item(ItemResult(UserMessage(text=event.text)))
    if not change.draft.session.title:
        change.set_session(title=title_from(event.text))
    person_spoke(change)


def title_from(text: str) -> str:
    """Return a title made of a message's first words."""
    line = " ".join(text.split())
    return line if len(line) <= TITLE_FROM_MESSAGE else line[: TITLE_FROM_MESSAGE - 1].rstrip() + "…"


def person_spoke(change: Change) -> None:
    """New input for the model lifts a block and starts the counts of a turn anew."""
    change.set_session(blocked_code="", blocked_reason="", stopped=False)
    person_acted(change)


def person_acted(change: Change) -> None:
    """The limits on what happens without a person count from here."""
    change.set_session(requests=0, cuts=0)


def handle_stop(change: Change, event: Stop) -> None:
    """End everything that runs and leave a history that the next request can use."""
    draft = change.draft
    if not (draft.open_effects() or draft.session.owes_answer or any(item.parent for item in draft.open_items())):
        return  # It came to its end a moment before: there was nothing to stop.
    request = draft.session.request
    placeholder = next((e.owner for e in draft.open_effects() if e.id == request), "")
    cancelled_owners = {effect.owner for effect in draft.open_effects()}
    in_doubt = _in_doubt(draft, event)
    stopped = [(effect, _how_it_stopped(effect, event)) for effect in draft.open_effects()]
    for effect, how in stopped:
        change.end_effect(effect.id, how.outcome, how.message)
    for record in draft.open_items():
        if record.id == placeholder:
            _keep_partial(change, record, event.partial)
        elif record.parent or record.id in cancelled_owners:
            _close_stopped(change, record, event.sender, in_doubt=record.id in in_doubt)
    change.set_session(request="", stopped=True, answered_seq=change.step.seq, blocked_code="", blocked_reason="")
    for effect, how in stopped:
        if not effect.owner:
            tell_owner(change, effect, None, how)


def _how_it_stopped(effect: EffectRecord, event: Stop) -> EffectHasEnded:
    if effect.id in event.begun:
        return EffectHasEnded(effect_id=effect.id, outcome="outcome unknown", message=_doubt(event.sender))
    return EffectHasEnded(effect_id=effect.id, outcome="cancelled")


def _doubt(sender: Sender) -> str:
    return f"Stopped by {_name(sender)} while it ran. It may or may not have happened."


def _in_doubt(draft: Draft, event: Stop) -> set[str]:
    """Return the items that a stopped effect leaves in doubt, and the calls above them, which a model reads first."""
    owners = [draft.item(effect.owner) for effect in draft.open_effects() if effect.id in event.begun and effect.owner]
    return {item_id for record in owners if record for item_id in (record.id, record.parent)}


def _close_stopped(change: Change, record: ItemRecord, sender: Sender, *, in_doubt: bool) -> None:
    if in_doubt:
        change.close(record.id, "outcome unknown", _doubt(sender))
    else:
        change.close(record.id, "cancelled", f"Stopped by {_name(sender)}.")


def _keep_partial(change: Change, record: ItemRecord, partial: str) -> None:
    if is_blank(partial):
        change.delete(record)
        return
    message = AssistantMessage(text=kept_reply(partial), note="stopped")
    change.change_item(record, ItemResult(message))


def _name(sender: Sender) -> str:
    return sender.name or sender.kind


def handle_retry(change: Change, event: Retry) -> None:
    """Let a blocked model request be made again, from today's state."""
    session = change.draft.session
    if not session.blocked_code:
        raise EventRejected("conflict", "There is nothing to try again: no request is blocked.")
    if session.blocked_code == "refused":
        raise EventRejected("conflict", "The model refused this. Write something else instead of asking it again.")
    change.set_session(blocked_code="", blocked_reason="", requests=0, cuts=0)


def handle_try_again(change: Change, record: ItemRecord, event: TryAgain) -> None:
    """Run the failed effect of an item again, reopening the item, unless a model was shown the failure."""
    if record.type == EffectFailed.type_name():
        _run_again(change, record)
        return
    effect = change.draft.last_effect(record.id)
    if effect is None or not _has_failed(record, effect):
        raise EventRejected("conflict", "There is nothing to try again here.")
    if _was_shown(change, record):
        raise EventRejected("conflict", "The answer was given without this already. Ask for it in a new message.")
    if record.closed:
        change.close(record.id, "")
    elif record.reason:
        change.draft.record(ItemChanged(id=record.id, reason=""))
    change.restart_effect(effect)


def _run_again(change: Change, record: ItemRecord) -> None:
    """Run a session's effect anew, from what its failure kept; the failure is history then."""
    failed = EffectFailed.model_validate(record.data, extra="ignore")
    if not failed.payload:
        raise EventRejected("conflict", "What this worked on was too large to be kept. Start it anew.")
    change.start_effect(load_effect(EmittedValue(type=failed.effect, payload=parse_json(failed.payload))))
    change.delete(record)


def _has_failed(record: ItemRecord, effect: EffectRecord) -> bool:
    """Whether the last effect failed, or ended by itself and left the item without what it needs."""
    left_nothing = record.closed == "failed" or (record.open and record.reason != "")
    return effect.outcome in MAY_BE_TRIED_AGAIN or (effect.outcome == "done" and left_nothing)


def _was_shown(change: Change, record: ItemRecord) -> bool:
    """A completed call's result has gone, or is about to go, into a request."""
    call = record if is_tool_call(record) else change.draft.item(record.parent) if record.parent else None
    return call is not None and not call.open


def handle_skip(change: Change, record: ItemRecord, event: Skip) -> None:
    """Stop waiting for an item, or take note of a failure."""
    if record.type == EffectFailed.type_name():
        change.delete(record)
        return
    if not record.open or is_tool_call(record) or record.type == AssistantMessage.type_name():
        raise EventRejected("conflict", "This is not waiting for anything.")
    change.cancel_effects(record.id)
    change.close(record.id, "skipped", f"Skipped by {_name(event.sender)}.")


def handled_by_people(change: Change, event: Event, record: ItemRecord | None) -> bool:
    """Handle one of the platform's public events and tell whether it was one."""
    match event:
        case UserMessageSent():
            handle_user_message(change, event)
        case Stop():
            handle_stop(change, event)
        case Retry():
            handle_retry(change, event)
        case TryAgain() if record:
            handle_try_again(change, record, event)
        case Skip() if record:
            handle_skip(change, record, event)
        case _:
            return False
    return True
