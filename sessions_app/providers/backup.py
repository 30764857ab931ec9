"""Two models composed into one: the second answers where the first did not come to an end."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.language_model import LanguageModel, ModelRequest, ModelResponse, Terminated, Usage
from .labels import label_of


@dataclass(frozen=True)
class ModelWithBackup:
    """Asks `primary`, and `backup` once if the primary's response is terminated."""

    primary: LanguageModel
    backup: LanguageModel

    @property
    def label(self) -> str:
        """Both models' labels, for people."""
        return f"{label_of(self.primary)} (backup: {label_of(self.backup)})"

    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        """Answer with the primary, else with the backup; tokens both used are counted together."""
        first = await self.primary.generate_response(request)
        if not isinstance(first.status, Terminated):
            return first
        request.reporter.restart()
        second = await self.backup.generate_response(request)
        return second.evolve(usage=_sum(first.usage, second.usage))


def with_backup(primary: LanguageModel, backup: LanguageModel) -> LanguageModel:
    """Return a model that asks `backup` once where `primary` ends without a complete reply.

    The page replaces text that the primary already streamed. Where both fail, the backup's failure stands.
    Example: `with_backup(anthropic(), demo())`.
    """
    return ModelWithBackup(primary, backup)


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
    )
