"""What a page is told about what it sent.

With htmx it is a frame: the same parts a push brings, so that the page shows the result also while its socket is down.
Without it, a redirect to the page, or the whole page with what was wrong and everything that was typed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import escape, format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from sessions_app import reading
from sessions_app.core.errors import EventRejected
from sessions_app.core.platform import Approval
from sessions_app.forms import adjust_rows
from sessions_app.forms.labels import message_in_words
from sessions_app.fragments import Frame, Kept, Part, SessionPage, Viewer
from sessions_app.fragments.asking import EventForm, event_words, new_key
from sessions_app.fragments.wording import as_words
from sessions_app.models import StoredSession
from sessions_app.templatetags.agentsite import moment
from sessions_app.views.pages import STATUS_OF, draw_page, frame_response, frame_since, session_or_404
from sessions_app.views.posting import Posting, dispatch, read_posting

RETRY_AFTER_SECONDS = "2"
DECISIONS = frozenset(event.type_name() for event in Approval.event_types())
KEY_TAKEN = "Another event was sent with this key before."
"""How the engine begins its refusal of a key that is used up, as a page out of a browser's cache may send it."""


@require_POST
def send_event(request: HttpRequest, key: str) -> HttpResponse:
    """Send the event a form asks for."""
    session = session_or_404(request, key)
    try:
        posting = read_posting(request, session)
        adjusted = adjust_rows(request.POST)
        if adjusted is not None and (form := posting.form(posted=adjusted)):
            return show_form_again(posting, form, 200)
        if posting.unreadable:
            raise EventRejected("invalid", _("Some of this cannot be read."), errors=posting.unreadable)
        receipt = dispatch(posting)
    except EventRejected as rejection:
        return refused(request, session, rejection)
    return accepted(posting, receipt.seq)


def accepted(posting: Posting, seq: int) -> HttpResponse:
    """Show the page with the event in it."""
    if not posting.by_htmx:
        return HttpResponseRedirect(f"{reverse('session', args=[posting.session.key.hex])}#latest", status=303)
    parts = []
    if posting.is_message:
        parts = [_composer_key(new_key())]
    return _news(posting, parts, seq)


def _composer_key(key: str) -> Part:
    return Part("#composer-key", "outerHTML", render_to_string("sessions/fragments/composer_key.html", {"key": key}))


def _news(posting: Posting, parts: Sequence[Part], seq: int = 0, status: int = 200) -> HttpResponse:
    """Return what is new since the event the page has; a page whose socket is open gets that from its socket.

    Two sources for one page would make either of them guess what the other one has sent.
    """
    headers = posting.request.headers
    if headers.get("X-Agentsite-Live"):
        return frame_response(Frame(seq, parts), status)
    frame = frame_since(_again(posting), posting.viewer, headers.get("X-Agentsite-Seen", ""))
    return frame_response(Frame(frame.seq, [*frame.parts, *parts]), status)


def _again(posting: Posting) -> StoredSession:
    """The session as it is now."""
    return reading.find_session(posting.request.user.pk, posting.session.key) or posting.session


def refused(request: HttpRequest, session: StoredSession, rejection: EventRejected) -> HttpResponse:
    """Say why an event was refused, where it was sent from, with everything that was typed."""
    posting = read_posting_again(request, session)
    if rejection.message.startswith(KEY_TAKEN):
        rejection = EventRejected("invalid", _("This was not sent. Try again."))
        posting = with_new_key(posting)
    status = STATUS_OF[rejection.code]
    form = posting.form(rejection.errors or (((), rejection.message),))
    if rejection.code == "conflict" and posting.item is not None and form is not None:
        response = show_answered(posting, rejection)
    elif rejection.code == "invalid" and form is not None and not form.is_button:
        response = show_form_again(posting, form, status)
    else:
        response = show_message(posting, _first_words(rejection), status)
    if rejection.code == "busy":
        response["Retry-After"] = RETRY_AFTER_SECONDS
    return response


def read_posting_again(request: HttpRequest, session: StoredSession) -> Posting:
    """Return what was posted, or a posting that names nothing."""
    try:
        return read_posting(request, session)
    except EventRejected:
        return Posting(request, session, request.POST, "", "", None, None)


def with_new_key(posting: Posting) -> Posting:
    """Return what was posted, to be sent again as something new."""
    data = posting.data.copy()
    data["_key"] = new_key()
    return replace(posting, data=data)


def _first_words(rejection: EventRejected) -> str:
    return message_in_words(rejection.errors[0][1]) if rejection.errors else rejection.message


def show_form_again(posting: Posting, form: EventForm, status: int) -> HttpResponse:
    """Show a form with what was typed and what is wrong with it."""
    if posting.by_htmx:
        page = SessionPage(reading.Transcript(posting.session, reading.Open()), posting.viewer)
        context = {"form": form, "page": page}
        response = HttpResponse(render_to_string("sessions/fragments/event_form.html", context), status=status)
        response["HX-Reswap"] = "outerHTML"
        response["HX-Retarget"] = f"[id='{form.id}']"
        return response
    page = _page(posting, asked={form.id: form})
    return draw_page(posting.request, page, status)


def show_answered(posting: Posting, rejection: EventRejected) -> HttpResponse:
    """Say who was first and with what, and keep what this person typed."""
    kept = Kept(posting.item_id, _who_was_first(posting.viewer, rejection), posting.typed, _what(rejection))
    if not posting.by_htmx:
        return draw_page(posting.request, _page(posting, kept=kept), 409)
    note = render_to_string("sessions/fragments/kept.html", {"kept": kept})
    return _news(posting, [Part(f"#kept-{posting.item_id}", "innerHTML", note)], status=409)


def _who_was_first(viewer: Viewer, rejection: EventRejected) -> str:
    details = rejection.details
    if not details.get("when"):
        return rejection.message
    who = str(details.get("who") or _("Somebody else"))
    if who == viewer.name:
        who = _("You")
    return format_html(_("{who} answered this at {time}."), who=who, time=moment(details["when"]))


def _what(rejection: EventRejected) -> str:
    """Return what was answered first; a decision about a call by the name of its button and what was typed."""
    what, event_type = rejection.details.get("what"), str(rejection.details.get("type", ""))
    if not isinstance(what, dict):
        return ""
    if event_type not in DECISIONS:
        return "; ".join(as_words(value) for value in what.values())
    typed = [as_words(value) for name, value in what.items() if value and name != "digest"]
    return "; ".join([event_words(event_type), *typed])


def show_message(posting: Posting, message: str, status: int) -> HttpResponse:
    """Say it beside the form it was sent from. What was typed stays where it is."""
    if posting.by_htmx:
        key = _composer_key(posting.data.get("_key", "")) if posting.is_message else ""
        response = HttpResponse(f"{escape(message)}{key}", status=status)
        response["HX-Reswap"] = "innerHTML"
        response["HX-Retarget"] = "find .form-error"
        return response
    typed = posting.data.get("text", "") if posting.is_message else ""
    return draw_page(posting.request, _page(posting, typed=typed, typed_error=message), status)


def _page(posting: Posting, **extra: Any) -> SessionPage:
    return SessionPage(reading.read_transcript(_again(posting)), posting.viewer, **extra)
