"""The ReAct loop: build a request, call the model, act on what it asks for, until it is done.

Read top-down: `run_async`, one step, then its parts in the order they happen. `LlmAgent` runs it.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import AsyncGenerator
from typing import Any, cast

from ... import context as contexts
from ... import types
from ..._aclosing import Aclosing
from ..._log import get_logger
from ...context.callbacks import checked
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...context.readonly import ReadonlyContext
from ...events.event import MADE, Event
from ...models.llm_request import EMPTY_REQUEST, LlmRequest
from ...models.llm_response import LlmResponse
from ...sessions._resume import Reached
from ...telemetry.model_call import model_call
from ...tools.base_tool import BaseTool
from . import _output_schema_processor, contents, delegation, functions
from ._act import act
from ._asked_again import ask
from ._base_llm_processor import BaseLlmRequestProcessor, BaseLlmResponseProcessor
from ._call_journal import note_calls
from ._empty_response import has_substance, without_content
from ._going_on import pending_calls, recorded_response, take_reached
from ._grounding import note_grounding
from ._live import LiveSteps, run_live
from ._model_hooks import after_model, before_model, on_model_error
from ._output_check import correction, problem_of, reject_output
from ._skeleton import Skeleton
from ._tool_bundle import ToolBundle, is_foreign, toolsets_of
from ._toolset_auth import resolve_toolset_auth
from .auth_preprocessor import (
    TOOLSET_AUTH_CREDENTIAL_ID_PREFIX as TOOLSET_AUTH_CREDENTIAL_ID_PREFIX,
)

logger = get_logger(__name__)


class BaseLlmFlow(ABC):  # noqa: B024 - subclasses differ in their processors only
    """The loop of one agent (Spec 1 §5, Spec 2 §2.3).

    Attributes:
      request_processors: prepare each request, in order.
      response_processors: work on each response, in order.
    """

    def __init__(self) -> None:
        self.request_processors: list[BaseLlmRequestProcessor] = []
        self.response_processors: list[BaseLlmResponseProcessor] = []
        self._bundle = ToolBundle()

    async def run_live(self, invocation_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run over a live connection (Spec 1 §17); see `_live.run_live`."""
        steps = LiveSteps(
            self._preprocess_async,
            self._finalize_model_response_event,
            self._get_agent_to_run,
        )
        async with Aclosing(run_live(invocation_context, steps)) as events:
            async for event in events:
                yield event

    async def run_async(self, invocation_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run steps until one ends with a final response (Spec 2 §2.3).

        A resumed run begins where the interrupted one broke off.

        Args:
          invocation_context: the run.

        Yields:
          The events of every step; each is committed before the next is made.
        """
        ctx = invocation_context
        reached = take_reached(ctx)
        if reached is not None and reached.kind == "ended":
            return
        while True:
            last_event: Event | None = None
            asked_for_credential = False
            step = self._run_one_step_async(ctx, reached)
            reached = None
            try:
                async for event in step:
                    last_event = event
                    asked_for_credential |= _asks_for_credential(event)
                    yield event
            finally:
                await step.aclose()
            if ctx.log.unanswered and delegation.waits(ctx):
                ctx.end_invocation = True  # what follows a run, its last hooks, is yet to come
                return
            if last_event is None or last_event.is_final_response() or asked_for_credential:
                return
            if ctx.agent.mode == "task" and delegation.is_done(ctx):
                return
            if last_event.partial:
                logger.warning("The last event is partial, which is not expected.")
                return

    async def _run_one_step_async(
        self, ctx: InvocationContext, reached: Reached | None = None
    ) -> AsyncGenerator[Event, None]:
        """Preprocess, go on with open calls, call the model, act (Spec 2 §2.5).

        Args:
          ctx: the run.
          reached: how far an interrupted run had come, for the first step after it.
        """
        follows = _what_follows(ctx, reached)
        if follows is not None:
            yield follows
            return
        llm_request = EMPTY_REQUEST.fill()
        asks_user = False
        at = await self._prepare(ctx, llm_request)
        if at is not None:
            async with Aclosing(self._preprocess_async(ctx, llm_request, at)) as events:
                async for event in events:
                    asks_user |= _asks_for_confirmation(event)
                    yield event
        if ctx.end_invocation or asks_user:
            return
        if ctx.is_resumable or ctx.ports.resumed:
            pending = pending_calls(ctx, reached)
            if pending.record is not None:
                call_event = pending.record.event()
                async with Aclosing(
                    self._act_on(ctx, call_event, llm_request, pending.ids)
                ) as events:
                    async for event in events:
                        yield event
            if pending.pauses:
                return
        skeleton = Skeleton(ctx)
        if reached is not None and reached.kind == "code" and reached.record is not None:
            responses = recorded_response(reached.record)
        else:
            responses = self._call_llm_async(ctx, llm_request, skeleton)
        try:
            async for response in responses:
                events = self._postprocess_async(ctx, llm_request, response, skeleton)
                try:
                    async for event in events:
                        yield event
                finally:
                    await events.aclose()
                skeleton.renew()
        finally:
            await responses.aclose()

    async def _preprocess_async(
        self, ctx: InvocationContext, llm_request: LlmRequest, begin: int | None = None
    ) -> AsyncGenerator[Event, None]:
        """Run the request processors, then let toolsets and tools add themselves (Spec 2 §3.9).

        Args:
          begin: where `_prepare` left off; None where it is still to begin.
        """
        at = await self._prepare(ctx, llm_request) if begin is None else begin
        while at is not None and not ctx.end_invocation:
            if at == len(self.request_processors):
                async for event in resolve_toolset_auth(ctx, ctx.agent.tools):
                    yield event
                if not ctx.end_invocation:
                    await self._add_tools(ctx, llm_request)
                return
            processor = self.request_processors[at]
            if is_foreign(processor):
                llm_request.contents = contents.copied(llm_request.contents)
            async for event in processor.run_async(ctx, llm_request):
                yield event
            if not ctx.end_invocation:
                at = await self._prepare(ctx, llm_request, at + 1)

    async def _prepare(
        self, ctx: InvocationContext, llm_request: LlmRequest, begin: int = 0
    ) -> int | None:
        """Do what yields no events: all there is to do for most agents.

        Args:
          begin: index of the first processor.

        Returns:
          Index of the next processor that may yield events, behind the last for toolsets that may;
          None where all is done.
        """
        for index in range(begin, len(self.request_processors)):
            processor = self.request_processors[index]
            if processor.edits_only:
                pending = processor.edit(ctx, llm_request)
                if pending is not None:
                    await pending
                if ctx.end_invocation:
                    return None
            elif processor.applies(ctx):
                return index
        if toolsets_of(ctx.agent.tools):
            return len(self.request_processors)
        await self._add_tools(ctx, llm_request)
        return None

    async def _add_tools(self, ctx: InvocationContext, llm_request: LlmRequest) -> None:
        """Add the agent's tools; plain ones together, from what was compiled once."""
        agent = ctx.agent
        if not (agent.tools or agent.mode == "task" or agent.delegates):
            return
        context: Context | None = None
        for toolset in toolsets_of(agent.tools):
            context = context or Context(ctx)
            await toolset.process_llm_request(tool_context=context, llm_request=llm_request)
        if ctx.canonical_tools_cache is None:
            # Once per run of the agent: listing a toolset may mean asking a server.
            ctx.canonical_tools_cache = await agent.canonical_tools(ReadonlyContext(ctx))
        tools = cast(list[BaseTool], ctx.canonical_tools_cache)
        plain = self._bundle.add_plain(tools, llm_request)
        for tool in tools[plain:]:
            context = context or Context(ctx)
            await tool.process_llm_request(tool_context=context, llm_request=llm_request)

    async def _call_llm_async(
        self, ctx: InvocationContext, llm_request: LlmRequest, skeleton: Skeleton
    ) -> AsyncGenerator[LlmResponse, None]:
        """Call the model with its hooks around it (Spec 2 §5.1)."""
        answer = await before_model(ctx, llm_request, skeleton)
        if answer is not None:
            yield answer
            return
        agent = ctx.agent
        labels = llm_request.config.labels
        llm_request.config.labels = {**(labels or {}), "adk_agent_name": agent.name}
        ctx.increment_llm_call_count()
        streaming = ctx.run_config is not None and (
            ctx.run_config.streaming_mode is contexts.StreamingMode.SSE
        )
        complete, spending = False, ctx.ports.spending
        call = model_call(llm_request, invocation_id=ctx.invocation_id)
        responses = ask(ctx, llm_request, streaming)
        try:
            try:
                while True:
                    call.resume()
                    try:
                        response = await (
                            anext(responses, None)
                            if spending is None
                            else spending.next_response(responses, agent)
                        )
                    except Exception as error:  # boundary: hooks may answer a model's error
                        response = await on_model_error(ctx, llm_request, skeleton, error)
                        call.end(error)
                        if response is None:
                            raise
                        complete = True
                        yield await after_model(ctx, response, skeleton)
                        break
                    finally:
                        call.suspend()
                    if response is None:
                        break
                    call.note(response)
                    checked(response, LlmResponse, f"model {llm_request.model!r}", agent.name)
                    if response.partial and not streaming:
                        continue
                    if not response.partial:
                        complete = True
                        if not has_substance(response):
                            response = without_content(ctx, response)
                    yield await after_model(ctx, response, skeleton)
            finally:
                await responses.aclose()
        finally:
            call.end()
        if not complete:
            yield without_content(ctx, LlmResponse())

    async def _postprocess_async(
        self,
        ctx: InvocationContext,
        llm_request: LlmRequest,
        llm_response: LlmResponse,
        skeleton: Skeleton,
    ) -> AsyncGenerator[Event, None]:
        """Turn a response into events and act on its calls (Spec 2 §6.1)."""
        for processor in self.response_processors:
            if processor.applies(ctx):
                async for event in processor.run_async(ctx, llm_response):
                    yield event
        response = llm_response
        if response.content is None and not response.error_code and not response.interrupted:
            if not response.partial and not skeleton.actions.is_empty():
                # A processor took the content; what callbacks wrote is committed all the same.
                yield self._finalize_model_response_event(llm_request, LlmResponse(), skeleton)
            return
        event = self._finalize_model_response_event(llm_request, response, skeleton)
        note_grounding(ctx, event, llm_request.tools_dict)
        asks = not event.partial and bool(event.get_function_calls())
        if asks:
            if ctx.log.scopes:
                delegation.rename_taken_calls(ctx, event, llm_request)
            note_calls(ctx, event, llm_request.tools_dict)
        by_schema = ctx.agent.output_schema is not None and ctx.agent.mode != "task"
        wrong = reject_output(ctx, event) if by_schema else None
        yield event
        if wrong is not None:
            yield correction(ctx, wrong)
        if asks:
            acting = self._act_on(ctx, event, llm_request)
            try:
                async for event in acting:
                    yield event
            finally:
                await acting.aclose()

    def _finalize_model_response_event(
        self,
        llm_request: LlmRequest,
        llm_response: LlmResponse,
        model_response_event: Skeleton | Event,
    ) -> Event:
        """Merge the response into the skeleton; fill in call ids (Spec 2 §6.2)."""
        given = llm_response.__dict__
        fields = {n: v for n in llm_response.model_fields_set if (v := given[n]) is not None}
        skeleton = model_response_event
        # What an adapter or a hook assigned later was not validated when the response was made.
        plain = llm_response.content is None or type(llm_response.content) is types.Content
        make = MADE.fill if plain else Event
        event = make(
            **fields,
            id=skeleton.id,
            timestamp=skeleton.timestamp,
            invocation_id=skeleton.invocation_id,
            author=skeleton.author,
            branch=skeleton.branch,
            actions=skeleton.actions,
        )
        calls = event.get_function_calls()
        if calls:
            functions.populate_client_function_call_id(event)
            event.long_running_tool_ids = functions.get_long_running_function_calls(
                event.get_function_calls(), llm_request.tools_dict
            )
        return event

    async def _act_on(
        self,
        ctx: InvocationContext,
        call_event: Event,
        llm_request: LlmRequest,
        filters: set[str] | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Run the calls, then end with structured output or go on with another agent (Spec 2
        §6.3).
        """
        tasks = delegation.task_calls(ctx, call_event, filters) if ctx.agent.delegates else ()
        if tasks:
            filters = delegation.others(call_event, tasks, filters)
        response: Event | None = None
        acting = act(ctx, call_event, llm_request.tools_dict, filters)
        try:
            async for response in acting:
                yield response
        finally:
            await acting.aclose()
        if tasks:
            async with Aclosing(delegation.run_tasks(ctx, tasks, response)) as events:
                async for event in events:
                    yield event
        if response is None or response.partial or not response.get_function_responses():
            return
        structured = _output_schema_processor.get_structured_model_response(response)
        if structured is not None:
            yield _output_schema_processor.create_final_model_response_event(ctx, structured)
        target = response.actions.transfer_to_agent
        if target:
            agent = self._get_agent_to_run(ctx, target)
            ctx.forget_agent_states(agent)
            async with Aclosing(agent.run_async(ctx)) as events:
                async for event in events:
                    yield event

    def _get_agent_to_run(self, invocation_context: InvocationContext, agent_name: str) -> Any:
        """Return the agent to transfer to (Spec 2 §8.2); raise ValueError where there is none."""
        root = invocation_context.agent.root_agent
        agent = root.find_agent(agent_name)
        if agent is None:
            raise ValueError(
                f"Agent {agent_name} not found in the agent tree: a tool of agent "
                f"{invocation_context.agent.name!r} set actions.transfer_to_agent to it. "
                f"Root of the tree is {root.name!r}."
            )
        delegation.check_transfer(invocation_context, agent)
        return agent


def _what_follows(ctx: InvocationContext, reached: Reached | None) -> Event | None:
    """Return the event that an interrupted run owes to the output it had come to, if to any."""
    if reached is None or reached.record is None:
        return None
    if reached.kind == "structured":
        said = _output_schema_processor.get_structured_model_response(reached.record.event())
        return _output_schema_processor.create_final_model_response_event(ctx, said or "null")
    if reached.kind == "rejected":
        return correction(ctx, problem_of(ctx, reached.record.event()) or "It is no output.")
    return None


def _asks_for_confirmation(event: Event) -> bool:
    """Tell whether an event waits for the user's leave: once more, where the call is in doubt."""
    actions = event.actions
    return bool(actions.requested_tool_confirmations and actions.skip_summarization)


def _asks_for_credential(event: Event) -> bool:
    """Tell whether an event asks the user for a credential; the run waits for the answer."""
    if event.actions.requested_auth_configs:
        return True
    return bool(event.long_running_tool_ids) and any(
        call.name == functions.REQUEST_EUC_FUNCTION_CALL_NAME for call in event.get_function_calls()
    )
