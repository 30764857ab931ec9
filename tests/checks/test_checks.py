"""Each mistake that `./run manage check` finds: its id, the class and line it names, and its remedy."""

from pathlib import Path

import pytest

from sessions_app.checks import faults_of
from sessions_app.checks.definitions import Definitions
from tests.checks.planting import line_of, planted

GOOD = """
class Ping(SessionEvent, type="{0}-ping"):
    pass

class Pong(SessionEvent, type="{0}-pong", private=True):
    pass

class Mail(ContextItemEvent, type="{0}-mail", private=True):
    pass

class Work(SessionEffect[Pong], type="{0}-work"):
    async def run(self, context):
        return Pong()

class Fetch(ContextItemEffect[Mail], type="{0}-fetch"):
    async def run(self, context):
        return Mail()

class Letter(ContextItem[Mail], type="{0}-letter"):
    text: str = ""

    def handle_event(self, event):
        return ItemResult(self)

    def render(self):
        return RenderResult.ready(Message.user(self.text))

class Send(Tool[Ping], name="{0}_send"):
    "Send it."

    async def execute(self, context):
        return ToolResult()

class Args(SessionArgs):
    city: str = ""

class State(AgentState):
    count: int = 0

class Guide(Agent[State, Ping | Pong], name="{0}-guide"):
    system_prompt = "Guide."
    model = ScriptedModel([])
    tools = (Send,)

    def create_session(self, args: Args):
        return SessionResult(State())

    def handle_event(self, state, event):
        return EventResult()
"""

AGAIN = 'class Again(Agent, name="{0}-guide"):\n    system_prompt, model = "x", ScriptedModel([])'
BEGIN = "    def create_session(self, args: Args):\n        return SessionResult(State())\n"

# Each row: the id, the class it is told of, what stands in a good module, what a mistake puts in its place, and words
# of the reason and the remedy.
MISTAKES = [
    ("E001", "Pong", 'type="{0}-pong"', 'type="{0}-ping"', "so has", "another type"),
    ("E002", "Guide", "class Guide(", f"{AGAIN}\n\nclass Guide(", "so has", "another"),
    ("E003", "Guide", ', name="{0}-guide"', "", "has no name", 'name="…"'),
    ("E003", "Letter", ', type="{0}-letter"', "", "has no type", 'type="…"'),
    ("E003", "Send", ', name="{0}_send"', "", "has no name", 'name="…"'),
    ("E004", "Work", "State, Ping | Pong", "State, Ping", "sends Pong", "between the brackets of the agent"),
    ("E004", "Fetch", "ContextItem[Mail]", "ContextItem", "sends Mail", "between the brackets of the item"),
    ("E005", "Fetch", "ContextItemEffect[Mail]", "ContextItemEffect[Pong]", "no ContextItemEvent", "another event"),
    ("E006", "Guide", "State, Ping | Pong", "State, Pong", "sends Ping", "Agent[…, Ping]"),
    ("E007", "Letter", "def render", "def rendr", "has no render", "def render(self)"),
    ("E007", "Send", "async def execute", "async def run", "has no execute", "async def execute(self, context)"),
    ("E007", "Work", "async def run", "async def start", "has no run", "async def run(self, context)"),
    ("E007", "Guide", "handle_event(self, state", "handle(self, state", "has no handle_event", "(self, state, event)"),
    ("E007", "Letter", "handle_event(self, event", "handle(self, event", "has no handle_event", "(self, event)"),
    ("E008", "Send", "async def execute", "def execute", "is not async", "async def execute"),
    ("E008", "Work", "async def run", "def run", "is not async", "async def run"),
    ("E009", "Guide", "def handle_event(self, state", "async def handle_event(self, state", "never wait", "effect"),
    ("E009", "Letter", "def render", "async def render", "never wait", "effect"),
    ("E010", "Letter", 'text: str = ""', "text: Callable[[], str] = str", "JSON Schema", "made from Data"),
    ("E010", "Letter", 'text: str = ""', 'text: "Nowhere | None" = None', "JSON Schema", "made from Data"),
    ("E010", "Guide", "count: int = 0", "count: Callable[[], int] = int", "JSON Schema: State", "made from Data"),
    ("E011", "Guide", "model = ScriptedModel([])", "", "has no model", "get_model"),
    ("E011", "Guide", "model = ScriptedModel([])", 'model = "gpt"', "cannot answer", "default_model()"),
    ("E012", "Guide", "tools = (Send,)", "tools = Send", "as its tools", "tools = ("),
    ("E012", "Guide", "tools = (Send,)", "tools = [Send()]", "as its tools", "tools = ("),
    ("E013", "Guide", "tools = (Send,)", "tools = (Send, Send)", "2 tools of the name", "list it once"),
    (
        "E014",
        "Guide",
        "tools = (Send,)",
        "def get_tools(self, state): return [Send]",
        "`tools` is empty",
        "List in `tools`",
    ),
    ("E015", "Guide", '"{0}-guide"', '"{0}-" + "g" * 99', "characters", "100 characters at most"),
    ("E015", "Letter", '"{0}-letter"', '"{0}-" + "l" * 99', "characters", "100 characters at most"),
    ("E015", "Guide", '"{0}-guide"', '"{0}-guide", version="v" * 41', "41 characters", "40 characters at most"),
    ("E016", "Guide", BEGIN, "", "whose count has no default", "create_session"),
    ("E017", "Guide", 'system_prompt = "Guide."', 'system_prompt = ("Guide.",)', "has a tuple", "one string"),
    ("E018", "Guide", "args: Args", "args: dict", "no SessionArgs", "made from SessionArgs"),
    ("E018", "Guide", "args: Args", 'args: "Nowhere"', "cannot be read", "defines or imports"),
    ("E018", "Guide", "self, args: Args", "self", "takes no arguments", "create_session(self, args)"),
    ("E019", "Guide", "Agent[State,", "Agent[Args,", "no AgentState", "from AgentState"),
    (
        "W001",
        "Work",
        ", private=True):\n    pass\n\nclass Mail",
        "):\n    pass\n\nclass Mail",
        "is public",
        "private=True",
    ),
    ("W002", "Guide", 'system_prompt = "Guide."', "", "no system prompt", "get_system_prompt"),
]


def name_of(number: int) -> str:
    return f"checked_{number}"


def told(directory: Path, name: str, source: str) -> list[tuple[str, str, str, str]]:
    """Return id, place, reason and remedy of whatever is wrong with a module."""
    with planted(directory, name, source) as module:
        definitions = Definitions.where(lambda cls: cls.__module__ == module.__name__)
        return [(str(each.id), str(each.obj), each.msg, each.hint or "") for each in faults_of(definitions)]


def test_nothing_is_said_of_a_good_module(tmp_path: Path) -> None:
    assert told(tmp_path, "checked_good", GOOD.replace("{0}", "good")) == []


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_a_mistake_is_told_with_class_place_reason_and_remedy(tmp_path: Path, number: int) -> None:
    code, cls, right, wrong, reason, remedy = MISTAKES[number]
    name = name_of(number)
    source = GOOD
    assert right in source
    if code == "E016":
        source = source.replace("count: int = 0", "count: int")
    source = source.replace(right, wrong, 1).replace("{0}", name)
    faults = told(tmp_path, name, source)
    assert [fault[0] for fault in faults] == [f"sessions_app.{code}"], faults
    ((_, place, said, hint),) = faults
    file = tmp_path / f"{name}.py"
    assert place == f"{file}:{line_of(file, f'class {cls}(')}"
    assert said.startswith(f"{cls} ")
    assert reason in said
    assert remedy in hint
