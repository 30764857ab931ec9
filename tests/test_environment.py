"""What environment variables turn into, and what a person reads when one is wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from agentsite.databases import POSTGRESQL_LIMITS
from agentsite.development_key import development_key
from agentsite.environment import Environment

ROOT = Path(__file__).resolve().parent.parent


def database(url: str) -> dict:
    return Environment({"DATABASE_URL": url}).database("DATABASE_URL", "", Path("/project"), pool_size=3)


@pytest.mark.parametrize(
    ("word", "value"), [("1", True), ("Yes", True), (" on ", True), ("0", False), ("False", False)]
)
def test_flags_are_read_in_the_usual_spellings(word, value):
    assert Environment({"X": word}).flag("X", default=not value) is value


def test_an_empty_variable_counts_as_unset():
    empty = Environment({"X": "  "})
    assert empty.flag("X", default=True) is True
    assert empty.integer("X", default=7, minimum=1) == 7
    assert empty.text("X", "default") == "default"
    assert empty.words("X", "a,b") == ["a", "b"]


def test_words_are_trimmed():
    assert Environment({"X": " a.example , ,b.example,"}).words("X") == ["a.example", "b.example"]


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda env: env.flag("X", default=False), "X is 'maybe', which is neither yes nor no. Set it to 1 or 0."),
        (lambda env: env.integer("X", default=1, minimum=0), "X is 'maybe'. Set it to a whole number."),
        (lambda env: env.seconds("X", default=1), "X is 'maybe'. Set it to seconds, such as 0.5."),
        (lambda env: env.choice("X", "A", ["A", "B"]), "X is 'MAYBE'. Set it to one of A, B."),
        (lambda env: env.required("Y", "Set it to something."), "Y is not set. Set it to something."),
    ],
)
def test_a_wrong_value_is_named_with_its_remedy(read, message):
    with pytest.raises(ImproperlyConfigured, match=f"^{message}$".replace("?", r"\?")):
        read(Environment({"X": "maybe"}))


@pytest.mark.parametrize("text", ["-1", "nan", "inf"])
def test_seconds_are_finite_and_not_negative(text):
    with pytest.raises(ImproperlyConfigured, match="zero or more"):
        Environment({"X": text}).seconds("X", default=1)


def test_a_number_below_the_minimum_is_refused():
    with pytest.raises(ImproperlyConfigured, match=r"X is 0\. Set it to 1 or more\."):
        Environment({"X": "0"}).integer("X", default=4, minimum=1)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///data/site.sqlite3", "/project/data/site.sqlite3"),
        ("sqlite:////var/lib/site.sqlite3", "/var/lib/site.sqlite3"),
        ("sqlite:///with%20space.sqlite3", "/project/with space.sqlite3"),
    ],
)
def test_a_relative_sqlite_path_starts_at_the_project(url, path):
    assert database(url)["NAME"] == path


def test_a_postgresql_url_is_taken_apart():
    parsed = database("postgresql://ann:p%40ss@db.example:6432/site?sslmode=require")
    assert {key: parsed[key] for key in ("NAME", "USER", "PASSWORD", "HOST", "PORT")} == {
        "NAME": "site",
        "USER": "ann",
        "PASSWORD": "p@ss",
        "HOST": "db.example",
        "PORT": "6432",
    }
    assert parsed["OPTIONS"]["sslmode"] == "require"
    assert parsed["OPTIONS"]["options"] == POSTGRESQL_LIMITS
    assert parsed["OPTIONS"]["pool"]["max_size"] == 3


def test_a_postgresql_url_may_name_a_socket_directory_and_further_options():
    parsed = database("postgres:///site?host=/run/postgresql&options=-c%20search_path=site")
    assert parsed["HOST"] == "/run/postgresql"
    assert parsed["OPTIONS"]["options"] == f"{POSTGRESQL_LIMITS} -c search_path=site"


@pytest.mark.parametrize(
    "url",
    [
        "mysql://ann:hunter2@db/site",
        "postgresql://ann:hunter2@db",
        "postgresql://ann:hunter2#@db:5432/site",
        "postgresql://ann:hunter2/@db:5432/site",
        "postgresql://ann:hunter2@[db/site",
        "sqlite://hunter2/site.sqlite3",
        "sqlite:///",
        "sqlite:///:memory:",
        "hunter2",
    ],
)
def test_a_database_url_that_cannot_be_used_is_refused_without_repeating_it(url):
    with pytest.raises(ImproperlyConfigured) as refusal:
        database(url)
    assert str(refusal.value).startswith("DATABASE_URL ")
    assert "postgresql://user:password@host:5432/name" in str(refusal.value)
    assert "hunter2" not in str(refusal.value)


def test_the_development_key_stays_and_is_private(tmp_path):
    path = tmp_path / "new" / "key"
    key = development_key(path)
    assert len(key) >= 50
    assert development_key(path) == key
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("variables", "missing"),
    [
        ({}, "AGENTSITE_SECRET_KEY is not set."),
        ({"AGENTSITE_SECRET_KEY": "x" * 50}, "AGENTSITE_ALLOWED_HOSTS is not set."),
    ],
)
def test_without_debug_mode_the_site_refuses_to_start_half_configured(variables, missing, tmp_path):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTSITE_", "DJANGO_"))}
    result = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env={**clean, "AGENTSITE_DATA_DIR": str(tmp_path), **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode != 0
    assert missing in result.stderr
