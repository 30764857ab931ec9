"""An agent that does a little of everything an agent can do, for tests of the machine.

Its handlers follow what the events say, so a test decides: `Boom` is what its code raises on purpose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sessions_app.core.text import is_blank
from sessions_app.sdk import (
    Agent,
    AgentState,
    ContextItem,
    ContextItemEffect,
    ContextItemEvent,
    EffectContext,
    EffectEnded,
    EventResult,
    ItemResult,
    Message,
    RenderResult,
    SessionArgs,
    SessionEffect,
    SessionEvent,
    SessionResult,
    SessionState,
    StateUpdate,
    SystemPromptRenderResult,
    Tool,
    ToolContext,
    ToolResult,
    add_context_item,
    delete_context_item,
    dispatch_to_context_item,
    set_agent_state,
    set_context_item_order,
    set_title,
)


class Boom(Exception):
    """Raised by the agent's code where an event says so."""


# --- items


class Progress(ContextItemEvent, type="lab-progress", private=True):
    """A search has come this far."""

    done: int


class Found(ContextItemEvent, type="lab-found", private=True):
    """A search is over. "boom" makes the handler raise, "unprintable" the render."""

    text: str


class Answer(ContextItemEvent, type="lab-answer"):
    """A person's answer. "boom" makes the handler raise."""

    text: str


class Poked(ContextItemEvent, type="lab-poked", private=True):
    """A session handler changes a card; "wait" makes it pending (again)."""

    text: str


class RunSearch(ContextItemEffect[Progress | Found], type="lab-run-search", timeout=30):
    """Finds a topic; the topic says how."""

    topic: str

    async def run(self, context: EffectContext[Progress | Found]) -> Found | None:
        await context.dispatch_event(Progress(done=1))
        return Found(text=f"All about {self.topic}.")


class Search(ContextItem[Progress | Found | Poked], type="lab-search"):
    """Pending until its effect found something. A topic "hook…" makes it react to its effect's end."""

    topic: str
    done: int = 0
    found: str | None = None

    @classmethod
    def create(cls, topic: str) -> ItemResult[Self]:
        return ItemResult(cls(topic=topic), effects=[RunSearch(topic=topic)])

    def handle_event(self, event: Progress | Found | Poked) -> ItemResult[Self]:
        match event:
            case Progress(done=done):
                return ItemResult(self.evolve(done=done))
            case Found(text="boom") | Poked(text="boom"):
                raise Boom
            case Found(text=text) | Poked(text=text):
                return ItemResult(self.evolve(found=text))

    def handle_effect_ended(self, ended: EffectEnded) -> ItemResult[Self] | None:
        match self.topic:
            case "hook":
                return ItemResult(self.evolve(found=f"(nothing: {ended.outcome})"))
            case "hook-again":
                return ItemResult(self.evolve(topic="second"), effects=[RunSearch(topic="second")])
            case "hook-boom":
                raise Boom
            case _:
                return None

    def render(self) -> RenderResult:
        if self.found is None:
            return RenderResult.pending(f"Searching {self.topic}…", min(self.done / 10, 1))
        if self.found == "unprintable":
            raise Boom
        return RenderResult.ready(Message.user(self.found))


class Question(ContextItem[Answer], type="lab-question"):
    """Waits for a person, with no effect."""

    question: str
    answer: str | None = None

    def handle_event(self, event: Answer) -> ItemResult[Self]:
        if event.text == "boom":
            raise Boom
        return ItemResult(self.evolve(answer=event.text))

    def render(self) -> RenderResult:
        if self.answer is None:
            return RenderResult.pending(self.question)
        return RenderResult.ready(Message.user(self.answer))


class Survey(ContextItem[Answer | Progress | Found], type="lab-survey", answers_when_ready=True):
    """Waits for a person or for its own effect, whichever comes first; takes answers also afterwards."""

    answers: list[str] = []

    @classmethod
    def create(cls) -> ItemResult[Self]:
        return ItemResult(cls(), effects=[RunSearch(topic="survey")])

    def handle_event(self, event: Answer | Progress | Found) -> ItemResult[Self]:
        return ItemResult(self if isinstance(event, Progress) else self.evolve(answers=[*self.answers, event.text]))

    def render(self) -> RenderResult:
        return RenderResult.ready(*map(Message.user, self.answers)) if self.answers else RenderResult.pending()


