"""What the platform does when an effect ends: a model answered, a tool finished, anything came to an outcome."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import assert_never

from pydantic import ValidationError

from .author import handle_item_effect_ended, handle_session_effect_ended
from .canonical import NotStorable, canonical, parse_json
from .change import EFFECTS_PER_EVENT, Change, is_tool_call, kept_reply, load_effect
from .data import explain, find, load
from .effects import Effect, EffectEnded
from .errors import EventDropped, NotLoaded
from .event_log import Incoming
from .events import Event, Sender
from .items import ItemResult
from .language_model import Completed, ModelResponse, Terminated
from .messages import ReasoningPart, TextPart, ToolCallPart
from .operations import ItemChanged
from .platform import (
    Approval,
    AssistantMessage,
    EffectFailed,
    EffectHasEnded,
    EmittedValue,
    GenerateResponse,
    ModelResponded,
    RunTool,
    ToolCall,
    ToolError,
    ToolFinished,
)
from .reasons import short_reason
from .state import Draft, EffectRecord, ItemRecord
from .text import is_blank
from .turn import MAY_BE_TRIED_AGAIN

CUT_TRIES = 2
"""How often a model may run into its output limit in a row before a person is asked."""
KEPT_PAYLOAD = 32 * 1024
"""Bytes of a failed effect's payload up to which it is kept, to be run again."""
ERROR_LENGTH = 4000
"""Characters of a tool error. What is wrong with a call can be as long as the call."""


def handle_model_responded(change: Change, event: ModelResponded) -> None:
    """Fill the waiting assistant message, or block generation with the reason."""
    effect = change.open_effect(event.effect_id)
    placeholder = _owner(change, effect)
    response = event.response
    change.end_effect(effect.id, "done")
    change.set_session(
        request="",
        input_tokens=change.draft.session.input_tokens + response.usage.input_tokens,
        output_tokens=change.draft.session.output_tokens + response.usage.output_tokens,
    )
    texts = [part.text for part in response.parts if isinstance(part, TextPart) and not is_blank(part.text)]
    text = "\n\n".join(texts)
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    match response.status:
        case Terminated(reason="length"):
            _take_cut_reply(change, placeholder, response, text)
        case Terminated(reason=reason, message=message):
            _block(change, placeholder, reason, message)
        case Completed() if not text and not calls:
            _block(change, placeholder, "empty", "The model gave an empty answer.")
        case Completed():
            _take_reply(change, placeholder, response, text)
            change.set_session(answered_seq=_asked_seq(placeholder), cuts=0)
            for index, call in enumerate(calls):
                _open_call(change, placeholder, index, call, event.offered)
        case _:
            assert_never(response.status)


def _owner(change: Change, effect: EffectRecord) -> ItemRecord:
    record = change.draft.item(effect.owner)
    if record is None:
        raise EventDropped(f"Item {effect.owner} is gone.")
    return record


def _asked_seq(placeholder: ItemRecord) -> int:
    """The event that decided on the request; everything owed up to it is answered by the reply."""
    return int(placeholder.id.split("_")[0])


def _take_reply(change: Change, placeholder: ItemRecord, response: ModelResponse, text: str, note: str = "") -> None:
    reasoning = tuple(part for part in response.parts if isinstance(part, ReasoningPart))
    message = AssistantMessage(text=kept_reply(text), reasoning=reasoning, model=response.model, note=note)
    change.change_item(placeholder, ItemResult(message))


def _take_cut_reply(change: Change, placeholder: ItemRecord, response: ModelResponse, text: str) -> None:
    """Keep the text of a reply that ran into the output limit, drop its calls, and let the model go on."""
    _take_reply(change, placeholder, response, text, note="length")
    cuts = change.draft.session.cuts + 1
    change.set_session(answered_seq=_asked_seq(placeholder), owed_seq=change.step.seq, cuts=cuts)
    if cuts >= CUT_TRIES:
        reason = f"The model reached its output limit {cuts} times in a row."
        change.set_session(blocked_code="length", blocked_reason=reason)


def _block(change: Change, placeholder: ItemRecord, code: str, reason: str) -> None:
    change.delete(placeholder)
    change.set_session(blocked_code=code, blocked_reason=reason)


def _open_call(
    change: Change, placeholder: ItemRecord, index: int, call: ToolCallPart, offered: tuple[str, ...]
) -> None:
    """Make a call a row of its own and start its tool, or put the error the model must see beneath it."""
    call_id = f"{placeholder.id}_{index}"
    arguments = call.arguments or "{}"
    data = {"name": call.name, "arguments": arguments, "provider_id": call.provider_id or call.id}
    change.create_stored(call_id, ToolCall.type_name(), data, parent=placeholder.id, index=index)
    fault = call_fault(change, call.name, arguments, offered)
    if index >= EFFECTS_PER_EVENT:
        fault = f"Only {EFFECTS_PER_EVENT} calls are run at a time. Make this one again."
    if fault:
        _add_tool_error(change, call_id, fault)
        return
    arguments = _as_checked(arguments)
    if _needs_approval(change, call.name, arguments):
        change.create_item(ItemResult(Approval.of(call.name, arguments)), parent=call_id)
    else:
        change.start_effect(RunTool(name=call.name, arguments=arguments), owner=call_id)


