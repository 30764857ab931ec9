"""A model request as an effect: prepare it from one snapshot, stream what comes, report the response."""

from __future__ import annotations

import json
from dataclasses import replace

from django.db import DatabaseError
from pydantic import TypeAdapter

from sessions_app import store
from sessions_app.core.canonical import clean
from sessions_app.core.data import load
from sessions_app.core.errors import HandlerError
from sessions_app.core.language_model import LanguageModel, ModelRequest, ModelResponse, Terminated, ToolSpecification
from sessions_app.core.messages import Message
from sessions_app.core.platform import ModelResponded
from sessions_app.core.reasons import short_reason, traceback_of
from sessions_app.core.request import NotReady, PreparedRequest, prepare_request
from sessions_app.core.results import AgentState
from sessions_app.endings import Ending, backoff, ended, policy_of
from sessions_app.leases import Claim
from sessions_app.registry import get_agent
from sessions_app.streams import StreamReporter
from sessions_app.threads import in_database

_messages: TypeAdapter[list[Message]] = TypeAdapter(list[Message])
_tools: TypeAdapter[list[ToolSpecification]] = TypeAdapter(list[ToolSpecification])


async def request_response(claimed: Claim) -> Ending:
    """Ask the model and return the response as an outcome, or a pause before the same request is sent again."""
    try:
        prepared, model, seen_seq = await in_database(_prepare, claimed)
    except NotReady:
        return ended(claimed.effect, "not ready")
    except DatabaseError:
        raise
    except Exception as error:
        # The agent's own code: another attempt would come to the same.
        message = f"The request could not be made. {short_reason(error)}"
        return ended(claimed.effect, "failed", message, traceback=traceback_of(error))
    response = await _ask(claimed, model, prepared)
    delay = _pause_before_retry(claimed, response)
    if delay is not None and isinstance(response.status, Terminated):
        saved = f'{{"request":{prepared.text},"seen_seq":{seen_seq}}}'
        return Ending(retry_after=delay, message=response.status.message, request=saved)
    await in_database(store.keep_blobs, [prepared.system_text, prepared.tools_text])
    event = ModelResponded(
        effect_id=claimed.effect.effect_id,
        response=response,
        offered=prepared.offered,
        seen_seq=seen_seq,
        system_digest=prepared.system_digest,
        tools_digest=prepared.tools_digest,
        request_digest=prepared.digest,
    )
    return Ending(ModelResponded.type_name(), event.model_dump(mode="json"))


def _pause_before_retry(claimed: Claim, response: ModelResponse) -> float | None:
    """Return how long to wait before the request is sent again; None where that is no use or comes too late."""
    status = response.status
    failures = claimed.attempt - claimed.effect.losses
    if not isinstance(status, Terminated) or not status.retryable or failures > policy_of(claimed.effect).retries:
        return None
    delay = max(backoff(failures), status.retry_after or 0.0)
    return delay if delay < claimed.time_left else None


async def _ask(claimed: Claim, model: LanguageModel, prepared: PreparedRequest) -> ModelResponse:
    reporter = StreamReporter(claimed)
    try:
        async with reporter:
            response: object = await model.generate_response(replace(prepared.request, reporter=reporter))
        if not isinstance(response, ModelResponse):
            raise HandlerError(f"{type(model).__name__} returned {type(response).__name__}, not a ModelResponse.")
        # What comes from outside is cleaned once, here: every text of it may be stored and shown.
        return ModelResponse.model_validate(clean(response.model_dump(mode="json")))
    except Exception as error:
        # A custom model that raises is treated as one that says so; providers return Terminated themselves.
        return ModelResponse(status=Terminated(reason="error", message=f"The model failed. {short_reason(error)}"))


def _prepare(claimed: Claim) -> tuple[PreparedRequest, LanguageModel, int]:
    """Return the request, the model to send it to, and the number of the last event the request has seen."""
    agent = get_agent(claimed.effect.session.agent)
    loaded = store.load_snapshot(claimed.effect.session_id)
    state: AgentState = load(agent.state_type(), loaded.agent_state)
    if claimed.effect.request:
        prepared, seen_seq = _saved(claimed.effect.request)
    else:
        prepared = prepare_request(agent, state, loaded, claimed.effect.owner_item)
        seen_seq = loaded.session.seq
    return prepared, agent.get_model(state), seen_seq


def _saved(text: str) -> tuple[PreparedRequest, int]:
    """Return the request an earlier attempt sent, with what it had seen; a retry sends the same."""
    saved = json.loads(text)
    request = saved["request"]
    tools = _tools.validate_python(request["tools"])
    messages = _messages.validate_python(request["messages"])
    prepared = PreparedRequest(ModelRequest(request["system"], messages, tools), tuple(tool.name for tool in tools))
    return prepared, int(saved["seen_seq"])
