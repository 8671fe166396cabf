"""Whatever reads text of others takes time in proportion to it; a new reader gets a line here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.datastructures import Headers

from ostinato._public_address import is_public
from ostinato._secrets import is_secret_name, redact_text
from ostinato._words import asked_words, words
from ostinato.agent_files.document import parse_document
from ostinato.artifacts.artifact_util import parse_artifact_uri
from ostinato.code_executors.code_execution_utils import CodeExecutionUtils
from ostinato.context.template import compile_template
from ostinato.hosting.dotenv import read_env
from ostinato.hosting.store_address import mask_secrets
from ostinato.models.llm_request import LlmRequest
from ostinato.models.offline_llm import OfflineLlm
from ostinato.models.streaming_response import StreamingResponseAggregator
from ostinato.models.wire.written_calls import read_call
from ostinato.plugins._redaction import redact_value
from ostinato.server.agui.input import RunAgentInput
from ostinato.server.bodies import parse_json, validate_record
from ostinato.server.client_conversations import unpack_id
from ostinato.server.message_files import part_from_url
from ostinato.server.names import check_id
from ostinato.server.openai.chat import ChatRequest
from ostinato.server.openai.openai_messages import turns_of
from ostinato.server.openai.responses import ResponsesRequest
from ostinato.server.problems import loggable_text, public_text
from ostinato.server.proxies import TrustedProxies
from ostinato.server.runs import RunAgentRequest
from ostinato.sessions.store.search_words import document_text, query_tokens
from ostinato.tools.web.page_text import page_text
from ostinato.types import (
    Candidate,
    Content,
    FunctionCall,
    FunctionDeclaration,
    GenerateContentResponse,
    Part,
    PartialArg,
    Tool,
)
from tests.adversarial.growth import is_linear

pytestmark = pytest.mark.long

CODE = [("```python\n", "\n```"), ("```tool_code\n", "\n```")]


def read_code(text: str) -> object:
    content = Content(role="model", parts=[Part(text=text)])
    return CodeExecutionUtils.extract_code_and_truncate_content(content, CODE)


def read_forwarded(text: str) -> object:
    proxies = TrustedProxies(["10.0.0.0/8"])
    headers = Headers(raw=[(b"x-forwarded-for", text.encode("latin-1", "ignore"))])
    return proxies.resolve_client({"type": "http", "client": ("10.0.0.1", 1)}, headers)


def as_field(record: Any, **fields: Any) -> Callable[[str], object]:
    """Return the reader of a body that has the text in each of its fields."""
    shape = json.dumps(fields)

    def read(text: str) -> object:
        return validate_record(
            record, parse_json(shape.replace('"TEXT"', json.dumps(text))), "body"
        )

    return read


def read_turns(text: str) -> object:
    part = {"type": "image_url", "image_url": {"url": f"data:{text}"}}
    body = {"model": "m", "messages": [{"role": "user", "content": [part]}]}
    return turns_of(ChatRequest.model_validate(body).messages)


def read_path(text: str) -> object:
    piece = PartialArg(json_path=text, string_value=text)
    call = FunctionCall(name="book", partial_args=[piece], will_continue=True)
    content = Content(role="model", parts=[Part(function_call=call)])
    answer = GenerateContentResponse(candidates=[Candidate(content=content)])

    async def read() -> object:
        aggregator = StreamingResponseAggregator()
        async for _ in aggregator.process_response(answer):
            pass
        return aggregator.close()

    return asyncio.run(read())


def ask_stand_in(text: str, instruction: str = "") -> object:
    content = Content(role="user", parts=[Part(text=text)])
    request = LlmRequest(contents=[content])
    request.config.system_instruction = instruction
    declared = FunctionDeclaration(
        name="look_up",
        description=text,
        parameters_json_schema={
            "type": "object",
            "properties": {
                name: {"type": "string", "description": name}
                for name in ("city", "date", "email", "url", "path", "code", "expression")
            },
        },
    )
    request.config.tools = [Tool(function_declarations=[declared])]

    async def ask() -> object:
        return [one async for one in OfflineLlm().generate_content_async(request, stream=True)]

    return asyncio.run(ask())


READERS: dict[str, Callable[[str], object]] = {
    "redaction": redact_text,
    "masking of passwords": mask_secrets,
    "redaction of names": is_secret_name,
    "redaction of records": lambda text: redact_value({"a": [text], text: text}),
    "texts of errors": public_text,
    "log lines": loggable_text,
    "ids": lambda text: check_id("id", text),
    "packed ids": lambda text: unpack_id("resp_", "resp_" + text, 3),
    "JSON bodies": parse_json,
    "data URLs": lambda text: part_from_url(f"data:{text}", "here"),
    "data URLs in base64": lambda text: part_from_url(f"data:image/png;base64,{text}", "here"),
    "addresses of files": lambda text: part_from_url(f"https://{text}", "here"),
    "forwarded addresses": read_forwarded,
    "addresses": is_public,
    "instructions": compile_template,
    "memory queries": asked_words,
    "memory texts": words,
    "code in answers": read_code,
    "calls in answers": read_call,
    "addresses of artifacts": parse_artifact_uri,
    "environment files": read_env,
    "agent files": lambda text: parse_document(Path("root_agent.yaml"), text),
    "values in agent files": lambda text: parse_document(Path("a.yaml"), f"name: {text}"),
    "paths of streamed arguments": read_path,
    "pages": page_text,
    "searches": lambda text: query_tokens("app", None, text),
    "what searches find": lambda text: document_text(
        "app", "ann", [text], [json.dumps({"a": text})]
    ),
    "messages to the stand-in model": ask_stand_in,
    "instructions of the stand-in model": lambda text: ask_stand_in("Look it up.", text),
    "chat messages": read_turns,
    "runs": as_field(RunAgentRequest, userId="TEXT", sessionId="TEXT", newMessage={"role": "TEXT"}),
    "chats": as_field(ChatRequest, model="TEXT", messages=[{"role": "user", "content": "TEXT"}]),
    "responses": as_field(ResponsesRequest, model="TEXT", input="TEXT", user="TEXT"),
    "AG-UI": as_field(
        RunAgentInput,
        threadId="t",
        runId="r",
        messages=[{"id": "m", "role": "user", "content": "TEXT"}],
        state={"TEXT": "TEXT"},
    ),
}
PIECES = (
    "a", " ", "\n", "{", "}", "{a", "{{a}}", "[", '{"', '{"a":', '{"a":[', '"\\"', "-eyJaaaaaaaa",
    "a,", "1.", "::", "/a", "<a", "<!--", "%", "%2", "=", "A=", "&a", "- a\n", "a: ", "&a *a ", "?",
    "```python\nx ", "```tool_code\n", "\n```", "data:", ";base64", "token=", "://a:",
    "http://a:", "a://b@", "\x00", "\u4e00", "password: '", "Bearer ", "sk-",
    "-----BEGIN PRIVATE KEY-----", "artifact://apps/a/users/",
)  # fmt: skip


# Those that take seconds: by the pattern of another reader, or PyYAML, which is slow but linear.
SLOW = {"redaction of records", "agent files", "values in agent files"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.service] * (name in SLOW)) for name in READERS],
)
def test_a_reader_takes_time_in_proportion(name: str) -> None:
    for piece in PIECES:

        def make(size: int, piece: str = piece) -> str:
            return piece * (size // len(piece)) + "!"

        assert is_linear(READERS[name], make), (name, piece)
