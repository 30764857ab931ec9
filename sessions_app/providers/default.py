"""The model an agent gets that has no wish of its own."""

from __future__ import annotations

from ..core.language_model import LanguageModel, ModelRequest, ModelResponse
from .anthropic_api import AnthropicSettings, anthropic
from .configuration import configuration
from .demo_model import demo
from .labels import label_of


class DefaultModel:
    """Anthropic's model where a key is configured, else the demo model; looked up anew at each request."""

    def __init__(self, model_settings: AnthropicSettings | None = None) -> None:
        self._with_key: LanguageModel = anthropic(model_settings=model_settings)
        self._without_key: LanguageModel = demo()

    @property
    def label(self) -> str:
        """The label of the model that would answer now."""
        return label_of(self._chosen())

    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        """Answer with the model that is configured."""
        return await self._chosen().generate_response(request)

    def _chosen(self) -> LanguageModel:
        return self._with_key if configuration().anthropic_api_key else self._without_key


def default_model(*, model_settings: AnthropicSettings | None = None) -> LanguageModel:
    """Return the model that the configuration gives: Anthropic's where there is a key, else the demo model.

    It may be called where an agent is defined: which model answers is decided at each request. `model_settings`
    are those of `AnthropicSettings`; the demo model has none.
    """
    return DefaultModel(model_settings)
