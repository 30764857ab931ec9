"""Runs the Python blocks of a page in order, in one namespace: `python -m tests.docs.run_page docs/testing.md`."""

import linecache
import sys
from pathlib import Path

from tests.docs.pages import python_blocks


def main(page: Path) -> None:
    namespace: dict[str, object] = {"__name__": f"docs_{page.stem.replace('-', '_')}"}
    linecache.getlines(str(page))  # So that a traceback reads no file while a handler runs.
    for block in python_blocks(page):
        # Blank lines before the code make a traceback name the line of the page.
        exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), namespace)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
