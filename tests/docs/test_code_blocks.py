"""What the documentation shows is run, and its links lead somewhere."""

import re
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, lines_of_code, named_block, python_blocks

HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

ORIGINAL_FLIGHT_SEARCH = 42
"""Lines that are not blank in the Agent SDK's own example of a custom tool loading UI."""

pytestmark = pytest.mark.docs


@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page)], ids=lambda page: page.name)
def test_python_blocks_run(page: Path) -> None:
    """In a process of its own, as what a page defines must not meet the project's own agents."""
    command = [sys.executable, "-W", "error", "-m", "tests.docs.run_page", str(page)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = LINK.findall(FENCED.sub("", page.read_text()))
    assert [f"{path}#{place}" for path, place in links if not leads_somewhere(page, path, place)] == []


def leads_somewhere(page: Path, path: str, place: str) -> bool:
    target = (page.parent / path) if path else page
    return target.exists() and (not place or place in anchors(target))


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as GitHub makes them."""
    titles = HEADING.findall(FENCED.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_index_names_every_page() -> None:
    named = {path for path, _ in LINK.findall((DOCS / "README.md").read_text())}
    assert {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} - {"README.md"} <= named


def test_every_block_says_its_language() -> None:
    fences = chain.from_iterable(re.findall(r"^```.*$", page.read_text(), re.MULTILINE)[::2] for page in PAGES)
    assert "```" not in set(fences)


def test_the_smallest_agent_has_five_lines_at_most() -> None:
    assert lines_of_code(named_block("agent-sdk-map.md", "smallest")) <= 5


def test_the_flight_search_is_no_longer_than_the_original() -> None:
    assert lines_of_code(named_block("agent-sdk-map.md", "flights")) <= ORIGINAL_FLIGHT_SEARCH
