"""An agent whose code takes its process with it: while an effect runs, or while the result of one is handled."""

import os

from sessions_app.providers.scripted import ScriptedModel
from sessions_app.sdk import (
    Agent,
    AgentState,
    EffectContext,
    EventResult,
    SessionEffect,
    SessionEvent,
    SessionState,
)


class Deadly(SessionEvent, type="deadly"):
    where: str


class Done(SessionEvent, type="deadly-done", private=True):
    """Its handler ends the process."""


class Work(SessionEffect[Done], type="deadly-work"):
    where: str

    async def run(self, context: EffectContext[Done]) -> Done:
        if self.where == "run":
            os._exit(3)
        return Done()


class DeadlyAgent(Agent[AgentState, Deadly | Done], name="deadly"):
    """Ends processes, and answers."""

    model = ScriptedModel(lambda request: "Still here.")
    effects = (Work,)

    def handle_event(self, state: SessionState[AgentState], event: Deadly | Done) -> EventResult:
        match event:
            case Deadly(where=where):
                return EventResult(effects=[Work(where=where)])
            case Done():
                os._exit(3)
