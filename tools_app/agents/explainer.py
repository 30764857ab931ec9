"""The explainer: the agent state says for whom, and the system prompt follows it from the next request on."""

from __future__ import annotations

from typing import Literal

from sessions_app.providers import default_model
from sessions_app.sdk import (
    Agent,
    AgentState,
    EventResult,
    SessionArgs,
    SessionEvent,
    SessionResult,
    SessionState,
    SystemPromptRenderResult,
    add_context_item,
    set_agent_state,
)
from tools_app.tools.notice import Notice

Audience = Literal["child", "beginner", "expert"]
IN_WORDS: dict[Audience, str] = {"child": "a child", "beginner": "a beginner", "expert": "an expert"}


class Lesson(SessionArgs):
    """What a session starts with."""

    audience: Audience


class LessonState(AgentState):
    """For whom the next answer is explained."""

    audience: Audience


class AudienceChanged(SessionEvent, type="audience-changed", label="Change the audience"):
    """Somebody else listens now."""

    audience: Audience


class ExplainerAgent(Agent[LessonState, AudienceChanged], name="explainer"):
    """Explains things for the audience that the session's state names."""

    title = "Explainer"
    description = "Explains a thing for a child, a beginner or an expert. The audience can change at any time."
    examples = ("Why is the sky blue?", "Where do tides come from?", "How is a rainbow made?")
    model = default_model()

    def create_session(self, args: Lesson) -> SessionResult[LessonState]:
        return SessionResult(LessonState(audience=args.audience))

    def get_system_prompt(self, state: LessonState) -> SystemPromptRenderResult:
        return SystemPromptRenderResult.ready(
            f"Explain the answer for {IN_WORDS[state.audience]}. Use the words, the examples and the depth that this "
            "audience needs, in at most four sentences. The audience can change during the conversation: what was "
            "explained for another audience is not repeated unless somebody asks."
        )

    def handle_event(self, state: SessionState[LessonState], event: AudienceChanged) -> EventResult:
        if event.audience == state.agent_state.audience:
            return EventResult()
        notice = Notice(text=f"From now on it is explained for {IN_WORDS[event.audience]}.")
        return EventResult(
            [set_agent_state(state.agent_state.evolve(audience=event.audience)), add_context_item(notice)]
        )
