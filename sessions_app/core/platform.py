"""The platform's own definitions: items, events and effects of every session, with types in "@platform/"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field

from .canonical import canonical, digest
from .data import Data
from .effects import Effect, Outcome, Policy
from .errors import HandlerError
from .events import ContextItemEvent, SessionEvent
from .items import ContextItem, ItemResult, RenderResult
from .language_model import ModelResponse
from .messages import Message, ReasoningPart, TextPart

MODEL_POLICY = Policy(timeout=600.0, retries=4, source="default for model requests")


class UserMessage(ContextItem, type="@platform/user-message"):
    """What a person wrote, or what an agent says on the user's side: `UserMessage(text="The note is hidden.")`.

    At the top level it asks the model to answer; under a tool call it is the call's result.
    """

    text: str

    def render(self) -> RenderResult:
        return RenderResult.ready(Message.user(self.text))


class AssistantMessage(ContextItem, type="@platform/assistant-message"):
    """What a model answered. Its tool calls are rows of their own beneath it.

    `note` is "" for a whole reply, "stopped" where a person stopped it and "length" where the output limit cut it.
    """

    text: str = ""
    reasoning: tuple[ReasoningPart, ...] = ()
    model: str = ""
    note: str = ""

    def render(self) -> RenderResult:
        texts = (TextPart(text=self.text),) if self.text.strip() else ()
        return RenderResult.ready(Message(role="assistant", parts=(*self.reasoning, *texts)))


class ToolCall(ContextItem, type="@platform/tool-call"):
    """One call of a tool. Its result is what the items beneath it render. `emptied`: all of them were deleted."""

    name: str
    arguments: str
    provider_id: str = ""
    emptied: bool = False

    def render(self) -> RenderResult:
        return RenderResult.pending()


class ToolError(ContextItem, type="@platform/tool-error"):
    """What went wrong with a call, in words the model can act on."""

    message: str

    def render(self) -> RenderResult:
        return RenderResult.ready(Message.user(self.message))


class EffectFailed(ContextItem, type="@platform/effect-failed"):
    """A session's effect failed, and the agent made nothing of it: a person and the model see it here.

    `payload` is the effect's own as JSON, to run it again; empty where it was too large to be kept.
    """

    effect: str
    payload: str
    outcome: Outcome
    reason: str = ""

    @property
    def text(self) -> str:
        """What the model reads."""
        words = self.effect.replace("-", " ")
        return f"({words}: {self.outcome}. {self.reason})" if self.reason else f"({words}: {self.outcome})"

    def render(self) -> RenderResult:
        return RenderResult.ready(Message.user(self.text))


class Approve(ContextItemEvent, type="@platform/approve", label="Approve"):
    """A person lets a tool run. `digest` names the arguments they saw."""

    digest: str


class Decline(ContextItemEvent, type="@platform/decline", label="Decline"):
    """A person does not let a tool run. The model is told the reason."""

    reason: str = Field(default="", max_length=2000, title="Reason")


class ChangeArguments(ContextItemEvent, type="@platform/change-arguments", label="Use these instead"):
    """A person changes what a tool would be called with, and is asked again."""

    arguments: Mapping[str, Any]


Decision = Literal["", "approved", "declined", "changed"]


class Approval(ContextItem[Approve | Decline | ChangeArguments], type="@platform/approval"):
    """A question to a person: may this tool run with exactly these arguments?

    `by` is the name of who decided, `reason` why they declined, `message` what else the model is told of it.
    """

    tool: str
    arguments: str
    digest: str
    decision: Decision = ""
    by: str = ""
    reason: str = ""
    message: str = ""

    @classmethod
    def of(cls, tool: str, arguments: str) -> Self:
        """Return the question for a call."""
        return cls(tool=tool, arguments=arguments, digest=digest(canonical([tool, arguments])))

    def handle_event(self, event: Approve | Decline | ChangeArguments) -> ItemResult[Self]:
        raise HandlerError("Only a person decides about an approval; no handler may.")

    def render(self) -> RenderResult:
        if not self.decision:
            return RenderResult.pending(f"Run “{self.tool.replace('_', ' ').capitalize()}” with this?")
        return RenderResult.ready()


class SessionCreated(SessionEvent, type="@platform/session-created", private=True):
    """The first event of every session."""

    agent: str
    version: str
    args: Mapping[str, Any] = Field(default_factory=dict)


class UserMessageSent(SessionEvent, type="@platform/user-message"):
    """A person wrote a message."""

    text: str = Field(min_length=1)


class ModelResponded(SessionEvent, type="@platform/model-responded", private=True):
    """A model request ended. With the digests the exact request can be rebuilt later."""

    effect_id: str
    response: ModelResponse
    offered: tuple[str, ...] = ()
    seen_seq: int = 0
    system_digest: str = ""
    tools_digest: str = ""
    request_digest: str = ""


class CreatedItem(Data):
    """An item a tool made, on its way from the worker to the reducer."""

    type: str
    data: Mapping[str, Any]
    effects: tuple[EmittedValue, ...] = ()


class EmittedValue(Data):
    """An event or effect by type and payload."""

    type: str
    payload: Mapping[str, Any]


class ToolFinished(SessionEvent, type="@platform/tool-finished", private=True):
    """A tool ran to its end."""

    effect_id: str
    items: tuple[CreatedItem, ...] = ()
    events: tuple[EmittedValue, ...] = ()


class EffectHasEnded(SessionEvent, type="@platform/effect-ended", private=True):
    """An effect reached an outcome. `event` is what its `run` returned, applied with the outcome.

    `untold` leaves the owner's `handle_effect_ended` out, as that could not be used.
    """

    effect_id: str
    outcome: Outcome
    message: str = ""
    event: EmittedValue | None = None
    untold: bool = False


class Stop(SessionEvent, type="@platform/stop"):
    """A person stops everything that runs.

    The engine sets both fields: `partial` is the text streamed so far, `begun` are the effects that may happen at
    most once and whose code has begun, so that nobody can say whether they happened.
    """

    partial: str = ""
    begun: tuple[str, ...] = ()


class Retry(SessionEvent, type="@platform/retry"):
    """A person asks to try a blocked model request again, or to go on at the request limit."""


class TryAgain(ContextItemEvent, type="@platform/try-again"):
    """A person asks to run the failed effect of an item again."""


class Skip(ContextItemEvent, type="@platform/skip"):
    """A person gives up waiting for an item."""


class GenerateResponse(Effect, type="@platform/generate-response"):
    """Ask the model. Owned by the assistant message it fills."""


class RunTool(Effect, type="@platform/run-tool"):
    """Run a tool. Owned by its call; holds the exact arguments."""

    name: str
    arguments: str


CreatedItem.model_rebuild()

PUBLIC_SESSION_EVENTS = (UserMessageSent, Stop, Retry)
PUBLIC_ITEM_EVENTS = (TryAgain, Skip)
PLATFORM_ITEMS: frozenset[str] = frozenset(
    item.type_name() for item in (UserMessage, AssistantMessage, ToolCall, ToolError, Approval, EffectFailed)
)
