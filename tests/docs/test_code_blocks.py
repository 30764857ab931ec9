"""What the documentation shows is run: the Python blocks of a page, in order, in one namespace."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")

pytestmark = pytest.mark.docs


def python_blocks(page):
    text = page.read_text()
    for found in BLOCK.finditer(text):
        yield text[: found.start(1)].count("\n"), found.group(1)


@pytest.mark.parametrize("page", [page for page in PAGES if any(python_blocks(page))], ids=lambda page: page.name)
def test_python_blocks_run(page):
    namespace = {"__name__": f"docs_{page.stem}"}
    for line, block in python_blocks(page):
        # Blank lines before the code make a traceback name the line of the page.
        exec(compile("\n" * line + block, str(page), "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    broken = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert not broken
