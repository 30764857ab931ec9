"""The product's settings with their defaults. Django's `AGENTSITE` dictionary overrides them; nothing else is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.core.signals import setting_changed


@dataclass(frozen=True)
class Configuration:
    """What an operator may set. Times are in seconds."""

    AGENTS: Sequence[str] = ()
    EMBEDDED_WORKER: bool = False
    ANTHROPIC_API_KEY: str = ""
    ANTHROPIC_MODEL: str = ""
    ANTHROPIC_BASE_URL: str = ""
    DEMO_DELAY: float = 0.03
    LEASE: float = 15.0
    """How long a worker keeps an effect without renewing; the longest a lost worker's work lies idle."""
    SWEEP_INTERVAL: float = 2.0
    EFFECTS_PER_WORKER: int = 256
    HANDLER_LIMIT: float = 2.0
    """How long one event may take to handle."""
    PAYLOAD_LIMIT: int = 64 * 1024
    """Bytes a person's event may hold."""
    EFFECT_PAYLOAD_LIMIT: int = 1024 * 1024
    """Bytes an event from an effect or tool may hold."""
    CHECK_PURITY: bool = False
    """Handle every event twice and compare. On in development and tests."""


@cache
def configuration() -> Configuration:
    """Return the settings in force."""
    return Configuration(**getattr(settings, "AGENTSITE", {}))


def _forget(*, setting: str, **_: object) -> None:
    if setting == "AGENTSITE":
        configuration.cache_clear()


setting_changed.connect(_forget)
