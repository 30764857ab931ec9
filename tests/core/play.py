"""Random but possible histories: what people, models, tools and effects may do to a session of the lab agent.

Every choice is a number below a limit, so that Hypothesis and a plain random generator can both play.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from sessions_app.core.errors import EventRejected
from sessions_app.core.event_log import Transition
from sessions_app.core.events import Event, Sender
from sessions_app.core.language_model import ModelResponse, Terminated
from sessions_app.core.memory import Memory
from sessions_app.core.messages import AssistantPart, ReasoningPart, TextPart, ToolCallPart
from sessions_app.core.platform import (
    Approval,
    Approve,
    AssistantMessage,
    ChangeArguments,
    Decline,
    EffectHasEnded,
    GenerateResponse,
    ModelResponded,
    Retry,
    RunTool,
    Skip,
    Stop,
    ToolCall,
    ToolFinished,
    TryAgain,
)
from sessions_app.core.request import NotReady
from sessions_app.core.state import EffectRecord
from sessions_app.core.turn import visible_pending
from sessions_app.testing import SYSTEM
from tests.core.checked import CheckedHarness, reduce_partly
from tests.core.lab import (
    Answer,
    Batch,
    Boom,
    Card,
    Crash,
    Found,
    Hide,
    LabAgent,
    Move,
    Pin,
    Poke,
    Progress,
    Question,
    Remove,
    Search,
    SetPrompt,
    Show,
    StartWork,
    Survey,
    Worked,
)

T = TypeVar("T")
Number = Callable[[int], int]
"""Returns a number from 0 up to, not including, its argument."""

TOPICS = ("tea", "hook", "hook-again", "hook-boom", "second")
TEXTS = ("a", "wait", "boom", "unprintable", " ", "\u200b", "Zoë 👩‍👩‍👧‍👦", '{"$payload": [0]}', "x" * 40)
PINS = ("note", "note", "note", "wait", " ", "search tea", "search hook", "search hook-again", "survey", "Really?")
PROMPTS = ("ready", "ready", "ready", "ready", "ready", "ready", "pending", "broken", "bare")
CALLS = (
    ("search", '{"topics": ["tea"]}'),
    ("search", '{"topics": ["tea", "hook-boom", "hook"]}'),
    ("search", '{"topics": ["hook-again"]}'),
    ("ask", '{"question": "Which one?"}'),
    ("survey", "{}"),
    ("survey", ""),
    ("count", '{"steps": [1, 2, 3]}'),
    ("count", '{"steps": [1, -1, 3]}'),
    ("note", '{"texts": ["one", "search tea", "two"]}'),
    ("note", '{"texts": ["one"]}'),
    ("pin", '{"texts": ["one", "two"]}'),
    ("pin", '{"texts": ["wait", " "]}'),
    ("pin", "{}"),
    ("boom", "{}"),
    ("refund", '{"amount": 5}'),
    ("refund", '{"amount": 7}'),
    ("refund", '{"amount": "x"}'),
    ("nonsense", "{}"),
    ("Search", "{}"),
    ("größe!", "{}"),
    ("", "{}"),
    ("search", "{"),
    ("search", '{"topics": [NaN]}'),
    ("search", '{"topics": 7, "more": 1}'),
    ("ask", '["not an object"]'),
)
REASONS: tuple[Any, ...] = ("refused", "length", "length", "overloaded", "error", "invalid_request")
VERBS = ("hide", "show", "remove", "poke", "poke", "pin")
OUTCOMES = ("failed", "timed out", "cancelled", "outcome unknown", "done")


class Player:
    """Plays one session by numbers that somebody draws."""

    def __init__(self, number: Number) -> None:
        self.number = number
        self.played: list[str] = []
        topics = [self.pick(TOPICS) for _ in range(number(3))]
        self.session = CheckedHarness(LabAgent, {"topics": topics})

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.number(len(choices))]

    def play(self, name: str) -> None:
        """Do something by its name, if it can be done now."""
        self.played.append(name)
        try:
            getattr(self, name)()
        except EventRejected as rejected:
            self.played[-1] += f" ({rejected.code})"

    def any_item(self) -> str:
        """Return some item: mostly one that is there, at times one that never was."""
        return self.pick([*sorted(self.session.memory.items), "999_0"])

    def top_item(self) -> str:
        tops = sorted(item_id for item_id in self.session.memory.items if item_id.count("_") == 1)
        return self.pick([*tops, "999_0"])

    def open_effects(self, kind: type[Any] | None = None) -> list[EffectRecord]:
        special = (GenerateResponse.type_name(), RunTool.type_name())
        return [e for e in self.session.effects if (e.type == kind.type_name() if kind else e.type not in special)]

    # --- people

    def say(self) -> None:
        self.session.say(self.pick(TEXTS))

    def stop(self) -> None:
        request = self.session.memory.session.request
        begun = tuple(effect.id for effect in self.session.effects if effect.id != request and self.number(2))
        self.session.dispatch(Stop(partial=self.pick(("", " ", "So far")), begun=begun))

    def retry(self) -> None:
        self.session.dispatch(Retry())

    def answer(self) -> None:
        asked = [r for r in self.session.memory.items.values() if r.type in (Question.type_name(), Survey.type_name())]
        if asked:
            record = self.pick(asked)
            seen = self.pick((None, record.answers, record.answers, 0))
            self.session.dispatch(Answer(text=self.pick(TEXTS)), record.id, answers_seen=seen)

    def decide(self) -> None:
        """Approve a call, decline it or change its arguments, at times one that was decided about before."""
        asked = [record for record in self.session.memory.items.values() if record.type == Approval.type_name()]
        if asked:
            record = self.pick(asked)
            changed = ChangeArguments(arguments=self.pick(({"amount": 2}, {"amount": "much"}, {})))
            shown = Approve(digest=self.pick((record.data["digest"], record.data["digest"], "another")))
            event: Event = self.pick((shown, shown, Decline(reason=self.pick(TEXTS)), changed))
            self.session.dispatch(event, record.id, answers_seen=self.pick((None, record.answers, 0)))

    def try_again(self) -> None:
        troubled = [record.id for record in self.session.memory.items.values() if record.closed or record.reason]
        self.session.dispatch(TryAgain(), self.pick([*troubled, *troubled, self.any_item()]))

    def skip(self) -> None:
        waiting = [record.id for record in self.session.memory.open_items()]
        self.session.dispatch(Skip(), self.pick([*waiting, self.any_item()]))

    def hide(self) -> None:
        self.session.dispatch(Hide(item_id=self.top_item()))

    def show(self) -> None:
        self.session.dispatch(Show(item_id=self.top_item(), place=self.number(8)))

    def move(self) -> None:
        self.session.dispatch(Move(item_id=self.top_item(), place=self.number(8)))

    def remove(self) -> None:
        self.session.dispatch(Remove(item_id=self.any_item()))

    def pin(self) -> None:
        beside = self.pick((None, None, self.top_item()))
        before, after = self.pick(((None, None), (None, beside), (beside, None)))
        self.session.dispatch(Pin(text=self.pick(PINS), before=before, after=after, generate=self.number(3) == 0))

    def poke(self) -> None:
        cards = [r.id for r in self.session.memory.items.values() if r.type in (Card.type_name(), Search.type_name())]
        targets = [self.pick([*cards, self.any_item()]) for _ in range(self.number(3))]
        self.session.dispatch(Poke(item_ids=targets, text=self.pick(TEXTS)))

    def batch(self) -> None:
        tops = [record.id for record in self.session.memory.items.values() if record.type == Card.type_name()]
        few = [self.pick([*tops, self.top_item()]) for _ in range(2)]
        steps = [(self.pick(VERBS), self.pick(few)) for _ in range(1 + self.number(4))]
        self.session.dispatch(Batch(steps=steps))

    def crash(self) -> None:
        assert self.session.dispatch(Crash()).status == "failed"

    def set_prompt(self) -> None:
        self.session.dispatch(SetPrompt(prompt=self.pick(PROMPTS)))

    def start_work(self) -> None:
        self.session.dispatch(StartWork(by=self.pick((1, 13, -1))))

    def intrude(self) -> None:
        """Send what only the system may send, or nobody."""
        private: tuple[Event, ...] = (Worked(by=1), Found(text="forged"))
        event = self.pick(private)
        target = self.any_item() if isinstance(event, Found) else ""
        for sent in (event.type_name(), "@platform/model-responded", "@platform/unheard-of", "lab-unheard-of"):
            with pytest.raises(EventRejected):
                self.session.send(sent, {"text": "forged", "by": 1}, target)

    def garble(self) -> None:
        """Send what does not fit its schema."""
        for type, payload in (
            ("lab-hide", {}),
            ("lab-move", {"item_id": 7, "place": "x"}),
            ("@platform/stop", {"a": 1}),
        ):
            with pytest.raises(EventRejected) as rejected:
                self.session.send(type, payload)
            assert rejected.value.code == "invalid"
            assert rejected.value.errors

    # --- models, tools and effects

    def generate(self) -> None:
        """Let the model answer the request that waits."""
        for effect in self.open_effects(GenerateResponse):
            try:
                prepared = self.session.request()
            except NotReady:
                assert [
                    r for r in visible_pending(self.session.memory) if r.id != effect.owner
                ] or self._prompt() == "pending"
                self.session.end(effect, "not ready")
                return
            except Boom:
                self.session.end(effect, "failed", "The prompt is broken.")
                return
            response = self._response()
            event = ModelResponded(effect_id=effect.id, response=response, offered=prepared.offered)
            if not isinstance(response.status, Terminated) or response.status.reason == "length":
                self.session.answered(prepared, effect.owner)
            self.session.dispatch(event, sender=SYSTEM)

    def _prompt(self) -> Any:
        return self.session.memory.agent_state["prompt"]

    def _response(self) -> ModelResponse:
        if self.number(6) == 0:
            reason = self.pick(REASONS)
            cut = self._parts() if reason == "length" else []
            return ModelResponse(parts=tuple(cut), status=Terminated(reason=reason, message=f"It was {reason}."))
        return ModelResponse(parts=tuple(self._parts()), model="lab model")

    def _parts(self) -> list[AssistantPart]:
        parts: list[AssistantPart] = [TextPart(text=self.pick(TEXTS)) for _ in range(self.number(3))]
        if self.number(4) == 0:
            parts.insert(0, ReasoningPart(text="Hm.", provider="lab", private={"signature": "s" * 40}))
        for _ in range(self.pick((0, 0, 1, 1, 2, 3))):
            name, arguments = self.pick(CALLS)
            parts.append(ToolCallPart(id=self.pick(("", "call-1", "call-2")), name=name, arguments=arguments))
        return parts

    def fail_request(self) -> None:
        for effect in self.open_effects(GenerateResponse):
            self.session.end(effect, self.pick(OUTCOMES[:4]), "The network was down.")

    def run_tool(self) -> None:
        running = self.open_effects(RunTool)
        if running:
            self.session.run(self.pick(running))

    def fail_tool(self) -> None:
        running = self.open_effects(RunTool)
        if running:
            self.session.end(self.pick(running), self.pick(OUTCOMES[:4]))

    def progress(self) -> None:
        effects = self.open_effects()
        if effects:
            effect = self.pick(effects)
            news: Event = Progress(done=self.number(12)) if effect.owner else Worked(by=self.pick((1, -1)))
            self.session.send_from(effect, news)

    def finish_effect(self) -> None:
        effects = self.open_effects()
        if effects:
            effect = self.pick(effects)
            last: Event = Found(text=self.pick(TEXTS)) if effect.owner else Worked(by=self.pick((1, -1)))
            self.session.end(effect, "done", event=last)

    def find_early(self) -> None:
        """Send the result while running, end later."""
        effects = [effect for effect in self.open_effects() if effect.owner]
        if effects:
            self.session.send_from(self.pick(effects), Found(text=self.pick(TEXTS)))

    def end_effect(self) -> None:
        effects = self.open_effects()
        if effects:
            self.session.end(self.pick(effects), self.pick(OUTCOMES), self.pick(("", "It broke.")))

    # --- news that must change nothing

    def repeat(self) -> None:
        """Deliver an old outcome once more."""
        kinds = {kind.type_name() for kind in (ModelResponded, ToolFinished, EffectHasEnded)}
        reports = [t.event for t in self.session.log if t.event.type in kinds]
        if reports:
            self._expect_nothing(self.session.handle(self.pick(reports)))

    def come_late(self) -> None:
        """Let an effect that has ended send something."""
        ended = [e for e in self.session.memory.effects.values() if e.outcome and e.type.startswith("lab-")]
        if ended:
            effect = self.pick(ended)
            self._expect_nothing(self.session.send_from(effect, Found(text="late") if effect.owner else Worked(by=1)))

    def come_from_elsewhere(self) -> None:
        """Deliver news for what is not in this session."""
        nobody = EffectRecord("999_1", "lab-run-search", {}, {}, "999_0")
        self._expect_nothing(self.session.end(nobody))
        self._expect_nothing(self.session.send_from(nobody, Found(text="foreign")))
        tool = Sender("tool", "999_1", "count")
        self._expect_nothing(self.session.send("lab-found", {"text": "foreign"}, "999_0", sender=tool))
        self._expect_nothing(self.session.send("lab-unheard-of", {}, sender=tool))

    def _expect_nothing(self, transition: Transition) -> None:
        assert transition.status == "dropped", f"{transition.event.type} was {transition.status}."

    # --- the end

    def come_to_rest(self) -> None:
        """Give everything its dullest ending; then nothing may wait without a reason."""
        for _ in range(400):
            if not self._end_something():
                break
        else:
            raise AssertionError("The session does not come to rest.")
        session = self.session.memory.session
        due = session.owes_answer and not session.blocked_code
        assert not due or self._prompt() == "pending" or visible_pending(self.session.memory)
        for record in visible_pending(self.session.memory):
            explained = record.reason or record.data.get("text") == "wait" or record.type == ToolCall.type_name()
            assert explained, f"{record.id} waits in silence."

    def _end_something(self) -> bool:
        for effect in self.session.effects:
            self.session.end(effect, "failed", "It failed.")
            return True
        for record in self.session.memory.open_items():
            if record.type == Approval.type_name():
                self.session.dispatch(Decline(), record.id)
                return True
            if record.type in (Question.type_name(), Survey.type_name()):
                self.session.dispatch(Answer(text="yes"), record.id)
                return True
        return False

    def go_on_after_rest(self) -> None:
        """A session at rest can be used: what failed is skipped, and the next message is answered."""
        for record in self.session.memory.open_items():
            if record.data.get("text") == "wait":
                self.session.dispatch(Poke(item_ids=[record.id], text="go"))
            elif record.type not in (AssistantMessage.type_name(), ToolCall.type_name()):
                self.session.dispatch(Skip(), record.id)
        self.session.dispatch(SetPrompt(prompt="ready"))
        for effect in self.session.effects:
            self.session.end(effect)
        self.session.say("Are you still there?")
        effect = self.open_effects(GenerateResponse)[-1]
        prepared = self.session.request()
        assert prepared.request.messages[-1].text.endswith("Are you still there?")
        self.session.answered(prepared, effect.owner)
        event = ModelResponded(effect_id=effect.id, response=ModelResponse(parts=(TextPart(text="Yes."),)))
        self.session.dispatch(event, sender=SYSTEM)
        assert self.session.answer == "Yes."
        facts = self.session.memory.session
        assert not facts.owes_answer
        assert not facts.blocked_code

    def replay(self) -> None:
        """Hand the root events to the reducer again: everything must come out the same."""
        memory = Memory()
        log = list(self.session.log)
        while log:
            found = reduce_partly(self.session.agent, memory, log[0].event)
            assert found == log[: len(found)], f"Event {log[0].seq} came out otherwise."
            for transition in found:
                memory.fold(transition.operations)
                memory.session = replace(memory.session, seq=transition.seq)
            del log[: len(found)]
        assert memory == self.session.memory


ACTIONS = {
    "say": 6, "generate": 24, "run_tool": 16, "finish_effect": 12, "find_early": 3, "progress": 3, "end_effect": 4,
    "answer": 8, "decide": 8, "fail_request": 1, "fail_tool": 2, "stop": 1, "retry": 4, "try_again": 4, "skip": 4,
    "hide": 2, "show": 4, "move": 3, "remove": 2, "pin": 3, "poke": 4, "batch": 5, "crash": 1, "set_prompt": 3,
    "start_work": 2, "intrude": 1, "garble": 1, "repeat": 2, "come_late": 2, "come_from_elsewhere": 1,
}  # fmt: skip
"""What can happen, and how often against the rest."""


def play_at_random(seed: int, steps: int) -> Player:
    """Play a session from a seed, to its end. A failure says how to repeat it."""
    chance = random.Random(seed)
    player = Player(chance.randrange)
    names, weights = list(ACTIONS), list(ACTIONS.values())
    try:
        for name in chance.choices(names, weights, k=steps):
            player.play(name)
        player.come_to_rest()
        player.go_on_after_rest()
        player.replay()
    except BaseException as error:
        error.add_note(f"Repeat with play_at_random({seed}, {steps}); the last steps: {player.played[-12:]}")
        raise
    return player
