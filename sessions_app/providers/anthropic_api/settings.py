"""The settings an author may pass on to Anthropic, checked when the model is defined."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from ...core.data import explain
from ...core.errors import DefinitionError

DEFAULT_MAX_TOKENS = 16_384
SAMPLING = ("temperature", "top_p", "top_k")


@with_config(ConfigDict(extra="forbid", strict=True))
class AnthropicSettings(TypedDict, total=False):
    """What `anthropic(model_settings=…)` takes. Which values a model accepts is for Anthropic to say.

    `max_tokens` limits one reply, reasoning included (default 16,384). `effort` says how much work to put into a
    reply. `thinking` says when the model reasons; left out, the model's own default holds. `stop_sequences` are
    texts that end a reply. `service_tier` says whether priority capacity may be used.
    """

    max_tokens: Annotated[int, Field(ge=1)]
    effort: Literal["low", "medium", "high", "xhigh", "max"]
    thinking: Literal["adaptive", "between_tools", "disabled"]
    stop_sequences: list[Annotated[str, Field(pattern=r"\S")]]
    service_tier: Literal["auto", "standard_only"]


_ADAPTER: TypeAdapter[AnthropicSettings] = TypeAdapter(AnthropicSettings)


def checked(settings: AnthropicSettings | None) -> AnthropicSettings:
    """Return settings that Anthropic can take. Raises `DefinitionError` naming each one that it does not."""
    written: dict[str, Any] = {**(settings or {})}
    sampling = [name for name in SAMPLING if name in written]
    if sampling:
        raise DefinitionError(
            f"anthropic(): {', '.join(sampling)} cannot be set. This version of the Anthropic API takes no sampling "
            "settings and refuses a request that has one. Leave it out; say in the system prompt how the model "
            "should answer, or set `effort`."
        )
    try:
        return _ADAPTER.validate_python(written)
    except ValidationError as error:
        known = ", ".join(AnthropicSettings.__annotations__)
        raise DefinitionError(f"anthropic(): {explain(error)}. The settings are: {known}.") from None


def as_parameters(settings: AnthropicSettings) -> dict[str, Any]:
    """Return the settings as Anthropic's request parameters."""
    parameters: dict[str, Any] = {"max_tokens": settings.get("max_tokens", DEFAULT_MAX_TOKENS)}
    if "effort" in settings:
        parameters["output_config"] = {"effort": settings["effort"]}
    if "thinking" in settings:
        parameters["thinking"] = {"type": settings["thinking"]}
    if "stop_sequences" in settings:
        parameters["stop_sequences"] = settings["stop_sequences"]
    if "service_tier" in settings:
        parameters["service_tier"] = settings["service_tier"]
    return parameters
