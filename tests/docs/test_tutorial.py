"""The tutorial works as written: its blocks are run in order, in a copy of what a clone holds."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser.people import FLAGS, Person, answer, live, say
from tests.docs.pages import DOCS, ROOT, Block, blocks
from tests.processes import RUNNING, ServerProcess, bare_environment
from tests.services import find_browser

BLOCKS = list(blocks(DOCS / "tutorial.md"))
SERVE = next(block for block in BLOCKS if block.text.startswith("$ AGENTSITE_AGENTS="))
AT_THE_END = next(block for block in BLOCKS if block.info == "at the end")
PLAY = """
import sys
from my_agents import Baker
from sessions_app.testing import AgentHarness

session = AgentHarness(Baker)
session.say(sys.argv[1])
session.run_all()
print(session.answer)
"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tracked files and this virtual environment, as after `git clone` and the first `./run`."""
    place = tmp_path_factory.mktemp("tutorial") / "agentsite"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    (place / ".venv").symlink_to(sys.prefix)
    return place


def call(clone: Path, *command: str) -> str:
    result = subprocess.run(
        command, cwd=clone, env=bare_environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, f"{command} failed:\n{result.stdout}{result.stderr}"
    return result.stdout


def write(clone: Path, block: Block) -> None:
    (clone / block.info).write_text(block.text)


def run(clone: Path, block: Block) -> None:
    """Run a block of the page and compare what it shows with what the page says."""
    where = f"docs/tutorial.md, line {block.line}"
    match block.language, block.info:
        case "python", name if name.endswith(".py"):
            write(clone, block)
        case "console", "":
            line, *shown = block.text.splitlines()
            printed = call(clone, *shlex.split(line.removeprefix("$ ")))
            assert all(words in printed for words in shown), f"{where}: it printed\n{printed}"
        case "text", info if info.startswith("answer to "):
            printed = call(clone, str(clone / ".venv/bin/python"), "-c", PLAY, info.removeprefix("answer to "))
            assert printed == block.text, where
        case _:
            raise AssertionError(f"{where}: this test does not know what to do with {block.language} {block.info}.")


@pytest.mark.docs
@pytest.mark.process
def test_every_block_does_what_the_page_says(clone: Path) -> None:
    for block in BLOCKS:
        if block not in (SERVE, AT_THE_END):  # seen in a browser, below
            run(clone, block)


@pytest.fixture
def site(clone: Path, tmp_path: Path) -> Iterator[ServerProcess]:
    """The finished agent, started by the page's own command, on a free port."""
    for block in BLOCKS:
        if block.language == "python":
            write(clone, block)
    command, printed = SERVE.text.removeprefix("$ ").splitlines()
    setting, program = command.split()
    name, value = setting.split("=")
    started = [sys.executable, str(clone / program), "--port", "0"]
    with ServerProcess(started, log=tmp_path / "log", ready=RUNNING, **{name: value}) as server:
        assert printed.replace(":8000", f":{server.port}") in server.log.splitlines()
        yield server


@pytest.mark.docs
@pytest.mark.browser
def test_the_finished_agent_in_a_browser(site: ServerProcess) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        with Person(browser, site) as person:
            play(person)
            assert person.complaints() == []
            play_across_a_restart(person, site)
        browser.close()


def play(person: Person) -> None:
    page = person.sign_in()
    page.get_by_role("button", name="Start Baker").click()
    live(page)
    page.get_by_role("button", name="Bake me a loaf").click()
    loaf = page.locator(".card-busy", has_text="Baking a loaf…")
    expect(loaf.locator("progress[value='25']")).to_be_attached()
    expect(loaf).to_contain_text(re.compile("0:0[0-9]"))
    question = page.locator(".card", has_text="How many slices shall I cut?")
    question.get_by_label("Number of slices").fill("40")
    question.get_by_role("button", name="Send answer").click()
    assert "30" in question.get_by_label("Number of slices").evaluate("box => box.validationMessage")
    question.get_by_label("Number of slices").fill("12")
    question.get_by_role("button", name="Send answer").click()
    expect(page.locator(".card-answered")).to_contain_text("12")
    paragraphs = AT_THE_END.text.strip().split("\n\n")
    expect(answer(page)).to_contain_text(paragraphs[-1], timeout=20_000)
    for paragraph in paragraphs:
        expect(answer(page)).to_contain_text(paragraph)
    expect(page.locator(".stream")).to_have_count(0)


def play_across_a_restart(person: Person, site: ServerProcess) -> None:
    """The site is stopped while a loaf is in the oven, and the loaf is baked after all."""
    (page,) = person.context.pages
    say(page, "Another loaf, please")
    expect(page.locator(".card-busy", has_text="Baking a loaf…")).to_be_visible()
    address = page.url.removeprefix(site.url)
    page.close()
    assert site.interrupt() == 0
    site.start()
    page = live(person.page(site.url + address))
    expect(page.locator(".card-done")).to_have_count(2, timeout=40_000)
