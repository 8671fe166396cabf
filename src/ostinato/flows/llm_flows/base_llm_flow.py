"""The ReAct loop: build a request, call the model, run the tools it calls, repeat until done.

Read top-down: `run_async`, one step, then its parts in order. `LlmAgent` runs it.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import AsyncGenerator
from typing import Any

from ... import context as contexts
from ... import types
from ..._aborted_tool import ABORTS, as_tool_error
from ..._aclosing import Aclosing
from ..._log import get_logger
from ...context.callbacks import check_answer
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...context.readonly import ReadonlyContext
from ...context.run_path import enter_transfer
from ...events.event import EVENT_TEMPLATE, Event
from ...models.base_llm import BaseLlm
from ...models.llm_request import REQUEST_TEMPLATE, LlmRequest
from ...models.llm_response import LlmResponse
from ...sessions.log.resume import ResumePoint
from ...telemetry.model_call import AnyCall, model_call
from ...tools.agent_tool import copy_grounding
from ...tools.base_tool import BaseTool
from ...tools.base_toolset import BaseToolset
from ...tools.google.searching_agent import SEARCHING_AGENT
from ...types.record_template import shallow_copy
from . import _output_schema_processor, contents, delegation, functions
from ._base_llm_processor import BaseLlmRequestProcessor, BaseLlmResponseProcessor
from .agent_transfer import check_transfer_target
from .auth_preprocessor import (
    TOOLSET_AUTH_CREDENTIAL_ID_PREFIX as TOOLSET_AUTH_CREDENTIAL_ID_PREFIX,
)
from .auth_preprocessor import resolve_toolset_auth
from .history.visibility import NO_REQUEST, RESERVED_CALLS
from .interactions_processor import Chain, begin_chain, is_chained
from .live.live_connection import MAX_RECONNECTS
from .live.live_run import LiveSteps, run_live
from .model_call.model_hooks import (
    EventDraft,
    has_after_model_hooks,
    run_after_model_hooks,
    run_before_model_hooks,
    run_model_error_hooks,
)
from .model_call.output_check import find_problem, make_correction, reject_output
from .model_call.response_retry import (
    generate_responses,
    mark_as_empty,
    refuse_nul,
    require_content,
)
from .resume.resume_point import consume_resume_point, find_pending_calls, replay_response
from .tool_calls.call_events import execute_calls
from .tool_calls.call_journal import register_calls
from .tool_calls.call_origins import record_origins
from .tool_calls.framework_calls import asks_for_confirmation, asks_for_credential
from .tool_calls.model_calls import complete_calls, rename_calls
from .tool_calls.tool_bundle import ToolBundle, arrange_tools, is_foreign, toolsets_of

logger = get_logger(__name__)

DEFAULT_MAX_RECONNECT_ATTEMPTS = MAX_RECONNECTS
# Programs for google-adk patch these delays in their tests; no live run of Ostinato uses them.
DEFAULT_TASK_COMPLETION_DELAY = 1.0
DEFAULT_TRANSFER_AGENT_DELAY = 1.0
DEFAULT_ENABLE_CACHE_STATISTICS = False

_SEARCH_AGENT: str = SEARCHING_AGENT["name"]


class BaseLlmFlow(ABC):  # noqa: B024 - subclasses differ in their processors only
    """The loop of one agent (Spec 1 §5, Spec 2 §2.3).

    Attributes:
      request_processors: prepare each request, in order.
      response_processors: process each response, in order.
    """

    def __init__(self) -> None:
        self.request_processors: list[BaseLlmRequestProcessor] = []
        self.response_processors: list[BaseLlmResponseProcessor] = []
        self._bundle = ToolBundle()

    async def run_live(self, invocation_context: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run over a live connection (Spec 1 §17); see `live/live_run.py`."""
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

        A resumed run starts at its resume point.

        Args:
          invocation_context: the run.

        Yields:
          The events of every step; each is committed before the next one is created.
        """
        ctx = invocation_context
        resume = ctx.run_state.resume
        resume_point = None if resume is None else consume_resume_point(ctx, resume)
        if resume_point is not None and resume_point.kind == "ended":
            return
        while True:
            last_event: Event | None = None
            asked_for_credential = False
            step = self._run_one_step_async(ctx, resume_point)
            resume_point = None
            try:
                async for event in step:
                    last_event = event
                    asked_for_credential |= asks_for_credential(event)
                    yield event
            finally:
                await step.aclose()
            if ctx.log.unanswered and delegation.is_waiting(ctx):
                ctx.end_invocation = True  # the after-agent hooks run when the task is done
                return
            if last_event is None or last_event.is_final_response() or asked_for_credential:
                return
            if ctx.agent.mode == "task" and delegation.is_done(ctx):
                return
            if last_event.partial:
                logger.warning("The last event is partial, which is not expected.")
                return

    async def _run_one_step_async(
        self, ctx: InvocationContext, resume_point: ResumePoint | None = None
    ) -> AsyncGenerator[Event, None]:
        """Preprocess, resume open calls, call the model, run its calls (Spec 2 §2.5).

        Args:
          ctx: the run.
          resume_point: the resume point of an interrupted run, for the first step after it.
        """
        unsent = None if resume_point is None else _unsent_output_event(ctx, resume_point)
        if unsent is not None:
            yield unsent
            return
        llm_request = REQUEST_TEMPLATE.create()
        begin = await self._run_edits(ctx, llm_request)
        resumes = ctx.is_resumable or ctx.run_state.is_resumed or ctx.isolation_scope is not None
        if begin is not None or resumes:
            prelude = self._run_prelude(ctx, llm_request, begin, resume_point)
            async with Aclosing(prelude) as events:
                async for event in events:
                    if event is None:
                        return
                    yield event
        if ctx.end_invocation:
            return
        draft = EventDraft(ctx)
        processors = [one for one in self.response_processors if one.applies(ctx)]
        responses = self._get_responses(ctx, llm_request, draft, resume_point)
        try:
            async for response in responses:
                for processor in processors:
                    async for event in processor.run_async(ctx, response):
                        yield event
                event = self._make_event(ctx, llm_request, response, draft)
                if event is not None:
                    actions = self._plan_actions(ctx, llm_request, event)
                    yield event
                    if actions is not None:
                        try:
                            async for event in actions:
                                yield event
                        finally:
                            await actions.aclose()
                draft.start_next()
        finally:
            await responses.aclose()

    async def finish_calls(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        """Run what is left of an agent's calls, and call no model: calls that the user has decided,
        and calls of agents that waited. The agent has ended or handed over.

        Args:
          ctx: the run of the agent.

        Yields:
          The events of the calls.
        """
        inner, llm_request = shallow_copy(ctx), REQUEST_TEMPLATE.create()
        begin = await self._run_edits(inner, llm_request)
        async with Aclosing(self._run_prelude(inner, llm_request, begin, None)) as events:
            async for event in events:
                if event is None:
                    return
                yield event

    async def _run_prelude(
        self,
        ctx: InvocationContext,
        llm_request: LlmRequest,
        begin: int | None,
        resume_point: ResumePoint | None,
    ) -> AsyncGenerator[Event | None, None]:
        """Run the processors that may yield events, and the calls that a resumed run left open.

        Args:
          begin: the processor at which `_run_edits` stopped; None if it ran all.

        Yields:
          Their events; None if the step ends with them.
        """
        asks_user = False
        if begin is not None:
            async with Aclosing(self._preprocess_async(ctx, llm_request, begin)) as events:
                async for event in events:
                    asks_user |= asks_for_confirmation(event) or asks_for_credential(event)
                    yield event
                    if event.actions.transfer_to_agent and event.get_function_responses():
                        async with Aclosing(self._transfer(ctx, event)) as others:
                            async for other in others:
                                yield other
                        yield None  # a person had approved the transfer
        if asks_user:
            yield None
        if ctx.end_invocation:
            return
        pending = find_pending_calls(ctx, resume_point)
        for record, ids in pending.groups:
            actions = self._run_actions(ctx, llm_request, record.event(), ids)
            async with Aclosing(actions) as events:
                async for event in events:
                    yield event
        if pending.pauses:
            yield None

    async def _preprocess_async(
        self, ctx: InvocationContext, llm_request: LlmRequest, begin: int | None = None
    ) -> AsyncGenerator[Event, None]:
        """Run the request processors, then let toolsets and tools add themselves (Spec 2 §3.9).

        Args:
          begin: the processor at which `_run_edits` stopped; None if it has not run yet.
        """
        at = await self._run_edits(ctx, llm_request) if begin is None else begin
        while at is not None and not ctx.end_invocation:
            if at == len(self.request_processors):
                async for event in resolve_toolset_auth(ctx, ctx.agent.tools):
                    yield event
                if not ctx.end_invocation:
                    await self._add_tools(ctx, llm_request, toolsets_of(ctx.agent.tools))
                return
            processor = self.request_processors[at]
            if is_foreign(processor):
                llm_request.contents = contents.copy_contents(llm_request.contents)
            async for event in processor.run_async(ctx, llm_request):
                yield event
            if not ctx.end_invocation:
                at = await self._run_edits(ctx, llm_request, at + 1)

    async def _run_edits(
        self, ctx: InvocationContext, llm_request: LlmRequest, begin: int = 0
    ) -> int | None:
        """Run processors up to the first that may yield events; most agents have none that does.

        Args:
          begin: index of the first processor.

        Returns:
          Index of the next processor that may yield events; the number of processors if only
          toolsets may; None if all have run.
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
        toolsets = toolsets_of(ctx.agent.tools)
        if toolsets:
            return len(self.request_processors)
        await self._add_tools(ctx, llm_request, toolsets)
        return None

    async def _add_tools(
        self, ctx: InvocationContext, llm_request: LlmRequest, toolsets: list[BaseToolset]
    ) -> None:
        """Add the agent's tools; plain ones as one precompiled bundle."""
        agent = ctx.agent
        if not (agent.tools or agent.mode == "task" or agent.delegates):
            return
        context: Context | None = None
        for toolset in toolsets:
            context = context or Context(ctx)
            await toolset.process_llm_request(tool_context=context, llm_request=llm_request)
        if ctx.canonical_tools_cache is None:
            # Once per run of the agent, because listing a toolset may call a server.
            listed = await agent.canonical_tools(ReadonlyContext(ctx))
            ctx.canonical_tools_cache = arrange_tools(
                listed,
                ctx.services.context_policy,
                agent.name,
                is_live=ctx.live_request_queue is not None,
            )
        tools: list[BaseTool] = ctx.canonical_tools_cache or []
        plain = self._bundle.add_plain(tools, llm_request)
        for tool in tools[plain:]:
            context = context or Context(ctx)
            await tool.process_llm_request(tool_context=context, llm_request=llm_request)

    async def _call_llm_async(
        self, ctx: InvocationContext, llm_request: LlmRequest, draft: EventDraft
    ) -> AsyncGenerator[LlmResponse, None]:
        """Call the model with its hooks around it (Spec 2 §5.1)."""
        telemetry = None if ctx.run_config is None else ctx.run_config.telemetry
        trimmed = llm_request.trimmed or {}
        call = model_call(llm_request, telemetry, invocation_id=ctx.invocation_id, **trimmed)
        failure: Exception | None = None
        try:
            answer = await run_before_model_hooks(ctx, llm_request, draft, call)
            if answer is not None:
                call.end()
                yield answer
                return
            streaming, chain, responses = _begin_call(ctx, llm_request, call)
            complete, spending = False, ctx.services.budget_usage
            who, agent_name = f"model {llm_request.model!r}", ctx.agent.name
            hooked = has_after_model_hooks(ctx)
            try:
                while True:
                    call.resume()
                    try:
                        response = await (
                            anext(responses, None)
                            if spending is None
                            else spending.next_response(responses, ctx.agent)
                        )
                    except (*ABORTS, Exception) as raised:  # boundary: hooks may answer it
                        failure = _as_model_error(raised, llm_request)
                        response = None
                    finally:
                        call.suspend()
                    if failure is not None:
                        yield await _handle_model_error(ctx, llm_request, draft, failure, call)
                        return
                    if response is None:
                        break
                    call.note(response)
                    check_answer(response, LlmResponse, who, agent_name)
                    partial = response.partial
                    if partial and not streaming:
                        continue
                    if not partial:
                        complete = True
                        response = _complete_response(ctx, response, chain)
                    if hooked:
                        response = await run_after_model_hooks(ctx, response, draft, call)
                    if complete:
                        call.end()  # before the loop acts on the response
                    yield response
            finally:
                await responses.aclose()
        except Exception as error:  # boundary: the span records what ended the call
            call.end(error)
            raise
        finally:
            call.end()
        if not complete:
            yield mark_as_empty(ctx, LlmResponse())

    def _get_responses(
        self,
        ctx: InvocationContext,
        llm_request: LlmRequest,
        draft: EventDraft,
        resume_point: ResumePoint | None,
    ) -> AsyncGenerator[LlmResponse, None]:
        """Call the model; replay its response if an interrupted run had yet to run its code."""
        if resume_point is not None and resume_point.kind == "code" and resume_point.record:
            return replay_response(resume_point.record)
        return self._call_llm_async(ctx, llm_request, draft)

    def _make_event(
        self,
        ctx: InvocationContext,
        llm_request: LlmRequest,
        response: LlmResponse,
        draft: EventDraft,
    ) -> Event | None:
        """Return the event of a response; None for one that says nothing."""
        if response.content is None and not response.error_code and not response.interrupted:
            if response.partial or draft.actions.is_empty():
                return None
            # A processor took the content; state that callbacks wrote is committed anyway.
            return self._finalize_model_response_event(llm_request, LlmResponse(), draft)
        event = self._finalize_model_response_event(llm_request, response, draft)
        if _SEARCH_AGENT in llm_request.tools_dict:
            copy_grounding(ctx, event)
        return event

    def _plan_actions(
        self, ctx: InvocationContext, llm_request: LlmRequest, event: Event
    ) -> AsyncGenerator[Event, None] | None:
        """Return what follows a response, to be run once its event is committed; None for most."""
        calls = () if event.partial else event.get_function_calls()
        if calls:
            if repeated := ctx.log.take_call_ids([call.id for call in calls]):
                rename_calls(event, repeated, llm_request.tools_dict)
            register_calls(ctx, event, llm_request.tools_dict)
            record_origins(event, llm_request.tools_dict)
        by_schema = ctx.agent.output_schema is not None and ctx.agent.mode != "task"
        wrong = reject_output(ctx, event) if by_schema else None
        if not calls and wrong is None:
            return None
        return self._run_actions(ctx, llm_request, event, wrong=wrong)

    def _finalize_model_response_event(
        self,
        llm_request: LlmRequest,
        llm_response: LlmResponse,
        model_response_event: EventDraft | Event,
    ) -> Event:
        """Create the event of a response and fill in call ids (Spec 2 §6.2)."""
        given, names = llm_response.__dict__, llm_response.__pydantic_fields_set__
        fields = {name: value for name in names if (value := given[name]) is not None}
        content = llm_response.content
        if content is not None and type(content) is not types.Content:
            # An adapter or a hook assigned it later, so it has not been validated yet.
            content = LlmResponse(content=content).content
        if content is not None:
            refuse_nul(content, llm_request.model)
            fields["content"], calls = complete_calls(content)
            if calls:
                fields["long_running_tool_ids"] = functions.get_long_running_function_calls(
                    calls, llm_request.tools_dict
                )
                if not RESERVED_CALLS.isdisjoint([call.name for call in calls]):
                    metadata = llm_response.custom_metadata or {}
                    fields["custom_metadata"] = {**metadata, NO_REQUEST: True}
        draft = model_response_event
        return EVENT_TEMPLATE.create(
            **fields,
            id=draft.id,
            timestamp=draft.timestamp,
            invocation_id=draft.invocation_id,
            author=draft.author,
            branch=draft.branch,
            actions=draft.actions,
        )

    async def _run_actions(
        self,
        ctx: InvocationContext,
        llm_request: LlmRequest,
        call_event: Event,
        filters: set[str] | None = None,
        wrong: str | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Act on a committed response: run its calls, then yield structured output or transfer to
        another agent (Spec 2 §6.3).

        Args:
          ctx: the run.
          llm_request: the request, with its tools.
          call_event: the response.
          filters: ids of the calls to run; None for all.
          wrong: how the output violates the agent's schema; the model is told first.
        """
        if wrong is not None:
            yield make_correction(ctx, wrong)
            if call_event.partial or not call_event.get_function_calls():
                return
        tasks = delegation.find_task_calls(ctx, call_event, filters) if ctx.agent.delegates else ()
        if tasks:
            filters = delegation.find_other_calls(call_event, tasks, filters)
        response: Event | None = None
        call_events = execute_calls(ctx, call_event, llm_request.tools_dict, filters)
        try:
            async for response in call_events:
                yield response
        finally:
            await call_events.aclose()
        if tasks:
            async with Aclosing(delegation.run_tasks(ctx, tasks, response)) as events:
                async for event in events:
                    yield event
        if response is None or response.partial or not response.get_function_responses():
            return
        structured = _output_schema_processor.get_structured_model_response(response)
        if structured is not None:
            yield _output_schema_processor.create_final_model_response_event(ctx, structured)
        if response.actions.transfer_to_agent:
            async with Aclosing(self._transfer(ctx, response)) as events:
                async for event in events:
                    yield event

    def _transfer(self, ctx: InvocationContext, response: Event) -> AsyncGenerator[Event, None]:
        """Run the agent to which a response transfers."""
        agent = self._get_agent_to_run(ctx, response.actions.transfer_to_agent or "")
        ctx.forget_agent_states(agent)
        return agent.run_async(enter_transfer(ctx, agent))

    def _get_agent_to_run(self, invocation_context: InvocationContext, agent_name: str) -> Any:
        """Return the agent to transfer to (Spec 2 §8.2).

        Raises:
          ValueError: there is no such agent, or no transfer leads from this one to it.
        """
        root = invocation_context.agent.root_agent
        agent = root.find_agent(agent_name)
        if agent is None:
            raise ValueError(
                f"Agent {agent_name} not found in the agent tree: a tool of agent "
                f"{invocation_context.agent.name!r} set actions.transfer_to_agent to it. "
                f"Root of the tree is {root.name!r}."
            )
        check_transfer_target(invocation_context.agent, agent)
        delegation.check_transfer(invocation_context, agent)
        return agent


def _unsent_output_event(ctx: InvocationContext, resume_point: ResumePoint) -> Event | None:
    """Return the output event that an interrupted run had not emitted yet, or None."""
    if resume_point.record is None:
        return None
    if resume_point.kind == "structured":
        text_response = _output_schema_processor.get_structured_model_response(
            resume_point.record.event()
        )
        return _output_schema_processor.create_final_model_response_event(
            ctx, text_response or "null"
        )
    if resume_point.kind == "rejected":
        problem = find_problem(ctx, resume_point.record.event())
        return make_correction(ctx, problem or "The response does not match the output schema.")
    return None


def _begin_call(
    ctx: InvocationContext, llm_request: LlmRequest, call: AnyCall
) -> tuple[bool, Chain | None, AsyncGenerator[LlmResponse, None]]:
    """Label and count a model call.

    Returns:
      Whether its response is streamed, the chain of interactions that it continues, if any, and its
      responses.
    """
    agent, run_config, config = ctx.agent, ctx.run_config, llm_request.config
    config.labels = {**(config.labels or {}), "adk_agent_name": agent.name}
    ctx.increment_llm_call_count()
    call.begin(llm_request)
    streaming = run_config is not None and (run_config.streaming_mode is contexts.StreamingMode.SSE)
    model: BaseLlm = agent.canonical_model
    chain = begin_chain(ctx, llm_request) if is_chained(model) else None
    return streaming, chain, generate_responses(ctx, model, llm_request, streaming)


def _complete_response(
    ctx: InvocationContext, response: LlmResponse, chain: Chain | None
) -> LlmResponse:
    """Return a complete response with what the loop adds before any hook sees it."""
    if chain is not None:
        chain.record_on(response)
    return require_content(ctx, response)


async def _handle_model_error(
    ctx: InvocationContext,
    llm_request: LlmRequest,
    draft: EventDraft,
    failure: Exception,
    call: AnyCall,
) -> LlmResponse:
    """Return the error hooks' answer to a failed call; raise `failure` if they give none."""
    response = await run_model_error_hooks(ctx, llm_request, draft, failure, call)
    if response is None:
        raise failure from failure.__cause__
    response = await run_after_model_hooks(ctx, response, draft, call)
    call.end(failure)
    return response


def _as_model_error(raised: BaseException, request: LlmRequest) -> Exception:
    """Return the model's exception; SystemExit and its like become a typed error."""
    if isinstance(raised, Exception):
        return raised
    return as_tool_error(raised, f"Model {request.model!r}")
