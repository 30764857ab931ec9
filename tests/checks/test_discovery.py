"""An agent is offered by naming its module. What is wrong with one is told with its place, by every way to start."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from sessions_app import discovery
from sessions_app.registry import get_agent
from tests.checks.planting import line_of
from tests.processes import RUN, bare_environment

GUIDE = """
from sessions_app.providers import default_model
from sessions_app.sdk import Agent, Tool


class Guide(Agent, name="{name}"):
    title = "Guide"
    system_prompt = "Name three sights."
    model = default_model()
"""

# Each row: the path that is named, the text of the module, where in it the mistake is, and words of reason and remedy.
FAULTS = {
    "nowhere": ("no_such_module", "", "", 'There is no module "no_such_module".', "Correct the dotted path"),
    "nowhere_in_a_package": ("tools_app.no_such", "", "", 'no module "tools_app.no_such"', "Correct the dotted path"),
    "class": ("{module}.Guide", GUIDE, "", "Guide inside a module", 'Write "{module}"'),
    "file": ("{module}.py", GUIDE, "", "That is a file", 'Write "{module}"'),
    "path": ("./{module}.py", GUIDE, "", "no dotted path", "such as tools_app.agents"),
    "syntax": (
        "{module}",
        GUIDE + "def broken(:\n",
        "def broken",
        "cannot read this line: invalid syntax",
        "Correct it",
    ),
    "import": (
        "{module}",
        GUIDE + "import no_such_helper\n",
        "import no_such",
        "'no_such_helper'",
        "Correct the import",
    ),
    "name": ("{module}", GUIDE + "x = nowhere\n", "x = nowhere", "NameError: name 'nowhere'", "whole traceback"),
    "exit": ("{module}", GUIDE + "raise SystemExit(3)\n", "raise SystemExit", "SystemExit: 3", "Correct it"),
    "definition": (
        "{module}",
        GUIDE + 'class Bad(Tool, name="bad"): pass\n',
        "class Bad",
        "Bad has no docstring",
        "write one",
    ),
    "schema": (
        "{module}",
        GUIDE + 'class Odd: pass\nclass Bad(Tool, name="bad"):\n    "Odd."\n    odd: Odd\n',
        "class Bad",
        "Unable to generate pydantic-core schema",
        "stored as JSON",
    ),
    "no_agent": ("{module}", "x = 1\n", "x = 1", "The module defines no agent.", "Define one"),
    "nameless": ("{module}", GUIDE.replace(', name="{name}"', ""), "class Guide", "Guide has no name", 'name="…"'),
}


def planted_file(directory: Path, module: str, text: str) -> Path:
    file = directory / f"{module}.py"
    file.write_text(text.lstrip("\n").replace("{name}", module))
    return file


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_wrong_with_a_module_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any, name: str
) -> None:
    path, text, where, reason, remedy = FAULTS[name]
    module = f"found_{name}"
    file = planted_file(tmp_path, module, text)
    monkeypatch.syspath_prepend(tmp_path)
    settings.AGENTSITE = {"AGENTS": ["tools_app.agents", path.format(module=module)]}
    with pytest.raises(discovery.AgentsNotLoaded) as refused:
        discovery.discover()
    told = str(refused.value)
    assert f'AGENTSITE_AGENTS names "{path.format(module=module)}"' in told
    assert reason in told
    assert remedy.format(module=module) in told
    if where:
        assert f"{file}:{line_of(file, where)}" in told
    else:
        assert "  at " not in told


def test_every_module_is_looked_at_and_all_faults_are_told_at_once(settings: Any) -> None:
    settings.AGENTSITE = {"AGENTS": ["no_such_one", "no_such_two"]}
    with pytest.raises(discovery.AgentsNotLoaded, match=r"(?s)no_such_one.*no_such_two"):
        discovery.discover()


def test_a_fault_in_a_helper_is_told_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    helper = planted_file(tmp_path, "found_helper", "import json\n\njson.loads('{')\n")
    planted_file(tmp_path, "found_user", "import found_helper\n")
    monkeypatch.syspath_prepend(tmp_path)
    settings.AGENTSITE = {"AGENTS": ["found_user"]}
    with pytest.raises(discovery.AgentsNotLoaded) as refused:
        discovery.discover()
    assert f"at {helper}:3\n  JSONDecodeError: Expecting property name" in str(refused.value)


def test_a_new_file_is_discovered_by_its_dotted_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    package = tmp_path / "found_package"
    package.mkdir()
    planted_file(package, "found_guide", GUIDE)
    monkeypatch.syspath_prepend(tmp_path)
    settings.AGENTSITE = {"AGENTS": ["found_package.found_guide"]}
    discovery.discover()
    assert get_agent("found_guide").title == "Guide"


STARTS = {
    "run": ([], {}),
    "web": (["web"], {}),
    "check": (["manage", "check"], {}),
    "worker": (["worker"], {"BROKER_URL": "redis://127.0.0.1:1/0"}),
}
BROKEN = {
    "module": ("import no_such_helper\n", "{file}:1\n  ModuleNotFoundError: No module named 'no_such_helper'."),
    "definition": (GUIDE + 'class Bad(Tool, name="a b"):\n    "Bad."\n', "{file}:9\n  Bad: providers refuse the tool"),
    "checked": (
        GUIDE.replace("    model = default_model()\n", ""),
        "{file}:5: (sessions_app.E011) Guide has no model.",
    ),
}


@pytest.mark.process
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", BROKEN)
def test_a_site_does_not_start_with_a_mistake_and_says_which(tmp_path: Path, start: str, name: str) -> None:
    text, told = BROKEN[name]
    file = planted_file(tmp_path, f"broken_{name}", text)
    arguments, variables = STARTS[start]
    variables = variables | {
        "AGENTSITE_DEBUG": "1",
        "AGENTSITE_DATA_DIR": str(tmp_path / "data"),
        "AGENTSITE_AGENTS": f"tools_app.agents,broken_{name}",
        "PYTHONPATH": str(tmp_path),
    }
    ports = ["--port", "0"] if start in ("run", "web") else []
    result = subprocess.run(
        [*RUN, *arguments, *ports],
        env=bare_environment() | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 1
    assert told.format(file=file) in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) < 12
