"""One renderer: the page as it is loaded is the page that pushes lead to, whatever happened in between."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app import engine, reading
from sessions_app.core.errors import EventRejected
from sessions_app.core.events import Sender
from sessions_app.core.language_model import ModelResponse, Terminated
from sessions_app.fragments import Frame, Viewer, changed_frame, whole_frame
from sessions_app.models import StoredEffect, StoredItem, StoredSession, StoredStream
from sessions_app.providers.scripted import ScriptedModel
from sessions_app.sdk import TextPart
from tests.engine.conftest import Pump
from tests.engine.stage import brain, calls, gate
from tests.web.agents import ShowAgent

pytestmark = pytest.mark.database

ARTICLE = re.compile(r'<article [^>]*id="item-([0-9_]+)".*?</article>', re.DOTALL)


def plain(html: str) -> str:
    """Leave out what differs from one drawing to the next: keys of forms, tokens, and times that tick."""
    html = re.sub(r'<input type="hidden" name="csrfmiddlewaretoken"[^>]*>', "", html)
    html = re.sub(r'name="_key" value="[^"]*"', 'name="_key"', html)
    html = re.sub(r'(data-(?:since|due)="[^"]*">)[^<]*', r"\1", html)
    return re.sub(r"\s+", " ", html).strip()


class Model:
    """A page as the browser's script keeps it: entries in order, and the parts around them."""

    def __init__(self, session: StoredSession, viewer: Viewer) -> None:
        self.session = session
        self.viewer = viewer
        self.entries: dict[str, str] = {}
        self.around: dict[str, str] = {}
        self.seq = 0
        self.frames: list[Frame] = []
        self.take(whole_frame(self.fresh(), viewer))

    def fresh(self) -> StoredSession:
        session = reading.find_session(self.viewer.pk, self.session.key)
        assert session is not None
        return session

    def catch_up(self) -> None:
        self.take(changed_frame(self.fresh(), self.viewer, self.seq))

    def take(self, frame: Frame) -> None:
        self.frames.append(frame)
        if frame.seq < self.seq:
            return
        self.seq = frame.seq
        for part in frame.parts:
            if part.swap == "delete":
                self.entries.pop(part.target.removeprefix("#item-"), None)
            elif part.swap == "innerMorph":
                self.entries = self._articles(part.html)
            elif part.swap.startswith("place"):
                self._place(part.swap.partition("after:item-")[2], self._articles(part.html))
            elif part.target.startswith("#item-"):
                item_id = part.target.removeprefix("#item-")
                if item_id in self.entries:
                    self.entries |= self._articles(part.html)
            else:
                self.around[part.target] = plain(part.html)

    @staticmethod
    def _articles(html: str) -> dict[str, str]:
        return {found[1]: plain(found[0]) for found in ARTICLE.finditer(html)}

    def _place(self, after: str, fresh: dict[str, str]) -> None:
        assert not after or after in self.entries, "a neighbour that the page does not show"
        others = {item_id: html for item_id, html in self.entries.items() if item_id not in fresh}
        order = list(others)
        place = order.index(after) + 1 if after else 0
        self.entries = {item_id: (others | fresh)[item_id] for item_id in [*order[:place], *fresh, *order[place:]]}

    def check(self) -> None:
        """What was pushed piece by piece is what is drawn as a whole."""
        loaded = Model(self.session, self.viewer)
        assert list(self.entries) == list(loaded.entries)
        assert self.entries == loaded.entries
        assert self.around | {"#earlier": loaded.around["#earlier"]} == loaded.around


def test_the_page_is_what_a_frame_says(
    page: Client, session: StoredSession, user: Any, talk: Callable[[str], Any], script: Callable[..., Any], pump: Pump
) -> None:
    script(calls(("decide", {"question": "Go?"}), ("ask_guest", {}), ("crash", {})))
    talk("Ask me")
    pump()
    html = plain(page.get(reverse("session", args=[session.key.hex])).content.decode())
    frame = whole_frame(reading.find_session(user.pk, session.key) or session, Viewer.of(user))
    for part in frame.parts:
        assert plain(part.html) in html, part.target


def test_a_streamed_text_is_part_of_every_frame(session: StoredSession, user: Any, talk: Callable[[str], Any]) -> None:
    talk("Hello")
    StoredEffect.objects.update(status="running", attempt=1)
    effect = StoredEffect.objects.get()
    StoredStream.objects.create(effect=effect, item_id=effect.owner_item, attempt=1, stream_no=2, text="So <far>")
    frame = whole_frame(reading.find_session(user.pk, session.key) or session, Viewer.of(user))
    assert "So &lt;far&gt;</div>" in frame.html
    assert 'data-attempt="1" data-no="2" data-length="8"' in frame.html
    mark = frame.marks[effect.owner_item]
    assert (mark.text_no, mark.length) == ((1, 2), 8)


