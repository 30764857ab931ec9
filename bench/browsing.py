"""What the measurements share: a site in one process, a browser that looks at it, and a small table."""

# ruff: noqa: T201 (these scripts print what they measure)

import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests import processes, services  # noqa: E402

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip


@contextmanager
def site(**variables: str) -> Iterator[processes.ServerProcess]:
    """The site in one process, with a database of its own that is gone afterwards."""
    data_dir = Path(tempfile.mkdtemp(prefix="agentsite-bench-"))
    try:
        with processes.serve(data_dir, DJANGO_SETTINGS_MODULE="bench.settings", **variables) as server:
            yield server
    finally:
        shutil.rmtree(data_dir, ignore_errors=True)


@contextmanager
def browser() -> Iterator[Browser]:
    """The browser that is installed, without a window."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=services.find_browser(), args=FLAGS)
        yield launched
        launched.close()


def sign_in(page: Page, url: str) -> None:
    page.goto(f"{url}/accounts/login/")
    page.get_by_role("button", name="Continue as demo user").click()
    page.wait_for_url(f"{url}/")


def start_session(page: Page, url: str, agent: str = "flights") -> None:
    """Start a session and wait until its page is live."""
    page.goto(f"{url}/a/{agent}/")
    page.get_by_role("button", name="Start session").click()
    page.wait_for_selector("body.is-live")


def show(title: str, milliseconds: Sequence[float], bar: float) -> None:
    """Print one line of a table. The bar is for the median."""
    ordered = sorted(milliseconds)
    median = statistics.median(ordered)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
    verdict = "within" if median < bar else "ABOVE"
    print(f"{'':34}{'n':>5}{'median':>9}{'p95':>9}{'min':>9}{'max':>9}")
    print(f"{title:34}{len(ordered):5}{median:8.1f} {p95:8.1f} {ordered[0]:8.1f} {ordered[-1]:8.1f}  ms")
    print(f"median {verdict} the bar of {bar:g} ms")
