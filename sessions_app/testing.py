"""Test an agent in memory: the same reducer, a scripted model, and effects that run when the test says so.

Nothing here needs Django, a broker or a network. A harness checks what holds for every agent: handling an event
twice gives the same result, and what would be stored adds up to the state.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeVar

from .core import platform
from .core.agent import Agent
from .core.canonical import canonical, clean
from .core.change import load_item
from .core.data import dump, find, load
from .core.effects import Effect
from .core.errors import HandlerError
from .core.event_log import Incoming, Transition
from .core.events import Event, Sender
from .core.items import ContextItem
from .core.language_model import LanguageModel, ModelResponse
from .core.memory import Memory
from .core.messages import Message, TextPart, ToolCallPart
from .core.operations import dump_delta, load_delta
from .core.purity import Watch, only_pure_code, without_clock_and_chance
from .core.reasons import short_reason
from .core.reducer import reduce_event
from .core.request import NotReady, PreparedRequest, messages_of, prepare_request
from .core.results import AgentState, SessionArgs
from .core.state import EffectRecord, ItemRecord
from .core.tool_results import check_emits, emitted, tool_finished_payload
from .core.tools import Tool, ToolContext
from .providers.scripted import ScriptedModel, ScriptedResponse

ItemT = TypeVar("ItemT", bound=ContextItem[Any])
Which = EffectRecord | type[Effect] | type[Tool[Any]]

PERSON = Sender("person", "1", "Test person")
SYSTEM = Sender("system")


def tool_calls(*tools: Tool[Any], text: str = "") -> ModelResponse:
    """Return a model's response that calls tools, to put into a script. The tools hold the arguments.

    Example: `tool_calls(FindFlights(destination="Tokyo"), text="I will look.")`.
    """
    calls = [ToolCallPart(id="", name=tool.tool_name, arguments=tool.model_dump_json(by_alias=True)) for tool in tools]
    return ModelResponse(parts=(*([TextPart(text=text)] if text else []), *calls))


class AgentHarness:
    """One agent session in memory. `args` are what `create_session` takes.

        class Greeter(Agent, name="greeter"):
            system_prompt = "Greet people by name."


        session = AgentHarness(Greeter, model=["Hello, Ann."])
        session.say("I am Ann.")
        session.run_all()
        assert session.answer == "Hello, Ann."

    `model` answers instead of the agent's own: a `LanguageModel`, or a list of texts and responses. `mistakes` are
    events that could not be handled, and tools and effects that broke a rule: they fail the test, or, with "keep", are
    kept as a site would keep them. Raises `EventRejected` where an event is refused, `AssertionError` for a mistake,
    where a handler is not pure, and where no session comes to be.
    """

    def __init__(
        self,
        agent: type[Agent[Any, Any]],
        args: SessionArgs | Mapping[str, Any] | None = None,
        *,
        model: LanguageModel | Sequence[ScriptedResponse] | None = None,
        check_purity: bool = True,
        mistakes: Literal["raise", "keep"] = "raise",
    ) -> None:
        self.agent = agent()
        self.model = ScriptedModel(model) if isinstance(model, Sequence) else model
        self.check_purity = check_purity
        self.mistakes = mistakes
        self.memory = Memory()
        self.stored = Memory()
        self.log: list[Transition] = []
        self.now = datetime(2030, 1, 1, 9, 0, tzinfo=UTC)
        checked = args if isinstance(args, SessionArgs) else self.agent.args_type().model_validate(args or {})
        created = platform.SessionCreated(agent=self.agent.name, version=self.agent.version, args=dump(checked))
        first = self.dispatch(created, sender=SYSTEM)
        assert first.status == "applied", first.reason

    @property
    def state(self) -> AgentState:
        """The agent state, as the agent's own class."""
        return load(self.agent.state_type(), self.memory.agent_state)

    @property
    def effects(self) -> list[EffectRecord]:
        """The effects that are open, oldest first."""
        return self.memory.open_effects()

    @property
    def answer(self) -> str:
        """The text of the last assistant message; empty where there is none."""
        return next((item.text for item in reversed(self.items(platform.AssistantMessage))), "")

    def items(self, cls: type[ItemT]) -> list[ItemT]:
        """Return the items of a class in the session, also hidden ones and those under tool calls, oldest first."""
        return [item for record in self.memory.items.values() if isinstance(item := load_item(record), cls)]

    def item(self, cls: type[ItemT]) -> ItemT:
        """Return the only item of a class. Raises `ValueError` where there are none or several."""
        (item,) = self.items(cls)
        return item

    def messages(self) -> list[Message]:
        """Return the visible conversation as a model would read it now."""
        return messages_of(self.memory, self.memory.order())

    def request(self) -> PreparedRequest:
        """Return the exact request the model is about to be asked. Raises `core.request.NotReady` while one waits."""
        return prepare_request(self.agent, self.state, self.memory, self._find(platform.GenerateResponse).owner)

    def say(self, text: str) -> Transition:
        """Send a user message."""
        return self.dispatch(platform.UserMessageSent(text=text))

    def stop(self, partial: str = "") -> Transition:
        """Stop everything that runs. `partial` is the text streamed so far."""
        return self.dispatch(platform.Stop(partial=partial))

    def approve(self) -> Transition:
        """Approve the oldest call that waits for it."""
        record, approval = self._asked_approval()
        return self.dispatch(platform.Approve(digest=approval.digest), record.id)

    def decline(self, reason: str = "") -> Transition:
        """Decline the oldest call that waits for approval."""
        return self.dispatch(platform.Decline(reason=reason), self._asked_approval()[0].id)

    def change_arguments(self, **arguments: Any) -> Transition:
        """Change the arguments of the oldest call that waits for approval; it then waits again."""
        return self.dispatch(platform.ChangeArguments(arguments=arguments), self._asked_approval()[0].id)

    def _asked_approval(self) -> tuple[ItemRecord, platform.Approval]:
        waiting = [record for record in self.memory.open_items() if record.type == platform.Approval.type_name()]
        assert waiting, "No call waits for approval."
        return waiting[0], platform.Approval.model_validate(waiting[0].data)

    def dispatch(self, event: Event, item_id: str = "", **details: Any) -> Transition:
        """Send an event to the session, or to one of its items, and return how it was handled.

        It comes from a person, unless `sender` says otherwise. Raises `EventRejected` where it is refused.
        """
        return self.send(event.type_name(), dump(event), item_id, **details)

    def send(self, type: str, payload: Mapping[str, Any], item_id: str = "", **details: Any) -> Transition:
        """Send an event by type, ill-formed or not. `details` are fields of `Incoming`, such as `answers_seen`."""
        self.now += timedelta(seconds=1)
        details.setdefault("sender", PERSON)
        return self.handle(Incoming(type, clean(dict(payload)), time=self.now, item_id=item_id, **details))

    def send_from(self, effect: EffectRecord, event: Event) -> Transition:
        """Send an event of an effect to its owner. Where the effect has ended, it comes too late."""
        late = "" if effect.id in {other.id for other in self.effects} else "Its effect had ended before."
        details = {"sender": Sender("effect", effect.id, effect.type), "effect_id": effect.id, "late": late}
        return self.send(event.type_name(), dump(event), effect.owner, **details)

    def run(self, which: Which) -> Transition:
        """Run an open effect, the oldest of its kind, and return how its outcome was handled.

        `which` is an effect's class, a tool's class or one of `effects`. Raises `AssertionError` where none is open.
        """
        return asyncio.run(self._perform(self._find(which)))

    def run_all(self, limit: int = 100) -> None:
        """Run open effects, oldest first, until none is left. Raises `AssertionError` after `limit` of them."""
        for _ in range(limit):
            if self.effects:
                self.run(self.effects[0])
        assert not self.effects, f"Effects were still open after {limit} had been run."

    def end(self, which: Which, outcome: str = "failed", message: str = "", event: Event | None = None) -> Transition:
        """Give an open effect an outcome without running it. `event` is what its `run` would have returned.

        `outcome` is "done", "failed", "timed out", "cancelled" or "outcome unknown".
        """
        effect = self._find(which)
        last = None if event is None else emitted(event)
        payload = {"effect_id": effect.id, "outcome": outcome, "message": message, "event": last}
        return self._report(effect, platform.EffectHasEnded, payload)

    def _find(self, which: Which) -> EffectRecord:
        if isinstance(which, EffectRecord):
            return which
        names = [e.payload["name"] if e.type == platform.RunTool.type_name() else e.type for e in self.effects]
        wanted = which.tool_name if issubclass(which, Tool) else which.type_name()
        assert wanted in names, f"No {wanted} is open; open are: {names}."
        return self.effects[names.index(wanted)]

    async def _perform(self, effect: EffectRecord) -> Transition:
        special = {platform.GenerateResponse.type_name(): self._ask_model, platform.RunTool.type_name(): self._run_tool}
        try:
            return await special.get(effect.type, self._run_effect)(effect)
        except NotReady:
            return self.end(effect, "not ready")
        except (AssertionError, KeyboardInterrupt):
            raise
        except HandlerError as error:
            if self.mistakes == "raise":
                raise AssertionError(str(error)) from error
            return self.end(effect, "failed", short_reason(error))
        except BaseException as error:
            return self.end(effect, "failed", short_reason(error))

    async def _ask_model(self, effect: EffectRecord) -> Transition:
        prepared = prepare_request(self.agent, self.state, self.memory, effect.owner)
        response = await (self.model or self.agent.get_model(self.state)).generate_response(prepared.request)
        event = platform.ModelResponded(effect_id=effect.id, response=response, offered=prepared.offered)
        return self._report(effect, platform.ModelResponded, dump(event))

    async def _run_tool(self, effect: EffectRecord) -> Transition:
        tools = {tool.tool_name: tool for tool in self.agent.tools}
        tool = tools[effect.payload["name"]].model_validate_json(effect.payload["arguments"])
        result = await tool.execute(ToolContext(effect.id))
        return self._report(effect, platform.ToolFinished, tool_finished_payload(tool, effect.id, result))

    async def _run_effect(self, record: EffectRecord) -> Transition:
        cls = find("effect", record.type)
        assert cls is not None, f'No effect has the type "{record.type}".'
        effect = load(cls, record.payload)
        context = _Context(self, record, effect, record.id)
        returned = await effect.run(context)
        context.closed = True
        if context.unhandled:
            return self.end(record, "failed", f"Its event {context.unhandled} could not be handled.")
        if returned is not None:
            check_emits(effect, returned)
        return self.end(record, "done", event=returned)

    def _report(self, effect: EffectRecord, event: type[Event], payload: Mapping[str, Any]) -> Transition:
        """Apply an outcome; one that cannot be applied is a failure of its effect."""
        transition = self.send(event.type_name(), payload, sender=SYSTEM)
        if transition.status == "failed" and event is not platform.EffectHasEnded:
            self.end(effect, "failed", f"Its result could not be applied; event {transition.seq} says why.")
        return transition

    def handle(self, incoming: Incoming) -> Transition:
        """Reduce an event, take over what it changed and return the first transition. All checks stand here."""
        transitions = self._reduce(incoming) if self.check_purity else self._reduce_once(incoming)
        if self.mistakes == "raise":
            for transition in transitions:
                assert transition.status != "failed", f"{transition.event.type} failed: {transition.reason}"
        for transition in transitions:
            self._take_over(transition)
        assert self.memory == self.stored, f"What {incoming.type} stored does not add up to the state."
        return transitions[0]

    def _reduce_once(self, incoming: Incoming) -> list[Transition]:
        return reduce_event(self.agent, self.memory, incoming)

    def _reduce(self, incoming: Incoming) -> list[Transition]:
        """Handle an event where nothing but its data can be reached, and again; both must decide the same."""
        with only_pure_code() as watch, without_clock_and_chance(), _without_queries(watch):
            transitions = self._reduce_once(incoming)
        assert not watch.used, f"A handler of {incoming.type} is not pure: it used {watch.used[0]}."
        again = [transition.operations for transition in self._reduce_once(incoming)]
        assert again == [t.operations for t in transitions], f"A handler of {incoming.type} is not pure."
        return transitions

    def _take_over(self, transition: Transition) -> None:
        payload = json.loads(canonical(transition.event.payload))
        delta = json.loads(canonical(dump_delta(transition.operations, transition.event.payload)))
        self.memory.fold(transition.operations)
        self.stored.fold(load_delta(delta, payload))
        for memory in (self.memory, self.stored):
            memory.session = replace(memory.session, seq=transition.seq)
        self.log.append(transition)


@contextmanager
def _without_queries(watch: Watch) -> Iterator[None]:
    """Refuse what goes to a database through Django, where a test has brought Django along."""
    django = sys.modules.get("django.conf")
    with ExitStack() as stack:
        if django is not None and django.settings.configured:
            for connection in sys.modules["django.db"].connections.all():
                stack.enter_context(connection.execute_wrapper(lambda *_: watch.refuse("the database")))
        yield


@dataclass
class _Context:
    """The `EffectContext` of an effect that a harness runs."""

    harness: AgentHarness
    record: EffectRecord
    effect: Effect
    idempotency_key: str
    attempt: int = 1
    closed: bool = False
    unhandled: str = ""

    async def dispatch_event(self, event: Event) -> None:
        if self.closed:
            raise HandlerError(f"{type(self.effect).__name__} has returned and can send no more events.")
        check_emits(self.effect, event)
        transition = self.harness.send_from(self.record, event)
        if transition.status == "failed":
            self.unhandled = f"{event.type_name()} (event {transition.seq})"

    async def in_thread(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)
