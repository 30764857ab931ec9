"""Makes modules of agents from text, as authors write them."""

import importlib
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

HEAD = """
import datetime as dt
import random
import socket
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sessions_app.providers.scripted import ScriptedModel
from sessions_app.sdk import *
"""


@contextmanager
def planted(directory: Path, name: str, source: str) -> Iterator[ModuleType]:
    """Import a module that holds some text below the usual imports."""
    file = directory / f"{name}.py"
    file.write_text(HEAD + textwrap.dedent(source))
    sys.path.insert(0, str(directory))
    importlib.invalidate_caches()
    try:
        yield importlib.import_module(name)
    finally:
        sys.path.remove(str(directory))
        sys.modules.pop(name, None)


def line_of(file: Path, text: str) -> int:
    """Return the number of the first line in which a text stands."""
    return next(number for number, line in enumerate(file.read_text().splitlines(), 1) if text in line)
