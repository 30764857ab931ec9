"""A patient's record: an effect loads it, and what came of that is shown."""

from __future__ import annotations

from datetime import date

from pydantic import Field

from sessions_app.sdk import ContextItem, Data, EffectContext, RenderResult, SessionEffect, SessionEvent
from tools_app.services.patients import PatientId, find_record


class PatientData(Data):
    """What an agent knows of a patient."""

    name: str
    born: date
    allergies: tuple[str, ...] = ()
    medication: tuple[str, ...] = ()
    next_appointment: date

    def as_text(self) -> str:
        """Return the record as lines, one for each thing it says."""
        lines = {
            "Name": self.name,
            "Born": self.born.isoformat(),
            "Allergies": "; ".join(self.allergies) or "none known",
            "Medication": "; ".join(self.medication) or "none",
            "Next appointment": self.next_appointment.isoformat(),
        }
        return "\n".join(f"- {label}: {text}" for label, text in lines.items())


class PatientDataLoaded(SessionEvent, type="patient-data-loaded", private=True):
    """The record is here."""

    patient_data: PatientData


class LoadAgain(SessionEvent, type="load-patient-data-again", label="Load the record again"):
    """A person wants the record to be asked for once more."""


class LoadPatientData(
    SessionEffect[PatientDataLoaded], type="load-patient-data", label="Loading the record", timeout=60, retries=1
):
    """Asks the register. It only reads, so it may be asked as often as need be."""

    patient_id: PatientId

    async def run(self, context: EffectContext[PatientDataLoaded]) -> PatientDataLoaded:
        record = await find_record(self.patient_id)
        return PatientDataLoaded(
            patient_data=PatientData(
                name=record.name,
                born=record.born,
                allergies=record.allergies,
                medication=record.medication,
                next_appointment=record.next_appointment,
            )
        )


class PatientRecord(ContextItem, type="patient-record", label="Patient record"):
    """The record, for people to see. The model has it in its system prompt and reads nothing here."""

    patient_data: PatientData

    def render(self) -> RenderResult:
        return RenderResult.ready()


class RecordProblem(ContextItem, type="record-problem", label="The patient record could not be loaded"):
    """A record that did not come, for people to see. `note` says whose move it is."""

    note: str = Field(min_length=1)

    def render(self) -> RenderResult:
        return RenderResult.ready()
