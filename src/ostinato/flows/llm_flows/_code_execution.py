"""The code execution processors: data files before a model call, the model's code after it.

The flow runs both for agents with a code executor.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from mimetypes import guess_extension
from typing import Literal

from ... import _clock, types
from ..._aborted_tool import ABORTS, as_tool_error
from ...code_executors.base_code_executor import BaseCodeExecutor
from ...code_executors.built_in_code_executor import BuiltInCodeExecutor
from ...code_executors.code_execution_utils import (
    CodeExecutionInput,
    CodeExecutionResult,
    CodeExecutionUtils,
    File,
)
from ...code_executors.code_executor_context import CodeExecutorContext
from ...context._ports import LlmAgentLike
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...events.event import Event
from ...events.event_actions import EventActions
from ...models.llm_request import LlmRequest
from ...models.llm_response import LlmResponse
from ._base_llm_processor import BaseLlmRequestProcessor, BaseLlmResponseProcessor
from .data_files import Extracted, exploring_code, extract_files
from .history.content_edits import get_edits

_EXPLORING = "Processing input file: "


class CodeExecutionRequestProcessor(BaseLlmRequestProcessor):
    """Prepares a request for the agent's code executor (Spec 1 §16, FEATURES row 165).

    For BuiltInCodeExecutor it adds the tool. For any other it shows code and results of the
    history as text. With `optimize_data_file` it extracts data files from the messages and runs
    code that explores the new ones; that code and its result become events, too.
    """

    async def run_async(
        self, invocation_context: InvocationContext, llm_request: LlmRequest
    ) -> AsyncGenerator[Event, None]:
        executor = _get_executor(invocation_context)
        if executor is None:
            return
        if isinstance(executor, BuiltInCodeExecutor):
            executor.process_llm_request(llm_request)
            return
        if executor.optimize_data_file:
            context = CodeExecutorContext(invocation_context.session.state)
            explored = set(context.get_processed_file_names())
            for file in _collect_files(invocation_context, context, llm_request):
                code = None if file.name in explored else exploring_code(file)
                if code is None:
                    continue
                explored.add(file.name)
                async for event in _explore_file(invocation_context, executor, context, file, code):
                    if event.content is not None:
                        llm_request.contents.append(event.content)
                    yield event
        _show_as_text(invocation_context, executor, llm_request)


class CodeExecutionResponseProcessor(BaseLlmResponseProcessor):
    """Runs the code of a response (Spec 1 §7, §16; FEATURES rows 166 to 168).

    For BuiltInCodeExecutor, images become artifacts. For any other, it runs the first code block;
    an event with the code and one with its result replace the response, whose content is cleared,
    so that the next model call sees the result.
    """

    async def run_async(
        self, invocation_context: InvocationContext, llm_response: LlmResponse
    ) -> AsyncGenerator[Event, None]:
        executor = _get_executor(invocation_context)
        content = llm_response.content
        if executor is None or llm_response.partial or content is None or not content.parts:
            return
        if isinstance(executor, BuiltInCodeExecutor):
            event = await _save_images(invocation_context, llm_response, content)
            if event is not None:
                yield event
            return
        context = CodeExecutorContext(invocation_context.session.state)
        failed = context.get_error_count(invocation_context.invocation_id)
        if failed >= max(1, executor.error_retry_attempts):
            return
        shown = types.Content(role=content.role, parts=content.parts)
        code = CodeExecutionUtils.extract_code_and_truncate_content(
            shown, executor.code_block_delimiters
        )
        if not code:
            return
        llm_response.content = None
        event = _make_event(invocation_context, shown)
        # The response becomes no event of its own, so its token counts would be lost.
        event.usage_metadata = llm_response.usage_metadata
        if not _is_code_committed(invocation_context, code):
            yield event
        files = context.get_input_files()
        result = await _execute_code(invocation_context, executor, context, code, files)
        if result.stderr:
            context.increment_error_count(invocation_context.invocation_id)
        else:
            context.reset_error_count(invocation_context.invocation_id)
        yield await _result_event(invocation_context, context, result)


def find_code_state(
    invocation_context: InvocationContext, event: Event
) -> Literal["code", "ended", "model"]:
    """Return how to resume a run that was interrupted before its code had a result.

    Returns:
      `code` to run the code; `model` if it explores a data file, which the next request repeats;
      `ended` if the provider runs code, so that the event is the agent's final response.
    """
    executor = _get_executor(invocation_context)
    if executor is None or isinstance(executor, BuiltInCodeExecutor):
        return "ended"
    parts = event.content.parts if event.content is not None else None
    return "model" if parts and (parts[0].text or "").startswith(_EXPLORING) else "code"


def _is_code_committed(invocation_context: InvocationContext, code: str) -> bool:
    """Return whether an interrupted run had committed the event with this code last."""
    if invocation_context.run_state.resume is None:
        return False
    ctx = invocation_context
    for record in ctx.log.invocation(ctx.invocation_id):
        if record.author == ctx.agent.name and record.branch == ctx.branch:
            content = record.event().content
            last = content.parts[-1] if content is not None and content.parts else None
            found = last.executable_code if last is not None else None
            return found is not None and found.code == code
    return False


def _get_executor(invocation_context: InvocationContext) -> BaseCodeExecutor | None:
    agent: LlmAgentLike = invocation_context.agent
    return agent.code_executor


def _collect_files(
    invocation_context: InvocationContext, context: CodeExecutorContext, llm_request: LlmRequest
) -> list[File]:
    """Extract the data files from the request's contents; return all files of the session."""
    known = {file.name: file for file in context.get_input_files()}
    new: list[File] = []

    def extract(index: int, content: types.Content) -> Extracted:
        extracted = extract_files(index, content, known.values())
        for file in extracted.files:
            if file.name not in known:
                known[file.name] = file
                new.append(file)
        return extracted

    edits = get_edits(invocation_context.log, ("data_files", invocation_context.agent.name))
    extracted: list[Extracted] = edits.apply(llm_request.contents, extract)
    llm_request.contents = [entry.content for entry in extracted]
    # After a reload the state may lack files of contents whose edits are cached.
    for entry in extracted:
        for file in entry.files:
            if file.name not in known:
                known[file.name] = file
                new.append(file)
    if new:
        context.add_input_files(new)
    return list(known.values())


