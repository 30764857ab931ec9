"""Two speeds: the agent state says which of two models is asked next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sessions_app.providers import default_model, label_of
from sessions_app.sdk import (
    Agent,
    AgentState,
    EventResult,
    LanguageModel,
    ModelRequest,
    ModelResponse,
    SessionEvent,
    SessionState,
    add_context_item,
    set_agent_state,
)
from tools_app.tools.notice import Notice


@dataclass(frozen=True)
class InAManner:
    """A model that is told one sentence more. Whatever has `generate_response` is a model."""

    manner: str
    sentence: str
    model: LanguageModel

    @property
    def label(self) -> str:
        """The model's label and the manner, for people."""
        return f"{label_of(self.model)}, {self.manner}"

    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        """Answer with the model, under this one's label."""
        response = await self.model.generate_response(replace(request, system=[*request.system, self.sentence]))
        return response.evolve(model=self.label)


FAST = InAManner("fast", "Answer in one short sentence.", default_model(model_settings={"effort": "low"}))
DETAILED = InAManner("detailed", "Answer in detail, step by step.", default_model(model_settings={"effort": "high"}))


class SpeedState(AgentState):
    """Which model is asked next."""

    use_detailed_model: bool = False


class DetailedModelChosen(SessionEvent, type="detailed-model-chosen", label="Use the detailed model"):
    """Somebody wants more, and has the time."""


class FastModelChosen(SessionEvent, type="fast-model-chosen", label="Use the fast model"):
    """Somebody wants less, and at once."""


class TwoSpeedsAgent(Agent[SpeedState, DetailedModelChosen | FastModelChosen], name="two-speeds"):
    """Answers with a fast model or a detailed one."""

    title = "Two speeds"
    description = "Answers briefly with a fast model, or step by step with a detailed one. Switch at any time."
    examples = ("How does bread rise?", "Why do leaves change colour?", "How does a compass work?")
    system_prompt = "Answer questions about how things work."

    def get_model(self, state: SpeedState) -> LanguageModel:
        return DETAILED if state.use_detailed_model else FAST

    def get_actions(self, state: SpeedState) -> Sequence[type[SessionEvent]]:
        return [FastModelChosen if state.use_detailed_model else DetailedModelChosen]

    def handle_event(
        self, state: SessionState[SpeedState], event: DetailedModelChosen | FastModelChosen
    ) -> EventResult:
        match event:
            case DetailedModelChosen():
                return _use(state.agent_state, detailed=True)
            case FastModelChosen():
                return _use(state.agent_state, detailed=False)


def _use(state: SpeedState, *, detailed: bool) -> EventResult:
    if state.use_detailed_model == detailed:
        return EventResult()
    notice = Notice(text=f"From now on the {'detailed' if detailed else 'fast'} model answers.")
    return EventResult([set_agent_state(state.evolve(use_detailed_model=detailed)), add_context_item(notice)])
