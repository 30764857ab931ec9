"""What the demo model plays, turn by turn."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from sessions_app.core.language_model import Completed, ToolSpecification
from sessions_app.core.messages import Message, TextPart
from sessions_app.providers import demo
from sessions_app.providers.demo_model.reading import Option, chosen, destinations, locations, options, places
from tests.providers.helpers import (
    ASK_USER,
    FIND_FLIGHTS,
    TOKYO,
    call,
    calls,
    calls_of,
    request,
    result,
    results,
    text_of,
)

PARIS = "1 flight to Paris:\n1. Driftline DQ 367, leaves 17:00, arrives 20:30, 1 stop, 191 EUR"
WHICH = "Which one shall I book?"
NOTHING_BOOKED = "Nothing was booked: this is a demonstration."


@dataclass
class Talk:
    """A conversation with the demo model. `said` is its last text, `asked` its last calls."""

    tools: Sequence[ToolSpecification] = (FIND_FLIGHTS, ASK_USER)
    messages: list[Message] = field(default_factory=list)
    said: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)
    _ids: list[str] = field(default_factory=list)

    async def say(self, text: str) -> None:
        await self._turn(Message.user(text))

    async def give(self, *texts: str, and_say: str = "") -> None:
        """Answer the last calls, in order; a text that begins with "!" is an error."""
        pairs = zip(self._ids, texts, strict=True)
        answers = [result(call_id, text.removeprefix("!"), text.startswith("!")) for call_id, text in pairs]
        more = [TextPart(text=and_say)] if and_say else []
        await self._turn(results(*answers, *more))

    async def _turn(self, message: Message) -> None:
        self.messages.append(message)
        response = await demo().generate_response(request(*self.messages, tools=self.tools))
        assert response.status == Completed()
        assert response.model == "demo model"
        made = calls_of(response)
        number = len(self.messages)
        self._ids = [f"{number}_0_{index}" for index in range(len(made))]
        numbered = [part.evolve(id=call_id) for part, call_id in zip(made, self._ids, strict=True)]
        self.said = text_of(response)
        self.asked = [(part.name, next(iter(json.loads(part.arguments).values()))) for part in made]
        self.messages.append(calls(TextPart(text=self.said), *numbered))


async def test_the_whole_example() -> None:
    talk = Talk()
    await talk.say("Find flights to Tokyo")
    assert (talk.said, talk.asked) == ("I will look for flights to Tokyo.", [("find_flights", "Tokyo")])
    await talk.give(TOKYO)
    assert "Gullwing GQ 368" in talk.said
    assert "The cheapest is number 1, at 604 EUR." in talk.said
    assert 40 <= len(talk.said.split()) <= 80
    assert talk.asked == [("ask_user", WHICH)]
    await talk.give("The second one")
    assert talk.said == (
        "Noted: Heron Air HQ 164, leaves 15:55, arrives 03:55 next day, no stop, 667 EUR. " + NOTHING_BOOKED
    )
    assert talk.asked == []


async def test_it_answers_alike_each_time() -> None:
    one, other = Talk(), Talk()
    for talk in (one, other):
        await talk.say("flights to Tokyo")
        await talk.give(TOKYO)
    assert one.messages == other.messages


async def test_two_places_are_searched_at_once() -> None:
    talk = Talk()
    await talk.say("Find flights to Tokyo and Paris")
    assert talk.asked == [("find_flights", "Tokyo"), ("find_flights", "Paris")]
    await talk.give(TOKYO, PARIS)
    assert talk.said.index("to Tokyo") < talk.said.index("I found 1 flight to Paris")
    assert talk.asked == [("ask_user", WHICH)]
    await talk.give("1")
    assert talk.said.startswith("“1” fits 2 flights: Gullwing")
    assert talk.said.endswith("Write the code of one.")
    await talk.say("DQ 367")
    assert talk.said.startswith("Noted: Driftline DQ 367")


@pytest.mark.parametrize(
    ("answer", "noted"),
    [
        ("1", "Gullwing GQ 368"),
        ("number 2 please", "Heron Air HQ 164"),
        ("two", "Heron Air HQ 164"),
        ("the last", "Heron Air HQ 164"),
        ("gq368", "Gullwing GQ 368"),
        ("I take HERON", "Heron Air HQ 164"),
        ("the cheapest", "Gullwing GQ 368"),
        ("2. Heron Air HQ 164, leaves 15:55, arrives 03:55 next day, no stop, 667 EUR", "Heron Air HQ 164"),
        ("neither", "none of them"),
        ("No, thank you", "none of them"),
        ("Lufthansa", "“Lufthansa”. I found no such flight."),
        ("7", "“7”. I found no such flight."),
        ("<b>1000</b>", "“<b>1000</b>”. I found no such flight."),
    ],
)
async def test_every_answer_is_noted_and_books_nothing(answer: str, noted: str) -> None:
    talk = Talk()
    await talk.say("fly to Tokyo next week")
    await talk.give(TOKYO)
    await talk.give(answer)
    assert talk.said.startswith(f"Noted: {noted}")
    assert NOTHING_BOOKED in talk.said
    assert talk.asked == []


async def test_a_question_that_nobody_answers() -> None:
    talk = Talk()
    await talk.say("fly to Tokyo")
    await talk.give(TOKYO)
    await talk.give("!The question was withdrawn.")
    assert talk.said == f"Noted: there is no answer. {NOTHING_BOOKED}"


async def test_without_a_way_to_ask_the_text_asks_and_a_message_answers() -> None:
    talk = Talk(tools=(FIND_FLIGHTS,))
    await talk.say("fly to Tokyo")
    await talk.give(TOKYO)
    assert talk.said.endswith(WHICH)
    assert talk.asked == []
    await talk.say("the second one")
    assert talk.said.startswith("Noted: Heron Air HQ 164")


async def test_a_failed_search_says_so_and_can_be_repeated() -> None:
    talk = Talk()
    await talk.say("fly to Tokyo")
    await talk.give("!The flight service did not answer.\nTraceback: 17")
    assert talk.said == (
        "The search for flights to Tokyo did not work: The flight service did not answer. "
        "Nothing was booked. Write “try again” to search once more."
    )
    assert talk.asked == []
    await talk.say("Try again, please")
    assert talk.asked == [("find_flights", "Tokyo")]


async def test_one_failure_does_not_hide_what_was_found() -> None:
    talk = Talk()
    await talk.say("flights to Paris, Tokyo")
    await talk.give(PARIS, "!The flight service did not answer.")
    assert "I found 1 flight to Paris" in talk.said
    assert "The search for flights to Tokyo did not work" in talk.said
    assert talk.asked == [("ask_user", WHICH)]
    await talk.give("1")
    await talk.say("try again")
    assert talk.asked == [("find_flights", "Tokyo")]  # only what failed


async def test_nothing_found_asks_nothing() -> None:
    talk = Talk()
    await talk.say("flights to Atlantis")
    await talk.give("No flights to Atlantis were found.")
    assert talk.said.startswith("No flights to Atlantis were found.")
    assert talk.asked == []


async def test_a_result_in_the_authors_own_words_is_passed_on() -> None:
    talk = Talk()
    await talk.say("flights to Oslo")
    await talk.give("SK 4035 at noon")
    assert talk.said == "SK 4035 at noon"
    assert talk.asked == [("ask_user", WHICH)]


async def test_a_flight_without_a_place_is_asked_for() -> None:
    talk = Talk()
    await talk.say("I want to fly somewhere")
    assert talk.asked == [("ask_user", "Which city shall I look for?")]
    await talk.give("lisbon")
    assert talk.asked == [("find_flights", "Lisbon")]
    other = Talk(tools=(FIND_FLIGHTS,))
    await other.say("I want to fly somewhere")
    assert "Write the city too" in other.said
    third = Talk()
    await third.say("I want to fly")
    await third.give("?")
    assert third.said.startswith("I found no city in “?”.")


async def test_a_message_written_during_a_search_is_answered_too() -> None:
    talk = Talk()
    await talk.say("flights to Tokyo")
    await talk.give(TOKYO, and_say="And flights to Paris")
    assert "I found 2 flights to Tokyo" in talk.said
    assert talk.said.endswith("I will look for flights to Paris.")
    assert talk.asked == [("find_flights", "Paris")]  # the question waits until both are known
    await talk.give(PARIS)
    await talk.give("Heron")
    assert talk.said.startswith("Noted: Heron Air HQ 164")


async def test_a_message_that_no_rule_knows_leaves_the_result_alone() -> None:
    talk = Talk()
    await talk.say("flights to Tokyo")
    await talk.give(TOKYO, and_say="I like trains.")
    assert "demo model" not in talk.said


@pytest.mark.parametrize(
    ("tools", "hint"),
    [
        ((FIND_FLIGHTS, ASK_USER), "write “Find flights to Tokyo”"),
        ((ASK_USER,), "write “Ask me a question”"),
        ((), "It has no example for this agent."),
    ],
)
async def test_anything_else_says_who_speaks_and_how_to_get_a_real_model(
    tools: Sequence[ToolSpecification], hint: str
) -> None:
    talk = Talk(tools=tools)
    await talk.say("What is the meaning of life?")
    assert "built-in demo model" in talk.said
    assert hint in talk.said
    assert "set ANTHROPIC_API_KEY" in talk.said
    await talk.say("Find flights to Tokyo")
    assert bool(talk.asked) == (FIND_FLIGHTS in tools)


async def test_ask_me_a_question() -> None:
    talk = Talk()
    await talk.say("Ask me a question")
    assert talk.asked == [("ask_user", "What shall I remember?")]
    await talk.give("The milk")
    assert talk.said == "Noted: “The milk”."


async def test_another_models_calls_are_reported_plainly() -> None:
    messages: list[Message | str] = [
        "Weather?",
        calls(call("1_0_0", "weather", "not json")),
        results(result("1_0_0", "Sun")),
    ]
    response = await demo().generate_response(request(*messages))
    assert text_of(response).startswith("weather returned: Sun\n\nThe demo model ends here.")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Find flights to Tokyo", ["Tokyo"]),
        ("find flights to tokyo.", ["Tokyo"]),
        ("fly to Paris next week", ["Paris"]),
        ("I want to fly from Berlin to New York on Friday", ["New York"]),
        ("Flights to Tokyo, Paris & Rome please", ["Tokyo", "Paris", "Rome"]),
        ("flights to Tokyo and to Paris", ["Tokyo", "Paris"]),
        ("flights to Tokyo, Tokyo", ["Tokyo"]),
        ("flights to são paulo", ["São Paulo"]),
        ("flights to Bern, Cork, Delhi, Essen, Faro", ["Bern", "Cork", "Delhi", "Essen"]),
        ("flights to Oslo and tell me the weather", ["Oslo"]),
        ("I want to fly", []),
        ("flights to", []),
        ("東京 flights", []),
        ("flights to 東京", ["東京"]),
    ],
)
def test_places_are_read_out_of_a_wish(text: str, found: list[str]) -> None:
    assert destinations(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What is the weather in Tokyo?", ["Tokyo"]),
        ("Compare the weather in Oslo and Rome", ["Oslo", "Rome"]),
        ("weather for new york tomorrow", ["New York"]),
        ("What will the weather be at Lake Garda, please?", ["Lake Garda"]),
        ("How is the weather?", []),
    ],
)
def test_places_are_read_out_of_a_question(text: str, found: list[str]) -> None:
    assert locations(text) == found


def test_places_of_a_plain_answer() -> None:
    assert places("Oslo or Rome") == ["Oslo", "Rome"]


def test_numbered_lines_are_options() -> None:
    listed = options("Found:\n1. One, 5 EUR\n 2) Two\nthree\n3.\n")
    assert listed == [Option(1, "One, 5 EUR"), Option(2, "Two")]
    assert [option.price for option in listed] == [5, None]
    assert chosen("cheapest", [Option(2, "Two")]) == []
    assert chosen("last", []) == []


async def test_an_agent_without_an_example_sees_its_first_free_tool_used() -> None:
    schema = {"type": "object", "properties": {"what": {"type": "string"}}}
    needs_more = ToolSpecification(name="find", description="Find.", parameters={**schema, "required": ["what"]})
    free = ToolSpecification(name="ask_city", description="Ask.", parameters=schema)
    response = await demo().generate_response(request("What should I see?", tools=(needs_more, free)))
    (made,) = calls_of(response)
    assert (made.name, made.arguments) == ("ask_city", "{}")


async def test_a_failed_search_is_told_without_the_platforms_frame() -> None:
    talk = Talk()
    await talk.say("Find flights to Tokyo")
    await talk.give("!(flight search: failed. FlightServiceDown: The flight service did not answer.)")
    assert "did not work: The flight service did not answer. Nothing was booked." in talk.said
