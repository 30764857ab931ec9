"""Counts what an event costs: statements, rows read, and bytes handed to statements that write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

WRITES = ("INSERT", "UPDATE", "DELETE")


@dataclass
class Cost:
    """What was asked of the database. Statements that only mark a transaction do not count."""

    statements: list[str] = field(default_factory=list)
    rows_read: int = 0
    bytes_written: int = 0

    @property
    def reads(self) -> int:
        return sum(statement.startswith("SELECT") for statement in self.statements)

    @property
    def writes(self) -> int:
        return sum(statement.startswith(WRITES) for statement in self.statements)

    @property
    def summary(self) -> tuple[int, int, int]:
        """Reads, writes, rows read."""
        return self.reads, self.writes, self.rows_read

    def note(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
        """Pass a statement on and count it; what Django's `execute_wrapper` calls."""
        result = execute(sql, params, many, context)
        verb = sql.lstrip("(").split(maxsplit=1)[0].upper()
        if verb in ("SELECT", *WRITES):
            self.statements.append(sql)
        if verb in WRITES:
            self.bytes_written += sum(len(str(value).encode()) for value in params or ())
        if verb == "SELECT":
            self._count_rows(context["cursor"])
        return result

    def _count_rows(self, cursor: Any) -> None:
        for name in ("fetchone", "fetchmany", "fetchall"):
            setattr(cursor, name, self._counting(getattr(cursor, name)))

    def _counting(self, fetch: Callable[..., Any]) -> Callable[..., Any]:
        def fetch_and_count(*arguments: Any) -> Any:
            found = fetch(*arguments)
            self.rows_read += len(found) if isinstance(found, list) else found is not None
            return found

        return fetch_and_count


@contextmanager
def cost() -> Iterator[Cost]:
    """Measure what the block asks of the database on this thread's connection."""
    counted = Cost()
    with connection.execute_wrapper(counted.note):
        yield counted
