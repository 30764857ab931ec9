"""The border: what can be stored, in which form, and what is refused by name."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given

from sessions_app.core.canonical import (
    MAX_DEPTH,
    REPLACEMENT,
    NotStorable,
    canonical,
    clean,
    clean_text,
    digest,
    parse_json,
)
from sessions_app.core.data import dump, load
from sessions_app.core.effects import SessionEffect
from sessions_app.core.errors import HandlerError
from sessions_app.core.events import SessionEvent
from sessions_app.core.tool_results import check_emits, emitted
from tests.strategies import json_values, unhurried, wild_texts


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = {"a": value}
    return value


@unhurried
@given(json_values(wild_texts()))
@pytest.mark.fault("B32")
def test_what_passes_the_border_survives_storage_unchanged(value: Any) -> None:
    cleaned = clean(value)
    text = canonical(cleaned)
    assert "\x00" not in text
    assert json.loads(text.encode().decode()) == cleaned
    assert clean(cleaned) == cleaned
    assert canonical(json.loads(text)) == text


@unhurried
@given(wild_texts())
def test_only_what_no_database_takes_is_replaced(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode()
    assert len(cleaned) == len(text)
    for before, after in zip(text, cleaned, strict=True):
        bad = before == "\x00" or "\ud800" <= before <= "\udfff"
        assert after == (REPLACEMENT if bad else before)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (math.nan, "NaN"),
        (math.inf, "infinity"),
        (-math.inf, "infinity"),
        (2**63, "64 bits"),
        (-(2**63) - 1, "64 bits"),
        (10**4000, "64 bits"),
        (b"bytes", "bytes is not a JSON value"),
        ({1, 2}, "set is not a JSON value"),
        (Decimal("1.5"), "Decimal is not a JSON value"),
        (datetime(2030, 1, 1, tzinfo=UTC), "datetime is not a JSON value"),
        (object(), "object is not a JSON value"),
        ({7: "a"}, "keys must be text, not int"),
    ],
)
@pytest.mark.fault("B34")
def test_what_has_no_stored_form_is_refused_at_its_place(value: Any, said: str) -> None:
    with pytest.raises(NotStorable, match=said) as refused:
        clean({"fields": ["fine", {"here": value}]})
    assert refused.value.path[:3] == ("fields", 1, "here")


def test_nesting_has_a_limit_and_no_depth_breaks_the_border() -> None:
    clean(nested(MAX_DEPTH - 1))
    for depth in (MAX_DEPTH + 1, 10_000):
        with pytest.raises(NotStorable, match="nested deeper"):
            clean(nested(depth))
    with pytest.raises(NotStorable, match="nested deeper"):
        parse_json('{"a":' * 100_000 + "1" + "}" * 100_000)


@pytest.mark.parametrize("text", ["", "{", "nonsense", '{"a": 1,}', "'a'", "\ufeff{}", "9" * 5000])
def test_text_that_is_no_json_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(NotStorable, match="not valid JSON"):
        parse_json(text)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "1e400", str(2**70)])
@pytest.mark.fault("B34")
def test_json_that_is_wider_than_ours_is_refused(text: str) -> None:
    with pytest.raises(NotStorable):
        parse_json(text)


@pytest.mark.parametrize("written", ['"a\\u0000b"', '"a\x00b"', '"a\\ud800b"'])
@pytest.mark.fault("B32")
def test_nul_and_half_characters_are_replaced_however_they_are_written(written: str) -> None:
    if "\x00" in written:
        with pytest.raises(NotStorable):
            parse_json(written)
    else:
        assert parse_json(written) == "a\ufffdb"


def test_the_canonical_text_has_one_form() -> None:
    assert canonical({"b": 1, "a": [True, None, 1.0, "é"]}) == '{"a":[true,null,1.0,"é"],"b":1}'
    assert digest("é") == digest("é")
    assert len(digest("")) == 64


# --- what authors' classes hold


class Colour(Enum):
    RED = "red"


class Everything(SessionEvent, type="everything"):
    anything: Any = None
    words: frozenset[str] = frozenset()
    number: Decimal = Decimal(0)
    when: datetime | None = None
    key: UUID | None = None
    colour: Colour = Colour.RED
    table: dict[int, float] = {}
    ratio: float = 0.0


@pytest.mark.fault("B34")
def test_python_values_have_a_documented_stored_form_and_come_back() -> None:
    value = Everything(
        anything={"nested": (1, 2)},
        words=frozenset({"b", "a", "c"}),
        number=Decimal("1.50"),
        when=datetime(2030, 1, 1, tzinfo=UTC),
        key=UUID(int=5),
        table={2: 1.5},
    )
    payload = emitted(value)["payload"]
    assert payload["words"] == ["a", "b", "c"]
    assert payload["number"] == "1.50"
    assert payload["when"] == "2030-01-01T00:00:00Z"
    assert payload["table"] == {"2": 1.5}
    back = load(Everything, json.loads(canonical(payload)))
    assert back.evolve(anything=None) == value.evolve(anything=None)
    assert dump(back) == payload


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, 10**30, b"\xff", object(), nested(60), {"deep": [math.nan]}, {"a": {"b": object()}}]
)
@pytest.mark.fault("B34")
def test_what_an_event_or_effect_cannot_store_is_named_by_class_and_field(value: Any) -> None:
    with pytest.raises(HandlerError, match=r"Everything cannot be stored: anything"):
        emitted(Everything(anything=value))


class Report(SessionEffect[Everything], type="report"):
    pass


class Other(SessionEvent, type="other"):
    pass


@pytest.mark.fault("B73")
def test_an_effect_may_send_what_it_declares_and_nothing_else() -> None:
    check_emits(Report(), Everything())
    with pytest.raises(HandlerError, match="Report sent Other, but declares Everything"):
        check_emits(Report(), Other())


@pytest.mark.parametrize("value", [None, "text", {"type": "other"}, Other])
def test_only_events_and_effects_are_emitted(value: Any) -> None:
    with pytest.raises(HandlerError, match="Expected an event or effect"):
        emitted(value)
