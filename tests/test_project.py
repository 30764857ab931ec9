"""What the project adds around the applications: sign-in, headers, health, vendored files."""

import hashlib

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.http import Http404
from django.test import RequestFactory
from django.urls import reverse

from agentsite.demo_login import demo_login, next_page
from agentsite.middleware import CONTENT_SECURITY_POLICY

VENDOR = settings.BASE_DIR / "static" / "vendor"


@pytest.fixture
def debug(settings):
    settings.DEBUG = True


def demo_request(path="/", **extra):
    request = RequestFactory().post("/accounts/demo/", {"next": path}, **extra)
    request.session = {}
    return request


def test_live_answers_without_a_sign_in_and_without_the_database(client):
    response = client.get("/health/live/")
    assert response.json() == {"status": "ok"}
    assert "no-store" in response["Cache-Control"]


@pytest.mark.django_db
@pytest.mark.database
def test_ready_asks_the_database(client):
    assert client.get("/health/ready/").json() == {"status": "ok", "database": "ok"}


@pytest.mark.parametrize("path", ["/health/live/", "/nowhere/", "/admin/login/"])
@pytest.mark.django_db
def test_every_response_forbids_inline_code_and_foreign_resources(client, path):
    response = client.get(path)
    assert response["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert response["Referrer-Policy"] == "same-origin"
    assert response["X-Frame-Options"] == "DENY"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "camera=()" in response["Permissions-Policy"]


@pytest.mark.django_db
def test_the_admin_works_under_the_policy(client):
    page = client.get("/admin/login/").content.decode()
    assert "style=" not in page
    assert "onclick=" not in page
    assert all("src=" in tag or 'type="application/json"' in tag for tag in page.split("<script")[1:])


def test_pages_ask_for_a_sign_in(client):
    response = client.get("/admin/")
    assert response.status_code == 302
    assert "/login/" in response["Location"]


@pytest.mark.django_db
def test_without_debug_mode_nobody_is_signed_in_with_one_click(client):
    assert client.post("/accounts/demo/").status_code == 404
    with pytest.raises(Http404):
        demo_login(demo_request())
    assert not User.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "elsewhere", [{"REMOTE_ADDR": "192.0.2.7"}, {"REMOTE_ADDR": ""}, {"headers": {"X-Forwarded-For": "127.0.0.1"}}]
)
def test_the_demo_user_is_for_this_machine_only(debug, elsewhere):
    with pytest.raises(Http404):
        demo_login(demo_request(**elsewhere))
    assert not User.objects.exists()


def test_signing_in_goes_on_to_pages_of_this_site_only():
    assert next_page(demo_request("/sessions/7/")) == "/sessions/7/"
    assert next_page(demo_request("https://evil.example/")) == "/"
    assert next_page(demo_request("//evil.example/")) == "/"


def test_sign_in_and_out_have_their_usual_names():
    assert reverse("login") == "/accounts/login/"
    assert reverse("logout") == "/accounts/logout/"


def test_vendored_files_are_what_was_downloaded():
    listed = dict(reversed(line.split()) for line in (VENDOR / "CHECKSUMS").read_text().splitlines())
    assert set(listed) == {path.name for path in VENDOR.iterdir()} - {"CHECKSUMS"}
    for name, checksum in listed.items():
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == checksum
