"""Where pages listen."""

from typing import Any

from django.urls import path

from sessions_app.consumers import SessionConsumer

# Channels' own type for an ASGI application and Django's for a view do not meet.
_listen: Any = SessionConsumer.as_asgi()

websocket_urlpatterns = [path("ws/s/<str:key>/", _listen)]
