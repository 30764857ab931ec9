"""A help desk with two models: the second answers where the first does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import Field

from sessions_app.providers import default_model, label_of, with_backup
from sessions_app.sdk import (
    Agent,
    AgentState,
    EventResult,
    LanguageModel,
    ModelRequest,
    ModelResponse,
    SessionArgs,
    SessionEvent,
    SessionResult,
    SessionState,
    Terminated,
    add_context_item,
    set_agent_state,
)
from tools_app.tools.notice import Notice


@dataclass(frozen=True)
class Numbered:
    """A model under a label of its own, so that people see which of two answered."""

    number: str
    model: LanguageModel

    @property
    def label(self) -> str:
        """The number and the model's label, for people."""
        return f"{self.number} {label_of(self.model)}"

    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        """Answer with the model, under this one's label."""
        response = await self.model.generate_response(request)
        return response.evolve(model=self.label)


@dataclass(frozen=True)
class OutOfService:
    """A model that answers nothing, as a vendor's does on a bad day."""

    model: LanguageModel

    @property
    def label(self) -> str:
        """The model's label and its trouble, for people."""
        return f"{label_of(self.model)}, out of service"

    async def generate_response(self, request: ModelRequest) -> ModelResponse:
        """Return that there is no answer, and that asking again would not help."""
        return ModelResponse(
            status=Terminated(reason="connection", message="The first model is out of service."), model=self.label
        )


FIRST = Numbered("first", default_model())
SECOND = Numbered("second", default_model(model_settings={"effort": "low"}))
IN_SERVICE = with_backup(FIRST, SECOND)
OUT_OF_SERVICE = with_backup(OutOfService(FIRST), SECOND)


class DeskArgs(SessionArgs):
    """What a session starts with."""

    primary_out_of_service: bool = Field(default=False, title="The first model is out of service")


class DeskState(AgentState):
    """Whether the first model is out of service."""

    primary_out_of_service: bool


class PrimaryTakenOut(SessionEvent, type="primary-taken-out", label="Take the first model out of service"):
    """The first model does not answer from now on."""


class PrimaryPutBack(SessionEvent, type="primary-put-back", label="Put the first model back into service"):
    """The first model answers again."""


class BackupAgent(Agent[DeskState, PrimaryTakenOut | PrimaryPutBack], name="backup"):
    """Answers with its first model, and with its second where that is out of service."""

    title = "Help desk"
    description = "The help desk of a made-up library. While its first model is out of service, a second one answers."
    examples = ("When are you open?", "How long can I keep a book?", "How do I get a card?")
    system_prompt = (
        "You are the help desk of the Lantern Street library. It is open from 10:00 to 19:00, Tuesday to Saturday. "
        "Books can be kept for four weeks, and twice as long if nobody else waits for them. A card costs nothing: "
        "people bring something that shows their address. Answer in one or two sentences, and say that the library "
        "is made up."
    )

    def create_session(self, args: DeskArgs) -> SessionResult[DeskState]:
        return SessionResult(DeskState(primary_out_of_service=args.primary_out_of_service))

    def get_model(self, state: DeskState) -> LanguageModel:
        return OUT_OF_SERVICE if state.primary_out_of_service else IN_SERVICE

    def get_actions(self, state: DeskState) -> Sequence[type[SessionEvent]]:
        return [PrimaryPutBack if state.primary_out_of_service else PrimaryTakenOut]

    def handle_event(self, state: SessionState[DeskState], event: PrimaryTakenOut | PrimaryPutBack) -> EventResult:
        match event:
            case PrimaryTakenOut():
                return _put(state.agent_state, out_of_service=True)
            case PrimaryPutBack():
                return _put(state.agent_state, out_of_service=False)


def _put(state: DeskState, *, out_of_service: bool) -> EventResult:
    if state.primary_out_of_service == out_of_service:
        return EventResult()
    notice = Notice(text=f"The first model is {'out of service' if out_of_service else 'back in service'}.")
    return EventResult([set_agent_state(state.evolve(primary_out_of_service=out_of_service)), add_context_item(notice)])
