"""What Agentsite's commands have in common: JSON, dry runs, exit codes, and errors that are sentences.

A command exits with 0 when it did what it was asked, with 1 when that was refused or something was found wrong, and
with 2 when its command line makes no sense.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, transaction

from sessions_app.core.errors import AgentsiteError
from sessions_app.core.events import Sender
from sessions_app.sentences import sentence_of

COMMAND_LINE = Sender("command", "command line", "the command line")


@dataclass(frozen=True)
class Answer:
    """What a command found: as data for programs, in lines for people. With a `problem` it exits with 1."""

    data: Any
    lines: Sequence[str] = ()
    problem: str = ""


class AgentsiteCommand(BaseCommand):
    """A command that calls one function and prints what it returned. A subclass writes `work`."""

    writes: ClassVar[bool] = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print JSON")
        if self.writes:
            parser.add_argument("--dry-run", action="store_true", help="check and print, but change nothing")

    def work(self, options: dict[str, Any]) -> Answer:
        """Do what the command is for."""
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        dry = self.writes and options["dry_run"]
        try:
            # Done and taken back: a dry run checks all that a real one checks.
            with transaction.atomic() if dry else nullcontext():
                answer = self.work(options)
                if dry:
                    transaction.set_rollback(True)
        except CommandError:
            raise
        except DatabaseError as error:
            raise CommandError(f"The database did not do it. {sentence_of(error)}") from error
        except AgentsiteError as error:
            raise CommandError(sentence_of(error)) from error
        except Exception as error:
            message = f"Something went wrong that should not. {sentence_of(error)} (--traceback shows where.)"
            raise CommandError(message) from error
        self._print(answer, as_json=options["json"], dry=dry)

    def _print(self, answer: Answer, *, as_json: bool, dry: bool) -> None:
        if as_json:
            data = {"dry_run": True, **answer.data} if dry else answer.data
            self.stdout.write(as_json_text(data, indent=2))
        else:
            for line in answer.lines:
                self.stdout.write(printable(line))
            if dry:
                self.stdout.write("This was a dry run: nothing was changed.")
        if answer.problem:
            raise CommandError(printable(answer.problem))


def as_json_text(data: Any, indent: int | None = None) -> str:
    """Return data as JSON in ASCII: nothing in it can steer a terminal."""
    return json.dumps(data, indent=indent, default=_as_text)


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def printable(line: str) -> str:
    """Return a line without what could steer a terminal."""
    return "".join(" " if unicodedata.category(character) in ("Cc", "Cf", "Cs") else character for character in line)


def cut(text: str, width: int = 80) -> str:
    """Return the beginning of a text in one line."""
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"
