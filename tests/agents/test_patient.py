"""The patient guide: the record comes first, and whoever writes before it is there is answered afterwards."""

import pytest
from pydantic import ValidationError

from sessions_app.core.platform import GenerateResponse
from sessions_app.providers import demo
from sessions_app.sdk import EventRejected
from sessions_app.testing import AgentHarness
from tools_app.agents import PatientAgent
from tools_app.agents.patient import PatientState
from tools_app.services.patients import RECORDS, RegisterDown, find_record
from tools_app.tools.patients import LoadAgain, LoadPatientData, PatientDataLoaded, PatientRecord, RecordProblem

ADA, MISSING = {"patient_id": "P1001"}, {"patient_id": "P4040"}


def state(session: AgentHarness) -> PatientState:
    assert isinstance(session.state, PatientState)
    return session.state


def can_load_again(session: AgentHarness) -> bool:
    return LoadAgain in PatientAgent().get_actions(state(session))


async def test_the_register_knows_its_patients_and_can_be_down() -> None:
    assert (await find_record("P1001")) == RECORDS["P1001"]
    with pytest.raises(RegisterDown):
        await find_record("P4040")


def test_a_session_needs_a_patient_of_the_register() -> None:
    with pytest.raises(ValidationError):
        AgentHarness(PatientAgent, {"patient_id": "P9"})


def test_the_record_is_loaded_when_the_session_starts() -> None:
    session = AgentHarness(PatientAgent, ADA, model=["Ramipril."])
    assert state(session).patient_data is None
    assert PatientAgent().get_system_prompt(state(session)).status == "pending"
    session.run(LoadPatientData)
    assert state(session).patient_data == session.item(PatientRecord).patient_data
    assert session.memory.session.title == "Record of Ada Sample"
    assert session.effects == []  # nobody has asked anything yet

    session.say("What do I take?")
    session.run(GenerateResponse)
    (request,) = session.model.requests
    assert "- Medication: Ramipril 5 mg, mornings" in request.system[0]
    assert [message.text for message in request.messages] == ["What do I take?"]


def test_a_message_before_the_record_waits_and_is_answered_after_it() -> None:
    session = AgentHarness(PatientAgent, ADA, model=["Penicillin."])
    session.say("What am I allergic to?")
    assert [effect.type for effect in session.effects] == ["load-patient-data"]
    assert session.memory.session.owes_answer
    session.run_all()
    assert session.answer == "Penicillin."
    assert "Penicillin" in session.model.requests[0].system[0]


def test_a_load_that_fails_is_shown_and_a_message_waits_for_the_next_one() -> None:
    session = AgentHarness(PatientAgent, MISSING, model=["Here it is."])
    session.say("What do I take?")
    session.run(LoadPatientData)
    assert "Load the record again" in session.item(RecordProblem).note
    assert session.effects == []
    assert session.memory.session.blocked_code == ""
    assert can_load_again(session)

    session.dispatch(LoadAgain())
    assert [effect.type for effect in session.effects] == ["load-patient-data"]
    record = AgentHarness(PatientAgent, ADA, model=[])
    record.run(LoadPatientData)
    data = state(record).patient_data
    assert data is not None
    session.end(LoadPatientData, "done", event=PatientDataLoaded(patient_data=data))
    session.run(GenerateResponse)
    assert session.answer == "Here it is."
    assert not can_load_again(session)


@pytest.mark.parametrize("outcome", ["timed out", "outcome unknown", "cancelled"])
def test_whatever_ends_a_load_the_person_is_told(outcome: str) -> None:
    session = AgentHarness(PatientAgent, ADA, model=[])
    session.end(LoadPatientData, outcome)
    assert session.item(RecordProblem).note
    assert can_load_again(session)


def test_after_a_stop_the_record_can_still_be_loaded() -> None:
    session = AgentHarness(PatientAgent, ADA, model=["Ramipril."])
    session.stop()
    session.say("What do I take?")
    assert session.effects == []
    assert can_load_again(session)
    session.dispatch(LoadAgain())
    session.run_all()
    assert session.answer == "Ramipril."


def test_a_second_load_changes_nothing() -> None:
    session = AgentHarness(PatientAgent, ADA, model=[])
    session.dispatch(LoadAgain())
    session.run_all()
    assert len(session.items(PatientRecord)) == 1
    session.dispatch(LoadAgain())
    assert session.effects == []


def test_asking_for_what_is_on_its_way_starts_nothing() -> None:
    session = AgentHarness(PatientAgent, ADA, model=[])
    session.dispatch(LoadAgain())
    assert len(session.effects) == 1
    session.stop()
    session.dispatch(LoadAgain())
    assert len(session.effects) == 1


def test_only_the_session_itself_brings_a_record() -> None:
    session = AgentHarness(PatientAgent, ADA, model=[])
    with pytest.raises(EventRejected):
        session.send("patient-data-loaded", {"patient_data": {"name": "Eve", "born": "2000-01-01"}})


def test_with_the_demo_model() -> None:
    session = AgentHarness(PatientAgent, ADA, model=demo())
    session.say("What am I allergic to?")
    session.run_all()
    assert "- Allergies: Penicillin" in session.answer
    assert "Medication" not in session.answer
    session.say("Tell me everything")
    session.run_all()
    assert all(label in session.answer for label in ("Name", "Born", "Allergies", "Medication", "Next appointment"))