async def _explore_file(
    invocation_context: InvocationContext,
    executor: BaseCodeExecutor,
    context: CodeExecutorContext,
    file: File,
    code: str,
) -> AsyncGenerator[Event, None]:
    """Run code that explores a data file; a failure does not count as the model's error."""
    parts = [
        types.Part(text=f"{_EXPLORING}`{file.name}`"),
        CodeExecutionUtils.build_executable_code_part(code),
    ]
    if not _is_code_committed(invocation_context, code):
        yield _make_event(invocation_context, types.Content(role="model", parts=parts))
    result = await _execute_code(invocation_context, executor, context, code, [file])
    context.add_processed_file_names([file.name])
    yield await _result_event(invocation_context, context, result)


def _show_as_text(
    invocation_context: InvocationContext, executor: BaseCodeExecutor, llm_request: LlmRequest
) -> None:
    """Replace code and results in the contents by delimited text."""
    if not executor.code_block_delimiters:
        return
    code_delimiters = executor.code_block_delimiters[0]
    result_delimiters = executor.execution_result_delimiters

    def convert(index: int, content: types.Content) -> types.Content:
        last = content.parts[-1] if content.parts else None
        if last is None or (last.executable_code is None and last.code_execution_result is None):
            return content
        shown = types.Content(role=content.role, parts=content.parts)
        CodeExecutionUtils.convert_code_execution_parts(shown, code_delimiters, result_delimiters)
        return shown

    key = ("code_as_text", invocation_context.agent.name, code_delimiters, result_delimiters)
    edits = get_edits(invocation_context.log, key)
    llm_request.contents = edits.apply(llm_request.contents, convert)


