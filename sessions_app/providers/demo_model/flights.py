"""The travel example: search, report, ask which one, note the choice."""

from __future__ import annotations

from collections.abc import Sequence

from .conversation import Call, Conversation, Outcome, Reply
from .reading import (
    Option,
    cheapest,
    chosen,
    declines,
    destinations,
    options,
    places,
    reason,
    speaks_of_flights,
    wants_again,
)

FIND = "find_flights"
ASK = "ask_user"
WHICH = "Which one shall I book?"
WHERE = "Which city shall I look for?"
EXAMPLE = "“Find flights to Tokyo”"
NOTHING_BOOKED = "Nothing was booked: this is a demonstration."
_SHORT = 8  # words; a longer message that holds a number is about something else


def search(conversation: Conversation) -> Reply | None:
    """“Find flights to Tokyo and Paris”: one search for each place."""
    wanted = destinations(conversation.said) if _is_about_flights(conversation) else []
    return _search(wanted) if wanted else None


def search_again(conversation: Conversation) -> Reply | None:
    """“Try again”: the searches that failed last, or else the last ones."""
    if FIND not in conversation.offered or not wants_again(conversation.said):
        return None
    rounds = (_searches(outcomes) for outcomes in (conversation.arrived, *conversation.earlier))
    last = next((searches for searches in rounds if searches), [])
    failed = [outcome for outcome in last if outcome.is_error]
    again = [outcome.argument("destination") for outcome in failed or last]
    return _search(again) if again else None


def choose(conversation: Conversation) -> Reply | None:
    """“The second one”, written as a message: the choice among the flights found before."""
    short = len(conversation.said.split()) <= _SHORT
    return _choice(conversation.said, conversation) if short and _matches(conversation.said, conversation) else None


def ask_where(conversation: Conversation) -> Reply | None:
    """“I want to fly”: the place is missing."""
    if not _is_about_flights(conversation):
        return None
    if ASK in conversation.offered:
        return ask(conversation, "I can look for flights.", WHERE)
    return Reply(f"I can look for flights. Write the city too, for example {EXAMPLE}.")


def report(conversation: Conversation, searches: Sequence[Outcome]) -> Reply:
    """The results of searches: what was found, what failed, and the question which flight to take."""
    text = "\n\n".join(_failure(outcome) if outcome.is_error else _summary(outcome) for outcome in searches)
    found = any(not outcome.is_error and not _is_empty(outcome.text) for outcome in searches)
    return ask(conversation, text, WHICH) if found else Reply(text)


def take_answer(conversation: Conversation, answer: Outcome) -> Reply | None:
    """The answer to one of this example's questions."""
    question = answer.argument("question")
    if question not in (WHICH, WHERE):
        return None
    if answer.is_error:
        return Reply(f"Noted: there is no answer. {NOTHING_BOOKED}")
    if question == WHICH:
        return _choice(answer.text, conversation)
    wanted = destinations(answer.text) or places(answer.text)
    return _search(wanted) if wanted else Reply(f"I found no city in “{answer.text}”. {NOTHING_BOOKED}")


def ask(conversation: Conversation, text: str, question: str) -> Reply:
    """Return a reply that asks with the tool where it is offered, else in its text."""
    if ASK in conversation.offered:
        return Reply(text, (Call(ASK, {"question": question}),))
    return Reply(f"{text}\n\n{question}")


def _is_about_flights(conversation: Conversation) -> bool:
    return FIND in conversation.offered and speaks_of_flights(conversation.said)


def _search(wanted: Sequence[str]) -> Reply:
    calls = tuple(Call(FIND, {"destination": place}) for place in wanted)
    return Reply(f"I will look for flights to {_listed(wanted)}.", calls)


def _summary(outcome: Outcome) -> str:
    listed = options(outcome.text)
    place = outcome.argument("destination")
    if not listed:
        again = f"\n\nTo search again, write for example {EXAMPLE}." if _is_empty(outcome.text) else ""
        return outcome.text + again
    lines = "\n".join(f"{option.number}. {option.text}" for option in listed)
    best = "".join(f"The cheapest is number {option.number}, at {option.price} EUR. " for option in cheapest(listed))
    count = "1 flight" if len(listed) == 1 else f"{len(listed)} flights"
    return f"I found {count} to {place}:\n\n{lines}\n\n{best}Airlines, times and prices are made up."


def _failure(outcome: Outcome) -> str:
    return (
        f"The search for flights to {outcome.argument('destination')} did not work: {reason(outcome.text)}. "
        "Nothing was booked. Write “try again” to search once more."
    )


def _choice(answer: str, conversation: Conversation) -> Reply:
    found = _matches(answer, conversation)
    match found:
        case [option]:
            return Reply(f"Noted: {option.text.rstrip('.')}. {NOTHING_BOOKED}")
        case [] if declines(answer):
            return Reply(f"Noted: none of them. {NOTHING_BOOKED}")
        case []:
            return Reply(
                f"Noted: “{answer}”. I found no such flight. {NOTHING_BOOKED} "
                "Write the number, the airline or the code of a flight to choose it."
            )
        case _:
            fitting = "; ".join(option.text for option in found)
            return Reply(f"“{answer}” fits {len(found)} flights: {fitting}. {NOTHING_BOOKED} Write the code of one.")


def _matches(answer: str, conversation: Conversation) -> list[Option]:
    """Return what the answer chooses from the newest searches that it fits at all."""
    for outcomes in (conversation.arrived, *conversation.earlier):
        listed = [option for outcome in _searches(outcomes) for option in options(outcome.text)]
        found = chosen(answer, listed)
        if found:
            return found
    return []


def _searches(outcomes: Sequence[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.tool == FIND]


def _is_empty(text: str) -> bool:
    return not text.strip() or text.lower().startswith("no ")


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
