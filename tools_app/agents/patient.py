"""The patient guide: the record is asked for when a session starts, and the model waits until it is there."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from sessions_app.providers import default_model
from sessions_app.sdk import (
    Agent,
    AgentState,
    EffectEnded,
    EventResult,
    SessionArgs,
    SessionEvent,
    SessionResult,
    SessionState,
    SystemPromptRenderResult,
    add_context_item,
    set_agent_state,
    set_title,
)
from tools_app.services.patients import PatientId
from tools_app.tools.patients import (
    LoadAgain,
    LoadPatientData,
    PatientData,
    PatientDataLoaded,
    PatientRecord,
    RecordProblem,
)

PROMPT = (
    "You explain a patient's own record to them, in plain words and in a few sentences. Say only what the record says; "
    "for anything else send them to their practice. This is a demonstration with a made-up patient.\n\n"
    "Patient record:\n"
)
WHAT_NOW = (
    "The register did not give it. Nothing is lost: what you write waits until the record is there. Press “Load the "
    "record again” below."
)


class PatientArgs(SessionArgs):
    """Whose record it is."""

    patient_id: PatientId = Field(
        default="P1001",
        title="Patient",
        description="All are made up: P1001 is Ada Sample, P1002 Ben Placeholder, and the record of P4040 is missing.",
    )


class PatientState(AgentState):
    """`patient_data` is None until the record is there; `loading` says whether it is on its way."""

    patient_id: PatientId
    loading: bool = True
    patient_data: PatientData | None = None


class PatientAgent(Agent[PatientState, PatientDataLoaded | LoadAgain], name="patient"):
    """Loads a patient's record when the session starts, and explains it."""

    title = "Patient guide"
    description = "Loads a patient's record first, then explains it. Every patient is made up."
    examples = ("Which medication do I take?", "What am I allergic to?", "When is my next appointment?")
    model = default_model()

    def create_session(self, args: PatientArgs) -> SessionResult[PatientState]:
        load = LoadPatientData(patient_id=args.patient_id)
        return SessionResult(PatientState(patient_id=args.patient_id, patient_data=None), effects=[load])

    def get_system_prompt(self, state: PatientState) -> SystemPromptRenderResult:
        if state.patient_data is None:
            return SystemPromptRenderResult.pending()
        return SystemPromptRenderResult.ready(PROMPT + state.patient_data.as_text())

    def get_actions(self, state: PatientState) -> Sequence[type[SessionEvent]]:
        return [LoadAgain] if state.patient_data is None and not state.loading else []

    def handle_event(self, state: SessionState[PatientState], event: PatientDataLoaded | LoadAgain) -> EventResult:
        patient = state.agent_state
        match event:
            case _ if patient.patient_data is not None:
                return EventResult()
            case LoadAgain() if patient.loading:
                return EventResult()
            case LoadAgain():
                loading = set_agent_state(patient.evolve(loading=True))
                return EventResult([loading], effects=[LoadPatientData(patient_id=patient.patient_id)])
            case PatientDataLoaded(patient_data=patient_data):
                return EventResult(
                    [
                        set_agent_state(patient.evolve(patient_data=patient_data, loading=False)),
                        set_title(f"Record of {patient_data.name}"),
                        add_context_item(PatientRecord(patient_data=patient_data)),
                    ]
                )

    def handle_effect_ended(self, state: SessionState[PatientState], ended: EffectEnded) -> EventResult | None:
        patient = state.agent_state
        return EventResult(
            [set_agent_state(patient.evolve(loading=False)), add_context_item(RecordProblem(note=WHAT_NOW))]
        )
