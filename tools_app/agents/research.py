"""The research notebook: a tool's events change the session, and a schedule asks for a digest of what is left.

A digest every morning:
./run manage schedule_event digest-due --session KEY --cron '0 8 * * *' --zone Europe/Berlin
"""

from __future__ import annotations

from collections.abc import Sequence

from sessions_app.providers import default_model
from sessions_app.sdk import (
    Agent,
    AgentState,
    EventRejected,
    EventResult,
    SessionEvent,
    SessionState,
    add_context_item,
    set_agent_state,
    set_context_item_order,
)
from tools_app.tools.notes import (
    DigestDue,
    DigestRequest,
    HideContextItem,
    HideNote,
    NoteTaken,
    ResearchNote,
    RestoreNote,
    TakeNote,
)


class ResearchState(AgentState):
    """How many notes were taken, and the ids of those that are hidden, the one hidden last at the end."""

    taken: int = 0
    hidden: tuple[str, ...] = ()

    @property
    def visible(self) -> int:
        """How many notes the model reads."""
        return self.taken - len(self.hidden)


class ResearchAgent(Agent[ResearchState, NoteTaken | HideContextItem | RestoreNote | DigestDue], name="research"):
    """Keeps research notes, hides those that are no longer needed, and writes digests of the others."""

    title = "Research notebook"
    description = "Takes notes, hides what is no longer needed, and writes a digest when one is due."
    examples = (
        "Note: Honey bees dance to show where flowers are",
        "Note: Bumble bees fly when it is cold",
        "Hide the last note",
    )
    system_prompt = (
        "You keep research notes for a person. Take one with take_note for each finding that they tell you. When a "
        "note is wrong or no longer needed, hide it with hide_note and the note's number. When a digest is due, write "
        "one of all notes that you can see, in a few sentences, and mention nothing else."
    )
    model = default_model()
    tools = (TakeNote, HideNote)

    def get_actions(self, state: ResearchState) -> Sequence[type[SessionEvent]]:
        offers: dict[type[SessionEvent], bool] = {DigestDue: state.visible > 0, RestoreNote: bool(state.hidden)}
        return [event for event, offered in offers.items() if offered]

    def handle_event(
        self, state: SessionState[ResearchState], event: NoteTaken | HideContextItem | RestoreNote | DigestDue
    ) -> EventResult:
        match event:
            case NoteTaken(text=text):
                counted = state.agent_state.evolve(taken=state.agent_state.taken + 1)
                return EventResult([add_context_item(ResearchNote(text=text)), set_agent_state(counted)])
            case HideContextItem(context_item_id=item_id):
                return _hide(state, item_id)
            case RestoreNote(note_id=note_id):
                return _restore(state, note_id)
            case DigestDue():
                # Without notes a schedule would make the model write about nothing, day after day.
                due = state.agent_state.visible > 0
                return EventResult([add_context_item(DigestRequest(), generate=True)] if due else [])


def _hide(state: SessionState[ResearchState], item_id: str) -> EventResult:
    """Take a note out of the order. A model may name anything, and only what is a note there is hidden."""
    order = state.context_item_order
    if item_id not in order or not isinstance(state.get_context_item(item_id), ResearchNote):
        return EventResult()
    hidden = (*state.agent_state.hidden, item_id)
    return EventResult(
        [
            set_context_item_order([other for other in order if other != item_id]),
            set_agent_state(state.agent_state.evolve(hidden=hidden)),
        ]
    )


def _restore(state: SessionState[ResearchState], note_id: str) -> EventResult:
    """Put a hidden note at the end of the order."""
    hidden = state.agent_state.hidden
    wanted = note_id.strip() or next(reversed(hidden), "")
    if wanted not in hidden:
        numbers = f"Hidden are: {', '.join(hidden)}." if hidden else "No note is hidden."
        message = f"There is no hidden note {wanted}. {numbers}" if wanted else numbers
        raise EventRejected("invalid", message, errors=((("note_id",), message),))
    left = tuple(other for other in hidden if other != wanted)
    return EventResult(
        [
            set_context_item_order([*state.context_item_order, wanted]),
            set_agent_state(state.agent_state.evolve(hidden=left)),
        ]
    )
