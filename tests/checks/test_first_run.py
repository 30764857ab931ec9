"""What neither types nor checks can see is a clear error in the first test with the harness, and in development."""

from pathlib import Path
from typing import Any

import pytest

from sessions_app import guards
from sessions_app.core.event_log import Incoming
from sessions_app.core.events import Sender
from sessions_app.core.platform import ToolError
from sessions_app.core.reducer import reduce_event
from sessions_app.testing import AgentHarness, tool_calls
from tests.checks.planting import planted

AGENT = """
class Counted(AgentState):
    words: list[str] = []
    text: str = ""

class Go(SessionEvent, type="{name}-go"):
    pass

class Done(SessionEvent, type="{name}-done", private=True):
    pass

class Stray(SessionEvent, type="{name}-stray", private=True):
    pass

class Card(ContextItem, type="{name}-card"):
    def render(self):
        {render}

class Work(SessionEffect[Done], type="{name}-work"):
    async def run(self, context):
        {run}

class Look(Tool, name="{name}_look"):
    "Look."

    async def execute(self, context):
        {execute}

def titled(text):
    return EventResult([set_title(str(text))])

class Planted(Agent[Counted, Go | Done], name="{name}"):
    system_prompt = "Go."
    model = ScriptedModel([])
    tools = (Look,)

    def handle_event(self, state, event):
        {handle}
"""
GOOD = {
    "render": 'return RenderResult.ready(Message.user("Here."))',
    "run": "return Done()",
    "execute": "return ToolResult([Card()])",
    "handle": "return EventResult(effects=[Work()] if isinstance(event, Go) else [])",
}

SWALLOWED = """
        try:
            time.time()
        except Exception:
            pass
        return EventResult()"""

# What a handler may not do, and what is said of it.
IMPURE = {
    "clock": ("return titled(time.time())", "the clock"),
    "today": ("return titled(dt.date.today())", "the clock"),
    "now": ("return titled(dt.datetime.now(dt.UTC).year)", "the clock"),
    "sleep": ("time.sleep(0); return EventResult()", "the clock"),
    "chance": ("return titled(random.random() < 2)", "chance"),
    "choice": ('return titled(random.choice("aaa"))', "chance"),
    "uuid": ("return titled(uuid.uuid4())", "chance"),
    "file": ('return titled(Path("/etc/hostname").exists() and open("/etc/hostname").read())', "a file"),
    "written": ('open("/tmp/never-made", "w"); return EventResult()', "a file"),
    "socket": ('socket.create_connection(("127.0.0.1", 9)); return EventResult()', "the network"),
    "host_name": ('socket.getaddrinfo("localhost", 80); return EventResult()', "the network"),
    "program": ('import subprocess; subprocess.run(["true"]); return EventResult()', "another program"),
    "orm": ("from django.contrib.auth.models import User; return titled(User.objects.count())", "the database"),
    "in_render": ("return EventResult([add_context_item(Card())])", "the clock"),
    "swallowed": (SWALLOWED, "the clock"),
}
RENDERS = {"in_render": "return RenderResult.ready(Message.user(str(time.time())))"}

WRONG = {
    "memory": ("Planted.seen = getattr(Planted, 'seen', 0) + 1; return titled(Planted.seen)", "is not pure"),
    "nothing": ("pass", "must return an EventResult, not NoneType"),
    "state_itself": ("return state.agent_state", "must return an EventResult, not Counted"),
    "item_result": ("return ItemResult(Card())", "must return an EventResult, not ItemResult"),
    "no_update": ('return EventResult(["title"])', "str is no update"),
    "other_state": ("return EventResult([set_agent_state(AgentState())])", "takes a Counted, not AgentState"),
    "wrong_field": ("return EventResult([set_agent_state(state.agent_state.evolve(txt='x'))])", "txt"),
    "wrong_type": ("return EventResult([set_agent_state(state.agent_state.evolve(text=3))])", "valid string"),
    "assigned": ("state.agent_state.text = 'x'; return EventResult()", "frozen"),
    "in_place": ("state.agent_state.words.append('x'); return EventResult()", "changed Counted in place"),
    "unknown_item": ("return EventResult([delete_context_item('9_9')])", 'There is no item "9_9"'),
    "raises": ("return EventResult([state.nothing])", "has no attribute 'nothing'"),
}


def source(name: str, **written: str) -> str:
    text = AGENT.replace("{name}_look", "look").replace("{name}", type_of(name))
    for part, code in (GOOD | written).items():
        text = text.replace(f"{{{part}}}", code)
    return text


