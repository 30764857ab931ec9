"""The page in a real browser against the real server: nothing seen disappears, nothing is said twice."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, WebSocketRoute, expect, sync_playwright

from tests.processes import ROOT, ServerProcess, serve
from tests.services import find_browser
from tests.web.site import WORDS

pytestmark = pytest.mark.browser

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
AGENTS = "tools_app.agents,tests.web.site"
COUNTED = " ".join(f"word{number}" for number in range(WORDS))
FIRST_LOAD = 60 * 1024
REQUESTS = 9


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=find_browser(), args=ARGUMENTS)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serve(tmp_path_factory.mktemp("site"), AGENTSITE_DEBUG="1", AGENTSITE_AGENTS=AGENTS) as running:
        yield running


class Visitor:
    """A browser context with what its pages complained about."""

    def __init__(self, browser: Browser, server: ServerProcess, **options: Any) -> None:
        self.context: BrowserContext = browser.new_context(**options)
        self.context.set_default_timeout(15_000)
        self.server = server
        self.complaints: list[str] = []

    def page(self, address: str = "") -> Page:
        page = self.context.new_page()
        page.on("console", lambda message: message.type == "error" and self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        if address:
            page.goto(address)
        return page

    def sign_in(self) -> Page:
        page = self.page(f"{self.server.url}/")
        page.get_by_role("button", name="Continue as demo user").click()
        page.wait_for_url(f"{self.server.url}/")
        return page

    def start(self, agent: str = "w-show") -> Page:
        page = self.sign_in()
        page.goto(f"{self.server.url}/a/{agent}/")
        if agent == "w-show":
            page.get_by_label("City").fill("Tokyo")
        page.get_by_role("button", name="Start session").click()
        page.wait_for_url(re.compile("/s/"))
        return live(page)


def live(page: Page) -> Page:
    expect(page.locator("body.is-live")).to_be_attached(timeout=15_000)
    return page


def say(page: Page, text: str) -> None:
    page.locator("#message").fill(text)
    page.locator("#message").press("Enter")


def shown(page: Page) -> list[str]:
    """What a person reads, entry by entry, without the times that tick."""
    texts = page.locator("#items > article").all_inner_texts()
    return [re.sub(r"\b\d+:\d\d\b( [AP]M)?", "", " ".join(text.split())) for text in texts]


def answer(page: Page) -> Any:
    return page.locator(".entry-assistant").last


@pytest.fixture
def visitor(browser: Browser, server: ServerProcess) -> Iterator[Visitor]:
    visitor = Visitor(browser, server)
    yield visitor
    visitor.context.close()


def test_a_cut_socket_loses_and_doubles_nothing(visitor: Visitor) -> None:
    page = visitor.start()
    sockets: list[WebSocketRoute] = []

    def through(route: WebSocketRoute) -> None:
        sockets.append(route)
        route.connect_to_server()

    page.route_web_socket(re.compile("/ws/"), through)
    page.reload()
    live(page)
    say(page, "count")
    for number in (3, 12, 21, 30):
        expect(page.locator(".stream")).to_contain_text(f"word{number}")
        sockets[-1].close(code=4011)
    expect(answer(page).locator(".prose")).to_have_text(COUNTED)
    expect(page.locator(".stream")).to_have_count(0)
    assert len(sockets) >= 3


def test_a_page_that_gets_no_socket_still_moves_on(visitor: Visitor) -> None:
    page = visitor.start()
    page.route_web_socket(re.compile("/ws/"), lambda route: route.close(code=4011))
    page.reload()
    say(page, "hello there")
    expect(page.locator(".bubble")).to_have_text("hello there")
    expect(answer(page)).to_contain_text("Noted: hello there", timeout=30_000)


def test_a_killed_server_comes_back_with_everything(browser: Browser, tmp_path: Path) -> None:
    with serve(tmp_path, AGENTSITE_DEBUG="1", AGENTSITE_AGENTS=AGENTS) as server:
        visitor = Visitor(browser, server)
        page = visitor.start()
        say(page, "ask me")
        expect(page.locator(".card-asking")).to_have_count(2)
        before = shown(page)
        page.get_by_label("Name").fill("Ada Love")
        page.locator("#message").fill("half a thought")
        port = server.port
        server.kill()
        expect(page.locator("#connection")).to_contain_text("Your session keeps running.")
        server.command += ["--port", str(port)]
        server.start()
        live(page)
        expect(page.locator("#connection")).to_be_hidden()
        assert shown(page) == before
        expect(page.get_by_label("Name")).to_have_value("Ada Love")
        expect(page.locator("#message")).to_have_value("half a thought")
        page.reload()
        expect(live(page).get_by_label("Name")).to_have_value("Ada Love")
        expect(page.locator("#message")).to_have_value("half a thought")
        visitor.context.close()


def test_typing_is_not_disturbed(visitor: Visitor) -> None:
    page = visitor.start()
    say(page, "ask me")
    expect(page.locator(".card-asking")).to_have_count(2)
    page.get_by_label("Reason").press_sequentially("I am half", delay=5)
    second = live(visitor.page(page.url))
    page.get_by_label("Reason").evaluate("box => box.setSelectionRange(2, 4)")
    for number in range(3):
        say(second, f"note {number}")
    expect(page.locator(".bubble")).to_have_count(4)
    expect(page.get_by_label("Reason")).to_have_value("I am half")
    assert page.evaluate("document.activeElement.selectionStart") == 2
    second.get_by_role("button", name="Approve").click()
    expect(page.locator(".kept textarea")).to_have_value("I am half")
    expect(page.locator(".kept").first).to_contain_text("This was answered elsewhere.")
    expect(second.locator(".card-answered")).to_be_visible()
    assert second.locator(".kept").first.inner_text() == ""
    assert visitor.complaints == []


def test_a_message_that_did_not_get_through_is_sent_once(visitor: Visitor) -> None:
    page = visitor.start()
    visitor.context.set_offline(True)
    say(page, "only once")
    expect(page.locator("#composer-error")).to_contain_text("Your text is kept.")
    expect(page.locator("#message")).to_have_value("only once")
    visitor.context.set_offline(False)
    page.locator("#message").press("Enter")
    expect(page.locator(".bubble")).to_have_text("only once")
    expect(page.locator("#message")).to_have_value("")
    expect(page.locator("#composer-error")).to_be_hidden()


def test_a_double_click_sends_once(visitor: Visitor) -> None:
    page = visitor.start()
    page.locator("#message").fill("once")
    page.locator("#composer .send").dblclick()
    expect(answer(page)).to_contain_text("Noted: once")
    expect(page.locator(".bubble")).to_have_count(1)


def test_a_wrong_answer_comes_back_with_its_errors_in_focus(visitor: Visitor) -> None:
    page = visitor.start()
    say(page, "ask me")
    form = page.locator("form.ask", has=page.get_by_label("Name"))
    form.evaluate("form => { form.noValidate = true; }")
    page.get_by_label("Name").fill("A")
    form.get_by_role("button", name="Send answer").click()
    expect(page.locator(".ask .problem")).to_be_focused()
    expect(page.get_by_label("Name")).to_have_value("A")
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Born").fill("1815-12-10")
    page.get_by_role("button", name="Send answer").click()
    expect(page.locator(".card-answered")).to_contain_text("Ada")


def test_a_reader_of_the_beginning_is_left_there(visitor: Visitor) -> None:
    page = visitor.start()
    for number in range(12):
        say(page, f"message {number}")
        expect(answer(page)).to_contain_text(f"Noted: message {number}")
    second = live(visitor.page(page.url))
    page.evaluate("scrollTo(0, 0)")
    say(second, "news")
    expect(page.locator("#newer")).to_contain_text("new below")
    assert page.evaluate("scrollY") == 0
    page.locator("#newer").click()
    expect(page.locator("#newer")).to_be_hidden()
    expect(answer(page)).to_be_in_viewport()


def test_earlier_entries_come_in_above_what_is_read(visitor: Visitor) -> None:
    page = visitor.start()
    token = page.evaluate("JSON.parse(document.body.getAttribute('hx-headers:inherited'))['X-CSRFToken']")
    for number in range(60):
        form = {"_type": "@platform/user-message", "text": f"note {number}"}
        headers = {"X-CSRFToken": token, "HX-Request": "true", "X-Agentsite-Live": "1"}
        assert visitor.context.request.post(f"{page.url}events/", form=form, headers=headers).ok
        expect(page.locator(".bubble").nth(number)).to_have_text(f"note {number}")
    expect(page.locator(".status")).to_have_text("Ready")
    page.reload()
    live(page)
    expect(page.locator("#items > article")).to_have_count(100)
    expect(answer(page)).to_be_in_viewport()
    first = page.locator("#items > article").first
    first.scroll_into_view_if_needed()
    page.evaluate("scrollTo(0, 0)")
    before = first.bounding_box()
    name = first.get_attribute("id")
    page.get_by_role("link", name=re.compile("Show earlier")).click()
    expect(page.locator("#items > article")).not_to_have_count(100)
    expect(page.get_by_role("link", name=re.compile("Show earlier"))).to_have_count(0)
    after = page.locator(f"#{name}").bounding_box()
    assert before
    assert after
    # The link above it is gone, and that is all that moved.
    assert abs(after["y"] - before["y"]) < 80
    expect(page.locator("#newer")).to_be_hidden()
    texts = page.locator(".bubble").all_inner_texts()
    assert texts == [f"note {number}" for number in range(60)]
    page.evaluate("dispatchEvent(new Event('online'))")
    live(page)
    page.wait_for_timeout(500)
    assert page.locator(".bubble").all_inner_texts() == texts


def test_a_signed_out_page_says_so_and_keeps_the_draft(visitor: Visitor) -> None:
    page = visitor.start()
    page.locator("#message").fill("keep me")
    visitor.context.clear_cookies(name="agentsite_login")
    page.locator("#message").press("Enter")
    expect(page.locator("#connection")).to_contain_text("You are signed out.")
    expect(page.locator("#message")).to_have_value("keep me")
    page.get_by_role("link", name="Sign in again").click()
    page.get_by_role("button", name="Continue as demo user").click()
    expect(live(page).locator("#message")).to_have_value("keep me")


def test_back_and_again_starts_and_sends_something_new(visitor: Visitor, server: ServerProcess) -> None:
    page = visitor.start()
    first = page.url
    say(page, "one")
    expect(answer(page)).to_contain_text("Noted: one")
    page.goto(f"{server.url}/sessions/")
    page.go_back()
    say(live(page), "two")
    expect(answer(page)).to_contain_text("Noted: two")
    expect(page.locator(".bubble")).to_have_text(["one", "two"])
    page.goto(f"{server.url}/a/w-show/")
    starts = []
    for _ in range(2):
        page.get_by_label("City").fill("Oslo")
        page.get_by_role("button", name="Start session").dblclick()
        page.wait_for_url(re.compile("/s/"))
        starts.append(live(page).url)
        page.go_back()
        page.wait_for_url(re.compile("/a/"))
    assert len({first, *starts}) == 3


def test_a_key_that_is_used_up_costs_one_more_press(visitor: Visitor) -> None:
    page = visitor.start()
    old = page.locator("#composer-key").input_value()
    say(page, "one")
    expect(answer(page)).to_contain_text("Noted: one")
    page.locator("#composer-key").evaluate("(field, old) => { field.value = old; }", old)
    say(page, "two")
    expect(page.locator("#composer-error")).to_have_text("This was not sent. Try again.")
    expect(page.locator("#message")).to_have_value("two")
    page.locator("#message").press("Enter")
    expect(answer(page)).to_contain_text("Noted: two")


def test_the_second_of_two_answers_at_once_keeps_its_text(visitor: Visitor) -> None:
    page = visitor.start()
    say(page, "ask me")
    expect(page.locator(".card-asking")).to_have_count(2)
    second = live(visitor.page(page.url))
    second.get_by_label("Reason").fill("No, mine")

    def late(route: Route) -> None:
        page.get_by_role("button", name="Approve").click()
        expect(second.locator(".card-answered")).to_be_visible()
        route.continue_()

    second.route(re.compile("/events/"), late)
    second.get_by_role("button", name="Decline").click()
    expect(second.locator(".kept textarea")).to_have_value("No, mine")
    expect(second.locator(".kept").first).to_contain_text("You answered this at")
    expect(second.locator(".kept time[title]")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1200])
def test_a_lost_connection_shows_wherever_one_reads(
    browser: Browser, server: ServerProcess, width: int, scheme: Literal["light", "dark"]
) -> None:
    visitor = Visitor(browser, server, viewport={"width": width, "height": 500}, color_scheme=scheme)
    page = visitor.start()
    say(page, "\n".join(map(str, range(60))))
    expect(answer(page)).to_contain_text("Noted")
    visitor.context.set_offline(True)
    banner = page.locator("#connection")
    for place in (0, 400, 99_999):
        page.evaluate("place => scrollTo(0, place)", place)
        expect(banner).to_be_in_viewport(ratio=1)
        expect(page.locator(".status")).to_be_in_viewport(ratio=1)
        assert banner.evaluate(
            "it => { const box = it.getBoundingClientRect();"
            " return it.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)); }"
        )
    visitor.context.close()


def test_what_arrives_while_an_answer_is_written_is_counted(visitor: Visitor) -> None:
    page = visitor.start()
    say(page, "ask me")
    expect(page.locator(".card-asking")).to_have_count(2)
    # All of it is on the screen, so the page follows; then what is written would move away.
    page.set_viewport_size({"width": 1200, "height": 1800})
    page.get_by_label("Reason").focus()
    second = live(visitor.page(page.url))
    say(second, "\n".join(map(str, range(80))))
    expect(page.locator(".bubble")).to_have_count(2)
    expect(page.get_by_label("Reason")).to_be_in_viewport()
    expect(page.locator("#newer")).to_contain_text("1 new below")
    page.locator("#newer").click()
    expect(page.locator("#newer")).to_be_hidden()


def test_keys(visitor: Visitor) -> None:
    page = visitor.start()
    box = page.locator("#message")
    box.press_sequentially("count")
    box.press("Shift+Enter")
    assert box.input_value() == "count\n"
    box.press("Enter")
    expect(page.locator(".bubble")).to_have_text("count\n")
    expect(page.locator(".stream")).to_contain_text("word9")
    box.press("Escape")
    expect(page.get_by_role("button", name="Stop")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".status")).to_have_text("Stopped")
    expect(page.locator(".aside")).to_contain_text("not complete")
    box.focus()
    box.press("ArrowUp")
    assert box.input_value().startswith("count")


@pytest.mark.parametrize("width", [320, 390])
def test_a_phone_needs_no_sideways_scrolling(browser: Browser, server: ServerProcess, width: int) -> None:
    visitor = Visitor(browser, server, viewport={"width": width, "height": 700}, has_touch=True, is_mobile=True)
    page = visitor.start()
    page.locator("#message").fill("ask me")
    page.locator("#composer .send").click()
    expect(page.locator(".card-asking")).to_have_count(2)
    for address in (page.url, f"{server.url}/", f"{server.url}/sessions/", f"{server.url}/a/w-show/"):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
    visitor.context.close()


def test_everything_but_live_updates_works_without_script(browser: Browser, server: ServerProcess) -> None:
    visitor = Visitor(browser, server, java_script_enabled=False)
    page = visitor.sign_in()
    page.goto(f"{server.url}/a/w-show/")
    page.get_by_label("City").fill("Oslo")
    page.get_by_role("button", name="Start session").click()
    page.locator("#message").fill("ask me")
    page.get_by_role("button", name="Send", exact=True).click()
    address = page.url.split("#")[0]
    for _ in range(20):
        page.wait_for_load_state()  # The click's own navigation may still be under way.
        page.goto(address)
        if page.locator(".card-asking").count() == 2:
            break
    page.get_by_label("Reason").fill("Too far")
    page.get_by_role("button", name="Decline").click()
    expect(page.locator(".card-answered")).to_contain_text("Too far")
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Born").fill("1815-12-10")
    page.get_by_role("button", name="Add another").click()
    expect(page.get_by_label("Name")).to_have_value("Ada")
    page.get_by_role("textbox", name="Phones 2").fill("123")
    page.get_by_role("button", name="Send answer").click()
    expect(page.locator(".card-answered")).to_have_count(2)
    visitor.context.close()


def test_the_first_page_is_light(visitor: Visitor, server: ServerProcess) -> None:
    page = visitor.start()
    say(page, "ask me")
    expect(page.locator(".card-asking")).to_have_count(2)
    fresh = visitor.context.new_page()
    requests: list[str] = []
    documents: list[bytes] = []
    frames: list[str | bytes] = []
    fresh.on("request", lambda request: requests.append(request.url))
    fresh.on("response", lambda response: response.url == page.url and documents.append(response.body()))
    fresh.on("websocket", lambda socket: socket.on("framereceived", lambda data: frames.append(data)))
    fresh.goto(page.url)
    live(fresh)
    fresh.wait_for_timeout(500)
    assert all(url.startswith((server.url, "data:")) for url in requests)
    assert len([url for url in requests if not url.startswith("data:")]) + 1 <= REQUESTS
    static = [ROOT / "static" / name for name in ("agentsite.css", "app.js", "vendor/htmx-4.0.1.min.js")]
    sizes = [len(gzip.compress(path.read_bytes())) for path in static]
    assert sizes[0] <= 8 * 1024
    assert sizes[1] <= 6 * 1024
    # Pages are sent as they are: compressing what holds both a secret and what a person wrote would betray the secret.
    assert sum(sizes) + len(documents[0]) + sum(len(frame) for frame in frames) <= FIRST_LOAD
