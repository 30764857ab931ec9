"""What the providers were told at start-up: keys, addresses and pace.

Providers read no environment and no Django settings. The Django side calls `configure` once, before the first
model request; models look the configuration up at each request, because agents are defined at import, before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ProviderConfiguration:
    """Keys, addresses and pace of the built-in providers. An empty text means "not set".

    `anthropic_read_timeout` is how many seconds a stream may stay silent before the reply counts as lost.
    `demo_delay` is how many seconds the demo model waits before each word.
    """

    anthropic_api_key: str = field(default="", repr=False)
    anthropic_model: str = ""
    anthropic_base_url: str = ""
    anthropic_read_timeout: float = 75.0
    demo_delay: float = 0.03


_current = ProviderConfiguration()


def configure(configuration: ProviderConfiguration) -> None:
    """Set what every built-in provider of this process uses from the next request on."""
    global _current  # noqa: PLW0603 - one process has one configuration, and models are made before it is known
    _current = configuration


def configuration() -> ProviderConfiguration:
    """Return the configuration in force."""
    return _current