class Card(ContextItem[Poked], type="lab-card"):
    """A text that knows its id, ready unless it says "wait"."""

    text: str

    def handle_event(self, event: Poked) -> ItemResult[Self]:
        if event.text == "boom":
            raise Boom
        return ItemResult(self.evolve(text=event.text))

    def render(self) -> RenderResult:
        if self.text == "wait":
            return RenderResult.pending("A card")
        return RenderResult.ready(Message.user(self.text if is_blank(self.text) else f"{self.id}: {self.text}"))


# --- the session


class Hide(SessionEvent, type="lab-hide"):
    item_id: str


class Show(SessionEvent, type="lab-show"):
    item_id: str
    place: int = 0


class Move(SessionEvent, type="lab-move"):
    item_id: str
    place: int


class Remove(SessionEvent, type="lab-remove"):
    item_id: str


class Pin(SessionEvent, type="lab-pin"):
    """Add a top-level item: a card, or a search, a question or a survey where the text begins with its name."""

    text: str
    before: str | None = None
    after: str | None = None
    generate: bool = False


class Poke(SessionEvent, type="lab-poke"):
    item_ids: list[str]
    text: str


class Batch(SessionEvent, type="lab-batch"):
    """Several updates in one event, each a verb and an id: hide, show, remove, poke, pin."""

    steps: list[tuple[str, str]]


class SetPrompt(SessionEvent, type="lab-set-prompt"):
    """Make the system prompt "ready", "pending" or "broken", or offer no tools ("bare")."""

    prompt: str


class Crash(SessionEvent, type="lab-crash"):
    """Change much, then raise."""


class StartWork(SessionEvent, type="lab-start-work"):
    by: int = 1


class Worked(SessionEvent, type="lab-worked", private=True):
    by: int


class Counted(SessionEvent, type="lab-counted", private=True):
    """Sent by a tool; a negative number makes the handler raise."""

    by: int


class Work(SessionEffect[Worked], type="lab-work"):
    by: int

    async def run(self, context: EffectContext[Worked]) -> Worked:
        return Worked(by=self.by)


class SearchTool(Tool, name="search"):
    """Search topics, all at once."""

    topics: list[str]

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult(context_items=[Search.create(topic) for topic in self.topics])


class AskTool(Tool, name="ask"):
    """Ask the person something."""

    question: str

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult(context_items=[Question(question=self.question)])


class SurveyTool(Tool, name="survey"):
    """Hold a survey."""

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult(context_items=[Survey.create()])


class CountTool(Tool[Counted], name="count"):
    """Count, in several steps."""

    steps: list[int]

    async def execute(self, context: ToolContext) -> ToolResult[Counted]:
        return ToolResult(events=[Counted(by=step) for step in self.steps])


class NoteTool(Tool[Pin], name="note"):
    """Pin texts at the top level, by events."""

    texts: list[str]

    async def execute(self, context: ToolContext) -> ToolResult[Pin]:
        return ToolResult(events=[Pin(text=text) for text in self.texts])


class PinTool(Tool, name="pin"):
    """Put texts onto cards."""

    texts: list[str] = []

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult(context_items=[Card(text=text) for text in self.texts])


class BoomTool(Tool, name="boom"):
    """Fails."""

    async def execute(self, context: ToolContext) -> ToolResult:
        raise Boom("The tool is broken.")


class RefundTool(Tool, name="refund", requires_approval=True):
    """Pay money back, which a person must approve."""

    amount: int

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult(context_items=[Card(text=f"Paid back {self.amount}.")])


class LabState(AgentState):
    count: int = 0
    prompt: str = "ready"
    trace: list[str] = []


