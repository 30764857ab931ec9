"""All rules of the demo model. A new example is one rule more: a pure function from the conversation to a reply.

Each result is answered by the rule of its tool, and the user's text by the first message rule that has an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter

from . import expenses, explainer, flights, help_desk, meetings, notes, patients, two_speeds, weather
from .conversation import Call, Conversation, Outcome, Reply, joined

MessageRule = Callable[[Conversation], Reply | None]
ResultRule = Callable[[Conversation, Sequence[Outcome]], Reply]

WHAT = "What shall I remember?"
_HINTS = {
    "find_flights": f"look for flights: write {flights.EXAMPLE}",
    "pay_back": f"prepare a payment: write {expenses.EXAMPLE}",
    "take_note": f"keep notes: write {notes.EXAMPLE}",
    "suggest_time": f"find a time: write {meetings.EXAMPLE}",
    "get_weather": f"tell the weather: write {weather.EXAMPLE}",
    "ask_user": "ask you something: write “Ask me a question”",
}


def play(conversation: Conversation) -> Reply:
    """Return the demo model's answer."""
    by_tool = groupby(sorted(conversation.arrived, key=attrgetter("tool")), key=attrgetter("tool"))
    replies = [RESULT_RULES.get(tool, report_any)(conversation, list(outcomes)) for tool, outcomes in by_tool]
    if conversation.said:
        answers = (rule(conversation) for rule in MESSAGE_RULES)
        replies += [answer for answer in answers if answer is not None][:1]
    return joined(replies) if replies else introduce(conversation)


def ask_me(conversation: Conversation) -> Reply | None:
    """“Ask me a question”: a question of the model's own."""
    if "ask_user" not in conversation.offered or "ask me" not in conversation.said.lower():
        return None
    return Reply("Here is a question.", (Call("ask_user", {"question": WHAT}),))


def try_a_tool(conversation: Conversation) -> Reply | None:
    """An agent without an example of its own: use the first tool that can be used without knowing anything."""
    if not conversation.ready:
        return None
    tool = conversation.ready[0]
    return Reply(f"I will use {tool}.", (Call(tool),))


def take_answers(conversation: Conversation, answers: Sequence[Outcome]) -> Reply:
    """Answers to questions: the example that asked goes on, any other answer is repeated."""
    return joined([flights.take_answer(conversation, answer) or _repeat(answer) for answer in answers])


def report_any(conversation: Conversation, outcomes: Sequence[Outcome]) -> Reply:
    """Results of tools that no example uses."""
    results = "\n\n".join(f"{outcome.tool} returned: {outcome.text}" for outcome in outcomes)
    return Reply(f"{results}\n\nThe demo model ends here. A real model would go on: set ANTHROPIC_API_KEY and restart.")


def introduce(conversation: Conversation) -> Reply:
    """Anything else: who is speaking, what can be tried, and how to get a real model."""
    hints = [f"- {hint}" for tool, hint in _HINTS.items() if tool in conversation.offered]
    can = "With this agent it can:\n\n" + "\n".join(hints) if hints else "It has no example for this agent."
    return Reply(
        "This is the built-in demo model. It plays prepared examples and understands little else. "
        f"{can}\n\nTo talk to a real model, set ANTHROPIC_API_KEY and restart."
    )


def _repeat(answer: Outcome) -> Reply:
    return Reply("Noted: there is no answer." if answer.is_error else f"Noted: “{answer.text}”.")


MESSAGE_RULES: tuple[MessageRule, ...] = (
    flights.search,
    flights.search_again,
    flights.choose,
    flights.ask_where,
    expenses.pay,
    notes.answer,
    meetings.suggest,
    patients.answer,
    explainer.explain,
    two_speeds.answer,
    help_desk.answer,
    weather.look,
    weather.is_off,
    ask_me,
    try_a_tool,
)
RESULT_RULES: dict[str, ResultRule] = {
    "find_flights": flights.report,
    "pay_back": expenses.report,
    "take_note": notes.taken,
    "hide_note": notes.hidden,
    "suggest_time": meetings.suggested,
    "get_weather": weather.report,
    "ask_user": take_answers,
}
