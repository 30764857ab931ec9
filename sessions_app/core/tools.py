"""Tools: what a model may call. Fields are the arguments, the docstring is the description."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, ParamSpec, Protocol, TypeVar

from typing_extensions import TypeVar as TypeVarWithDefault

from .data import Data, TypeParameters, type_parameters, union_members
from .effects import Delivery, Policy
from .errors import DefinitionError
from .events import Event, SessionEvent
from .items import ContextItem, ItemResult
from .language_model import ToolSpecification

P = ParamSpec("P")
R = TypeVar("R")
SessionEventT = TypeVarWithDefault("SessionEventT", bound=SessionEvent, default=SessionEvent)

TOOL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
"""What every supported provider takes as a tool name."""
TOOL_TIMEOUT = 60.0
"""Seconds a tool may run by default."""


@dataclass(frozen=True)
class ToolResult(Generic[SessionEventT]):
    """What `execute` returns: items that hang under the call, then session events the tool declares.

    Example: `ToolResult(context_items=[Price.create("Tea")])`.
    """

    context_items: Sequence[ContextItem[Any] | ItemResult[Any]] = ()
    events: Sequence[SessionEventT] = ()


class Runner(Protocol):
    """Calls a blocking function somewhere."""

    def __call__(self, function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]: ...


async def call_here(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function in place: how tests run blocking code."""
    return function(*args, **kwargs)


@dataclass(frozen=True)
class ToolContext:
    """What a running tool may use. `idempotency_key` is the same in every attempt; `attempt` is 1 in the first."""

    idempotency_key: str
    attempt: int = 1
    runner: Runner = call_here

    async def in_thread(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call blocking code, such as Django's ORM, on a thread, and return what it returns.

        A thread cannot be stopped: give a function that waits for something outside a limit of its own.
        """
        return await self.runner(function, *args, **kwargs)


class Tool(TypeParameters, Data, Generic[SessionEventT]):
    """A tool: `class FindFlights(Tool, name="find_flights")`, with its session events as `Tool[HideContextItem]`.

    Class keywords: `name` as the model sees it; `timeout` in seconds; `retries`; `delivery`; and with
    `requires_approval=True` a person sees the exact arguments and decides before the tool runs.
    """

    tool_name: ClassVar[str]
    _policy: ClassVar[Policy]
    _requires_approval: ClassVar[bool] = False

    def __init_subclass__(
        cls,
        *,
        name: str | None = None,
        timeout: float = TOOL_TIMEOUT,
        retries: int = 0,
        delivery: Delivery = "at-least-once",
        requires_approval: bool = False,
    ) -> None:
        super().__init_subclass__()
        if name is None:
            return
        if not TOOL_NAME.fullmatch(name):
            raise DefinitionError(
                f'{cls.__name__}: providers refuse the tool name "{name}". Use 1 to 64 letters, digits, "_" and "-", '
                'beginning with a letter or "_".'
            )
        if not (cls.__doc__ or "").strip():
            raise DefinitionError(
                f"{cls.__name__} has no docstring. It is the description the model chooses by: write one."
            )
        cls.tool_name = name
        cls._requires_approval = requires_approval
        default = (timeout, retries, delivery) == (TOOL_TIMEOUT, 0, "at-least-once")
        source = "default for tools" if default else f"declared by {cls.__name__}"
        cls._policy = Policy(timeout=timeout, retries=retries, delivery=delivery, source=source)

    async def execute(self, context: ToolContext) -> ToolResult[SessionEventT]:
        """Do the work and return items and events."""
        raise NotImplementedError

    def needs_approval(self) -> bool:
        """Return whether a person must approve this call. Override it where the arguments decide. Pure."""
        return self._requires_approval

    @classmethod
    def policy_in_force(cls) -> Policy:
        """Return the limits the tool runs under and where they came from."""
        return cls._policy

    @classmethod
    def emits(cls) -> tuple[type[Event], ...]:
        """Return the session events this tool may return."""
        parameters = type_parameters(cls, Tool)
        return union_members(parameters[0]) if parameters else ()

    @classmethod
    def specification(cls) -> ToolSpecification:
        """Return the tool as it is offered to a model."""
        schema = cls.model_json_schema()
        schema.pop("title", None)
        schema.pop("description", None)
        return ToolSpecification(name=cls.tool_name, description=inspect.cleandoc(cls.__doc__ or ""), parameters=schema)
