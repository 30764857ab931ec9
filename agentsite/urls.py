from django.conf import settings
from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from agentsite import demo_login, health


@login_not_required
def no_icon(request: HttpRequest) -> HttpResponse:
    return HttpResponse(status=204)


urlpatterns = [
    path("admin/", admin.site.urls),
    path("accounts/login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("accounts/logout/", LogoutView.as_view(), name="logout"),
    # Pages carry their icon in themselves; Django's own, such as the admin, ask for this address.
    path("favicon.ico", no_icon),
    path("health/live/", health.live, name="health-live"),
    path("health/ready/", health.ready, name="health-ready"),
    path("", include("sessions_app.urls")),
]

if settings.DEBUG:
    urlpatterns.insert(0, path("accounts/demo/", demo_login.demo_login, name="demo-login"))
