"""Effects: asynchronous work outside the event handlers, which reports back by dispatching events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, ParamSpec, Protocol, TypeVar

from typing_extensions import TypeVar as TypeVarWithDefault

from .data import Data, Kind, Typed, TypeParameters, type_parameters, union_members
from .events import ContextItemEvent, Event, SessionEvent

Delivery = Literal["at-least-once", "at-most-once"]
Outcome = Literal["done", "failed", "timed out", "cancelled", "outcome unknown", "not ready"]

EventT = TypeVar("EventT", bound=Event, contravariant=True)
SessionEventT = TypeVarWithDefault("SessionEventT", bound=SessionEvent, default=SessionEvent)
ItemEventT = TypeVarWithDefault("ItemEventT", bound=ContextItemEvent, default=ContextItemEvent)
P = ParamSpec("P")
R = TypeVar("R")


class Policy(Data):
    """The limits an effect runs under. `source` says where they came from, for the person who inspects it.

    `timeout` is in seconds and counts over all attempts. `retries` counts further attempts after the author's
    code raised or a model had a transient fault; `losses` counts attempts that may end by a lost worker.
    """

    timeout: float = 300.0
    retries: int = 0
    losses: int = 3
    delivery: Delivery = "at-least-once"
    source: str = "default for effects"


class EffectContext(Protocol[EventT]):
    """What a running effect may use: `await context.dispatch_event(Checked(count=3))`."""

    @property
    def idempotency_key(self) -> str:
        """The same in every attempt; hand it to outside systems so that a repeat does no harm."""
        ...

    @property
    def attempt(self) -> int:
        """1 for the first attempt."""
        ...

    async def dispatch_event(self, event: EventT) -> None:
        """Send one of the declared events. Raises `HandlerError` for any other."""
        ...

    async def in_thread(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Run blocking code, such as a database query, on the worker's thread pool, and return what it returns."""
        ...


class Effect(Typed):
    """Common to session effects and context-item effects."""

    _kind: ClassVar[Kind] = "effect"

    def __init_subclass__(
        cls,
        *,
        type: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        delivery: Delivery | None = None,
        **options: Any,
    ) -> None:
        written = {"timeout": timeout, "retries": retries, "delivery": delivery}
        policy = {name: value for name, value in written.items() if value is not None}
        super().__init_subclass__(type=type, policy=policy, **options)

    @classmethod
    def policy_in_force(cls) -> Policy:
        """Return the policy in force and where it came from."""
        written = cls.__definition__.options.get("policy", {})
        return Policy(**written, source=f"declared by {cls.__name__}") if written else Policy()


class SessionEffect(TypeParameters, Effect, Generic[SessionEventT]):
    """Asynchronous work of a session: `class SendInvitation(SessionEffect[InvitationSent], type="send-invitation")`.

    Its fields are what it needs to know; its events go to the agent's `handle_event`. Class keywords set the limits:
    `timeout` in seconds over all attempts (300), `retries` after an error (0), and `delivery`: "at-least-once", where a
    lost worker's effect runs again, or "at-most-once", where it does not and the outcome is unknown.

        class InvitationSent(SessionEvent, type="invitation-sent", private=True):
            url: str


        class SendInvitation(SessionEffect[InvitationSent], type="send-invitation", timeout=30, retries=2):
            title: str

            async def run(self, context):
                return InvitationSent(url=f"https://calendar.example/{self.title}")
    """

    async def run(self, context: EffectContext[SessionEventT]) -> SessionEventT | None:
        """Do the work. Dispatch declared events while it runs, or return the last one."""
        raise NotImplementedError

    @classmethod
    def emits(cls) -> tuple[type[Event], ...]:
        """Return the events this effect may dispatch."""
        return _emitted(cls, SessionEffect)


class ContextItemEffect(TypeParameters, Effect, Generic[ItemEventT]):
    """Asynchronous work of one context item; its events go to that item.

    It takes the class keywords of `SessionEffect`.

        class PriceFound(ContextItemEvent, type="price-found", private=True):
            euros: int


        class FindPrice(ContextItemEffect[PriceFound], type="find-price"):
            title: str

            async def run(self, context):
                return PriceFound(euros=len(self.title))
    """

    async def run(self, context: EffectContext[ItemEventT]) -> ItemEventT | None:
        """Do the work. Dispatch declared events while it runs, or return the last one."""
        raise NotImplementedError

    @classmethod
    def emits(cls) -> tuple[type[Event], ...]:
        """Return the events this effect may dispatch."""
        return _emitted(cls, ContextItemEffect)


def _emitted(cls: type[Any], base: type[Any]) -> tuple[type[Event], ...]:
    parameters = type_parameters(cls, base)
    return union_members(parameters[0]) if parameters else ()


@dataclass(frozen=True)
class EffectEnded:
    """How an effect ended, handed to `handle_effect_ended`."""

    effect: Effect | None
    """The effect with its fields; None where this process does not know its class."""
    outcome: Outcome
    """"done", "failed", "timed out", "cancelled" or "outcome unknown"."""
    message: str
    """What went wrong, in a sentence; empty where nothing did."""
