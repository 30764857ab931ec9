"""What a person does: stop, answer when somebody was faster, write too much, and all of it without script."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.agents_counting import counted
from tests.browser.people import Person, answer, check_words, live, say, wait_for_word

pytestmark = pytest.mark.browser

STOP_AT_MOST = 200

WATCH_STOP = """() => {
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".stop")) return;
    const clicked = performance.now();
    const look = () => {
      if (window.stopped || !/Stopping…|Stopped/.test(document.getElementById("head").innerText)) return;
      window.stopped = performance.now() - clicked;
    };
    new MutationObserver(look).observe(document.body, {subtree: true, childList: true, attributes: true});
    requestAnimationFrame(look);
  }, true);
}"""


def test_stop_says_so_at_once_and_keeps_what_was_written(person):
    page = person.start()
    say(page, "count 200")
    wait_for_word(page, 15)
    page.wait_for_timeout(1000)
    head = page.locator("#head")
    assert "Stop" in head.inner_text()
    assert "Stopp" not in head.inner_text()
    page.evaluate(WATCH_STOP)
    check_words(page)
    head.locator(".stop").click()
    expect(page.locator(".status")).to_have_text("Stopped")
    took = page.evaluate("window.stopped")
    print(f"Stop showed after {took:.0f} ms")
    assert took < STOP_AT_MOST
    expect(page.locator(".entry-assistant")).to_contain_text("This answer is not complete.")
    kept = answer(page).inner_text()
    # All but the last moment before the click was saved.
    assert kept.startswith(counted(15))
    assert counted(200).startswith(kept)
    page.wait_for_timeout(1000)
    assert answer(page).inner_text() == kept
    say(page, "count 3")
    expect(answer(page)).to_have_text("w1 w2 w3")


@pytest.mark.fault("B37", "B38")
def test_who_answers_second_learns_who_was_first_and_keeps_their_text(person):
    first = person.start("flights")
    say(first, "Find flights to Tokyo")
    expect(first.locator(".card-asking")).to_be_visible(timeout=20_000)
    second = live(person.page(first.url))
    second.get_by_label("Your answer").fill("The second one, please")
    first.get_by_label("Your answer").fill("The first one")
    first.get_by_role("button", name="Send answer").click()
    expect(second.locator(".card-answered")).to_contain_text("The first one")
    expect(second.locator(".card-answered")).to_contain_text("Answered by you")
    expect(second.locator(".kept textarea")).to_have_value("The second one, please")
    expect(first.locator(".kept textarea")).to_have_count(0)


@pytest.mark.fault("B38")
def test_an_answer_sent_before_the_page_knew_of_another_is_refused_with_its_text_kept(person):
    first = person.start("flights")
    say(first, "Find flights to Tokyo")
    expect(first.locator(".card-asking")).to_be_visible(timeout=20_000)
    # Its socket brings no news, so it still shows the form when the other one has answered.
    second = person.page()
    second.route_web_socket(re.compile("/ws/"), lambda route: None)
    second.goto(first.url)
    second.get_by_label("Your answer").fill("The second one, please")
    first.get_by_label("Your answer").fill("The first one")
    first.get_by_role("button", name="Send answer").click()
    expect(first.locator(".card-answered")).to_be_visible()
    with second.expect_response(re.compile("/events/")) as response:
        second.get_by_role("button", name="Send answer").click()
    assert response.value.status == 409
    expect(second.locator(".kept")).to_contain_text(re.compile(r"You answered this at \d?\d:\d\d"))
    expect(second.locator(".kept")).to_contain_text("The first one")
    expect(second.locator(".kept textarea")).to_have_value("The second one, please")
    person.problems = [problem for problem in person.problems if "409" not in problem]


def test_a_message_over_the_limit_is_refused_with_its_text_kept(person):
    page = person.start()
    long = "far too long " * 6000
    say(page, long)
    expect(page.locator("#composer-error")).to_contain_text("64 KB")
    assert page.locator("#message").input_value() == long
    assert page.locator(".bubble").count() == 0
    say(page, "short")
    expect(answer(page)).to_have_text("You said: short")
    person.problems = [problem for problem in person.problems if "413" not in problem]


def test_a_turn_without_script(browser: Browser, site):
    with Person(browser, site, java_script_enabled=False) as person:
        page = person.sign_in()
        page.get_by_role("button", name="Start Travel helper").click()
        page.locator("#message").fill("Find flights to Tokyo")
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.locator(".bubble")).to_have_text("Find flights to Tokyo")
        # This browser's switch leaves such elements out of what it shows, but not out of the document.
        assert '<meta http-equiv="refresh" content="10">' in page.content()
        for _ in range(40):
            if page.locator(".card-asking").count():
                break
            page.wait_for_timeout(250)
            page.reload()
        page.get_by_label("Your answer").fill("The first one")
        page.get_by_role("button", name="Send answer").click()
        expect(page.locator(".card-answered")).to_contain_text("The first one")
        page.wait_for_timeout(1500)
        page.reload()
        expect(page.locator(".entry-assistant").last).to_contain_text("Nothing was booked", timeout=1000)
        # A second click on a form that was sent is harmless, and so is a reload of what came of it.
        assert page.locator(".bubble").count() == 1