def _as_checked(arguments: str) -> str:
    """Return arguments as they were checked: what cannot be stored is replaced, all else stays to the byte."""
    cleaned = parse_json(arguments)
    return arguments if json.loads(arguments) == cleaned else canonical(cleaned)


def _needs_approval(change: Change, name: str, arguments: str) -> bool:
    tool = change.agent.find_tool(name)
    try:
        return tool is not None and tool.model_validate(parse_json(arguments)).needs_approval()
    except Exception:
        return True  # Where the tool cannot say, a person is asked rather than nobody.


def _add_tool_error(change: Change, call_id: str, message: str) -> None:
    change.create_item(ItemResult(ToolError(message=message[:ERROR_LENGTH])), parent=call_id)


def call_fault(change: Change, name: str, arguments: str, offered: tuple[str, ...]) -> str:
    """Return what is wrong with a call, in words the model can act on; "" if it can run."""
    tool = change.agent.find_tool(name) if name in offered else None
    if tool is None:
        listed = ", ".join(offered) or "none"
        return f'There is no tool "{name}" to call now. Tools offered: {listed}.'
    try:
        parsed = parse_json(arguments)
    except NotStorable as error:
        return f"The arguments of {name} are wrong: {error.message}. Send a JSON object that fits its schema."
    try:
        tool.model_validate(parsed)
    except ValidationError as error:
        return f"The arguments of {name} are wrong: {explain(error)}."
    except Exception as error:
        return f"The arguments of {name} could not be checked. {short_reason(error)}"
    return ""


def handle_tool_finished(change: Change, event: ToolFinished) -> list[Incoming]:
    """Hang a tool's items under its call; its events follow, each with a number of its own."""
    effect = change.open_effect(event.effect_id)
    call = _owner(change, effect)
    change.end_effect(effect.id, "done")
    for index, item in enumerate(event.items):
        effects = [load_effect(value) for value in item.effects]
        change.create_stored(change.step.next_id(), item.type, item.data, effects, parent=call.id, index=index)
    sender = Sender("tool", effect.id, str(call.data["name"]))
    return [_follow(event, value, sender) for value in event.events]


def _follow(event: Event, value: EmittedValue, sender: Sender, item_id: str = "", effect_id: str = "") -> Incoming:
    return Incoming(value.type, value.payload, sender, event.time, item_id, effect_id)


def handle_effect_ended(change: Change, event: EffectHasEnded) -> list[Incoming]:
    """Record the outcome, tell the owner, and return the event that `run` gave back."""
    effect = change.open_effect(event.effect_id)
    change.end_effect(effect.id, event.outcome, event.message)
    owner = change.draft.item(effect.owner) if effect.owner else None
    if effect.type == GenerateResponse.type_name():
        _end_request(change, owner, event)
    elif is_tool_call(owner) and owner is not None:
        _end_tool(change, owner, event)
    elif event.outcome != "done" and (owner is not None or not effect.owner):
        tell_owner(change, effect, owner, event)
    if event.event is None:
        return []
    return [_follow(event, event.event, Sender("effect", effect.id, effect.type), effect.owner, effect.id)]


def _end_request(change: Change, placeholder: ItemRecord | None, event: EffectHasEnded) -> None:
    change.set_session(request="")
    if placeholder is None:
        return
    if event.outcome == "not ready":
        change.delete(placeholder)
    else:
        reason = event.message or f"The request ended: {event.outcome}."
        _block(change, placeholder, event.outcome.replace(" ", "-"), reason)


def _end_tool(change: Change, call: ItemRecord, event: EffectHasEnded) -> None:
    message = event.message or f"{call.data['name']} ended: {event.outcome}."
    _add_tool_error(change, call.id, message)


def tell_owner(change: Change, effect: EffectRecord, owner: ItemRecord | None, event: EffectHasEnded) -> None:
    """Let the owner react. A hook that raises or returns nothing leaves the end to the platform.

    A pending item is then closed when the machine settles; a failure of the session's own work becomes an item.
    """
    ended = EffectEnded(_known_effect(effect), event.outcome, event.message)
    attempt = replace(change, draft=Draft(change.draft))
    reason = event.message
    try:
        if event.untold:
            handled = False
        elif owner is None:
            handled = handle_session_effect_ended(attempt, ended)
        else:
            handled = owner.closed != "" or handle_item_effect_ended(attempt, owner, ended)
    except NotLoaded:
        raise
    except BaseException as error:
        handled = False
        trouble = f"Its handle_effect_ended failed. {short_reason(error)}"
        reason = f"{event.message} {trouble}".strip()
        if owner is not None:
            change.draft.record(ItemChanged(id=owner.id, reason=trouble))
    else:
        change.draft.absorb(attempt.draft)
    if owner is None and not handled and event.outcome in MAY_BE_TRIED_AGAIN:
        payload = canonical(effect.payload)
        kept = payload if len(payload.encode()) <= KEPT_PAYLOAD else ""
        failed = EffectFailed(effect=effect.type, payload=kept, outcome=event.outcome, reason=reason)
        change.create_item(ItemResult(failed))


def _known_effect(effect: EffectRecord) -> Effect | None:
    cls = find("effect", effect.type)
    try:
        return load(cls, effect.payload) if cls else None
    except ValidationError:
        return None
