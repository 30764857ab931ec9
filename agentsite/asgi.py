"""What the web server runs: pages over HTTP, live updates over a websocket and, in one-process mode, a worker."""

import os

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentsite.settings")

# Sets Django up: what imports models has to come after it.
django_application = get_asgi_application()

from django.conf import settings  # noqa: E402
from django.core.signals import request_finished  # noqa: E402
from django.db import connections  # noqa: E402

from agentsite import embedded  # noqa: E402
from sessions_app.routing import websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": django_application,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)

# A request has a thread of its own, so a connection that is kept longer would never be used again.
request_finished.connect(lambda **_: connections.close_all(), weak=False)

# Not in an AppConfig: `ready()` also runs in every management command and in the autoreloader's parent process.
if settings.AGENTSITE["EMBEDDED_WORKER"]:
    embedded.start()
