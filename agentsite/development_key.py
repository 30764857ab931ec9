"""A secret key for debug mode, so that trying Agentsite needs no set-up and a restart signs nobody out."""

import os
from contextlib import suppress
from pathlib import Path

from django.core.management.utils import get_random_secret_key


def development_key(path: Path) -> str:
    """The key kept in `path`, made on first use and readable by its owner only."""
    if not path.exists():
        make_key(path)
    return path.read_text()


def make_key(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(get_random_secret_key())
    # Of two processes that start at once the first to link wins, and nobody ever reads a file half written.
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()
