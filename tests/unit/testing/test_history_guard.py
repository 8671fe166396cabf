"""HistoryGuard: a model that edits shared contents is caught, a careful one is not."""

from collections.abc import Callable

import pytest

from ostinato import types
from ostinato.models.llm_request import LlmRequest
from ostinato.testing import FunctionModel, HistoryGuard, ScriptedModel, SharedHistoryError


def asking() -> LlmRequest:
    return LlmRequest(
        contents=[types.Content(role="user", parts=[types.Part(text=text)]) for text in "ab"]
    )


async def run(model: HistoryGuard) -> list[str]:
    return [
        part.text or ""
        async for response in model.generate_content_async(asking())
        for part in (response.content.parts if response.content else None) or []
    ]


def shorten(request: LlmRequest) -> str:
    request.contents[1].parts[0].text = "short"  # type: ignore[index]
    return "done"


def shorten_own(request: LlmRequest) -> str:
    request.own_contents()[1].parts[0].text = "short"  # type: ignore[index]
    return "done"


def drop(request: LlmRequest) -> str:
    del request.contents[0]
    return "done"


@pytest.mark.parametrize("function", [shorten_own, drop, lambda request: "done"])
async def test_careful_models_pass(function: Callable[[LlmRequest], str]) -> None:
    assert await run(HistoryGuard(FunctionModel(function))) == ["done"]


async def test_an_edit_is_caught() -> None:
    with pytest.raises(SharedHistoryError) as caught:
        await run(HistoryGuard(FunctionModel(shorten, model="mine")))
    message = str(caught.value)
    assert "FunctionModel ('mine') edited content 1" in message
    assert '"text":"b"' in message
    assert '"text":"short"' in message


async def test_the_guard_looks_like_the_model() -> None:
    guard = HistoryGuard(ScriptedModel(model="m", native_schema=True))
    assert guard.model == "m"
    assert guard.supports_output_schema_with_tools
    with pytest.raises(NotImplementedError, match="not supported for m"):
        guard.connect(asking())
