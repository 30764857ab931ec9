"""Numbered words: whatever happens to the line, the tab or the server, none is lost and none comes twice."""

import os
import random
import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.people import (
    AGENTS,
    Person,
    answer,
    check_words,
    expect_all,
    live,
    say,
    wait_for_word,
)
from tests.processes import serve

pytestmark = pytest.mark.browser

WORDS = 75
"""Three seconds of an answer."""


def chance() -> random.Random:
    seed = int(os.environ.get("TEST_SEED") or random.randrange(10**6))
    print(f"TEST_SEED={seed}")
    return random.Random(seed)


def test_reloads_at_random_moments(person):
    moments = chance()
    page = person.start()
    say(page, f"count {WORDS}")
    wait_for_word(page, 1)
    for _ in range(5):
        page.wait_for_timeout(moments.uniform(0, 400))
        check_words(page)
        page.reload()
    expect_all(live(page), WORDS)


def test_a_tab_closed_in_the_middle_and_the_page_opened_again_later(person):
    page = person.start()
    address = page.url
    say(page, f"count {WORDS}")
    wait_for_word(page, 10)
    page.close()
    again = person.page(address)
    again.wait_for_timeout(500)
    again.close()
    expect_all(live(person.page(address)), WORDS)


def test_another_browser_that_comes_in_the_middle_of_an_answer(person, browser: Browser, site):
    page = person.start()
    say(page, f"count {3 * WORDS}")
    wait_for_word(page, 20)
    with Person(browser, site) as same_account:
        other = same_account.sign_in()
        other.goto(page.url)
        # It has the beginning at once, and goes on in step.
        expect(answer(other)).to_have_text(re.compile("^w1 .*w20"), timeout=2000)
        assert other.locator(".stream").count() == 1
        for each in (page, other):
            expect_all(each, 3 * WORDS, timeout=20)
        assert same_account.complaints() == []


def test_a_network_that_is_gone_for_a_while(person):
    page = person.start()
    say(page, f"count {WORDS}")
    wait_for_word(page, 10)
    person.context.set_offline(True)
    expect(page.locator("#connection")).to_contain_text("You are offline.")
    page.wait_for_timeout(1000)
    person.context.set_offline(False)
    live(page)
    expect_all(page, WORDS)
    expect(page.locator("#connection")).to_be_hidden()
    # What a browser says itself about a line that is down is no fault of the page.
    person.problems = [problem for problem in person.problems if "ERR_INTERNET_DISCONNECTED" not in problem]


def test_all_that_happened_while_the_network_was_gone_shows_two_seconds_after_it_is_back(person):
    page = person.start()
    say(page, "count 40")
    wait_for_word(page, 5)
    person.context.set_offline(True)
    page.wait_for_timeout(3000)
    assert page.locator(".stream").count() == 1
    person.context.set_offline(False)
    expect_all(page, 40, timeout=2)
    person.problems = [problem for problem in person.problems if "ERR_INTERNET_DISCONNECTED" not in problem]


def test_a_server_that_is_killed_in_the_middle_of_an_answer_and_started_again(browser: Browser, tmp_path):
    fast = {"DJANGO_SETTINGS_MODULE": "tests.process.settings_fast", "AGENTSITE_AGENTS": AGENTS, "AGENTSITE_DEBUG": "1"}
    with serve(tmp_path, **fast) as server, Person(browser, server) as person:
        page = person.start()
        say(page, f"count {WORDS}")
        wait_for_word(page, 20)
        port = server.port
        server.kill()
        expect(page.locator("#connection")).to_contain_text("Your session keeps running.")
        assert re.match("w1 w2 .*w20", answer(page).inner_text())
        server.command += ["--port", str(port)]
        server.start()
        live(page)
        expect_all(page, WORDS, timeout=20)
        # The same answer, from another attempt: its words came anew and replaced those of the first.
        assert page.locator(".entry-assistant").count() == 1
        # An attempt numbered 0 is a request that no worker has taken yet.
        assert len({attempt for attempt, _ in page.evaluate("window.answers")} - {"", "0", None}) == 2


def test_a_channel_layer_that_drops_every_message(browser: Browser, tmp_path):
    deaf = {"DJANGO_SETTINGS_MODULE": "tests.browser.deaf_settings", "AGENTSITE_AGENTS": AGENTS, "AGENTSITE_DEBUG": "1"}
    with serve(tmp_path, **deaf) as server, Person(browser, server) as person:
        page = person.start()
        say(page, f"count {WORDS}")
        expect(answer(page)).to_have_text(re.compile("w1"), timeout=3000)
        # At any moment the page shows by itself all that was written two seconds before.
        for number in (10, 30):
            wait_for_word(page, number)
            page.wait_for_timeout(1000)
            shown = int(answer(page).inner_text().split()[-1][1:])
            page.wait_for_timeout(2000)
            assert int(answer(page).inner_text().split()[-1][1:]) >= min(shown + 20, WORDS)
        expect_all(page, WORDS, timeout=6)
        expect(page.locator("#head .stop")).to_have_count(0, timeout=2000)
        assert person.complaints() == []
