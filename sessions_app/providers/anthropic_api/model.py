"""The Anthropic model: one request, streamed, and every way it can end."""

from __future__ import annotations

import asyncio
import importlib
import logging
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ...core.language_model import ModelRequest, ModelResponse, Terminated
from ..configuration import ProviderConfiguration, configuration
from ..strict import refusal_of
from . import faults
from .reply import Reply
from .request import as_parameters
from .settings import AnthropicSettings, checked
from .settings import as_parameters as settings_as_parameters

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

logger = logging.getLogger(__name__)

DEFAULT_MODEL = "claude-sonnet-5-5"
CONNECT_TIMEOUT = 10.0
"""Seconds until a connection counts as impossible."""

_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[ProviderConfiguration, AsyncAnthropic]] = (
    WeakKeyDictionary()
)


class AnthropicModel:
    """A model of Anthropic's. Make one with `anthropic()`."""

    def __init__(self, model: str | None, settings: AnthropicSettings) -> None:
        self._model = model
        self._settings = settings

    @property
    def label(self) -> str:
        """The id of the model that is asked."""
        return self._model or configuration().anthropic_model or DEFAULT_MODEL

    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        """Ask Anthropic once and stream the answer. Every failure comes back as `Terminated`."""
        refusal = refusal_of(request, self.label)
        if refusal is not None:
            return refusal
        current = configuration()
        if not current.anthropic_api_key:
            return ModelResponse(status=faults.NO_KEY, model=self.label)
        reply = Reply(model=self.label)
        parameters, prefix = self._parameters(request, current)
        failure = await _stream(await _client(current), parameters, request, reply)
        if failure is not None:
            return ModelResponse(status=failure, usage=reply.usage, model=reply.model)
        parts = reply.parts(prefix)
        status = faults.status_of(reply, parts)
        keep = not isinstance(status, Terminated) or status.reason == "length"
        return ModelResponse(parts=parts if keep else (), status=status, usage=reply.usage, model=reply.model)

    def _parameters(self, request: ModelRequest, current: ProviderConfiguration) -> tuple[dict[str, Any], str]:
        parameters, prefix = as_parameters(
            request,
            account=f"{current.anthropic_base_url} {current.anthropic_api_key}",
            reasoning=self._settings.get("thinking") != "disabled",
        )
        return {"model": self.label, **settings_as_parameters(self._settings), **parameters}, prefix


def anthropic(model: str | None = None, *, model_settings: AnthropicSettings | None = None) -> AnthropicModel:
    """Return one of Anthropic's models.

    `model` is an id such as "claude-sonnet-5-5"; left out, the configured one is asked. `model_settings` are
    those of `AnthropicSettings`; any other raises `DefinitionError`.

    Example: `anthropic("claude-sonnet-5-5", model_settings={"max_tokens": 4096, "effort": "low"})`.
    """
    return AnthropicModel(model, checked(model_settings))


async def _client(current: ProviderConfiguration) -> AsyncAnthropic:
    """Return this loop's client: its connections belong to the loop they were opened on."""
    clients = _clients.setdefault(asyncio.get_running_loop(), {})
    if current not in clients:
        # Importing the vendor's client takes seconds, which would hold up everything else on this loop.
        await asyncio.to_thread(importlib.import_module, "anthropic")
        clients.setdefault(current, _new_client(current))
    return clients[current]


def _new_client(current: ProviderConfiguration) -> AsyncAnthropic:
    from anthropic import AsyncAnthropic, Timeout

    return AsyncAnthropic(
        api_key=current.anthropic_api_key,
        base_url=current.anthropic_base_url or None,
        timeout=Timeout(current.anthropic_read_timeout, connect=CONNECT_TIMEOUT),
        max_retries=0,  # the effect retries, where people can see it
    )


async def _stream(
    client: AsyncAnthropic, parameters: dict[str, Any], request: ModelRequest, reply: Reply
) -> Terminated | None:
    """Read the stream into `reply`. Return the failure, or None where the stream ended without an error."""
    import httpx2
    from anthropic import APIConnectionError, APIStatusError

    try:
        async with await client.messages.create(**parameters, stream=True) as events:
            async for event in events:
                reply.take(event, request.reporter)
    except APIStatusError as error:
        message = error.api_message or f"status {error.status_code}"
        return faults.status_of_error(error.status_code, error.type, message, error.response.headers)
    except APIConnectionError as error:
        return faults.STALLED if isinstance(error.__cause__, httpx2.ReadTimeout) else faults.UNREACHABLE
    except httpx2.ReadTimeout:
        return faults.STALLED
    except (httpx2.RequestError, ValueError):
        # Inside a stream the vendor's client passes on what its parts raise: ValueError is a chunk it cannot read.
        logger.warning("A stream from Anthropic broke off", exc_info=True)
        return faults.CONNECTION_LOST
    return None
