"""Forms: what they ask for, and that a posted form says what it showed."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from enum import Enum
from html.parser import HTMLParser
from typing import Any, Literal

import pytest
from django.http import QueryDict
from django.template.loader import render_to_string
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, SecretStr, ValidationError, create_model

from sessions_app.core.data import field_errors
from sessions_app.forms import adjust_rows, bind, describe, in_words, parse


class Cabin(Enum):
    ECONOMY = "economy"
    BUSINESS = "business"


class Hotel(BaseModel):
    name: str
    stars: int = Field(default=3, ge=1, le=5)


class Trip(BaseModel):
    """A trip."""

    model_config = ConfigDict(extra="forbid")

    patient_id: str = Field(pattern=r"^P\d+$", max_length=10, description="Hospital number.", examples=["P1042"])
    notes: str = ""
    nights: int = Field(default=2, ge=1, le=30)
    budget: float | None = None
    flexible: bool = False
    cabin: Cabin = Cabin.ECONOMY
    month: Literal["jan", "feb", "mar", "apr", "may", "jun"] = "may"
    leaves: dt.date
    at: dt.time | None = None
    meeting: AwareDatetime | None = None
    tags: list[str] = []
    meals: set[Literal["breakfast", "dinner"]] = set()
    hotel: Hotel
    extra: dict[str, int] = {}
    code: SecretStr | None = None


def posted(**values: str | list[str]) -> QueryDict:
    data = QueryDict(mutable=True)
    for name, value in values.items():
        data.setlist(name.replace("__", "."), value if isinstance(value, list) else [value])
    return data


def kinds() -> dict[str, str]:
    return {field.path[0]: field.kind for field in describe(Trip)}


def test_each_type_gets_its_control() -> None:
    assert kinds() == {
        "patient_id": "text", "notes": "textarea", "nights": "integer", "budget": "number", "flexible": "checkbox",
        "cabin": "radio", "month": "select", "leaves": "date", "at": "time", "meeting": "datetime", "tags": "list",
        "meals": "checkboxes", "hotel": "fieldset", "extra": "json", "code": "secret",
    }  # fmt: skip


def test_what_the_class_says_is_on_the_page() -> None:
    fields = {field.path[0]: field for field in describe(Trip)}
    assert fields["patient_id"].label == "Patient ID"
    assert fields["patient_id"].hint == "Hospital number. For example P1042."
    assert fields["patient_id"].attributes == {"maxlength": "10", "pattern": r"P\p{Nd}+"}
    assert fields["nights"].attributes == {"step": "1", "min": "1", "max": "30"}
    assert fields["nights"].required is False
    assert [child.path for child in fields["hotel"].children] == [("hotel", "name"), ("hotel", "stars")]


@pytest.mark.parametrize(
    ("name", "words"),
    [("find_flights", "Find flights"), ("patientId", "Patient ID"), ("flight-search", "Flight search"), ("x", "X")],
)
def test_names_in_words(name: str, words: str) -> None:
    assert in_words(name) == words


def test_a_posted_form_is_read() -> None:
    data = posted(
        patient_id="P7", notes="a\r\nb", nights="4", budget="1.5", cabin="business", month="jan", leaves="2026-12-01",
        at="09:30", meeting="2026-12-01T10:00", tags="", tags__0="x", tags__1="", tags__2="y", meals=["", "dinner"],
        hotel__name="Ryokan", hotel__stars="5", extra='{"a": 1}', code="",
    )  # fmt: skip
    trip = Trip.model_validate(parse(Trip, data).values)
    assert (trip.notes, trip.tags, trip.meals, trip.hotel.stars) == ("a\nb", ["x", "y"], {"dinner"}, 5)
    assert trip.meeting is not None
    assert trip.meeting.utcoffset() == dt.timedelta(0)
    assert trip.code is None


def test_empty_boxes_are_missing_null_or_default() -> None:
    values = parse(Trip, posted(patient_id="", nights="", budget="", notes="", leaves="")).values
    assert "patient_id" not in values
    assert "nights" not in values
    assert values["budget"] is None
    assert values["notes"] == ""


def test_errors_stand_at_their_fields() -> None:
    data = posted(patient_id="X1", nights="many", leaves="", tags="", tags__0="a", hotel__name="H", hotel__stars="9")
    submission = parse(Trip, data)
    with pytest.raises(ValidationError) as caught:
        Trip.model_validate(submission.values)
    form = bind(Trip, prefix="t", posted=data, errors=(*submission.errors, *field_errors(caught.value)))
    messages = {label: message for label, message, _id in form.summary}
    assert messages == {
        "Patient ID": "This does not have the expected form.",
        "Nights": "Write a whole number.",
        "Leaves": "Fill this in.",
        "Stars": "Must be 5 or less.",
    }
    html = render_to_string("forms/fields.html", {"fields": form.fields})
    assert 'value="X1"' in html
    assert 'aria-describedby="t-patient_id-hint t-patient_id-error" aria-invalid="true"' in html


def test_json_that_is_none_is_reported_at_its_field() -> None:
    submission = parse(Trip, posted(extra='{"a": }'))
    assert submission.errors[0][0] == ("extra",)
    form = bind(Trip, prefix="t", posted=posted(extra='{"a": }'), errors=submission.errors)
    assert form.summary[0][1].startswith("not valid JSON")


def test_an_error_without_a_field_belongs_to_the_form() -> None:
    form = bind(Trip, prefix="t", errors=[((), "Value error, Pick another day."), (("unknown",), "Not permitted")])
    assert form.errors == ("Pick another day.", "unknown: Not permitted")


def test_an_error_in_a_row_skips_empty_rows() -> None:
    class Numbers(BaseModel):
        numbers: list[int]

    data = posted(numbers="", numbers__0="", numbers__1="7", numbers__2="x")
    form = bind(Numbers, prefix="n", posted=data, errors=[(("numbers", 1), "Input should be a valid integer")])
    assert [row.error for row in form.fields[0].parts] == ["", "", "Write a whole number."]


def test_rows_are_added_and_removed_without_script() -> None:
    data = posted(tags="", tags__0="a", tags__1="b")
    added = adjust_rows(posted(tags="", tags__0="a", tags__1="b", _add="tags"))
    assert added is not None
    assert [row.value for row in _tags(added)] == ["a", "b", ""]
    data["_remove"] = "tags.0"
    removed = adjust_rows(data)
    assert removed is not None
    assert [row.value for row in _tags(removed)] == ["b"]
    assert adjust_rows(posted(tags="")) is None


def _tags(data: QueryDict) -> Any:
    return next(field for field in bind(Trip, prefix="t", posted=data).fields if field.name == "tags").parts


def test_a_class_that_holds_itself_ends_as_json() -> None:
    class Node(BaseModel):
        name: str
        next: Node | None = None
        inner: list[Node] = []

    Node.model_rebuild(_types_namespace={"Node": Node})
    assert [field.kind for field in describe(Node)] == ["textarea", "json", "json"]


def test_what_json_schema_cannot_say_is_asked_as_json() -> None:
    class Odd(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        thing: HTMLParser
        either: int | list[str]
        amount: Decimal

    assert [field.kind for field in describe(Odd)] == ["json", "json", "text"]


class _Controls(HTMLParser):
    """Collects what a browser would post: the successful controls of a form."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list[tuple[str, str]] = []
        self._textarea: str | None = None
        self._select = ""
        self._chosen: str | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        at = dict(attrs)
        if tag == "textarea":
            self._textarea, self._text = at["name"], ""
        elif tag == "select":
            self._select, self._chosen = at["name"] or "", None
        elif tag == "option" and (self._chosen is None or "selected" in at):
            self._chosen = at["value"] or ""
        elif tag == "input" and (at.get("type") not in ("checkbox", "radio") or "checked" in at):
            self.pairs.append((at["name"] or "", at.get("value") or ""))

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._textarea is not None:
            text = self._text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\n")
            self.pairs.append((self._textarea, text.replace("\n", "\r\n")))
            self._textarea = None
        elif tag == "select":
            self.pairs.append((self._select, self._chosen or ""))