def type_of(name: str) -> str:
    """How the types of a planted module begin."""
    return f"first-{name}".replace("_", "-")


def go(module: Any, model: Any = ()) -> AgentHarness:
    session = AgentHarness(module.Planted, model=list(model))
    session.dispatch(module.Go())
    return session


def test_nothing_is_said_of_a_good_agent(tmp_path: Path) -> None:
    with planted(tmp_path, "first_good", source("good")) as module:
        session = go(module)
        session.run_all()
        assert [transition.status for transition in session.log] == ["applied"] * len(session.log)


@pytest.mark.django_db
@pytest.mark.parametrize("name", IMPURE)
def test_an_impure_handler_fails_its_first_test(tmp_path: Path, name: str) -> None:
    handle, used = IMPURE[name]
    written = {"handle": handle, "render": RENDERS.get(name, GOOD["render"])}
    with planted(tmp_path, f"first_{name}", source(name, **written)) as module:
        with pytest.raises(AssertionError) as told:
            go(module)
        assert f"{type_of(name)}-go is not pure: it used {used}." in str(told.value)


@pytest.mark.django_db
@pytest.mark.parametrize("name", IMPURE)
def test_an_impure_handler_is_found_in_development(tmp_path: Path, settings: Any, name: str) -> None:
    settings.AGENTSITE = {**settings.AGENTSITE, "CHECK_PURITY": True}
    handle, used = IMPURE[name]
    written = {"handle": handle, "render": RENDERS.get(name, GOOD["render"])}
    with planted(tmp_path, f"dev_{name}", source(f"dev-{name}", **written)) as module:
        session = AgentHarness(module.Planted)
        incoming = Incoming(module.Go.type_name(), {}, time=session.now, sender=Sender("person", "1"))
        first, *_ = guards.guarded(lambda: reduce_event(session.agent, session.memory, incoming))
        assert first.status == "failed"
        assert f"A handler used {used}." in first.reason


@pytest.mark.parametrize("name", WRONG)
def test_a_handler_that_returns_what_it_should_not_fails_its_first_test(tmp_path: Path, name: str) -> None:
    handle, reason = WRONG[name]
    with planted(tmp_path, f"first_{name}", source(name, handle=handle)) as module:
        with pytest.raises(AssertionError) as told:
            go(module)
        assert reason in str(told.value)


@pytest.mark.parametrize(
    ("name", "run", "reason"),
    [
        ("stray", "await context.dispatch_event(Stray())", "Work sent Stray, but declares Done"),
        ("returned", "return Stray()", "Work sent Stray, but declares Done"),
        ("text", 'return "done"', "str"),
    ],
)
def test_an_effect_that_breaks_a_rule_fails_its_first_test(tmp_path: Path, name: str, run: str, reason: str) -> None:
    with planted(tmp_path, f"effect_{name}", source(f"effect-{name}", run=run)) as module:
        session = go(module)
        with pytest.raises(AssertionError) as told:
            session.run_all()
        assert reason in str(told.value)


@pytest.mark.parametrize(
    ("name", "execute", "reason"),
    [
        ("nothing", "pass", "returned NoneType, not a ToolResult"),
        ("items", "return ToolResult(['card'])", "returned str among its items"),
        ("stray", "return ToolResult(events=[Stray()])", "Stray"),
    ],
)
def test_a_tool_that_breaks_a_rule_fails_its_first_test(tmp_path: Path, name: str, execute: str, reason: str) -> None:
    with planted(tmp_path, f"tool_{name}", source(f"tool-{name}", execute=execute)) as module:
        session = AgentHarness(module.Planted, model=[tool_calls(module.Look()), "Looked."])
        session.say("Look.")
        with pytest.raises(AssertionError) as told:
            session.run_all()
        assert reason in str(told.value)


def test_what_the_world_does_to_a_tool_is_no_mistake(tmp_path: Path) -> None:
    with planted(tmp_path, "tool_offline", source("offline", execute="raise OSError('No network.')")) as module:
        session = AgentHarness(module.Planted, model=[tool_calls(module.Look()), "I could not look."])
        session.say("Look.")
        session.run_all()
        assert "No network." in session.item(ToolError).message


def test_a_mistake_can_be_kept_as_a_site_keeps_it(tmp_path: Path) -> None:
    with planted(tmp_path, "first_kept", source("kept", handle="pass")) as module:
        session = AgentHarness(module.Planted, mistakes="keep")
        assert session.dispatch(module.Go()).status == "failed"
