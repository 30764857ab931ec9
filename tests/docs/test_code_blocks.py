"""What the documentation shows is run, and its links lead somewhere."""

import re
from itertools import chain
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, PAGES, Block, blocks

HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.docs


def python_blocks(page: Path) -> list[Block]:
    """Blocks without a file name; those with one are a tutorial's, which has a test of its own."""
    return [block for block in blocks(page) if block.language == "python" and not block.info]


@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page)], ids=lambda page: page.name)
def test_python_blocks_run(page: Path) -> None:
    """The blocks of a page are run in order, in one namespace."""
    namespace = {"__name__": f"docs_{page.stem.replace('-', '_')}"}
    for block in python_blocks(page):
        # Blank lines before the code make a traceback name the line of the page.
        exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), namespace)


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
