from collections.abc import Iterator

import pytest

from tools_app.services import configure_services
from tools_app.services.pace import DEFAULT_DELAY


@pytest.fixture(autouse=True)
def services_answer_at_once() -> Iterator[None]:
    configure_services(delay=0)
    yield
    configure_services(delay=DEFAULT_DELAY)
