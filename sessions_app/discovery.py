"""Imports the modules that define agents. What is wrong with one is told with its place and what to do about it."""

from __future__ import annotations

import inspect
import site
import sysconfig
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from pydantic import PydanticUserError

from sessions_app.conf import configuration
from sessions_app.core.agent import Agent, agent_classes
from sessions_app.core.errors import DefinitionError

OURS = str(Path(__file__).parent)
LIBRARIES = ("<", *site.getsitepackages(), *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")))
"""How the paths of code begin that was installed, and that nobody edits."""


@dataclass(frozen=True)
class Fault:
    """What is wrong with one module. `file` is empty where no file is to blame."""

    path: str
    reason: str
    remedy: str = ""
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"\n  at {self.file}:{self.line}" if self.file else ""
        return f'AGENTSITE_AGENTS names "{self.path}":{place}\n  {self.reason} {self.remedy}'.rstrip()


class AgentsNotLoaded(DefinitionError):
    """Modules named in AGENTSITE_AGENTS cannot be used. The text tells all of it, one fault after the other."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("\n".join(["Agentsite cannot load its agents.", *map(str, faults)]))
        self.faults = tuple(faults)


def discover() -> None:
    """Import the modules named by the AGENTS setting. Raises `AgentsNotLoaded` with what is wrong with any of them."""
    faults = [fault for path in configuration().AGENTS for fault in _faults(path)]
    if faults:
        raise AgentsNotLoaded(faults)


def _faults(path: str) -> Iterator[Fault]:
    if not all(part.isidentifier() for part in path.split(".")):
        yield Fault(path, "That is no dotted path.", "Name a module as an import does, such as tools_app.agents.")
        return
    try:
        module = import_module(path)
    except ModuleNotFoundError as error:
        yield _not_there(path, error.name) if _concerns(path, error) else _broken(path, error)
    except (Exception, SystemExit) as error:
        yield _broken(path, error)
    else:
        yield from _without_agents(path, module)


def _concerns(path: str, error: ModuleNotFoundError) -> bool:
    """Whether the module that is not there is the one that was named, or one it would be in."""
    return error.name is not None and f"{path}.".startswith(f"{error.name}.")


def _not_there(path: str, missing: str | None) -> Fault:
    parent, _, last = path.rpartition(".")
    if missing == path and parent and (last == "py" or hasattr(import_module(parent), last)):
        what = "a file" if last == "py" else f"{last} inside a module"
        return Fault(path, f"That is {what}, and a module is asked for.", f'Write "{parent}".')
    remedy = "Correct the dotted path, or put the file where Python finds it: beside ./run, or in PYTHONPATH."
    return Fault(path, f'There is no module "{missing}".', remedy)


def _broken(path: str, error: BaseException) -> Fault:
    file, line = place_of(error)
    what = f"{type(error).__name__}: {error}".rstrip(": .") + "."
    match error:
        case DefinitionError():
            return Fault(path, str(error), "", file, line)
        case SyntaxError(msg=message):
            return Fault(path, f"Python cannot read this line: {message}.", "Correct it.", file, line)
        case ImportError():
            return Fault(path, what, "Correct the import, or install what it needs.", file, line)
        case PydanticUserError():
            reason = str(error).partition("\n")[0].partition(". ")[0]
            return Fault(path, f"{reason}.", "Give the field a type that can be stored as JSON.", file, line)
        case _:
            return Fault(path, what, f'Correct it; `python -c "import {path}"` shows the whole traceback.', file, line)


def place_of(error: BaseException) -> tuple[str, int]:
    """Return file and line of the author's mistake; an empty file where it is in none of theirs."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno or 1
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if not frame.f_code.co_filename.startswith((*LIBRARIES, OURS)):
            return frame.f_code.co_filename, line
    return "", 0


def _without_agents(path: str, module: ModuleType) -> Iterator[Fault]:
    here = [agent for agent in descendants(Agent) if _belongs(agent, path, module)]
    if any(is_named(agent) for agent in here):
        return
    nameless = here[-1] if here else None
    if nameless is None:
        remedy = f'Define one, `class Guide(Agent, name="guide")`, or take {path} out of AGENTSITE_AGENTS.'
        yield Fault(path, "The module defines no agent.", remedy, module.__file__ or "", 1)
    else:
        remedy = f'Write `class {nameless.__name__}(Agent, name="…")`.'
        file, line = place_of_class(nameless)
        yield Fault(path, f"The module defines no agent: {nameless.__name__} has no name.", remedy, file, line)


def _belongs(cls: type, path: str, module: ModuleType) -> bool:
    return f"{cls.__module__}.".startswith(f"{path}.") or cls in vars(module).values()


def descendants(base: type) -> list[type]:
    """Return every class made from another, in the order of definition. One that is made anew replaces itself."""
    found: dict[str, type] = {}
    children: list[type] = base.__subclasses__()
    for cls in children:
        for each in (cls, *descendants(cls)):
            found[f"{each.__module__}.{each.__qualname__}"] = each
    return list(found.values())


def is_named(cls: type) -> bool:
    """Whether a class gave its type or name as a class keyword, and so can be found by it."""
    if issubclass(cls, Agent):
        return vars(cls).get("name") in agent_classes()
    return "__definition__" in vars(cls) or "tool_name" in vars(cls)


def place_of_class(cls: type) -> tuple[str, int]:
    """Return file and line of a class; an empty file where its source cannot be found."""
    try:
        return inspect.getsourcefile(cls) or "", inspect.getsourcelines(cls)[1]
    except (OSError, TypeError):
        return "", 0
