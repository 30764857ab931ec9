"""Writes docs/reference.md from the docstrings of what authors import: `.venv/bin/python -m docs.make_reference`.

Signatures are taken from the source, so the page does not depend on the Python that writes it.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

from sessions_app import providers, sdk, testing

PAGE = Path(__file__).with_name("reference.md")
PUBLIC = {
    sdk: sdk.__all__,
    testing: ["AgentHarness", "tool_calls"],
    providers: providers.__all__,
}
ENTRIES = {getattr(module, name) for module, names in PUBLIC.items() for name in names}
HEAD = """# Reference

Made from the docstrings by `.venv/bin/python -m docs.make_reference`; edit them, not this page. Its examples use:

```python
from sessions_app.providers import *
from sessions_app.sdk import *
from sessions_app.testing import AgentHarness, tool_calls
```
"""
EXAMPLE = re.compile(r"(?:^ {4}.*\n|^\n(?=\n* {4}))+", re.MULTILINE)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def reference() -> str:
    """Return the whole page."""
    parts = [part for module, names in PUBLIC.items() for part in module_parts(module, names)]
    return "\n\n".join([HEAD.strip(), *parts]) + "\n"


def module_parts(module: ModuleType, names: list[str]) -> Iterator[str]:
    yield f"## {module.__name__}"
    yield prose(inspect.getdoc(module))
    for name in names:
        value = getattr(module, name)
        yield f"### {name}"
        yield from class_parts(value) if isinstance(value, type) else function_parts(value)


def function_parts(function: Callable[..., Any]) -> Iterator[str]:
    node = source_of(function)
    assert isinstance(node, Function)
    yield f"`{signature(node)}`"
    yield prose(ast.get_docstring(node))


def class_parts(cls: type) -> Iterator[str]:
    nodes = [node for node in map(source_of, owners(cls)) if isinstance(node, ast.ClassDef)]
    yield f"`{class_heading(cls, nodes)}`"
    yield prose(ast.get_docstring(nodes[0]))
    members = [line for node in nodes for line in fields(node)] + [line for node in nodes for line in methods(node)]
    if members:
        yield "\n".join(members)


def owners(cls: type) -> list[type]:
    """The class, and those bases of ours that have no entry of their own."""
    return [
        cls,
        *(base for base in cls.__mro__[1:] if base.__module__.startswith("sessions_app") and base not in ENTRIES),
    ]


def class_heading(cls: type, nodes: list[ast.ClassDef]) -> str:
    bases = [base.__name__ for base in cls.__mro__[1:] if base in ENTRIES][:1]
    definers = [function for node in nodes for function in functions(node) if function.name == "__init_subclass__"]
    keywords = dict.fromkeys(f"{argument.arg}=…" for function in definers for argument in function.args.kwonlyargs)
    makers = [function for function in functions(nodes[0]) if function.name == "__init__"]
    made = [f"; {cls.__name__}{signature(maker).removeprefix('__init__').removesuffix(' -> None')}" for maker in makers]
    listed = ", ".join([*bases, *keywords])
    return f"class {cls.__name__}" + (f"({listed})" if listed else "") + "".join(made)


def fields(node: ast.ClassDef) -> Iterator[str]:
    for statement, following in pairwise([*node.body, ast.Pass()]):
        if isinstance(statement, ast.AnnAssign) and not ast.unparse(statement.target).startswith("_"):
            shown = re.sub(r": ClassVar\[(.*?)\](?= = |$)", r": \1", ast.unparse(statement))
            yield bullet(shown, below(following))


def below(statement: ast.stmt) -> str:
    """The text that stands below an attribute."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
        case _:
            return ""


def methods(node: ast.ClassDef) -> Iterator[str]:
    for function in functions(node):
        text = ast.get_docstring(function)
        if text and not function.name.startswith("_"):
            is_property = any(ast.unparse(decorator) == "property" for decorator in function.decorator_list)
            returned = f": {ast.unparse(function.returns)}" if function.returns else ""
            yield bullet(function.name + returned if is_property else signature(function), text)


def functions(node: ast.ClassDef) -> Iterator[Function]:
    return (statement for statement in node.body if isinstance(statement, Function))


def signature(node: Function) -> str:
    arguments = ast.unparse(node.args)
    arguments = re.sub(r"^(self|cls)(, |$)", "", arguments)
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    is_async = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{is_async}{node.name}({arguments}){returned}"


def source_of(value: Any) -> ast.stmt:
    return ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]


def bullet(code: str, text: str) -> str:
    return f"- `{code}`" + (f": {' '.join(text.split())}" if text else "")


def prose(text: str | None) -> str:
    """A docstring as Markdown. What is indented in it is an example, which is run."""
    return EXAMPLE.sub(as_block, (text or "") + "\n").strip()


def as_block(example: re.Match[str]) -> str:
    return f"\n```python\n{textwrap.dedent(example[0]).strip()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(reference())
