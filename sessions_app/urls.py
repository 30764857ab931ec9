"""Addresses of the pages. Those that answer with a fragment are no pages, so a cache never mixes the two up."""

from django.urls import path

from sessions_app.views import pages
from sessions_app.views.answering import send_event

urlpatterns = [
    path("", pages.catalogue, name="catalogue"),
    path("a/<str:name>/", pages.agent_page, name="agent"),
    path("sessions/", pages.session_list, name="sessions"),
    path("s/<str:key>/", pages.session_page, name="session"),
    path("s/<str:key>/events/", send_event, name="session-events"),
    path("s/<str:key>/live/", pages.live_frame, name="session-live"),
    path("s/<str:key>/earlier/", pages.earlier, name="session-earlier"),
    path("appearance/", pages.appearance, name="appearance"),
]
