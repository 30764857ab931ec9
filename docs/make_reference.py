"""Writes docs/reference.md from the docstrings of what authors import: `.venv/bin/python -m docs.make_reference`."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
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
HEAD = """# Reference

Made from the docstrings by `.venv/bin/python -m docs.make_reference`; edit them, not this page. The examples use:

```python
from sessions_app.providers import *
from sessions_app.sdk import *
from sessions_app.testing import AgentHarness, tool_calls
```
"""
NAMES = {getattr(module, name) for module, names in PUBLIC.items() for name in names}
EXAMPLE = re.compile(r"(?:^ {4}.*\n?|^\n(?= {4}))+", re.MULTILINE)


def reference() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *(part for module, names in PUBLIC.items() for part in module_part(module, names))])


def module_part(module: ModuleType, names: list[str]) -> Iterator[str]:
    yield f"## `{module.__name__}`\n\n{prose(module)}"
    for name in names:
        value = getattr(module, name)
        yield f"### {name}\n\n`{heading(name, value)}`\n\n{prose(value)}"
        if isinstance(value, type):
            yield from class_part(value)


def heading(name: str, value: Any) -> str:
    if not isinstance(value, type):
        return f"{name}{signature(value)}"
    bases = [base.__name__ for base in value.__mro__[1:] if base in NAMES]
    return f"class {name}({', '.join([*bases[:1], *class_keywords(value)])})".replace("()", "")


def class_keywords(cls: type) -> Iterator[str]:
    """What may be written behind the bases, as in `class Found(SessionEvent, type="found")`."""
    for base in cls.__mro__:
        if "__init_subclass__" in vars(base) and base.__module__.startswith("sessions_app"):
            parameters = inspect.signature(vars(base)["__init_subclass__"].__func__).parameters.values()
            named = [each for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
            yield from (f"{each.name}=…" for each in named)
            if not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters):
                return


def class_part(cls: type) -> Iterator[str]:
    described = [line for owner in owners(cls) for line in fields(owner)]
    described += [line for owner in owners(cls) for line in methods(owner)]
    if described:
        yield "\n".join(described) + "\n"


def owners(cls: type) -> list[type]:
    """The class and those bases of ours that have no entry of their own."""
    return [cls, *(base for base in cls.__mro__[1:] if base.__module__.startswith("sessions_app") and base not in NAMES)]


def fields(cls: type) -> Iterator[str]:
    notes = attribute_docstrings(cls)
    for name, annotation in inspect.get_annotations(cls).items():
        if not name.startswith("_") and name != "model_config":
            shown = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
            shown = re.sub(r"^ClassVar\[(.*)\]$", r"\1", shown)
            yield bullet(f"{name}: {shown}{default(cls, name)}", notes.get(name, ""))


def default(cls: type, name: str) -> str:
    known = {field.name: field.default for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else {}
    known |= {key: field.default for key, field in getattr(cls, "model_fields", {}).items()}
    value = known.get(name, vars(cls).get(name))
    plain = isinstance(value, str | int | float | tuple | None) and (value is not None or name in known)
    return f" = {value!r}" if plain else ""


def attribute_docstrings(cls: type) -> dict[str, str]:
    """The texts that stand below attributes."""
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0].body
    pairs = zip(body, body[1:], strict=False)
    return {
        one.target.id: inspect.cleandoc(two.value.value)
        for one, two in pairs
        if isinstance(one, ast.AnnAssign) and isinstance(two, ast.Expr) and isinstance(two.value, ast.Constant)
    }


def methods(cls: type) -> Iterator[str]:
    for name, value in vars(cls).items():
        function = value.fget if isinstance(value, property) else inspect.unwrap(getattr(value, "__func__", value))
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        returned = f": {function.__annotations__.get('return', '')}"
        yield bullet(name + (returned if isinstance(value, property) else signature(function)), doc(function))


def signature(function: Any) -> str:
    found = inspect.signature(function)
    kept = [each for name, each in found.parameters.items() if name not in ("self", "cls")]
    return str(found.replace(parameters=kept)).replace("'", "")


def bullet(code: str, text: str) -> str:
    return f"- `{code}`" + (f" – {' '.join(text.split())}" if text else "")


def prose(value: Any) -> str:
    """A docstring as Markdown; what is indented in it is an example, which is run."""
    return EXAMPLE.sub(lambda found: f"```python\n{textwrap.dedent(found[0]).strip()}\n```\n", doc(value) + "\n")


def doc(value: Any) -> str:
    own = value.__dict__.get("__doc__") if isinstance(value, type) else value.__doc__
    return inspect.cleandoc(own or "")


if __name__ == "__main__":
    PAGE.write_text(reference())