async def _execute_code(
    invocation_context: InvocationContext,
    executor: BaseCodeExecutor,
    context: CodeExecutorContext,
    code: str,
    files: list[File],
) -> CodeExecutionResult:
    """Run code off the event loop and record the result."""
    execution_id = None
    if executor.stateful:
        execution_id = context.get_execution_id()
        if execution_id is None:
            execution_id = invocation_context.session.id
            context.set_execution_id(execution_id)
    try:
        result = await executor.execute_code_async(
            invocation_context,
            CodeExecutionInput(code=code, input_files=files, execution_id=execution_id),
        )
    except ABORTS as abort:
        raise as_tool_error(abort, f"Code executor {type(executor).__name__}") from abort
    # Not every store can keep NUL.
    result.stdout = result.stdout.replace("\0", "\ufffd")
    result.stderr = result.stderr.replace("\0", "\ufffd")
    context.update_code_execution_result(
        invocation_context.invocation_id, code, result.stdout, result.stderr
    )
    return result


async def _result_event(
    invocation_context: InvocationContext,
    context: CodeExecutorContext,
    result: CodeExecutionResult,
) -> Event:
    """Save the output files and build the event that tells how the code ended."""
    actions = EventActions(state_delta=context.get_state_delta())
    artifacts = Context(invocation_context, event_actions=actions)
    for file in result.output_files:
        part = types.Part.from_bytes(data=file.read_bytes(), mime_type=file.mime_type)
        await artifacts.save_artifact(file.name, part)
    shown = CodeExecutionUtils.build_code_execution_result_part(result)
    return _make_event(invocation_context, types.Content(role="model", parts=[shown]), actions)


async def _save_images(
    invocation_context: InvocationContext, llm_response: LlmResponse, content: types.Content
) -> Event | None:
    """Save the response's images as artifacts and replace them by their names.

    Without an artifact service the images stay, because there is no other copy.
    """
    if invocation_context.artifact_service is None:
        return None
    actions = EventActions()
    artifacts = Context(invocation_context, event_actions=actions)
    parts: list[types.Part] = []
    for part in content.parts or []:
        image = part.inline_data
        if image is None or not (image.mime_type or "").startswith("image/"):
            parts.append(part)
            continue
        name = _image_name(image, set(actions.artifact_delta))
        await artifacts.save_artifact(name, types.Part(inline_data=image))
        parts.append(types.Part(text=f"Saved as artifact: {name}. "))
    if not actions.artifact_delta:
        return None
    llm_response.content = types.Content(role=content.role, parts=parts)
    return _make_event(invocation_context, None, actions)


def _image_name(image: types.Blob, taken: set[str]) -> str:
    """Return the image's own name or one made of the UTC time, unique in the response.

    Folders are removed, and colons are replaced because they have a meaning in artifact names.
    """
    given = (image.display_name or "").replace("\\", "/").rpartition("/")[2].replace(":", "_")
    stem, dot, ending = given.rpartition(".")
    if not stem:
        stem = given or time.strftime("%Y%m%d_%H%M%S", time.gmtime(_clock.now()))
        ending = "" if given else (guess_extension(image.mime_type or "") or "").lstrip(".")
        dot = "." if ending else ""
    name, number = f"{stem}{dot}{ending}", 1
    while name in taken:
        number += 1
        name = f"{stem}_{number}{dot}{ending}"
    return name


def _make_event(
    invocation_context: InvocationContext,
    content: types.Content | None,
    actions: EventActions | None = None,
) -> Event:
    return Event(
        invocation_id=invocation_context.invocation_id,
        author=invocation_context.agent.name,
        branch=invocation_context.branch,
        content=content,
        actions=actions or EventActions(),
    )


request_processor = CodeExecutionRequestProcessor()
response_processor = CodeExecutionResponseProcessor()
