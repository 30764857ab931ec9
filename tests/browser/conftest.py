"""A browser and a site for each module of tests here, and what a person does with them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.people import AGENTS, FLAGS, Person
from tests.processes import ServerProcess, serve
from tests.services import find_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # Not for the whole run: while it is open an event loop runs in this thread, which other tests do not bear.
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """The whole site in one process, as `./run` starts it; a module may set the pace of its demo model."""
    data_dir: Path = tmp_path_factory.mktemp("site")
    delay = getattr(request.module, "DEMO_DELAY", "0.005")
    with serve(data_dir, AGENTSITE_AGENTS=AGENTS, AGENTSITE_DEMO_DELAY=delay) as server:
        yield server
    shutil.rmtree(data_dir, ignore_errors=True)


@pytest.fixture
def person(browser: Browser, site: ServerProcess) -> Iterator[Person]:
    """Somebody whose browser must find nothing to complain about."""
    with Person(browser, site) as person:
        yield person
        assert person.complaints() == []
