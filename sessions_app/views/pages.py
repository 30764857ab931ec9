"""The pages. Each reads through `reading` and draws through `fragments`; what changes a session is in `posting`."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from sessions_app import engine, reading
from sessions_app.core.errors import EventRejected, HandlerError
from sessions_app.core.status import Status
from sessions_app.forms import BoundForm, adjust_rows, bind, parse
from sessions_app.forms.submission import FieldError
from sessions_app.fragments import Frame, SessionPage, Viewer, changed_frame, earlier_frame, status_of, whole_frame
from sessions_app.fragments.agent_views import AgentView, agent_view, view_of_session_agent
from sessions_app.fragments.asking import new_key
from sessions_app.models import StoredSession
from sessions_app.registry import agents, get_agent

logger = logging.getLogger(__name__)

SHOWN_AT_MOST = reading.WINDOW_AT_MOST
FRAME_SEQ = "X-Agentsite-Seq"
THEMES = ("auto", "light", "dark")
YEAR = 365 * 24 * 3600
STATUS_OF = {"invalid": 422, "forbidden": 403, "not_found": 404, "conflict": 409, "too_large": 413, "busy": 503}

fresh = cache_control(private=True, no_cache=True)


@require_safe
@fresh
def catalogue(request: HttpRequest) -> HttpResponse:
    """Show the agents a person can start."""
    counts = reading.count_by_agent(request.user.pk)
    found = [(agent_view(agent), counts.get(agent.name, 0)) for agent in agents()]
    return render(request, "sessions/catalogue.html", {"section": "agents", "agents": found, "key": new_key()})


@require_http_methods(["GET", "HEAD", "POST"])
@fresh
def agent_page(request: HttpRequest, name: str) -> HttpResponse:
    """Show an agent with the form that starts a session, and start one."""
    try:
        agent = get_agent(name)
    except LookupError:
        raise Http404 from None
    if request.method != "POST":
        return _start_form(request, agent)
    if adjusted := adjust_rows(request.POST):
        return _start_form(request, agent, bind(agent.args_type(), prefix="start", posted=adjusted))
    return _start(request, agent)


def _start(request: HttpRequest, agent: Any) -> HttpResponse:
    submission = parse(agent.args_type(), request.POST)
    errors: tuple[FieldError, ...] = submission.errors
    status = 422
    if not errors:
        try:
            session = engine.create_session(
                agent.name, submission.values, user=request.user, key=request.POST.get("_key") or None
            )
            return _see(session)
        except EventRejected as rejection:
            errors = rejection.errors or (((), rejection.message),)
            status = STATUS_OF[rejection.code]
        except HandlerError:
            logger.exception("an agent could not start a session", extra={"agent": agent.name})
            errors = (((), _("This agent could not start. The fault is in its code; its author finds it in the log.")),)
            status = 500
    form = bind(agent.args_type(), prefix="start", posted=request.POST, errors=errors)
    return _start_form(request, agent, form, status)


def _start_form(request: HttpRequest, agent: Any, form: BoundForm | None = None, status: int = 200) -> HttpResponse:
    context = {
        "section": "agents",
        "agent": agent_view(agent),
        "form": form or bind(agent.args_type(), prefix="start"),
        "key": request.POST.get("_key") or new_key(),
    }
    return render(request, "sessions/agent.html", context, status=status)


def _see(session: StoredSession) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("session", args=[session.key.hex]), status=303)


@dataclass(frozen=True)
class Row:
    """A session in the list."""

    key: str
    title: str
    agent: AgentView
    status: Status
    updated: datetime


@require_safe
@fresh
def session_list(request: HttpRequest) -> HttpResponse:
    """Show a person's sessions; those that wait for the person come first."""
    name = request.GET.get("agent", "")
    rows = list(_rows(reading.list_sessions(request.user.pk, name)))
    asking = sum(row.status.kind == "needs-person" for row in rows)
    context = {
        "section": "sessions",
        "rows": sorted(rows, key=lambda row: row.status.kind != "needs-person"),
        "asking": asking,
        "more": len(rows) == reading.LIST_SIZE,
        "agent_name": name,
        "agent_title": next((row.agent.title for row in rows), name),
    }
    return render(request, "sessions/list.html", context)


def _rows(found: Iterable[tuple[StoredSession, reading.Open]]) -> Iterable[Row]:
    for session, open in found:
        agent = view_of_session_agent(session)
        title = session.title or agent.title
        yield Row(session.key.hex, title, agent, status_of(session, open), session.updated_at)


def session_or_404(request: HttpRequest, key: str) -> StoredSession:
    """Return one of the person's own sessions. Any other is not there, whoever owns it."""
    session = reading.find_session(request.user.pk, key)
    if session is None:
        raise Http404
    return session


@require_safe
@fresh
def session_page(request: HttpRequest, key: str) -> HttpResponse:
    """Show a session as it is now."""
    session = session_or_404(request, key)
    transcript = reading.read_transcript(session, _shown(request))
    return draw_page(request, SessionPage(transcript, Viewer.of(request.user)))


def _shown(request: HttpRequest) -> int:
    text = request.GET.get("show", "")
    wanted = int(text) if text.isdecimal() and len(text) < len(str(SHOWN_AT_MOST)) + 1 else reading.WINDOW
    return max(reading.WINDOW, min(wanted, SHOWN_AT_MOST))


def draw_page(request: HttpRequest, page: SessionPage, status: int = 200) -> HttpResponse:
    """Return the whole page of a session."""
    return render(request, "sessions/live.html", {"page": page}, status=status)


@require_safe
@fresh
def live_frame(request: HttpRequest, key: str) -> HttpResponse:
    """Return what changed since the event the page has, for a page whose socket is down."""
    session = session_or_404(request, key)
    return frame_response(frame_since(session, Viewer.of(request.user), request.GET.get("since", "")))


def frame_since(session: StoredSession, viewer: Viewer, since: str, first: str = "") -> Frame:
    """Return what a page at event `since` lacks; everything, where it does not say."""
    if since.isdecimal() and len(since) < 19:
        busy = {effect.owner_item for effect in reading.open_effects([session.pk])}
        return changed_frame(session, viewer, int(since), busy)
    return whole_frame(session, viewer, first)


def frame_response(frame: Frame, status: int = 200) -> HttpResponse:
    """Return a frame as htmx takes it in. The header lets the page ignore one that is older than itself."""
    return HttpResponse(frame.html, status=status, headers={FRAME_SEQ: str(frame.seq)})


@require_safe
@fresh
def earlier(request: HttpRequest, key: str) -> HttpResponse:
    """Return the entries before the first one a page shows."""
    session = session_or_404(request, key)
    return HttpResponse(earlier_frame(session, Viewer.of(request.user), request.GET.get("before", "")).html)


@require_POST
def appearance(request: HttpRequest) -> HttpResponse:
    """Remember whether a person wants the light or the dark look, in a cookie, so that the first paint is right."""
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    response = HttpResponseRedirect(target if safe else resolve_url("catalogue"), status=303)
    theme = request.POST.get("theme", "")
    if theme in THEMES:
        response.set_cookie(
            "agentsite_theme", theme, max_age=YEAR, samesite="Lax", secure=request.is_secure(), httponly=True
        )
    return response
