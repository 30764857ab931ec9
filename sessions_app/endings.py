"""How an attempt at an effect ends: an outcome to save, or a pause before the next attempt."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from sessions_app.core.effects import Policy
from sessions_app.core.platform import EffectHasEnded
from sessions_app.core.reasons import short_reason, traceback_of
from sessions_app.leases import Claim
from sessions_app.models import StoredEffect

FIRST_BACKOFF = 1.0
LONGEST_BACKOFF = 60.0


@dataclass(frozen=True)
class Ending:
    """How an attempt ended: the outcome event to save, or a pause before the next attempt."""

    type: str = ""
    payload: dict[str, Any] | None = None
    traceback: str = ""
    retry_after: float | None = None
    message: str = ""
    request: str = ""


def ended(effect: StoredEffect, outcome: str, message: str = "", *, traceback: str = "", event: Any = None) -> Ending:
    """Return the ending of an effect with an outcome."""
    values = {"effect_id": effect.effect_id, "outcome": outcome, "message": message, "event": event}
    payload = EffectHasEnded.model_validate(values).model_dump(mode="json")
    return Ending(EffectHasEnded.type_name(), payload, traceback)


def overran(effect: StoredEffect) -> str:
    """Return the message of an effect that ran into its deadline."""
    limit = f"{policy_of(effect).timeout:g} s"
    return f"It took longer than {limit}." if effect.attempt else f"No worker was free for it for {limit}."


def policy_of(effect: StoredEffect) -> Policy:
    """Return the policy an effect runs under."""
    return Policy.model_validate_json(effect.policy, extra="ignore")


def failed(claimed: Claim, error: BaseException) -> Ending:
    """Return the ending after the author's code raised: another attempt where the policy has one left."""
    policy = policy_of(claimed.effect)
    failures = claimed.attempt - claimed.effect.losses
    message = short_reason(error)
    if failures <= policy.retries and policy.delivery == "at-least-once":
        return Ending(retry_after=backoff(failures), message=message)
    return ended(claimed.effect, "failed", message, traceback=traceback_of(error))


def backoff(failures: int) -> float:
    """Return the seconds to wait after so many failures: doubling, with up to a quarter of chance added."""
    delay: float = min(FIRST_BACKOFF * 2 ** (failures - 1), LONGEST_BACKOFF)
    return delay * (1 + random.random() / 4)  # noqa: S311  # spreads retries, keeps no secret
