"""An agent for time to talk to: it notes what it is told."""

from __future__ import annotations

from pydantic import Field

from sessions_app.providers.scripted import ScriptedModel
from sessions_app.sdk import (
    Agent,
    AgentState,
    EventResult,
    SessionArgs,
    SessionEvent,
    SessionResult,
    SessionState,
    set_agent_state,
)


class Diary(AgentState):
    about: str = ""
    notes: tuple[str, ...] = ()


class DiaryArgs(SessionArgs):
    about: str = Field(min_length=1)


class Noted(SessionEvent, type="s-noted"):
    text: str = "tick"
    count: int = Field(default=1, ge=1)


class Burnt(SessionEvent, type="s-burnt"):
    """Its handler fails."""


class Whispered(SessionEvent, type="s-whispered", private=True):
    """Only the session's own work may send it."""


class DiaryAgent(Agent[Diary, Noted | Burnt | Whispered], name="s-diary"):
    system_prompt = "You keep a diary."
    model = ScriptedModel(lambda request: "Noted.")

    def create_session(self, args: DiaryArgs) -> SessionResult[Diary]:
        if args.about == "nothing":
            raise ValueError("There is nothing to write about.")
        return SessionResult(Diary(about=args.about))

    def handle_event(self, state: SessionState[Diary], event: Noted | Burnt | Whispered) -> EventResult:
        match event:
            case Noted():
                diary = state.agent_state
                return EventResult([set_agent_state(diary.evolve(notes=(*diary.notes, event.text)))])
            case Burnt():
                raise ValueError("The page burnt.")
            case Whispered():
                return EventResult()
