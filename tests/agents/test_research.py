"""The research notebook: notes that are taken, hidden and restored, and digests of those that can be seen."""

import pytest

from sessions_app.core.platform import GenerateResponse
from sessions_app.providers import demo
from sessions_app.sdk import EventRejected, ModelRequest
from sessions_app.testing import AgentHarness, tool_calls
from tools_app.agents import ResearchAgent
from tools_app.agents.research import ResearchState
from tools_app.tools.notes import DigestDue, DigestRequest, HideNote, ResearchNote, RestoreNote, TakeNote

BEES, HIVES = "Honey bees dance.", "Hives face south."


def actions(session: AgentHarness) -> list[str]:
    assert isinstance(session.state, ResearchState)
    return [event.type_name() for event in ResearchAgent().get_actions(session.state)]


def visible_text(session: AgentHarness) -> str:
    return "\n".join(message.text for message in session.messages())


def notebook(*more: object) -> AgentHarness:
    """A session with two notes; the second was taken in the same turn as the first."""
    script = [tool_calls(TakeNote(text=BEES), TakeNote(text=HIVES)), "Both are noted.", *more]
    session = AgentHarness(ResearchAgent, model=script)
    session.say("Honey bees dance, and hives face south.")
    session.run_all()
    return session


def hide_first(request: ModelRequest) -> object:
    """What a model does: it reads the number of a note in the conversation, and calls with it."""
    text = "\n".join(message.text for message in request.messages)
    number = text.split("Research note ")[1].split(":")[0]
    return tool_calls(HideNote(context_item_id=number))


def test_a_note_becomes_an_item_that_names_its_own_id() -> None:
    session = notebook()
    first, second = session.items(ResearchNote)
    assert (first.text, second.text) == (BEES, HIVES)
    assert f"Research note {first.id}: {BEES}" in visible_text(session)
    assert session.answer == "Both are noted."
    assert actions(session) == ["digest-due"]


def test_a_hidden_note_is_left_out_of_requests_and_can_be_restored() -> None:
    session = notebook(hide_first, "It is hidden.", "Only hives.", "Both.")
    first, _ = session.items(ResearchNote)
    session.say("The first one is wrong.")
    session.run_all()
    assert session.state == ResearchState(taken=2, hidden=(first.id,))
    assert "Note hidden" in str(session.model.requests[-1].messages)
    assert f"Research note {first.id}" not in str(session.model.requests[-1].messages)
    assert actions(session) == ["digest-due", "restore-note"]

    session.dispatch(RestoreNote(note_id=first.id))
    assert session.effects == []  # putting a note back owes nothing
    assert session.memory.order()[-1] == first.id
    assert f"Research note {first.id}" in visible_text(session)
    assert session.state == ResearchState(taken=2)
    assert actions(session) == ["digest-due"]


def test_a_note_is_hidden_while_a_message_waits_for_its_answer() -> None:
    session = notebook(hide_first, "Done.")
    first, second = session.items(ResearchNote)
    session.say("Hide the first one.")
    session.run(GenerateResponse)
    session.say("And tell me what is left.")
    session.run_all()
    assert [first.id in session.memory.order(), second.id in session.memory.order()] == [False, True]
    assert session.answer == "Done."


def test_without_a_number_the_note_hidden_last_comes_back() -> None:
    session = notebook(hide_first, "Hidden.", hide_first, "Hidden too.")
    first, second = session.items(ResearchNote)
    for text in ("Hide one", "Hide the other"):
        session.say(text)
        session.run_all()
    assert session.state == ResearchState(taken=2, hidden=(first.id, second.id))
    assert actions(session) == ["restore-note"]
    session.dispatch(RestoreNote())
    assert session.state == ResearchState(taken=2, hidden=(first.id,))


def test_a_note_that_is_not_hidden_cannot_be_restored() -> None:
    session = notebook()
    with pytest.raises(EventRejected, match="No note is hidden") as refused:
        session.dispatch(RestoreNote())
    assert refused.value.errors[0][0] == ("note_id",)
    with pytest.raises(EventRejected, match="There is no hidden note 9_9"):
        session.dispatch(RestoreNote(note_id="9_9"))


def test_only_notes_can_be_hidden() -> None:
    session = notebook(tool_calls(HideNote(context_item_id="2_1"), HideNote(context_item_id="77_1")), "Hm.")
    order = session.memory.order()
    session.say("Hide what I said.")
    session.run_all()
    assert session.memory.order()[: len(order)] == order
    assert session.state == ResearchState(taken=2)


def test_a_digest_is_asked_for_when_it_is_due() -> None:
    session = notebook("Bees dance, hives face south.")
    session.dispatch(DigestDue())
    session.run_all()
    assert session.answer == "Bees dance, hives face south."
    assert session.item(DigestRequest).render().messages[0].text.startswith("A digest is due.")


def test_nothing_is_written_about_nothing() -> None:
    session = AgentHarness(ResearchAgent, model=[])
    session.dispatch(DigestDue())
    assert session.effects == []
    assert session.items(DigestRequest) == []
    assert actions(session) == []


def test_the_demo_model_hides_the_note_that_is_meant() -> None:
    session = AgentHarness(ResearchAgent, model=demo())
    session.say("Hide the last note")
    session.run_all()
    assert session.answer.startswith("There are no notes.")
    for said in ("Note: one", "Note: two", "Note: three"):
        session.say(said)
        session.run_all()
    one, two, three = [note.id for note in session.items(ResearchNote)]
    session.say("Forget the first one")
    session.run_all()
    session.say(f"Please hide {three}")
    session.run_all()
    assert session.state == ResearchState(taken=3, hidden=(one, three))
    session.say("Good morning")
    session.run_all()
    assert "keep notes" in session.answer
    assert two in session.memory.order()


def test_with_the_demo_model() -> None:
    session = AgentHarness(ResearchAgent, model=demo())
    for said in ("Note: Honey bees dance", "Remember that hives face south", "Hide the last note"):
        session.say(said)
        session.run_all()
    bees, hives = session.items(ResearchNote)
    assert (bees.text, hives.text) == ("Honey bees dance", "hives face south")
    assert session.answer.startswith("It is hidden")
    session.dispatch(DigestDue())
    session.run_all()
    assert session.answer == "Digest of 1 note:\n\n- Honey bees dance"
    session.dispatch(RestoreNote())
    session.say("Write a summary")
    session.run_all()
    assert session.answer == "Digest of 2 notes:\n\n- Honey bees dance\n- hives face south"
