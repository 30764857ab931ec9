"""A whole turn in a real browser through the real server, and what the page costs to load."""

import re

import pytest
from playwright.sync_api import Browser, CDPSession, expect

from tests.browser.people import AGENTS, Person, answer, live, say
from tests.processes import manage, serve

pytestmark = pytest.mark.browser

DEMO_DELAY = "0.06"
"""A search of five seconds, so that its time is seen to tick, on a busy machine too."""
TRANSFER = 60 * 1024
REQUESTS = 9


def test_find_flights_from_signing_in_to_the_noted_flight(person):
    page = person.sign_in()
    page.get_by_role("button", name="Start Travel helper").click()
    live(page)
    say(page, "Find flights to Tokyo")
    expect(page.locator(".bubble")).to_have_text("Find flights to Tokyo")
    search = page.locator(".card-busy", has_text="Searching flights to Tokyo…")
    expect(search).to_be_visible()
    expect(search.get_by_role("progressbar")).to_be_visible()
    expect(search).to_contain_text(re.compile(r"\d of 8 airlines checked"))
    expect(search).to_contain_text(re.compile(r"0:0\d"))
    # The result, and the answer that streams.
    expect(page.locator(".card-done")).to_contain_text("flights found")
    expect(page.locator(".stream").last).to_have_text(re.compile("^I found"))
    expect(page.locator(".stream")).to_have_count(0, timeout=20_000)
    expect(answer(page)).to_contain_text("Airlines, times and prices are made up.")
    assert len(page.evaluate("window.answers")) > 5
    # The question, its form, and the answer that goes on.
    expect(page.locator(".card-asking")).to_contain_text("Which one")
    assert page.title().startswith("(1) Needs you")
    page.get_by_label("Your answer").fill("The first one")
    page.get_by_role("button", name="Send answer").click()
    expect(page.locator(".card-answered")).to_contain_text("The first one")
    expect(answer(page)).to_contain_text("Nothing was booked")
    expect(page.locator("#head .stop")).to_have_count(0)
    before = page.locator("#items").inner_text()
    live(page.reload() and page)
    assert page.locator("#items").inner_text() == before


PREPARE = """
from django.contrib.auth.models import User
from django.core.management import call_command
call_command("migrate", verbosity=0)
call_command("collectstatic", interactive=False, verbosity=0)
User.objects.create_user("ann", password="of no account")
"""


def count_traffic(session: CDPSession) -> dict[str, float]:
    """Add up what the network carries from now on, as the browser's own tools count it."""
    traffic = {"requests": 0.0, "bytes": 0.0}

    def finished(event: dict[str, float]) -> None:
        traffic["requests"] += 1
        traffic["bytes"] += event["encodedDataLength"]

    def framed(event: dict[str, dict[str, str]]) -> None:
        traffic["bytes"] += len(event["response"]["payloadData"].encode())

    session.on("Network.loadingFinished", finished)
    session.on("Network.webSocketFrameReceived", framed)
    session.on("Network.webSocketCreated", lambda _: traffic.update(requests=traffic["requests"] + 1))
    session.send("Network.enable")
    return traffic


def test_the_page_is_light_as_a_server_outside_debug_mode_sends_it(browser: Browser, tmp_path):
    key = "only for tests, and long enough for Django's checks to be content with it"
    strict = {
        "AGENTSITE_DEBUG": "0",
        "AGENTSITE_SECRET_KEY": key,
        "AGENTSITE_ALLOWED_HOSTS": "127.0.0.1",
        "AGENTSITE_INSECURE_HTTP": "1",
        "AGENTSITE_AGENTS": AGENTS,
        "AGENTSITE_DEMO_DELAY": "0.005",
    }
    manage(tmp_path, "shell", "-v0", "-c", PREPARE, **strict)
    with serve(tmp_path, **strict) as server, Person(browser, server) as ann:
        page = ann.page(f"{server.url}/accounts/login/")
        assert page.get_by_role("button", name="Continue as demo user").count() == 0
        page.get_by_label("User name").fill("ann")
        page.get_by_label("Password").fill("of no account")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{server.url}/")
        page.goto(f"{server.url}/a/flights/")
        page.get_by_role("button", name="Start session").click()
        live(page)
        say(page, "Find flights to Tokyo")
        expect(page.locator(".card-asking")).to_be_visible(timeout=20_000)

        fresh = ann.page()
        session = ann.context.new_cdp_session(fresh)
        traffic = count_traffic(session)
        session.send("Network.clearBrowserCache")
        fresh.goto(page.url)
        live(fresh)
        fresh.wait_for_timeout(500)
        cold = dict(traffic)
        traffic.update(requests=0.0, bytes=0.0)
        fresh.reload()
        live(fresh)
        fresh.wait_for_timeout(500)
        print(f"cold: {cold['bytes'] / 1024:.1f} KB in {cold['requests']:.0f} requests; ", end="")
        print(f"warm: {traffic['bytes'] / 1024:.1f} KB in {traffic['requests']:.0f} requests")
        assert cold["bytes"] < TRANSFER
        assert cold["requests"] <= REQUESTS
        assert ann.complaints() == []
