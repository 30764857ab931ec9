"""Pages of the documentation as tests read them: the code blocks, and what stands behind their fences."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted(DOCS.rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)(?: ([^\n]*))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One code block. `info` is what follows its language, such as a file name; `line` counts from 1."""

    language: str
    info: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in BLOCK.finditer(text):
        yield Block(found[1], found[2] or "", found[3], text[: found.start(3)].count("\n") + 1)


def python_blocks(page: Path) -> list[Block]:
    """The Python of a page, without files that a reader is to save: a tutorial has a test of its own."""
    return [block for block in blocks(page) if block.language == "python" and not block.info.endswith(".py")]


def named_block(page: str, name: str) -> Block:
    """The block of a page in docs/ whose fence says this name."""
    return next(block for block in blocks(DOCS / page) if block.info == name)


def lines_of_code(block: Block) -> int:
    return sum(1 for line in block.text.splitlines() if line.strip())
