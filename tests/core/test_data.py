"""Authors' classes as stored data: unknown fields, defaults, types, and names that are taken."""

from __future__ import annotations

from typing import Any, Never, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError, field_serializer

from sessions_app.core.canonical import canonical
from sessions_app.core.data import dump, explain, find, load, registered, type_parameters, union_members
from sessions_app.core.effects import Policy
from sessions_app.core.tools import TOOL_TIMEOUT
from sessions_app.sdk import (
    Agent,
    AgentState,
    ContextItem,
    ContextItemEffect,
    ContextItemEvent,
    Data,
    DefinitionError,
    EventResult,
    Message,
    RenderResult,
    SessionArgs,
    SessionEffect,
    SessionEvent,
    SessionResult,
    SessionState,
    Tool,
    ToolContext,
    ToolResult,
    set_agent_state,
)
from sessions_app.testing import AgentHarness
from tests.strategies import json_values, unhurried


class Leaf(Data):
    name: str = ""


class Numbers(RootModel[list[int]]):
    pass


class Free(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str = ""


class Tree(Data):
    leaf: Leaf = Leaf()
    leaves: tuple[Leaf, ...] = ()
    named: dict[str, Leaf] = {}
    maybe: Leaf | int | None = None
    grouped: dict[str, list[Leaf]] = {}
    numbers: Numbers = Numbers([])
    free: Free = Free()
    anything: Any = None
    old_name: int = Field(default=0, alias="from")
    secret: str = Field(default="", exclude=True)
    loud: str = ""

    @field_serializer("loud")
    def shout(self, value: str) -> str:
        return value.upper()


# --- unknown fields


def test_fields_of_newer_code_are_kept_at_every_depth() -> None:
    newer = {"name": "x", "new": {"deep": [1, None]}}
    stored = {
        "leaf": newer,
        "leaves": [newer, {"name": "y"}],
        "named": {"a": newer},
        "maybe": newer,
        "grouped": {"g": [newer]},
        "free": newer,
        "more": [newer],
    }
    tree = load(Tree, stored)
    back = dump(tree.evolve(anything=5))
    for name, value in stored.items():
        assert canonical(back[name]) == canonical(value)
    assert back["anything"] == 5


@unhurried
@given(st.dictionaries(st.text("ab", min_size=1, max_size=2), json_values()), json_values())
def test_any_unknown_field_comes_back(unknown: dict[str, Any], inner: Any) -> None:
    stored = {**unknown, "leaf": {"name": "x", "b": inner}, "leaves": [{"a": inner}]}
    back = dump(load(Tree, stored))
    assert canonical({name: back[name] for name in unknown}) == canonical(unknown)
    assert canonical([back["leaf"]["b"], back["leaves"][0]["a"]]) == canonical([inner, inner])


def test_unknown_fields_are_refused_on_the_way_in() -> None:
    for cls, payload in ((Tree, {"more": 1}), (Tree, {"leaf": {"more": 1}})):
        with pytest.raises(ValidationError):
            cls.model_validate(payload)


@pytest.mark.fault("B76")
def test_a_loaded_value_shares_nothing_with_what_is_stored() -> None:
    stored: dict[str, Any] = {"anything": {"list": [1]}, "unknown": [1]}
    tree = load(Tree, stored)
    tree.anything["list"].append(2)
    assert stored == {"anything": {"list": [1]}, "unknown": [1]}


def test_unusual_fields_can_be_dumped() -> None:
    tree = Tree.model_validate({"numbers": [1, 2], "from": 3, "secret": "s", "loud": "x"})
    raw = dump(tree)
    assert (raw["numbers"], raw["old_name"], raw["loud"]) == ([1, 2], 3, "X")
    assert "secret" not in raw
    assert load(Tree, raw).old_name == 3


def test_evolve_validates_and_keeps_the_original() -> None:
    leaf = Leaf(name="a")
    assert leaf.evolve(name="b").name == "b"
    assert leaf.name == "a"
    with pytest.raises(ValidationError):
        leaf.evolve(name=7)
    with pytest.raises(ValidationError):
        leaf.evolve(nmae="b")


def test_errors_are_explained_in_one_line() -> None:
    with pytest.raises(ValidationError) as wrong:
        Tree.model_validate({"leaf": {"name": 7}, "leaves": [{"name": None}]})
    line = "leaf.name: Input should be a valid string; leaves.0.name: Input should be a valid string"
    assert explain(wrong.value) == line


# --- mutable defaults


class Basket(AgentState):
    things: list[str] = []
    counts: dict[str, int] = {}


class Put(SessionEvent, type="put"):
    things: list[str] = []


class BasketItem(ContextItem, type="basket-item"):
    things: list[str] = []

    def render(self) -> RenderResult:
        return RenderResult.ready(Message.user("A basket"))


class PutTool(Tool, name="put"):
    """Put things into the basket."""

    things: list[str] = []

    async def execute(self, context: ToolContext) -> ToolResult:
        return ToolResult()


class BasketAgent(Agent[Basket, Put], name="basket"):
    tools = (PutTool,)

    def handle_event(self, state: SessionState[Basket], event: Put) -> EventResult:
        state.agent_state.things.append("careless")
        state.agent_state.counts["careless"] = 1
        event.things.append("careless")
        return EventResult([set_agent_state(state.agent_state)])


@pytest.mark.fault("B76")
def test_a_mutable_default_is_shared_by_nobody() -> None:
    first = AgentHarness(BasketAgent)
    first.dispatch(Put())
    second = AgentHarness(BasketAgent)
    assert second.memory.agent_state == {"things": [], "counts": {}}
    for cls in (BasketItem, PutTool, Put):
        cls().things.append("careless")
        assert cls().things == []


class GenerousAgent(Agent[Basket, Put], name="generous"):
    """Begins each session with one and the same state and item."""

    begin = Basket(things=["bread"])
    item = BasketItem(things=["salt"])

    def create_session(self, args: SessionArgs) -> SessionResult[Basket]:
        return SessionResult(self.begin, context_items=[self.item])

    def handle_event(self, state: SessionState[Basket], event: Put) -> EventResult:
        state.agent_state.things.append("careless")
        for item_id in state.context_item_order:
            item = state.get_context_item(item_id)
            assert isinstance(item, BasketItem)
            item.things.append("careless")
        return EventResult([set_agent_state(state.agent_state)])


@pytest.mark.fault("B76")
def test_an_object_that_an_agent_begins_every_session_with_stays_as_it_is() -> None:
    first = AgentHarness(GenerousAgent)
    first.dispatch(Put())
    assert first.memory.agent_state["things"] == ["bread", "careless"]
    second = AgentHarness(GenerousAgent)
    assert second.memory.agent_state["things"] == ["bread"]
    for session in (first, second):
        assert [record.data["things"] for record in session.memory.items.values()] == [["salt"]]
    assert (GenerousAgent.begin.things, GenerousAgent.item.things) == (["bread"], ["salt"])


# --- definitions


def test_a_class_is_found_by_its_type_and_a_reload_replaces_it() -> None:
    def define() -> type[SessionEvent]:
        class Again(SessionEvent, type="again"):
            pass

        return Again

    define()
    second = define()
    assert find("event", "again") is second
    assert [classes for kind, type, classes in registered() if type == "again"] == [[second]]


def test_two_classes_of_one_type_are_both_there_to_be_reported() -> None:
    class One(SessionEvent, type="doubled"):
        pass

    class Two(SessionEvent, type="doubled"):
        pass

    assert [classes for kind, type, classes in registered() if type == "doubled"] == [[One, Two]]


def test_one_type_can_name_an_event_an_effect_and_an_item() -> None:
    class Same(SessionEvent, type="same"):
        pass

    class SameEffect(SessionEffect[Same], type="same"):
        pass

    assert find("event", "same") is Same
    assert find("effect", "same") is SameEffect
    assert find("item", "same") is None


@pytest.mark.parametrize("name", ["id", "time", "sender", "evolve", "is_private", "envelope"])
def test_a_field_cannot_take_a_name_the_platform_uses(name: str) -> None:
    with pytest.raises(DefinitionError, match=f'"{name}" itself') as refused:
        type("Taken", (SessionEvent,), {"__annotations__": {name: str}, "__module__": __name__}, type=f"taken-{name}")
    assert "Rename" in str(refused.value)
    assert find("event", f"taken-{name}") is None


@pytest.mark.parametrize("name", ["kind", "definition", "policy", "type", "name", "title", "status", "payload", "data"])
def test_other_names_are_the_authors_own(name: str) -> None:
    fields = {"__annotations__": {name: str}, "__module__": __name__, name: "default"}
    event = type("Own", (SessionEvent,), dict(fields), type=f"own-{name}")
    item = type("OwnItem", (ContextItem,), dict(fields), type=f"own-{name}")
    assert getattr(event(), name) == "default"
    assert find("event", f"own-{name}") is event
    assert find("item", f"own-{name}") is item


def test_a_reserved_type_cannot_be_taken() -> None:
    with pytest.raises(DefinitionError, match="reserved"):
        type("Fake", (SessionEvent,), {"__module__": __name__}, type="@platform/fake")


def test_a_class_without_a_type_says_how_to_give_it_one() -> None:
    class Nameless(ContextItemEvent):
        pass

    with pytest.raises(DefinitionError, match="type="):
        Nameless.type_name()


# --- type parameters


class Ping(ContextItemEvent, type="ping"):
    pass


class Pong(ContextItemEvent, type="pong", private=True):
    pass


class Player(ContextItem[Ping | Pong], type="player"):
    pass


class BetterPlayer(Player, type="better-player"):
    pass


class Silent(ContextItem[Never], type="silent"):
    pass


class Bare(ContextItem, type="bare"):
    pass


class Serve(ContextItemEffect[Pong], type="serve", timeout=5, retries=2, delivery="at-most-once"):
    pass


class Plain(ContextItemEffect[Ping | Pong], type="plain"):
    pass


def test_events_are_read_off_the_brackets_and_inherited() -> None:
    assert Player.event_types() == BetterPlayer.event_types() == (Ping, Pong)
    assert Silent.event_types() == Bare.event_types() == ()
    assert Serve.emits() == (Pong,)
    assert Plain.emits() == (Ping, Pong)
    assert Player.accepts("pong") is Pong
    assert Player.accepts("serve") is None
    assert [Ping.is_private(), Pong.is_private()] == [False, True]


def test_unions_are_flattened_and_holes_are_empty() -> None:
    assert union_members(Ping | Pong) == (Ping, Pong)
    assert union_members(None) == union_members(Never) == union_members(TypeVar("T")) == ()
    assert type_parameters(int, ContextItem) == ()


def test_agents_name_their_state_arguments_and_events() -> None:
    assert (BasketAgent.state_type(), BasketAgent.event_types()) == (Basket, (Put,))

    class Minimal(Agent, name="minimal"):
        pass

    assert Minimal.state_type() is AgentState
    assert Minimal.event_types() == ()
    assert AgentHarness(Minimal).state == AgentState()


@pytest.mark.parametrize("name", ["", " ", "a/b"])
def test_an_agent_needs_a_usable_name(name: str) -> None:
    with pytest.raises(DefinitionError):
        type("Odd", (Agent,), {"__module__": __name__}, name=name)


# --- limits


def test_a_policy_says_where_it_comes_from() -> None:
    assert Plain.policy_in_force() == Policy()
    assert Serve.policy_in_force() == Policy(timeout=5, retries=2, delivery="at-most-once", source="declared by Serve")
    assert PutTool.policy_in_force() == Policy(timeout=TOOL_TIMEOUT, source="default for tools")

    class Careful(Tool, name="careful", delivery="at-most-once"):
        """Never does it twice."""

    assert Careful.policy_in_force().source == "declared by Careful"
