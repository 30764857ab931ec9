"""The explainer, the two speeds, the help desk and the weather: a switch in the page changes the next answer."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.people import answer, live, say

pytestmark = pytest.mark.browser


def start(person, agent: str, fill=lambda page: None) -> Page:
    """Fill the start form in, and return the session's page once it is live."""
    page = person.sign_in()
    page.goto(f"{person.site.url}/a/{agent}/")
    fill(page)
    page.get_by_role("button", name="Start session").click()
    return live(page)


def press(page: Page, name: str) -> None:
    page.locator("#actions").get_by_role("button", name=name).click()


def expect_only_action(page: Page, name: str) -> None:
    expect(page.locator("#actions").get_by_role("button")).to_have_accessible_name(name)


def test_an_expert_gets_another_explanation_than_a_child(person):
    page = start(person, "explainer", lambda page: page.get_by_label("Child").check())
    page.get_by_role("button", name="Why is the sky blue?").click()
    expect(answer(page)).to_contain_text("For a child: Sunlight has all the colours")

    page.locator("summary", has_text="Change the audience").click()
    form = page.locator("#actions form")
    expect(form.get_by_label("Child")).to_be_checked()
    form.get_by_label("Expert").check()
    form.get_by_role("button").click()
    expect(page.locator(".entry-card")).to_have_text("From now on it is explained for an expert.")
    say(page, "Why is the sky blue?")
    expect(answer(page)).to_contain_text("For an expert: Rayleigh scattering")
    # An agent with one model has nothing to tell of it.
    expect(page.locator(".entry-assistant .stamp")).to_have_count(0)


def test_the_detailed_model_says_more_than_the_fast_one_and_both_are_named(person):
    page = person.start("two-speeds")
    expect(page.locator("#foot")).to_contain_text("demo model, fast")
    say(page, "How does bread rise?")
    expect(answer(page)).to_have_text("Yeast eats sugar in the dough and gives off gas, which the dough traps.")

    press(page, "Use the detailed model")
    expect_only_action(page, "Use the fast model")
    expect(page.locator("#foot")).to_contain_text("demo model, detailed")
    say(page, "How does bread rise?")
    expect(answer(page)).to_contain_text("Flour and water form gluten")
    expect(page.locator(".entry-assistant .stamp")).to_have_text(["demo model, fast", "demo model, detailed"])


def test_the_backup_answers_while_the_first_model_is_out_of_service(person):
    page = start(person, "backup", lambda page: page.get_by_label("The first model is out of service").check())
    expect(page.locator("#foot")).to_contain_text("first demo model, out of service (backup: second demo model)")
    say(page, "When are you open?")
    expect(answer(page)).to_contain_text("10:00 to 19:00")
    expect(page.locator(".entry-assistant .stamp")).to_have_text("second demo model")

    press(page, "Put the first model back into service")
    expect_only_action(page, "Take the first model out of service")
    say(page, "How long can I keep a book?")
    expect(answer(page)).to_contain_text("four weeks")
    expect(page.locator(".entry-assistant .stamp").last).to_have_text("first demo model")


def test_the_weather_is_there_while_it_is_switched_on(person):
    page = person.start("weather")
    say(page, "What is the weather in Tokyo?")
    expect(answer(page)).to_contain_text("The weather is made up.")
    expect(page.locator(".card")).to_contain_text("°C")

    press(page, "Switch the weather off")
    expect_only_action(page, "Switch the weather on")
    say(page, "What is the weather in Rome?")
    expect(answer(page)).to_contain_text("I have no weather here")
    expect(page.locator(".card")).to_have_count(1)

    press(page, "Switch the weather on")
    say(page, "What is the weather in Rome?")
    expect(answer(page)).to_contain_text("Rome: ")
    expect(page.locator(".card")).to_have_count(2)
