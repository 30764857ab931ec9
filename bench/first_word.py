"""How much time does the site add between a click on Send and the first word of a model's answer on the page?

The model is a stand-in on this machine that takes the real client's requests and sends its first word exactly 200 ms
after each; what is above that is ours: the post, the event's transaction, the request's preparation, and then the way
of the word to the page. Everything runs in one process (SQLite, worker inside), warm, with a headless browser whose
clock counts. Usage: python bench/first_word.py [runs]
"""

import sys

from browsing import browser, show, sign_in, site, start_session
from playwright.sync_api import Page
from stand_in import stand_in

BAR = 50.0
FIRST_WORD_AFTER = 0.2
WARM_UP = 5
RUNS_IN_A_SESSION = 5

WATCH = """() => {
  window.seen = {};
  document.addEventListener("click", () => { window.seen = {click: performance.now()}; }, true);
  const look = () => {
    const seen = window.seen;
    const stream = document.querySelector("#items > article:last-child .stream");
    if (!seen.click || seen.word || !stream || !stream.textContent) return;
    seen.word = performance.now();
    document.documentElement.dataset.seen = "1";
  };
  const changes = {subtree: true, childList: true, characterData: true};
  new MutationObserver(look).observe(document.getElementById("items"), changes);
}"""


def run(page: Page) -> dict[str, float]:
    """Send a message, and return the moments of the click and of the first word, in seconds since the epoch."""
    page.evaluate("delete document.documentElement.dataset.seen")
    page.fill("#message", "Say a few words")
    page.click("#composer button.send")
    page.wait_for_selector("html[data-seen]")
    moments: dict[str, float] = page.evaluate(
        """() => ({click: (performance.timeOrigin + window.seen.click) / 1000,
                   word: (performance.timeOrigin + window.seen.word) / 1000})"""
    )
    page.wait_for_selector("#head .stop", state="detached")
    return moments


def main(runs: int) -> None:
    found = []
    with (
        stand_in(FIRST_WORD_AFTER) as model,
        site(ANTHROPIC_API_KEY="none", ANTHROPIC_BASE_URL=model.url) as server,
        browser() as opened,
    ):
        page = opened.new_page()
        sign_in(page, server.url)
        while len(found) < runs + WARM_UP:
            if len(found) % RUNS_IN_A_SESSION == 0:
                start_session(page, server.url)
                page.evaluate(WATCH)
            found.append(run(page))
    rows = list(zip(found, model.asked, model.spoke, strict=True))[WARM_UP:]
    before = [(asked - moments["click"]) * 1000 for moments, asked, _ in rows]
    after = [(moments["word"] - spoke) * 1000 for moments, _, spoke in rows]
    added = [(moments["word"] - moments["click"] - (spoke - asked)) * 1000 for moments, asked, spoke in rows]
    show("click to request at the model", before, BAR)
    show("word from the model to the page", after, BAR)
    show("added in all", added, BAR)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
