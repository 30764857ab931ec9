"""A person with a browser, who notes whatever the browser complains about and every state of a streamed answer."""

import re
from contextlib import suppress
from typing import Any, Self
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Page, expect
from playwright.sync_api import Error as BrowserError

from tests.browser.agents_counting import counted
from tests.processes import ServerProcess

AGENTS = "tools_app.agents,tests.browser.agents_counting"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip

NOTES = """
window.violations = [];
window.answers = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
document.addEventListener("DOMContentLoaded", () => {
  const items = document.getElementById("items");
  if (!items) return;
  const note = () => {
    const entry = [...items.querySelectorAll(".entry-assistant")].pop();
    const prose = entry?.querySelector(".stream, .prose");
    if (!prose) return;
    const now = [prose.dataset.attempt ?? "", prose.textContent.trim()];
    const last = window.answers.at(-1);
    if (!last || last[0] !== now[0] || last[1] !== now[1]) window.answers.push(now);
  };
  note();
  new MutationObserver(note).observe(items, {subtree: true, childList: true, characterData: true, attributes: true});
});
"""


class Person:
    """One browser context. Leaving it closes its pages."""

    def __init__(self, browser: Browser, site: ServerProcess, **options: Any) -> None:
        self.site = site
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(15_000)
        self.context.add_init_script(NOTES)
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.requests: list[str] = []
        self.problems: list[str] = []

    def page(self, address: str = "") -> Page:
        page = self.context.new_page()
        page.on("console", lambda message: message.type in ("error", "warning") and self.problems.append(message.text))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        if address:
            page.goto(address)
        return page

    def sign_in(self) -> Page:
        page = self.page(f"{self.site.url}/")
        page.get_by_role("button", name="Continue as demo user").click()
        page.wait_for_url(f"{self.site.url}/")
        return page

    def start(self, agent: str = "counting") -> Page:
        """Sign in and start a session; its page is live then."""
        page = self.sign_in()
        page.goto(f"{self.site.url}/a/{agent}/")
        page.get_by_role("button", name="Start session").click()
        page.wait_for_url(re.compile(r"/s/[0-9a-f]+/"))
        return live(page)

    def complaints(self) -> list[str]:
        """What went wrong in any page: errors in the console, breaches of the policy, requests to other hosts."""
        found = list(self.problems)
        for page in self.context.pages:
            with suppress(BrowserError):
                found += page.evaluate("window.violations ?? []")
        here = urlsplit(self.site.url).netloc
        return found + [url for url in self.requests if urlsplit(url).netloc not in ("", here)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


def live(page: Page) -> Page:
    expect(page.locator("body.is-live")).to_be_attached(timeout=15_000)
    return page


def say(page: Page, text: str) -> None:
    page.locator("#message").fill(text)
    page.locator("#composer .send").click()


def answer(page: Page) -> Locator:
    """The text of the last answer, while it is written and when it is done."""
    return page.locator(".entry-assistant").last.locator(".stream, .prose")


def wait_for_word(page: Page, number: int) -> None:
    expect(answer(page)).to_have_text(re.compile(rf"\bw{number}\b"), timeout=15_000)


def check_words(page: Page) -> None:
    """Every state in which the answer was ever seen on this page is the beginning of the whole, and none is shorter
    than the one before, unless another attempt began anew."""
    states: list[tuple[str, str]] = page.evaluate("window.answers")
    assert states
    whole = counted(1000)
    before = ("", "")
    for attempt, text in states:
        words = " ".join(text.split())
        assert whole.startswith(words), words
        assert len(words) >= len(before[1]) or attempt not in ("", before[0]), (before, attempt, words)
        before = (attempt or before[0], words)


def expect_all(page: Page, words: int, timeout: float = 15) -> None:
    """The answer is whole, and never was anything else than a beginning of it."""
    expect(page.locator(".entry-assistant").last.locator(".prose:not(.stream)")).to_have_text(
        counted(words), timeout=timeout * 1000
    )
    expect(page.locator(".stream")).to_have_count(0)
    check_words(page)