def controls(html: str) -> QueryDict:
    collector = _Controls()
    collector.feed(html)
    data = QueryDict(mutable=True)
    for name, value in collector.pairs:
        data.appendlist(name, value)
    return data


# What no HTML form can carry: NUL and lone surrogates, which the border replaces, a bare carriage return, and an
# empty text where nothing is what an empty box means.
TEXT = st.text(st.characters(exclude_characters="\r\x00", exclude_categories=("Cs",)), min_size=1)
LINE = st.text(st.characters(exclude_characters="\r\n\x00", exclude_categories=("Cs",)), min_size=1, max_size=50)
YEAR_1000 = dt.datetime(1000, 1, 1)  # noqa: DTZ001 (the box in a form knows no zone)
WHOLE_SECONDS = st.datetimes(min_value=YEAR_1000).map(lambda moment: moment.replace(microsecond=0))
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
Flavour = Literal["sweet", "sour", 3, True]
Meal = Literal["breakfast", "lunch", "dinner"]

SCALARS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (str, TEXT),
    (Literal["a", "b"], st.sampled_from(["a", "b"])),
    (Flavour, st.sampled_from(["sweet", "sour", 3, True])),
    (Cabin, st.sampled_from(Cabin)),
    (int, INTEGERS),
    (float, NUMBERS),
    (bool, st.booleans()),
    (dt.date, st.dates()),
    (dt.datetime, WHOLE_SECONDS),
    (dt.time, st.times().map(lambda time: time.replace(microsecond=0))),
]
FIELDS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    *SCALARS,
    *[(type_ | None, st.none() | values) for type_, values in SCALARS],
    *[(list[type_], st.lists(values, max_size=4)) for type_, values in SCALARS if type_ is not Cabin],
    (set[Meal], st.sets(st.sampled_from(["breakfast", "lunch", "dinner"]))),
    (AwareDatetime, WHOLE_SECONDS.map(lambda moment: moment.replace(tzinfo=dt.UTC))),
    (Hotel, st.builds(Hotel, name=TEXT, stars=st.integers(1, 5))),
    (Hotel | None, st.none() | st.builds(Hotel, name=LINE, stars=st.integers(1, 5))),
    (dict[str, int], st.dictionaries(LINE, INTEGERS, max_size=3)),
    (int | list[bool], INTEGERS | st.lists(st.booleans())),
]


