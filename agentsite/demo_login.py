"""One-click sign-in for a developer trying Agentsite on their own machine. Routed only in debug mode."""

from ipaddress import ip_address

from django.conf import settings
from django.contrib.auth import get_user_model, login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

DEMO_USERNAME = "demo"
BACKEND = "django.contrib.auth.backends.ModelBackend"


@login_not_required
@require_POST
def demo_login(request: HttpRequest) -> HttpResponseRedirect:
    """Sign in as the local demo user, who may also look at the admin."""
    if not (settings.DEBUG and comes_from_this_machine(request)):
        raise Http404
    login(request, demo_user(), backend=BACKEND)
    return HttpResponseRedirect(next_page(request))


def comes_from_this_machine(request: HttpRequest) -> bool:
    # A tunnel or proxy on this machine connects from here too, but says so in a header.
    if "X-Forwarded-For" in request.headers or "Forwarded" in request.headers:
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def demo_user() -> User:
    user, created = get_user_model().objects.get_or_create(
        username=DEMO_USERNAME, defaults={"is_staff": True, "is_superuser": True}
    )
    if created:
        user.set_unusable_password()
        user.save(update_fields=["password"])
    return user


def next_page(request: HttpRequest) -> str:
    target = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return target if safe else resolve_url(settings.LOGIN_REDIRECT_URL)