class LabArgs(SessionArgs):
    topics: list[str] = []


Events = Hide | Show | Move | Remove | Pin | Poke | Batch | SetPrompt | Crash | StartWork | Worked | Counted


class LabAgent(Agent[LabState, Events], name="lab", version="1"):
    """Does a little of everything."""

    tools: Sequence[type[Tool[Any]]] = (
        SearchTool,
        AskTool,
        SurveyTool,
        CountTool,
        NoteTool,
        PinTool,
        BoomTool,
        RefundTool,
    )

    def create_session(self, args: LabArgs) -> SessionResult[LabState]:
        return SessionResult(LabState(), context_items=[Search.create(topic) for topic in args.topics])

    def get_system_prompt(self, state: LabState) -> SystemPromptRenderResult:
        match state.prompt:
            case "pending":
                return SystemPromptRenderResult.pending()
            case "broken":
                raise Boom
            case _:
                return SystemPromptRenderResult.ready("You are in a laboratory.", f"Count: {state.count}.")

    def get_tools(self, state: LabState) -> Sequence[type[Tool[Any]]]:
        return () if state.prompt == "bare" else self.tools

    def handle_event(self, state: SessionState[LabState], event: Events) -> EventResult:
        lab = state.agent_state
        match event:
            case Hide() | Show() | Move():
                return EventResult([set_context_item_order(_order_after(state.context_item_order, event))])
            case Remove() | Batch():
                steps = [("remove", event.item_id)] if isinstance(event, Remove) else event.steps
                return EventResult(_updates(state.context_item_order, steps))
            case Pin(text=text, before=before, after=after, generate=generate):
                return EventResult([add_context_item(_pinned(text), before=before, after=after, generate=generate)])
            case Poke(item_ids=item_ids, text=text):
                updates = [dispatch_to_context_item(item_id, Poked(text=text)) for item_id in item_ids]
                traced = lab.evolve(trace=[*lab.trace[-3:], f"{text} at {event.time.isoformat()}"])
                return EventResult([*updates, set_agent_state(traced)])
            case SetPrompt(prompt=prompt):
                return EventResult([set_agent_state(lab.evolve(prompt=prompt)), set_title(f"Prompt {prompt}")])
            case Crash():
                lab.trace.append("Handlers that change data in place must not change the past.")
                raise Boom
            case StartWork(by=by):
                return EventResult(effects=[Work(by=by)])
            case Worked(by=by) | Counted(by=by):
                if by < 0:
                    raise Boom
                return EventResult([set_agent_state(lab.evolve(count=lab.count + by))])

    def handle_effect_ended(self, state: SessionState[LabState], ended: EffectEnded) -> EventResult | None:
        if isinstance(ended.effect, Work) and ended.effect.by == 13:
            raise Boom
        return EventResult([set_agent_state(state.agent_state.evolve(count=0))])


def _order_after(order: list[str], event: Hide | Show | Move) -> list[str]:
    rest = [item_id for item_id in order if item_id != event.item_id]
    return rest if isinstance(event, Hide) else [*rest[: event.place], event.item_id, *rest[event.place :]]


def _updates(order: list[str], steps: list[tuple[str, str]]) -> list[StateUpdate]:
    updates: list[StateUpdate] = []
    for verb, item_id in steps:
        match verb:
            case "hide" | "show":
                order = [*(other for other in order if other != item_id), *([item_id] if verb == "show" else [])]
                updates.append(set_context_item_order(order))
            case "remove":
                order = [other for other in order if other != item_id]
                updates.append(delete_context_item(item_id))
            case "poke":
                updates.append(dispatch_to_context_item(item_id, Poked(text="poked")))
            case _:
                updates.append(add_context_item(Card(text="first"), before=item_id))
    return updates


def _pinned(text: str) -> ItemResult[Search] | ItemResult[Survey] | Question | Card:
    if text.startswith("search "):
        return Search.create(text.removeprefix("search "))
    if text.startswith("survey"):
        return Survey.create()
    return Question(question=text) if text.endswith("?") else Card(text=text)
