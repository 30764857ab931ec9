"""One renderer for the page and for what is pushed to it."""

from sessions_app.fragments.frames import Frame, Mark, Part, changed_frame, earlier_frame, whole_frame
from sessions_app.fragments.page import Kept, SessionPage
from sessions_app.fragments.people import Viewer
from sessions_app.fragments.statuses import status_of

__all__ = [
    "Frame",
    "Kept",
    "Mark",
    "Part",
    "SessionPage",
    "Viewer",
    "changed_frame",
    "earlier_frame",
    "status_of",
    "whole_frame",
]
