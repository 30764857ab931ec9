"""What a class statement alone shows to be impossible: a `DefinitionError` while the module is imported."""

from pathlib import Path

import pytest

from sessions_app.core.errors import DefinitionError
from sessions_app.discovery import place_of
from tests.checks.planting import line_of, planted

MISTAKES = {
    "reserved_type": ('class Bad(SessionEvent, type="@platform/mine"): pass', "is reserved", "a name of your own"),
    "reserved_field": ('class Bad(SessionEvent, type="bad-field"):\n    sender: str', '"sender" itself', "Rename"),
    "tool_name": (
        'class Bad(Tool, name="find flights"):\n    "Find."',
        'refuse the tool name "find flights"',
        "letters",
    ),
    "long_tool_name": (f'class Bad(Tool, name="{"f" * 65}"):\n    "Find."', "refuse the tool name", "1 to 64"),
    "no_description": ('class Bad(Tool, name="find_flights"):\n    place: str', "has no docstring", "write one"),
    "blank_agent_name": ('class Bad(Agent, name=" "): pass', "cannot be an agent name", "Use letters"),
    "slash_in_agent_name": ('class Bad(Agent, name="a/b"): pass', "cannot be an agent name", "Use letters"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_an_impossible_class_is_refused_where_it_stands(tmp_path: Path, name: str) -> None:
    source, reason, remedy = MISTAKES[name]
    with pytest.raises(DefinitionError) as refused, planted(tmp_path, f"impossible_{name}", source):
        pass
    assert str(refused.value).startswith("Bad")
    assert reason in str(refused.value)
    assert remedy in str(refused.value)
    file = tmp_path / f"impossible_{name}.py"
    assert place_of(refused.value) == (str(file), line_of(file, "class Bad"))
