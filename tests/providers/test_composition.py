"""Scripted models, backups, configuration: what is put together from models."""

import asyncio
import subprocess
import sys

import pytest

from sessions_app.core.language_model import Completed, ModelRequest, ModelResponse, Terminated, Usage
from sessions_app.core.messages import Message, TextPart
from sessions_app.providers import ProviderConfiguration, configure, demo, label_of, with_backup
from sessions_app.providers.scripted import ScriptedModel
from sessions_app.providers.words import in_words
from tests.providers.helpers import Heard, request, text_of


def down(text: str = "") -> ModelResponse:
    parts = (TextPart(text=text),) if text else ()
    status = Terminated(reason="overloaded", message="Too busy.", retryable=True)
    return ModelResponse(parts=parts, status=status, usage=Usage(input_tokens=7, output_tokens=2), model="first")


def good(text: str) -> ModelResponse:
    return ModelResponse(parts=(TextPart(text=text),), usage=Usage(input_tokens=10, output_tokens=5), model="second")


async def test_the_backup_is_asked_once_and_replaces_what_was_streamed() -> None:
    primary, backup = ScriptedModel([down("Half an")]), ScriptedModel([good("A whole answer.")])
    heard = Heard()
    response = await with_backup(primary, backup).generate_response(request("Hello", reporter=heard))
    assert response.status == Completed()
    assert response.model == "second"
    assert response.usage == Usage(input_tokens=17, output_tokens=7)
    assert (heard.all, heard.restarts) == ("A whole answer.", 1)
    assert len(primary.requests) == len(backup.requests) == 1


@pytest.mark.fault("B29")
async def test_a_refusal_is_put_before_the_backup_once() -> None:
    refused = ModelResponse(status=Terminated(reason="refused", message="I will not."), model="first")
    primary, backup = ScriptedModel([refused]), ScriptedModel([good("I will.")])
    response = await with_backup(primary, backup).generate_response(request("Hello"))
    assert (text_of(response), response.model) == ("I will.", "second")
    assert len(primary.requests) == len(backup.requests) == 1


async def test_the_backup_rests_while_the_primary_answers() -> None:
    backup = ScriptedModel()
    heard = Heard()
    response = await with_backup(ScriptedModel(["Fine."]), backup).generate_response(request("Hello", reporter=heard))
    assert text_of(response) == "Fine."
    assert (backup.requests, heard.restarts) == ([], 0)


async def test_where_both_fail_the_failure_of_the_backup_stands() -> None:
    refused = ModelResponse(status=Terminated(reason="refused", message="No."), model="second")
    response = await with_backup(ScriptedModel([down()]), ScriptedModel([refused])).generate_response(request("Hello"))
    assert response.status == refused.status


def test_a_composed_model_is_labelled_by_both() -> None:
    assert label_of(with_backup(demo(), ScriptedModel())) == "demo model (backup: scripted model)"


def test_a_model_without_a_label_is_called_by_its_class() -> None:
    class Homemade:
        async def generate_response(self, request: ModelRequest) -> ModelResponse:
            return good("x")

    assert label_of(Homemade()) == "Homemade"


async def test_a_script_is_followed_and_every_request_kept() -> None:
    async def later(asked: ModelRequest) -> str:
        await asyncio.sleep(0)
        return f"You said {asked.messages[-1].text}."

    model = ScriptedModel(["One.", good("Two."), lambda asked: "Three.", later])
    texts = [text_of(await model.generate_response(request(f"m{number}"))) for number in range(4)]
    assert texts == ["One.", "Two.", "Three.", "You said m3."]
    assert [asked.messages[-1].text for asked in model.requests] == ["m0", "m1", "m2", "m3"]

    over = await model.generate_response(request("m4"))
    assert over.status == Terminated(
        reason="error", message="The script has no response for request 5. Add one to the test."
    )


async def test_a_strict_script_refuses_and_remembers_why() -> None:
    model = ScriptedModel(["One."])
    bad = request("Hello", Message.assistant("Yes?"))
    assert isinstance((await model.generate_response(bad)).status, Terminated)
    assert model.faults == ["The last message is the assistant's."]
    assert text_of(await model.generate_response(request("Hello"))) == "One."


async def test_a_lenient_script_takes_anything() -> None:
    assert text_of(await ScriptedModel(["One."], strict=False).generate_response(request())) == "One."


@pytest.mark.parametrize("text", ["", " ", "one", " one\n\ntwo  three ", "\n"])
def test_words_join_to_the_text(text: str) -> None:
    assert "".join(in_words(text)) == text


def test_the_key_does_not_show() -> None:
    assert "canary" not in repr(ProviderConfiguration(anthropic_api_key="canary"))


async def test_the_demo_model_waits_between_words_as_configured() -> None:
    configure(ProviderConfiguration(demo_delay=0.005))
    begun = asyncio.get_running_loop().time()
    response = await demo().generate_response(request("Hello"))
    waited = asyncio.get_running_loop().time() - begun
    assert waited >= 0.005 * len(text_of(response).split()) * 0.9


def test_importing_the_providers_loads_neither_a_vendor_nor_django() -> None:
    code = "import sys, sessions_app.providers; print(sorted({'anthropic', 'httpx2', 'django'} & set(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
