"""create_session, dispatch_event, show_session, replay_session."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from sessions_app import engine
from sessions_app.core.events import Sender
from sessions_app.models import StoredEvent, StoredItem, StoredSession
from tests.commands.conftest import AGENT, run

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

TEA = '{"about":"tea"}'
MESSAGE = "@platform/user-message"


def no_traceback(*errors: str) -> bool:
    return not any("Traceback" in error or 'File "' in error for error in errors)


# --- create_session


def test_create_session_prints_the_key(user: Any) -> None:
    shell = run("create_session", AGENT, "--user", "ann", "--args", TEA)
    session = StoredSession.objects.get()
    assert (shell.code, shell.out, shell.error) == (0, f"{session.key.hex}\n", "")
    assert session.owner == user


def test_create_session_as_json_and_with_a_key(user: Any) -> None:
    first, again = (run("create_session", AGENT, "--user", "ann", "--args", TEA, "--key", "k", "--json") for _ in "12")
    key = StoredSession.objects.get().key.hex
    assert first.json == again.json == {"session": key, "agent": AGENT, "version": "1", "owner": "ann", "seq": 1}


def test_create_session_without_doing_it(user: Any) -> None:
    shell = run("create_session", AGENT, "--user", "ann", "--args", TEA, "--dry-run", "--json")
    assert (shell.code, shell.json["dry_run"], shell.json["seq"]) == (0, True, 1)
    assert "nothing was changed" in run("create_session", AGENT, "--user", "ann", "--args", TEA, "--dry-run").out
    assert not StoredSession.objects.exists()
    assert run("create_session", AGENT, "--user", "ann", "--dry-run").code == 1


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (["s-nobody", "--user", "ann"], 1, 'There is no agent "s-nobody" here.'),
        ([AGENT, "--user", "bob", "--args", TEA], 1, 'There is no user "bob".'),
        ([AGENT, "--user", "ann"], 1, "about: Field required."),
        ([AGENT, "--user", "ann", "--args", '{"about":"nothing"}'], 1, "There is nothing to write about."),
        ([AGENT, "--user", "ann", "--args", "tea"], 2, "not valid JSON"),
        ([AGENT, "--user", "ann", "--args", "[]"], 2, "a JSON object is wanted"),
        ([AGENT, "--user", "ann", "--args", "[" * 100_000], 2, "nested deeper"),
        ([AGENT, "--user", "ann", "--args", TEA, "--key", "k" * 65], 1, "A key has at most 64 characters"),
        ([AGENT], 2, "--user"),
    ],
)
def test_create_session_refuses(user: Any, words: list[str], code: int, error: str) -> None:
    shell = run("create_session", *words)
    assert (shell.code, shell.out) == (code, "")
    assert error in shell.error
    assert no_traceback(shell.error)
    assert not StoredSession.objects.exists()


# --- dispatch_event


def test_dispatch_event(diary: StoredSession) -> None:
    shell = run("dispatch_event", diary.key.hex, "s-noted", "--payload", '{"text":"green"}')
    assert (shell.code, shell.out) == (0, "Event 2 applied.\n")
    event = StoredEvent.objects.get(session=diary, seq=2)
    assert (event.sender_kind, event.sender_name, event.payload) == ("command", "the command line", '{"text":"green"}')


def test_dispatch_event_counts_once_with_a_key(diary: StoredSession) -> None:
    shells = [run("dispatch_event", diary.key, "s-noted", "--key", "k", "--json") for _ in "12"]
    sent = {"session": diary.key.hex, "seq": 2, "status": "applied", "repeated": False, "reason": ""}
    assert [shell.json for shell in shells] == [sent, sent | {"repeated": True}]
    other = run("dispatch_event", diary.key, "s-noted", "--key", "k", "--payload", '{"text":"other"}')
    assert (other.code, "Another event was sent with this key" in other.error) == (1, True)


def test_dispatch_event_without_doing_it(diary: StoredSession) -> None:
    shell = run("dispatch_event", diary.key.hex[:8], "s-noted", "--dry-run", "--json")
    assert (shell.code, shell.json["dry_run"], shell.json["status"]) == (0, True, "applied")
    assert diary.events.count() == 1
    assert run("dispatch_event", diary.key.hex[:8], "s-noted", "--dry-run", "--payload", '{"count":0}').code == 1
    diary.refresh_from_db()
    assert diary.seq == 1


def test_dispatch_event_to_an_item(diary: StoredSession) -> None:
    sender = Sender("person", str(diary.owner_id), "ann")
    engine.dispatch_event(diary, MESSAGE, {"text": "Which?"}, sender=sender)
    item = StoredItem.objects.get(session=diary, type=MESSAGE)
    shell = run("dispatch_event", diary.key.hex, "@platform/skip", "--item", item.item_id)
    assert (shell.code, shell.error) == (1, "CommandError: This is not waiting for anything.\n")
    shell = run("dispatch_event", diary.key.hex, "@platform/skip", "--item", "9_9")
    assert (shell.code, shell.error) == (1, "CommandError: There is no item 9_9 in this session.\n")


def test_dispatch_event_whose_handler_fails(diary: StoredSession) -> None:
    shell = run("dispatch_event", diary.key.hex, "s-burnt", "--json")
    assert (shell.code, shell.json["status"], shell.json["reason"]) == (1, "failed", "ValueError: The page burnt.")
    assert shell.error.endswith("CommandError: Handling it failed. ValueError: The page burnt.\n")


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (["KEY", "s-noted", "--payload", '{"count":0,"mood":1}'], 1, "count: "),
        (["KEY", "s-whispered"], 1, "can only be sent by the session's own work"),
        (["KEY", "s-unheard-of"], 1, 'This session takes no event "s-unheard-of".'),
        (["KEY", "s-noted", "--payload", '{"text":"' + "x" * 70_000 + '"}'], 1, "This is too long: 64 KB are allowed."),
        (["KEY", "s-noted", "--payload", "{"], 2, "not valid JSON"),
        (["12345", "s-noted"], 2, "the first 6 or more"),
        (["not-a-key", "s-noted"], 2, "names no session"),
        (["0" * 33, "s-noted"], 2, "names no session"),
        (["0" * 32, "s-noted"], 1, "There is no session whose key begins with 000"),
        (["KEY"], 2, "the following arguments are required: type"),
    ],
)
def test_dispatch_event_refuses(diary: StoredSession, words: list[str], code: int, error: str) -> None:
    shell = run("dispatch_event", *[diary.key.hex if word == "KEY" else word for word in words])
    assert (shell.code, shell.out) == (code, "")
    assert error in shell.error
    assert no_traceback(shell.error)
    assert diary.events.count() == 1


def test_the_beginning_of_a_key_must_be_one_sessions(user: Any) -> None:
    one, two = (engine.create_session(AGENT, {"about": "tea"}, user=user) for _ in range(2))
    StoredSession.objects.filter(pk=one.pk).update(key=UUID("abcdef01-" + "0" * 4 + "-4000-8000-" + "0" * 12))
    StoredSession.objects.filter(pk=two.pk).update(key=UUID("abcdef02-" + "f" * 4 + "-4fff-bfff-" + "f" * 12))
    assert "Several sessions have keys that begin with abcdef" in run("show_session", "abcdef").error
    assert run("show_session", "ABCDEF02", "--json").json["session"] == "abcdef02ffff4fffbfff" + "f" * 12
    assert run("show_session", "abcdef01-0000", "--json").json["session"] == "abcdef01000040008000" + "0" * 12


# --- show_session


def test_show_session(diary: StoredSession) -> None:
    run("dispatch_event", diary.key.hex, MESSAGE, "--payload", '{"text":"Which \\u001b[31mtea\\u009b?"}')
    shell = run("show_session", diary.key.hex[:6], "--json")
    view = shell.json
    assert (view["session"], view["agent"], view["owner"], view["seq"]) == (diary.key.hex, AGENT, "ann", 2)
    assert (view["status"]["kind"], view["state"]) == ("generating", {"about": "tea", "notes": []})
    assert [(item["id"], item["type"], item["status"], item["depth"]) for item in view["items"]] == [
        ("2_0", MESSAGE, "ready", 0),
        ("2_1", "@platform/assistant-message", "pending", 0),
    ]
    assert [(effect["type"], effect["item"], effect["status"]) for effect in view["effects"]] == [
        ("@platform/generate-response", "2_1", "pending")
    ]
    assert [event["sender"]["name"] for event in view["events"]] == ["ann", "the command line"]
    assert (view["earlier_items"], view["hidden_items"]) == (0, [])
    text = run("show_session", diary.key.hex).out
    for words in ("Status: Writing", "2_1  @platform/assistant-message  pending", "2  20", "by the command line"):
        assert words in text
    assert not {"\x1b", "\x9b"} & set(text + shell.out)  # nothing that steers a terminal


def test_show_session_shows_the_last_ones(diary: StoredSession) -> None:
    for number in range(5):
        run("dispatch_event", diary.key.hex, MESSAGE, "--payload", json.dumps({"text": f"tea {number}"}))
    view = run("show_session", diary.key.hex, "--last", 2, "--json").json
    assert (len(view["items"]), view["earlier_items"], [event["seq"] for event in view["events"]]) == (2, 4, [5, 6])
    assert "(4 earlier ones)" in run("show_session", diary.key.hex, "--last", 2).out


# --- replay_session


def test_replay_session(diary: StoredSession) -> None:
    run("dispatch_event", diary.key.hex, "s-noted")
    shell = run("replay_session", diary.key.hex)
    assert (shell.code, shell.error) == (0, "")
    assert shell.out.splitlines()[0] == f"{diary.key.hex}  the same, 2 events"
    assert run("replay_session", "--all").out == "Sessions: 1. Events: 2. Not the same: 0.\n"


def test_replay_session_finds_the_first_difference(diary: StoredSession, user: Any) -> None:
    same = engine.create_session(AGENT, {"about": "milk"}, user=user)
    gone = engine.create_session(AGENT, {"about": "rum"}, user=user)
    for _ in range(2):
        run("dispatch_event", diary.key.hex, "s-noted")
    StoredEvent.objects.filter(session=diary, seq__gt=1).update(delta="[]")
    StoredSession.objects.filter(pk=gone.pk).update(agent="s-gone")
    shell = run("replay_session", "--all", "--json")
    assert shell.code == 1
    assert shell.error.startswith(f"CommandError: {diary.key.hex}: event 2: delta: stored '[]'")
    found = {one["session"]: one for one in shell.json}
    assert [found[session.key.hex]["same"] for session in (diary, same, gone)] == [False, True, False]
    difference = found[diary.key.hex]["difference"]
    assert (difference["seq"], difference["what"], difference["stored"]) == (2, "delta", "[]")
    assert "s-gone" in found[gone.key.hex]["problem"]
    text = run("replay_session", "--all").out
    assert same.key.hex not in text
    assert text.endswith("Sessions: 3. Events: 5. Not the same: 2.\n")


def test_replay_session_needs_to_know_which(diary: StoredSession) -> None:
    assert run("replay_session").code == 2
    assert run("replay_session", "--all", diary.key.hex).code == 2
