"""docs/field-faults.md and the tests name the same faults, both ways."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (?P<id>B\d\d) \| (?P<fault>[^|]+) \| (?P<instead>[^|]+) \| (?P<tests>[^|]+) \|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py::test_\w+)`")
ROWS = list(ROW.finditer((ROOT / "docs" / "field-faults.md").read_text()))

pytestmark = pytest.mark.docs


def listed() -> set[tuple[str, str]]:
    """Return each fault of the page with each of its tests."""
    return {(row["id"], test) for row in ROWS for test in TEST.findall(row["tests"])}


def marked() -> set[tuple[str, str]]:
    """Return each fault that a test is marked with, and the test."""
    return {pair for path in sorted((ROOT / "tests").rglob("test_*.py")) for pair in _marked_in(path)}


def _marked_in(path: Path) -> Iterator[tuple[str, str]]:
    tree = ast.parse(path.read_text())
    name = path.relative_to(ROOT).as_posix()
    everywhere = [
        fault
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
        for fault in _faults(node.value)
    ]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            own = [fault for decorator in node.decorator_list for fault in _faults(decorator)]
            yield from ((fault, f"{name}::{node.name}") for fault in [*everywhere, *own])


def _faults(marks: ast.expr) -> Iterator[str]:
    """Return the ids of every `pytest.mark.fault("…")` in an expression."""
    for node in ast.walk(marks):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.fault":
            yield from (str(ast.literal_eval(argument)) for argument in node.args)


def test_every_listed_test_exists_and_names_its_fault() -> None:
    assert listed() - marked() == set()


def test_every_fault_a_test_names_is_listed_with_it() -> None:
    assert marked() - listed() == set()


def test_each_fault_has_one_row_in_order_and_a_test() -> None:
    ids = [row["id"] for row in ROWS]
    assert ids == sorted(set(ids))
    assert [row["id"] for row in ROWS if not TEST.findall(row["tests"])] == []
