"""Tools: names, descriptions and how they are offered to a model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from sessions_app.core.language_model import ModelRequest
from sessions_app.core.messages import Message
from sessions_app.core.tools import TOOL_NAME
from sessions_app.providers.strict import provider_faults
from sessions_app.sdk import DefinitionError, Tool, ToolContext
from tests.core.checked import finish
from tests.strategies import unhurried


def define(name: str, doc: str | None = "Does something.") -> type[Tool]:
    body = {"__module__": __name__, "__doc__": doc}
    return type("SomeTool", (Tool,), body, name=name)


@pytest.mark.parametrize("name", ["9lives", "a.b", "with space", "größe", "", "x" * 65, "x" * 80, "a\n", "-a", "日本"])
@pytest.mark.fault("B70")
def test_a_name_a_provider_refuses_is_refused_at_definition_with_the_rule(name: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        define(name)
    assert f'"{name}"' in str(refused.value)
    assert "1 to 64 letters" in str(refused.value)


@pytest.mark.parametrize("name", ["a", "_a", "A9", "find_flights", "find-flights", "x" * 64])
def test_a_legal_name_is_taken_as_it_is(name: str) -> None:
    tool = define(name)
    assert tool.specification().name == name
    assert provider_faults(ModelRequest((), [Message.user("Hi")], [tool.specification()])) == []


@unhurried
@given(st.text(max_size=70))
def test_any_name_is_either_refused_or_taken_by_every_provider(name: str) -> None:
    if TOOL_NAME.fullmatch(name):
        assert provider_faults(ModelRequest((), [Message.user("Hi")], [define(name).specification()])) == []
    else:
        with pytest.raises(DefinitionError):
            define(name)


@pytest.mark.parametrize("doc", [None, "", "  \n "])
def test_a_tool_without_a_description_is_refused(doc: str | None) -> None:
    with pytest.raises(DefinitionError, match="docstring"):
        define("undocumented", doc)


class Lookup(Tool, name="lookup"):
    """Look something up.

    Indented lines keep their shape.
    """

    word: str = Field(description="What to look up", max_length=20)
    kind: str = "any"
    policy_: str = Field(default="", alias="policy")


def test_a_tool_is_offered_with_its_arguments_as_json_schema() -> None:
    offered = Lookup.specification()
    assert offered.description == "Look something up.\n\nIndented lines keep their shape."
    assert offered.parameters["required"] == ["word"]
    assert offered.parameters["additionalProperties"] is False
    assert offered.parameters["properties"]["word"]["description"] == "What to look up"
    assert list(offered.parameters["properties"]) == ["word", "kind", "policy"]


def test_a_tool_that_was_not_written_says_so() -> None:
    with pytest.raises(NotImplementedError):
        finish(Lookup(word="x").execute(ToolContext("key")))


def test_an_argument_cannot_take_a_name_the_platform_uses() -> None:
    for name in ("emits", "execute", "tool_name"):
        with pytest.raises(DefinitionError, match="alias"):
            type(
                "Taken", (Tool,), {"__annotations__": {name: str}, "__module__": __name__, "__doc__": "x"}, name="taken"
            )
