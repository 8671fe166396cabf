"""Results of MCP tools that are too long: bounded, with the whole as an artifact."""

import json
from typing import Any

import pytest

from ostinato.artifacts import InMemoryArtifactService
from ostinato.tools.mcp.load_resource_tool import MAX_TEXT, content_part
from ostinato.tools.mcp.long_result import MAX_RESULT, PREVIEW, bound_result
from tests.unit.tools.contexts import make_context


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


LONG = "x" * (MAX_RESULT + 1)
IMAGE = {"type": "image", "data": "a" * 500_000, "mimeType": "image/png"}


async def bound(result: dict[str, Any], *, with_service: bool = True) -> tuple[Any, str | None]:
    """Return the bounded result, and the text of the artifact that was saved."""
    context = make_context()
    if with_service:
        context.get_invocation_context().artifact_service = InMemoryArtifactService()
    await bound_result(result, "read", context)
    if "artifact" not in result:
        return result, None
    part = await context.load_artifact(result["artifact"]["name"])
    assert part is not None and part.inline_data is not None
    return result, (part.inline_data.data or b"").decode()


async def test_short_results_and_media_stay_as_they_are():
    result = {"content": [text("short"), IMAGE], "structuredContent": {"a": [1]}, "isError": False}
    before = json.dumps(result)
    assert await bound(result) == (json.loads(before), None)


async def test_long_text_becomes_an_artifact_with_a_preview():
    result, saved = await bound({"content": [text(LONG), IMAGE], "isError": False})
    assert saved == LONG and result["artifact"]["name"] == "read_call-1.txt"
    assert result["content"] == [text("x" * PREVIEW), IMAGE]
    assert result["total_chars"] == len(LONG) and result["truncated"] is True
    assert "read_call-1.txt" in result["message"]


async def test_structured_content_is_saved_as_json():
    rows = [{"n": n} for n in range(20_000)]
    result = {"content": [text(json.dumps(rows))], "structuredContent": {"rows": rows}}
    result, saved = await bound(result)
    assert saved is not None and json.loads(saved) == {"rows": rows}
    assert "structuredContent" not in result and result["artifact"]["name"].endswith(".json")
    assert len(json.dumps(result)) < 2 * PREVIEW


async def test_without_an_artifact_service_the_result_is_cut():
    result, saved = await bound({"content": [text(LONG)], "isError": False}, with_service=False)
    assert saved is None and result["content"][0]["text"] == LONG[:MAX_RESULT]


@pytest.mark.parametrize(
    "content",
    [
        [text("") for _ in range(50_000)],
        [{"type": "resource_link", "uri": "x:y", "name": "n" * 90} for _ in range(9_000)],
        [{"type": "resource", "resource": {"uri": "a:b", "text": "y" * 40_000}}] * 9,
        [{**IMAGE, "data": "aGk="} for _ in range(5_000)],
    ],
)
async def test_many_pieces_are_as_long_as_one_piece(content: list[Any]):
    result, _ = await bound({"content": content, "isError": False})
    assert result["truncated"] is True and len(result["content"]) <= 201
    assert len(json.dumps(result)) < 30_000


async def test_error_of_a_failed_tool_is_bounded():
    result, _ = await bound({"content": [text(LONG)], "isError": True, "error": LONG})
    assert len(result["error"]) == PREVIEW and result["isError"] is True


def test_text_of_a_resource_is_bounded():
    class Content:
        text = "z" * (MAX_TEXT + 7)

    shown = content_part(Content(), "book").text or ""
    assert shown.endswith("... (7 more)") and len(shown) < MAX_TEXT + 50
