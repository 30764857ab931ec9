"""Forms made from Pydantic classes: described, filled and read back. Pydantic alone decides what is valid."""

from sessions_app.forms.binding import BoundField, BoundForm, bind
from sessions_app.forms.labels import in_words
from sessions_app.forms.schema import Choice, Field, describe
from sessions_app.forms.submission import Submission, adjust_rows, parse

__all__ = [
    "BoundField",
    "BoundForm",
    "Choice",
    "Field",
    "Submission",
    "adjust_rows",
    "bind",
    "describe",
    "in_words",
    "parse",
]
