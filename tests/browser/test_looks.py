"""Pictures of the pages in their states, for a person to look at: SCREENSHOTS names the directory they go to.

What can be checked without eyes is checked: nothing sticks out sideways, and the browser complains about nothing.
"""

import os
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.people import Person, live, say, wait_for_word

pytestmark = [pytest.mark.browser, pytest.mark.full]

DEMO_DELAY = "0.03"
LOOKS = {
    "light": {"viewport": {"width": 1280, "height": 800}},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 780}, "is_mobile": True, "has_touch": True},
    "phone-dark": {
        "viewport": {"width": 390, "height": 780},
        "is_mobile": True,
        "has_touch": True,
        "color_scheme": "dark",
    },
}


@pytest.mark.parametrize("look", LOOKS)
def test_the_pages_look_right(browser: Browser, site, look: str, tmp_path):
    pictures = Path(os.environ.get("SCREENSHOTS") or tmp_path)
    pictures.mkdir(parents=True, exist_ok=True)

    def take(page: Page, name: str) -> None:
        page.screenshot(path=str(pictures / f"{look}-{name}.png"))
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{name} sticks out by {wide} px"

    with Person(browser, site, **LOOKS[look]) as person:
        login = person.page(f"{site.url}/")
        take(login, "1-login")
        login.close()
        page = person.sign_in()
        take(page, "2-catalogue")
        page.get_by_role("button", name="Start Travel helper").click()
        take(live(page), "3-empty-session")
        say(page, "Find flights to Tokyo and Nowhere")
        expect(page.locator(".card-busy", has_text="Searching flights to Tokyo…")).to_contain_text("0:02")
        take(page, "4-searching")
        expect(page.locator(".stream").last).to_contain_text("I found", timeout=10_000)
        take(page, "5-streaming")
        expect(page.locator(".card-asking")).to_be_visible(timeout=20_000)
        take(page, "6-question")
        page.get_by_label("Your answer").fill("The first one")
        page.get_by_role("button", name="Send answer").click()
        expect(page.locator(".card-answered")).to_be_visible()
        expect(page.locator("#head .stop")).to_have_count(0)
        take(page, "7-answered")
        page.goto(f"{site.url}/a/counting/")
        take(page, "8-start-form")
        page.get_by_role("button", name="Start session").click()
        live(page)
        say(page, "count 300")
        wait_for_word(page, 30)
        page.locator("#head .stop").click()
        expect(page.locator(".status")).to_have_text("Stopped")
        take(page, "9-stopped")
        page.goto(f"{site.url}/sessions/")
        take(page, "10-sessions")
        assert person.complaints() == []
