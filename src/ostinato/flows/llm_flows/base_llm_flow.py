"""The ReAct loop: build a request, call the model, act on what it asks for, until it is done.

Read top-down: `run_async`, one step, then its parts in the order they happen. `LlmAgent` runs it.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import AsyncGenerator, Sequence
from typing import Any, cast

from ... import _clock
from ... import context as contexts
from ..._aclosing import Aclosing
from ..._log import get_logger
from ...context.callbacks import checked, first_answer, plugin_answer
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...context.readonly import ReadonlyContext
from ...events.event import Event
from ...events.event_actions import EventActions
from ...models.llm_request import LlmRequest
from ...models.llm_response import LlmResponse
from ...sessions._resume import Reached
from ...telemetry.model_call import model_call
from ...tools.base_tool import BaseTool
from ...tools.base_toolset import BaseToolset
from . import _output_schema_processor, contents, functions
from ._act import act
from ._asked_again import ask
from ._base_llm_processor import BaseLlmRequestProcessor, BaseLlmResponseProcessor
from ._call_journal import note_calls
from ._going_on import pending_calls, recorded_response, take_reached
from ._output_check import correction, reject_output
from ._tool_bundle import ToolBundle, is_foreign
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
        """Run over a live connection.

        Raises:
          NotImplementedError: live mode is not built yet.
        """
        raise NotImplementedError("Live mode is not built yet in Ostinato; use run_async.")
        yield

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
            async with Aclosing(step) as events:
                async for event in events:
                    last_event = event
                    asked_for_credential |= _asks_for_credential(event)
                    yield event
            if last_event is None or last_event.is_final_response() or asked_for_credential:
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
        if reached is not None and reached.kind == "structured" and reached.record is not None:
            said = _output_schema_processor.get_structured_model_response(reached.record.event())
            yield _output_schema_processor.create_final_model_response_event(ctx, said or "null")
            return
        llm_request = LlmRequest()
        asks_user = False
        async with Aclosing(self._preprocess_async(ctx, llm_request)) as events:
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
        skeleton = Event(invocation_id=ctx.invocation_id, author=ctx.agent.name, branch=ctx.branch)
        if reached is not None and reached.kind == "code" and reached.record is not None:
            responses = recorded_response(reached.record)
        else:
            responses = self._call_llm_async(ctx, llm_request, skeleton)
        async with Aclosing(responses):
            async for response in responses:
                async with Aclosing(
                    self._postprocess_async(ctx, llm_request, response, skeleton)
                ) as events:
                    async for event in events:
                        yield event
                # The next event of this response must not share the one's id or time.
                skeleton.id, skeleton.timestamp = _clock.new_id(), _clock.now()

    async def _preprocess_async(
        self, ctx: InvocationContext, llm_request: LlmRequest
    ) -> AsyncGenerator[Event, None]:
        """Run the request processors, then let toolsets and tools add themselves (Spec 2 §3.9)."""
        for processor in self.request_processors:
            if processor.edits_only:
                pending = processor.edit(ctx, llm_request)
                if pending is not None:
                    await pending
            elif processor.applies(ctx):
                if is_foreign(processor):
                    llm_request.contents = contents.copied(llm_request.contents)
                async for event in processor.run_async(ctx, llm_request):
                    yield event
            if ctx.end_invocation:
                return
        toolsets = [tool for tool in ctx.agent.tools if isinstance(tool, BaseToolset)]
        if toolsets:
            async for event in resolve_toolset_auth(ctx, ctx.agent.tools):
                yield event
            if ctx.end_invocation:
                return
        if ctx.agent.tools:
            await self._add_tools(ctx, toolsets, llm_request)

    async def _add_tools(
        self, ctx: InvocationContext, toolsets: Sequence[BaseToolset], llm_request: LlmRequest
    ) -> None:
        """Add the agent's tools; plain ones together, from what was compiled once."""
        agent = ctx.agent
        context: Context | None = None
        for toolset in toolsets:
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
        self, ctx: InvocationContext, llm_request: LlmRequest, skeleton: Event
    ) -> AsyncGenerator[LlmResponse, None]:
        """Call the model with its hooks around it (Spec 2 §5.1)."""
        answer = await self._before_model(ctx, llm_request, skeleton)
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
            async with Aclosing(responses):
                while True:
                    call.resume()
                    try:
                        response = await (
                            anext(responses, None)
                            if spending is None
                            else spending.next_response(responses, agent)
                        )
                    except Exception as error:  # boundary: hooks may answer a model's error
                        response = await self._on_model_error(ctx, llm_request, skeleton, error)
                        call.end(error)
                        if response is None:
                            raise
                        complete = True
                        yield await self._after_model(ctx, response, skeleton)
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
                        if not _has_substance(response):
                            response = _without_content(ctx, response)
                    yield await self._after_model(ctx, response, skeleton)
        finally:
            call.end()
        if not complete:
            yield _without_content(ctx, LlmResponse())

    async def _postprocess_async(
        self,
        ctx: InvocationContext,
        llm_request: LlmRequest,
        llm_response: LlmResponse,
        skeleton: Event,
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
        asks = not event.partial and bool(event.get_function_calls())
        if asks:
            note_calls(ctx, event, llm_request.tools_dict)
        wrong = reject_output(ctx, event) if ctx.agent.output_schema is not None else None
        yield event
        if wrong is not None:
            yield correction(ctx, wrong, "set_model_response" in llm_request.tools_dict)
        if asks:
            async with Aclosing(self._act_on(ctx, event, llm_request)) as events:
                async for event in events:
                    yield event

    def _finalize_model_response_event(
        self, llm_request: LlmRequest, llm_response: LlmResponse, model_response_event: Event
    ) -> Event:
        """Merge the response into the skeleton; fill in call ids (Spec 2 §6.2)."""
        fields = {
            name: value
            for name in llm_response.model_fields_set
            if (value := getattr(llm_response, name)) is not None
        }
        skeleton = model_response_event
        event = Event(
            **fields,
            id=skeleton.id,
            timestamp=skeleton.timestamp,
            invocation_id=skeleton.invocation_id,
            author=skeleton.author,
            branch=skeleton.branch,
            actions=skeleton.actions,
        )
        skeleton.actions = EventActions()
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
        response: Event | None = None
        async with Aclosing(act(ctx, call_event, llm_request.tools_dict, filters)) as events:
            async for response in events:
                yield response
        if response is None or not response.get_function_responses():
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
        return agent

    async def _before_model(
        self, ctx: InvocationContext, llm_request: LlmRequest, skeleton: Event
    ) -> LlmResponse | None:
        """Run the before_model hooks; an answer replaces the call."""
        hooks, agent, hook = ctx.plugin_manager, ctx.agent, "before_model_callback"
        callbacks = agent.canonical_before_model_callbacks
        if not callbacks and not hooks.overrides(hook):
            return None
        context = Context(ctx, event_actions=skeleton.actions)
        pending = hooks.run_before_model_callback(callback_context=context, llm_request=llm_request)
        answer = await plugin_answer(pending, LlmResponse, hook, agent.name)
        return answer or await first_answer(
            callbacks,
            LlmResponse,
            hook,
            agent.name,
            callback_context=context,
            llm_request=llm_request,
        )

    async def _after_model(
        self, ctx: InvocationContext, llm_response: LlmResponse, skeleton: Event
    ) -> LlmResponse:
        """Run the after_model hooks; an answer replaces the response."""
        hooks, agent, hook = ctx.plugin_manager, ctx.agent, "after_model_callback"
        callbacks = agent.canonical_after_model_callbacks
        if not callbacks and not hooks.overrides(hook):
            return llm_response
        context = Context(ctx, event_actions=skeleton.actions)
        pending = hooks.run_after_model_callback(
            callback_context=context, llm_response=llm_response
        )
        answer = await plugin_answer(pending, LlmResponse, hook, agent.name)
        answer = answer or await first_answer(
            callbacks,
            LlmResponse,
            hook,
            agent.name,
            callback_context=context,
            llm_response=llm_response,
        )
        return answer or llm_response

    async def _on_model_error(
        self, ctx: InvocationContext, llm_request: LlmRequest, skeleton: Event, error: Exception
    ) -> LlmResponse | None:
        """Run the on_model_error hooks; an answer stands in for the response (Spec 2 §5.4)."""
        hooks, agent, hook = ctx.plugin_manager, ctx.agent, "on_model_error_callback"
        context = Context(ctx, event_actions=skeleton.actions)
        pending = hooks.run_on_model_error_callback(
            callback_context=context, llm_request=llm_request, error=error
        )
        answer = await plugin_answer(pending, LlmResponse, hook, agent.name)
        return answer or await first_answer(
            agent.canonical_on_model_error_callbacks,
            LlmResponse,
            hook,
            agent.name,
            callback_context=context,
            llm_request=llm_request,
            error=error,
        )


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


def _has_substance(response: LlmResponse) -> bool:
    """Tell whether a complete response says anything at all."""
    has_parts = response.content is not None and bool(response.content.parts)
    return has_parts or bool(response.error_code) or bool(response.interrupted)


def _without_content(ctx: InvocationContext, response: LlmResponse) -> LlmResponse:
    """Return an empty response, or one whose stream was cut, as the error it is."""
    return response.model_copy(
        update={
            "error_code": "EMPTY_RESPONSE",
            "error_message": (
                f"The model {ctx.agent.canonical_model.model!r} of agent {ctx.agent.name!r} ended "
                "its response without any content. Try again, or handle it in an "
                "after_model_callback."
            ),
        }
    )
