"""What pages read. Nothing here writes, and the number of queries does not grow with what they show.

A session's row is always read first. What is read after it may be newer than its `seq` says, never older, so a
page that claims to show event n shows at least that; the next push puts right whatever came between.
"""

from sessions_app.reading.news import Pulse, Touched, predecessors, read_pulses, read_streams, read_touched, sign_of
from sessions_app.reading.sessions import (
    LIST_SIZE,
    Open,
    agent_state,
    count_by_agent,
    find_event,
    find_item,
    find_session,
    list_sessions,
    open_effects,
    top_id,
)
from sessions_app.reading.transcripts import WINDOW, WINDOW_AT_MOST, Transcript, read_items, read_transcript

__all__ = [
    "LIST_SIZE",
    "WINDOW",
    "WINDOW_AT_MOST",
    "Open",
    "Pulse",
    "Touched",
    "Transcript",
    "agent_state",
    "count_by_agent",
    "find_event",
    "find_item",
    "find_session",
    "list_sessions",
    "open_effects",
    "predecessors",
    "read_items",
    "read_pulses",
    "read_streams",
    "read_touched",
    "read_transcript",
    "sign_of",
    "top_id",
]
