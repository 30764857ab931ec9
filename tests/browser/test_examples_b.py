"""The notebook, the scheduler and the patient guide, as a person meets them."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.people import answer, live, say

pytestmark = pytest.mark.browser


def test_a_note_is_taken_hidden_and_restored_and_a_digest_written(person):
    page = person.start("research")
    for text in ("Note: Honey bees dance", "Note: Hives face south"):
        say(page, text)
        expect(answer(page)).to_contain_text("Noted.")
        expect(page.locator(".card", has_text="Research note").last).to_contain_text(text.removeprefix("Note: "))
    say(page, "Hide the last note")
    expect(answer(page)).to_contain_text("It is hidden")
    expect(page.locator(".entry-card")).to_have_count(1)

    page.get_by_role("button", name="Write a digest").click()
    expect(answer(page)).to_contain_text("Digest of 1 note")
    expect(answer(page)).not_to_contain_text("Hives")

    page.locator("summary", has_text="Restore a note").click()
    restore = page.locator("#actions form", has_text="Number of the note")
    restore.get_by_label("Number of the note").fill("99_1")
    restore.get_by_role("button").click()
    expect(page.locator("#actions")).to_contain_text("There is no hidden note 99_1.")
    page.locator("#actions form").get_by_label("Number of the note").fill("")
    page.locator("#actions form", has_text="Number of the note").get_by_role("button").click()
    expect(page.locator(".entry-card").last).to_contain_text("Hives face south")
    expect(page.locator("#actions")).not_to_contain_text("Restore a note")
    person.problems = [problem for problem in person.problems if "422" not in problem]


def test_a_meeting_is_suggested_confirmed_and_after_a_failure_confirmed_again(person):
    page = person.start("scheduling")
    say(page, "Plan an outage")
    expect(answer(page)).to_contain_text("I suggest")
    expect(page.locator(".card", has_text="Suggested time")).to_contain_text("Outage")

    page.locator("summary", has_text="Confirm the meeting").click()
    expect(page.get_by_label("Title")).to_have_value("Outage")
    expect(page.get_by_label("Start time")).to_have_value(re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d"))
    page.locator("#actions form button.primary").click()
    expect(page.locator(".card-failed")).to_contain_text("nobody was invited", timeout=20_000)

    page.locator("summary", has_text="Confirm the meeting").click()
    page.get_by_label("Title").fill("Review")
    page.locator("#actions form button.primary").click()
    invitation = page.locator(".card", has_text="Invitation sent")
    expect(invitation).to_contain_text("Review")
    expect(invitation.get_by_role("link")).to_have_attribute("href", re.compile("^https://calendar.example/"))


def test_the_record_comes_first_and_one_that_does_not_come_is_asked_for_again(person):
    page = person.start("patient")
    expect(page.locator(".card", has_text="Patient record")).to_contain_text("Ada Sample")
    page.get_by_role("button", name="What am I allergic to?").click()
    expect(answer(page)).to_contain_text("Penicillin")

    page.goto(f"{person.site.url}/a/patient/")
    page.get_by_label("P4040").check()
    page.get_by_role("button", name="Start session").click()
    live(page)
    say(page, "Which medication do I take?")
    expect(page.locator(".card-failed")).to_contain_text("could not be loaded", timeout=20_000)
    expect(page.locator("#tail")).to_contain_text("1 message waiting.")
    page.get_by_role("button", name="Load the record again").click()
    expect(page.locator(".card-failed")).to_have_count(2, timeout=20_000)
