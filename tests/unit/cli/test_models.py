"""`ostinato models`: what there is, what each provider lacks, and whether a model answers."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from ostinato.models import LLMRegistry, LlmResponse
from ostinato.models.providers import PROVIDERS
from tests.unit.cli.conftest import Ostinato
from tests.unit.models.kit import KEY, Scripted, SdkError, content, piece
from tests.wire.background_server import background_server
from tests.wire.chat import script as chat
from tests.wire.fake_server import Answer, sse
from tests.wire.turns import Turn


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS:
        for name in (*provider.keys, *provider.base_url_keys):
            monkeypatch.delenv(name, raising=False)


def test_the_list_names_providers_keys_and_no_values(
    ostinato: Ostinato, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://box:1/v1")
    monkeypatch.setenv("VLLM_API_KEY", KEY)
    done = ostinato("models")
    assert done.code == 0
    rows = {
        line[2:].split(":")[0]: line for line in done.out.splitlines() if line[:1] in ("✓", "·")
    }
    assert list(rows) == [provider.name for provider in PROVIDERS]
    assert rows["openai"].startswith("✓") and rows["openai"].endswith("OPENAI_API_KEY is set")
    assert rows["anthropic"].startswith("·")
    assert rows["anthropic"].endswith("set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN")
    assert rows["ollama"].endswith("needs no key, at http://box:1/v1")
    assert rows["vllm"].endswith("VLLM_API_KEY is set, at http://127.0.0.1:8000/v1")
    assert KEY not in done.out


def test_a_missing_sdk_comes_with_its_install_line(
    ostinato: Ostinato, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostinato.models.providers.find_spec", lambda name: None)
    assert "pip install 'ostinato[live]'" in ostinato("models").out


def test_the_list_as_json(ostinato: Ostinato, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    done = ostinato("models", "--json")
    by_name = {row["name"]: row for row in json.loads(done.out)}
    assert by_name["openai"]["keySet"] == "OPENAI_API_KEY" and by_name["openai"]["available"]
    assert by_name["openai"]["keyNeeded"] and not by_name["vllm"]["keyNeeded"]
    assert by_name["google"]["keySet"] is None and not by_name["google"]["available"]
    assert KEY not in done.out


@pytest.fixture
def packaged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two packages bring model classes; one of them cannot be imported."""
    group = "ostinato.models"
    entries = [
        EntryPoint("mine", f"{Scripted.__module__}:Scripted", group),
        EntryPoint("gone", "no_such_module:GoneLlm", group),
    ]
    monkeypatch.setattr("ostinato.models.packaged_models.entry_points", lambda group: entries)
    monkeypatch.setattr(Scripted, "supported_models", classmethod(lambda cls: ["mine-.*"]))


@pytest.mark.long
@pytest.mark.usefixtures("packaged")
def test_models_of_other_packages_are_listed(ostinato: Ostinato) -> None:
    lines = ostinato("models").out.splitlines()
    assert any(
        line.startswith("✓ scripted:")
        and line.endswith("entry point tests.unit.models.kit:Scripted")
        for line in lines
    )
    gone = next(line for line in lines if "gone:" in line)
    assert gone.startswith("· ") and "cannot be imported: ModuleNotFoundError" in gone
    rows = {row["name"]: row for row in json.loads(ostinato("models", "--json").out)}
    assert rows["scripted"]["available"] and rows["scripted"]["names"] == ["mine-.*"]
    assert not rows["gone"]["available"] and "no_such_module" in rows["gone"]["problem"]
    doctor = ostinato("doctor").out
    assert "entry point tests.unit.models.kit:Scripted" in doctor and "GoneLlm" in doctor


def test_one_model_tells_what_it_can_do(ostinato: Ostinato) -> None:
    done = ostinato("models", "offline")
    assert "ostinato.models.offline_llm.OfflineLlm" in done.out
    assert "✓ tools" in done.out and "· live" in done.out
    found = json.loads(ostinato("models", "offline", "--json").out)
    assert found["capabilities"]["tools"] is True
    unknown = ostinato("models", "no-such-model")
    assert (unknown.code, unknown.out) == (1, "")
    assert "ModelUnavailableError" in unknown.err


