from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from sessions_app.providers.configuration import ProviderConfiguration, configuration, configure


@pytest.fixture(autouse=True)
def provider_configuration() -> Iterator[None]:
    """Each test starts without a key and without delay, and leaves the configuration as it was."""
    before = configuration()
    configure(ProviderConfiguration(demo_delay=0))
    yield
    configure(before)


@pytest.fixture
def anthropic_server(llmock: Any) -> Any:
    """A stand-in for Anthropic's API, which the providers are told to ask."""
    configure(
        ProviderConfiguration(
            anthropic_api_key="key-of-the-test", anthropic_base_url=llmock.base_url("anthropic"), demo_delay=0
        )
    )
    return llmock


@pytest.fixture
def impatient(anthropic_server: Any) -> None:
    """A stream that is silent for a moment counts as lost."""
    configure(replace(configuration(), anthropic_read_timeout=0.3))
