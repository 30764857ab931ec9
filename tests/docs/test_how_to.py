"""What docs/how-to.md shows besides Python: a template, and commands for a shell."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.template import engines

from sessions_app.fragments.card import Card
from tests.docs.pages import DOCS, ROOT, Block, blocks, named_block
from tests.processes import bare_environment, manage

SHELL = [block for block in blocks(DOCS / "how-to.md") if block.language == "console"]
DEMO_USER = "from agentsite.demo_login import demo_user; demo_user()"

pytestmark = pytest.mark.docs


def test_the_template_draws_the_item() -> None:
    card = Card(
        id="1_0",
        type="receipt",
        data={"euros": 12},
        name="Receipt",
        state="done",
        since=datetime.now(UTC),
        title="Paid",
    )
    template = engines["django"].from_string(named_block("how-to.md", "receipt").text)
    drawn = template.render({"card": card, "entry": SimpleNamespace(kind="item"), "page": SimpleNamespace(key="0")})
    assert '<p class="total">12 EUR</p>' in drawn
    assert "Paid" in drawn


@pytest.mark.process
def test_the_commands_print_what_the_page_says(tmp_path: Path) -> None:
    manage(tmp_path, "migrate", "-v0")
    manage(tmp_path, "shell", "-v0", "-c", DEMO_USER)
    for block in SHELL:
        commands, shown = commands_and_output(block)
        printed = in_shell(commands, tmp_path)
        assert all(line in printed.splitlines() for line in shown), f"docs/how-to.md, line {block.line}:\n{printed}"


def commands_and_output(block: Block) -> tuple[str, list[str]]:
    """Separate what is typed, also over several lines, from what is printed."""
    commands, shown, typing = [], [], False
    for line in block.text.splitlines():
        typing = typing or line.startswith("$ ")
        (commands if typing else shown).append(line.removeprefix("$ "))
        typing = typing and line.endswith("\\")
    return "\n".join(commands), shown


def in_shell(commands: str, data_dir: Path) -> str:
    environment = bare_environment() | {"AGENTSITE_DATA_DIR": str(data_dir)}
    result = subprocess.run(
        ["bash", "-euc", commands], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, f"{commands}\n{result.stdout}{result.stderr}"
    return result.stdout