def _is_closed_list(type_: Any) -> bool:
    return any(type_ == list[closed] for closed in (Literal["a", "b"], Flavour))


@st.composite
def models(draw: st.DrawFn) -> BaseModel:
    chosen = draw(st.lists(st.sampled_from(range(len(FIELDS))), min_size=1, max_size=6))
    annotations: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for number, index in enumerate(chosen):
        type_, strategy = FIELDS[index]
        value = draw(strategy)
        if _is_closed_list(type_):
            # Checkboxes say which, not how often or in which order.
            order = ["a", "b", "sweet", "sour", 3, True]
            value = sorted(
                {repr(entry): entry for entry in value}.values(), key=lambda e: [repr(o) for o in order].index(repr(e))
            )
        name = f"field_{number}"
        default = draw(st.sampled_from([..., value]))
        annotations[name] = (type_, Field(default_factory=lambda v=value: v) if default is not ... else ...)
        values[name] = value
    model = create_model("Model", __config__=ConfigDict(extra="forbid"), **annotations)
    return model.model_validate(values)


@given(models())
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_what_a_form_shows_and_posts_is_the_same_value(value: BaseModel) -> None:
    form = bind(type(value), prefix="f", data=value.model_dump(mode="json"))
    html = render_to_string("forms/fields.html", {"fields": form.fields})
    submission = parse(type(value), controls(html))
    assert submission.errors == ()
    assert type(value).model_validate(submission.values) == value


NAMES = [
    "patient_id", "tags.0", "tags.x", "hotel", "hotel.name", "extra", "meals", "cabin", "tags", "nights", "_add",
    "_remove", "at",
]  # fmt: skip


@given(st.dictionaries(st.sampled_from(NAMES), st.text(max_size=20)))
@settings(max_examples=100, deadline=None)
def test_no_post_breaks_a_form(data: dict[str, str]) -> None:
    query = QueryDict(mutable=True)
    query.update(data)
    submission = parse(Trip, query)
    errors = list(submission.errors)
    try:
        Trip.model_validate(submission.values)
    except ValidationError as error:
        errors += field_errors(error)
    form = bind(Trip, prefix="t", posted=adjust_rows(query) or query, errors=errors)
    assert render_to_string("forms/fields.html", {"fields": form.fields})