@pytest.mark.parametrize("option", [[], ["--ping"], ["--json", "--ping"]])
def test_an_unknown_name_may_be_that_of_a_class_that_a_module_registers(
    ostinato: Ostinato, option: list[str]
) -> None:
    done = ostinato("models", *option, "mine/echo")
    assert done.code != 0
    said = " ".join(f"{done.out} {done.err}".split())
    assert "Model mine/echo not found." in said
    assert "a class that only a module registers is unknown to it" in said
    assert "entry point of the group ostinato.models" in said


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> list[Scripted]:
    """Let every name be a model whose script the test fills; it must ask once only."""
    llm = Scripted.of(api_key=KEY)
    monkeypatch.setattr(LLMRegistry, "new_llm", staticmethod(lambda model: llm))
    return [llm]


def test_a_ping_tells_times_and_tokens(ostinato: Ostinato, answering: list[Scripted]) -> None:
    from ostinato import types

    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=12, candidates_token_count=2, thoughts_token_count=1
    )
    pong = LlmResponse(content=content("pong"), model_version="gpt-5-1", usage_metadata=usage)
    answering[0].script = [[piece("po"), pong], [piece("po"), pong]]
    done = ostinato("models", "--ping", "gpt-5")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "✓ gpt-5 (gpt-5-1) answered: pong"
    assert [line.split()[0] for line in lines[1:]] == ["first", "total", "tokens"]
    assert lines[-1].split()[1:] == ["12", "in,", "3", "out"]
    assert answering[0].closed == 1
    found = json.loads(ostinato("models", "--ping", "gpt-5", "--json").out)
    assert found["text"] == "pong" and found["tokensOut"] == 3
    assert 0 <= found["firstByteSeconds"] <= found["totalSeconds"]


@pytest.mark.parametrize("status", [200, 401])
def test_a_ping_shows_status_and_request_id(
    ostinato: Ostinato, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    said = chat.chunks(Turn("pong")) if status == 200 else []
    refusal: dict[str, Any] = {"error": {"message": "Incorrect key"}}
    answer = Answer(
        sse(said, done="[DONE]") if said else refusal,
        status=status,
        headers={"x-request-id": "req_1"},
    )
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with background_server(otherwise=answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        shown = ostinato("models", "--ping", "openai-chat:gpt-5")
        found = json.loads(ostinato("models", "--ping", "openai-chat:gpt-5", "--json").out)
    if status == 200:
        lines = [line.split() for line in shown.out.splitlines()[1:3]]
        assert lines == [["HTTP", "status", "200"], ["request", "id", "req_1"]]
        assert (found["status"], found["requestId"]) == (200, "req_1")
    else:
        assert "Request id: req_1." in shown.err
        assert (found["error"]["status"], found["error"]["requestId"]) == (401, "req_1")


def test_a_ping_that_fails_tells_the_error_once(
    ostinato: Ostinato, answering: list[Scripted]
) -> None:
    refused = SdkError(429, f"slow down {KEY}", retry_after=7.0)
    answering[0].script = [refused, refused]
    done = ostinato("models", "--ping", "scripted")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: ModelRateLimitError: OpenAI (model 'gpt-5', HTTP 429)")
    as_json = ostinato("models", "--ping", "scripted", "--json")
    error = json.loads(as_json.out)["error"]
    assert (as_json.code, error["type"]) == (1, "ModelRateLimitError")
    assert (error["status"], error["retryAfter"]) == (429, 7.0)
    assert len(answering[0].asked) == 2
    assert KEY not in done.err + as_json.out


def test_a_ping_without_an_answer_fails(ostinato: Ostinato, answering: list[Scripted]) -> None:
    answering[0].script = [[], LlmResponse(error_code="SAFETY")]
    done = ostinato("models", "--ping", "scripted")
    assert done.code == 1 and "EMPTY_RESPONSE: The model answered nothing." in done.out
    assert "SAFETY" in ostinato("models", "--ping", "scripted").out
