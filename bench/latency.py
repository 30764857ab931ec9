"""How long after a click on Send does "Searching…" stand on the page?

Everything runs in one process (SQLite, worker inside), with the demo model at no delay, warm, and a headless browser.
The clock is the browser's: from its click event to the change of its document, so it includes the post, the event's
transaction, the model request, the tool, the item, and the push of it. Usage: python bench/latency.py [turns]
"""

import sys

from browsing import browser, show, sign_in, site, start_session
from playwright.sync_api import Page

BAR = 150.0
WARM_UP = 5
TURNS_IN_A_SESSION = 5

WATCH = """() => {
  window.seen = {};
  document.addEventListener("click", () => { window.seen = {click: performance.now()}; }, true);
  const look = () => {
    const seen = window.seen, now = performance.now();
    if (!seen.click || seen.search) return;
    const last = [...document.querySelectorAll("#items > article")].slice(window.before);
    if (!seen.message && last.some((item) => item.matches(".entry-user"))) seen.message = now - seen.click;
    if (last.some((item) => item.textContent.includes("Searching flights"))) {
      seen.search = now - seen.click;
      document.documentElement.dataset.seen = "1";
    }
  };
  const changes = {subtree: true, childList: true, characterData: true};
  new MutationObserver(look).observe(document.getElementById("items"), changes);
}"""

BEGIN = """() => {
  window.before = document.querySelectorAll("#items > article").length;
  delete document.documentElement.dataset.seen;
}"""


def turn(page: Page) -> dict[str, float]:
    """Ask, wait for the search, its result and the question, and answer that."""
    page.evaluate(BEGIN)
    page.fill("#message", "Find flights to Tokyo")
    page.click("#composer button.send")
    page.wait_for_selector("html[data-seen]")
    measured: dict[str, float] = page.evaluate("window.seen")
    page.fill("form.ask textarea, form.ask input[type=text]", "None of them")
    page.click("form.ask .ask-send button.primary")
    page.wait_for_selector("form.ask", state="detached")
    page.wait_for_selector("#head .stop", state="detached")
    return measured


def main(turns: int) -> None:
    found = []
    with site(AGENTSITE_DEMO_DELAY="0") as server, browser() as opened:
        page = opened.new_page()
        sign_in(page, server.url)
        while len(found) < turns + WARM_UP:
            if len(found) % TURNS_IN_A_SESSION == 0:
                start_session(page, server.url)
                page.evaluate(WATCH)
            found.append(turn(page))
    show("click to own message", [seen["message"] for seen in found[WARM_UP:]], BAR)
    show('click to "Searching…"', [seen["search"] for seen in found[WARM_UP:]], BAR)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