@pytest.mark.fault("B30")
def test_a_text_of_an_attempt_that_failed_is_not_shown(
    session: StoredSession, user: Any, talk: Callable[[str], Any]
) -> None:
    talk("Hello")
    StoredEffect.objects.update(status="running", attempt=2)
    effect = StoredEffect.objects.get()
    StoredStream.objects.create(effect=effect, item_id=effect.owner_item, attempt=1, text="Half an ans")
    frame = whole_frame(reading.find_session(user.pk, session.key) or session, Viewer.of(user))
    assert "Half an ans" not in frame.html


def test_a_turn_is_pushed_piece_by_piece(
    session: StoredSession, user: Any, ann: Sender, talk: Callable[[str], Any], script: Callable[..., Any], pump: Pump
) -> None:
    script(
        calls(("decide", {"question": "Go?"}), ("fetch_parcel", {"name": "Soap"})),
        ModelResponse(parts=(TextPart(text="**Done**, and [more](https://example.org)"),)),
        ModelResponse(status=Terminated(reason="error", message="The service is down.")),
    )
    model = Model(session, Viewer.of(user))
    talk("Hello")
    model.catch_up()
    pump.until(lambda: gate.begun["Soap"])
    model.catch_up()
    model.check()
    decision = StoredItem.objects.get(type="w-decision")
    engine.dispatch_event(session, "w-approved", {}, sender=ann, item_id=decision.item_id)
    model.catch_up()
    gate.opened.set()
    pump()
    model.catch_up()
    model.check()
    talk("And again")
    pump()
    model.catch_up()
    model.check()
    assert "The service is down." in model.around["#tail"]
    frame = model.frames[-1]
    assert len(frame.html) < 12_000


def test_after_many_events_a_page_gets_the_whole(
    session: StoredSession, user: Any, ann: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading.news, "CATCH_UP", 3)
    model = Model(session, Viewer.of(user))
    for number in range(5):
        engine.dispatch_event(session, "w-dropped", {"name": f"p{number}"}, sender=ann)
    model.catch_up()
    assert any(part.swap == "innerMorph" for part in model.frames[-1].parts)
    model.check()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "say",
                "drop",
                "drop",
                "shuffle",
                "shuffle",
                "stop",
                "work",
                "answer",
                "skip",
                "fail",
                "look",
                "look",
                "late",
            ]
        ),
        st.integers(0, 50),
    ),
    max_size=25,
)


@given(STEPS)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_whatever_happens_pushes_lead_to_the_page(
    user: Any, ann: Sender, pump: Pump, steps: list[tuple[str, int]]
) -> None:
    gate.opened.set()
    wanted = calls(("decide", {"question": "Go?"}), ("fetch_parcel", {"name": "Soap"}), ("crash", {}))
    answers = [ModelResponse(parts=(TextPart(text="An *answer*"),)), wanted]
    brain.model = ScriptedModel(lambda request: answers[len(request.messages) % 2])
    session = engine.create_session(ShowAgent.name, {"city": "Oslo"}, user=user)
    model = Model(session, Viewer.of(user))
    for step, number in steps:
        with suppress(EventRejected):
            take_step(session, ann, pump, model, step, number)
    model.catch_up()
    model.check()


def take_step(session: StoredSession, ann: Sender, pump: Pump, model: Model, step: str, number: int) -> None:
    def send(event: str, item_id: str = "", **payload: Any) -> None:
        engine.dispatch_event(session, event, payload, sender=ann, item_id=item_id)

    def send_to_questions(event: str) -> None:
        for item in StoredItem.objects.filter(session=session, render_status="pending", closed="", type="w-decision"):
            send(event, item.item_id)

    steps: dict[str, Callable[[], None]] = {
        "say": lambda: send("@platform/user-message", text=f"Message {number}"),
        "drop": lambda: send("w-dropped", name="broken" if number % 3 == 0 else f"parcel {number}"),
        "shuffle": lambda: send("w-shuffled", by=number),
        "stop": lambda: send("@platform/stop"),
        "work": pump,
        "answer": lambda: send_to_questions("w-approved"),
        "skip": lambda: send_to_questions("@platform/skip"),
        "fail": lambda: send("w-unhandled"),
        "look": model.catch_up,
        "late": lambda: model.take(model.frames[number % len(model.frames)]),
    }
    steps[step]()
