"""Results: errors, long ones, files, and the fields that are kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ostinato.artifacts.in_memory_artifact_service import InMemoryArtifactService
from ostinato.context.context import Context
from ostinato.flows.llm_flows.tool_calls.tool_result import make_response_dict
from ostinato.tools.openapi.rest_api_tool import RestApiTool
from ostinato.tools.openapi.rest_client import RestResponse
from ostinato.tools.openapi.rest_result import ResultShaper, read_pointer, select_fields
from ostinato.tools.result_limits import MAX_LEVELS
from tests.unit.tools.contexts import make_invocation


def make_context(*, artifacts: bool = True) -> Context:
    invocation = make_invocation()
    invocation.artifact_service = InMemoryArtifactService() if artifacts else None
    return Context(invocation, function_call_id="call/1")


def make_response(body: bytes, kind: str = "application/json", status: int = 200) -> RestResponse:
    return RestResponse(status, {"content-type": kind}, body)


async def shape(
    response: RestResponse, context: Any = None, *, max_chars: int = 50, **options: Any
) -> Any:
    shaper = ResultShaper(
        "tool",
        options.get("fields", ()),
        max_chars,
        is_repeatable=options.get("is_repeatable", True),
    )
    return await shaper.shape(response, options.get("secrets", []), context)


async def test_an_error_is_in_the_words_of_google_adk() -> None:
    answer = await shape(make_response(b"no pet", "text/plain", 404))
    assert answer == {
        "error": "Tool tool execution failed. Analyze this execution error and your inputs. Retry "
        "with adjustments if applicable. But make sure don't retry more than 3 times. Execution "
        "Error: Status Code: 404, no pet"
    }


@pytest.mark.parametrize(
    ("status", "is_repeatable", "is_told"),
    [(500, False, True), (502, False, True), (503, False, False), (409, False, False),
     (500, True, False)],
)  # fmt: skip
async def test_an_error_of_a_server_tells_that_a_request_may_have_been_carried_out(
    status: int, is_repeatable: bool, is_told: bool
) -> None:
    answer = await shape(make_response(b"{}", status=status), is_repeatable=is_repeatable)
    assert ("may have been carried out" in answer["error"]) is is_told


async def test_an_error_is_bounded_and_shows_no_secret() -> None:
    body = b"bad key k3y-of-mine " + b"x" * 20_000
    answer = await shape(make_response(body, status=401), secrets=["k3y-of-mine"])
    assert "k3y-of-mine" not in answer["error"] and len(answer["error"]) < 9_000


async def test_a_long_result_becomes_an_artifact() -> None:
    context = make_context()
    body = json.dumps({"items": ["ä" * 10] * 100}, ensure_ascii=False).encode()
    answer = await shape(make_response(body), context)
    assert answer["artifact"] == "tool_call_1.json" and answer["version"] == 0
    assert answer["preview"] == body.decode()[:50] and answer["total_chars"] == len(body.decode())
    part = await context.load_artifact("tool_call_1.json")
    assert part is not None and part.inline_data is not None and part.inline_data.data == body
    assert context.actions.artifact_delta == {"tool_call_1.json": 0}


@pytest.mark.parametrize("context", [None, make_context(artifacts=False)])
async def test_a_long_result_is_cut_without_an_artifact_service(context: Any) -> None:
    answer = await shape(make_response(b'"' + b"x" * 80 + b'"'), context)
    assert answer["truncated"] is True and answer["preview"] == '"' + "x" * 49


async def test_a_file_becomes_an_artifact() -> None:
    context = make_context()
    answer = await shape(make_response(b"\x89PNG\0", "image/png; x=1"), context)
    assert (answer["artifact"], answer["mime_type"], answer["bytes"]) == (
        "tool_call_1.png",
        "image/png",
        5,
    )
    assert "not kept" in (await shape(make_response(b"\0", "image/png")))["message"]


@pytest.mark.parametrize(
    ("pointers", "wanted"),
    [
        (["/total"], {"total": 2}),
        (["/items/id"], {"items": [{"id": 1}, {"id": 2}]}),
        (["/items/1/id"], {"items": [{"id": 2}]}),
        (["/items/a~1b", "/total"], {"items": [{"a/b": "x"}, {}], "total": 2}),
        (["/items/in/x"], {"items": [{"in": {"x": 1}}, {}]}),
        (["/gone"], {}),
        (["/items/id/x", "/total/x"], {"items": [{}, {}]}),
        (["/items/0/id/0"], {"items": [{}]}),
        (["/items"], {"items": [{"id": 1, "a/b": "x", "in": {"x": 1, "y": 2}}, {"id": 2}]}),
    ],
)
def test_fields_are_kept_in_their_places(pointers: list[str], wanted: Any) -> None:
    value = {"items": [{"id": 1, "a/b": "x", "in": {"x": 1, "y": 2}}, {"id": 2}], "total": 2}
    assert select_fields(value, [read_pointer(one) for one in pointers]) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"), [(5, {}), (None, {}), ([1, {"id": None}, "x"], [{"id": None}]), ([1], [])]
)
def test_fields_make_up_no_values(value: Any, wanted: Any) -> None:
    assert select_fields(value, [["id"]]) == wanted


async def test_fields_shorten_a_result_before_it_is_bounded() -> None:
    body = json.dumps({"id": 1, "long": "x" * 100}).encode()
    assert await shape(make_response(body), fields=["/id"]) == {"id": 1}


def test_a_field_that_is_no_pointer_is_refused() -> None:
    with pytest.raises(ValueError, match="'id' is not a JSON pointer"):
        ResultShaper("tool", ["id"], 10)


DEEP = "[" * 5_000 + "]" * 5_000


@pytest.mark.parametrize(
    "body", ['{"a": NaN}', '{"a": 1e999}', '{"a": -Infinity}', '{"a": "\\ud800"}', DEEP]
)
async def test_json_that_no_event_can_hold_stays_text(body: str) -> None:
    """A service could end a run with it, which only the developer can prevent."""
    assert await shape(make_response(body.encode()), max_chars=20_000) == {"text": body}


async def test_large_numbers_and_hashes_are_json() -> None:
    assert await shape(make_response(b'{"a": 1e300, "b": "feb3e123456"}')) == {
        "a": 1e300,
        "b": "feb3e123456",
    }


async def test_the_artifact_of_a_cut_response_is_called_a_part() -> None:
    response = RestResponse(200, {"content-type": "text/plain"}, b"x" * 100, True)
    answer = await shape(response, make_context())
    assert "its first part is the artifact" in answer["message"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
async def test_fields_are_selected_of_json_with_a_byte_order_mark(encoding: str) -> None:
    body = '{"id": 1, "ssn": "x"}'.encode(encoding)
    response = RestResponse(200, {"content-type": "application/json"}, body)
    assert await ResultShaper("t", ["/id"], 1_000).shape(response, [], None) == {"id": 1}


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b'{"id": 1, "ssn": "x", "message": "no"}', '{"message": "no", "id": 1}'),
        (b'{"error": {"message": "no", "ssn": "x", "code": 7}}',
         '{"error": {"message": "no", "code": 7}}'),
        (b'{"detail": [{"input": {"ssn": "x"}}], "error": "no"}', '{"error": "no"}'),
        (b'[{"id": 1, "ssn": "x"}]', '[{"id": 1}]'),
        (b'\xef\xbb\xbf{"title": "no", "ssn": "x"}', '{"title": "no"}'),
        (b"id=1&ssn=x", "not shown."),
        (b'"ssn"', "not shown."),
        (b"", "Status Code: 400, "),
    ],
)  # fmt: skip
async def test_a_refusal_shows_no_unselected_field(body: bytes, wanted: str) -> None:
    response = make_response(body, status=400)
    answer = await ResultShaper("t", ["/id"], 1_000).shape(response, [], None)
    assert "Status Code: 400, " in answer["error"] and answer["error"].endswith(wanted)
    assert "ssn" not in answer["error"]


@pytest.mark.parametrize("body", [b'{"id": 1, "ssn": "x", "n": NaN}', b"id=1&ssn=x"])
async def test_what_fields_cannot_be_selected_of_is_not_shown(body: bytes) -> None:
    response = RestResponse(200, {"content-type": "application/json"}, body)
    answer = await ResultShaper("t", ["/id"], 1_000).shape(response, [], None)
    assert "ssn" not in str(answer) and "is not shown" in answer["error"]


async def test_previews_and_artifacts_of_texts_may_hold_nul_that_events_do_not() -> None:
    answer = await shape(make_response(b"a\0b" * 30, "text/plain"))
    stored = make_response_dict(
        answer, tool="t", agent="a", max_bytes=999, is_outside=RestApiTool.has_outside_results
    )
    assert stored["preview"].startswith("a\ufffdba\ufffdb")


@pytest.mark.parametrize("levels", range(170, 205))
async def test_events_hold_what_does_not_stay_text(levels: int) -> None:
    for text in ("[" * levels + "]" * levels, '{"a":' * levels + "1" + "}" * levels):
        answer = await shape(make_response(text.encode()), max_chars=10_000)
        limits = {"tool": "tool", "agent": "agent", "max_bytes": 10_000}
        stored = make_response_dict(answer, **limits)
        assert stored == (answer if isinstance(answer, dict) else {"result": answer})
        if levels != MAX_LEVELS:  # there it counts whether a value lies in the innermost
            assert (answer == {"text": text}) is (levels > MAX_LEVELS)
