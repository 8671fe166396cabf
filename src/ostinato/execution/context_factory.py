"""ContextFactory: the set-up of invocations, from the request to the context."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .. import types
from .._adk_mode import follows_adk
from .._shielded import run_shielded
from ..agents.base_agent import BaseAgent
from ..agents.llm_agent import LlmAgent
from ..agents.node_agent import NodeAgent
from ..auth.redaction import public_message
from ..context._ports import ChecksCalls, GatesNodeCalls
from ..context.budget import Budget, BudgetUsage
from ..context.callbacks import plugin_answer
from ..context.deps import MakeDeps
from ..context.invocation import INVOCATION_TEMPLATE, InvocationContext
from ..context.live_state import LiveState
from ..context.run_state import RunState
from ..context.services import RunServices
from ..durable.effect_notes import EffectCaller
from ..durable.journal import Journal
from ..durable.lease import LeaseKeeper, keeper_of
from ..errors import (
    CallNotOpenError,
    InputValidationError,
    LeaseLostError,
    SessionBusyError,
)
from ..events.event import EVENT_TEMPLATE, Event
from ..events.event_actions import ACTIONS_TEMPLATE
from ..flows.llm_flows.resume.decided_calls import note_silent_calls
from ..sessions.base_session_service import BaseSessionService
from ..sessions.log.event_log import TASK_ANSWER, EventLog, EventRecord
from ..sessions.log.history import is_imported
from ..sessions.log.resume import waits_for_answer
from ..sessions.session import Session, log_of
from ..sessions.store.durable_store import CallAnswer, Fence, InboxMessage, JournalRow, Lease, Place
from ..sessions.store.keyed_requests import check_begun
from ..tools import policy
from ..workflow.requests import check_answers
from ..workflow.schedule import run_node
from .live_runs import LIVE_DIGEST, PROCESS_GONE, find_unfinished_answer, read_live_answers
from .message_blobs import save_blobs
from .recovery.blockers import is_open
from .recovery.closing import close_cut_calls, close_parked_calls, seal, try_to_seal
from .request_checks import check_resumable
from .routing.agent_choice import check_graphs_answered, go_to_task, place_run, prepare_resume
from .routing.answers import check_tools, close_calls_of_gone_agents, read_answers
from .routing.task_choice import (
    MessageTarget,
    answered_call,
    find_graph,
    find_outermost_call,
    resolve_target,
)
from .run_deps import DepsSource
from .run_request import RunRequest
from .store_access import StoreAccess, withdraw_lost_requests
from .tree_digest import tree_digest
from .turn import Turn


def note_pause(ctx: InvocationContext, turn: Turn) -> None:
    """Record whether the invocation of a turn waits for an answer from outside."""
    turn.paused = turn.fence is not None and waits_for_answer(
        ctx.log, ctx.invocation_id, tasks=ctx.is_resumable
    )


async def end_broken_run(ctx: InvocationContext, turn: Turn, is_suspended: bool) -> None:
    """Seal a run that stopped before it began or between two events; keep the journal if questions
    of a graph stay open.
    """
    if is_suspended and turn.step.ending is None:
        await try_to_seal(ctx, GeneratorExit())
    note_pause(ctx, turn)


class ContextFactory:
    """Makes the turns and the invocation contexts of a runner.

    Args:
      service: the session service.
      root_agent: root of its agent tree.
      lease_seconds: length of a session's lease.
      make_deps: makes the deps of runs without any.
      policies: the policies of app and runner; None for one that is not set.

    Attributes:
      root_agent: root of the agent tree.
      store: access to the sessions.
      node_gate: what the tool calls of workflow nodes pass, or None.
    """

    def __init__(
        self,
        service: BaseSessionService,
        root_agent: BaseAgent,
        *,
        lease_seconds: float,
        make_deps: MakeDeps | None,
        policies: Sequence[Any] = (),
    ) -> None:
        self.root_agent = root_agent
        self.store = StoreAccess(service)
        self._lease_seconds = lease_seconds
        self._digest: str | None = None
        self._deps = DepsSource(root_agent, make_deps)
        self.node_gate: GatesNodeCalls | None = None
        self._budget_usage: BudgetUsage | None = None
        self._within: Callable[[], tuple[Place, Fence] | None] | None = None
        self._effect_caller: EffectCaller | None = None
        self._policy: ChecksCalls | None = None
        if any([one is not None for one in policies]):
            is_durable = self.store.durable is not None
            self._policy = policy.make_gate(policies, service, is_durable=is_durable)

    def join_run(
        self,
        usage: BudgetUsage | None,
        within: Callable[[], tuple[Place, Fence] | None],
        checks: ChecksCalls | None = None,
        caller: EffectCaller | None = None,
    ) -> None:
        """Count the runs as parts of another run.

        Args:
          usage: the budget usage of that run, or None.
          within: returns the session of that run, and its owner's fence.
          checks: decides on the tool calls, as in that run; None without a policy.
          caller: the calling agent, whose session's ledger keeps the effects; None if unknown.
        """
        self._budget_usage, self._within = usage, within
        self._effect_caller = caller
        self._policy = checks or self._policy

    def keeper(self) -> LeaseKeeper | None:
        """Return the lease keeper of the store, or None if no other process reaches it."""
        durable = self.store.durable
        if durable is None or not durable.shared:
            return None
        return keeper_of(durable, self._lease_seconds)

    def make_turn(self, request: RunRequest, *, over: Lease | InboxMessage | None = None) -> Turn:
        """Make a request's turn.

        Args:
          over: the abandoned work that the request recovers.
        """
        if self._digest is None:
            self._digest = tree_digest(self.root_agent)
        live = request.live is not None or request.ends_live
        digest = LIVE_DIGEST if live else self._digest
        self.store.notice_patches()
        plugin_manager = request.runner.host.plugin_manager
        if plugin_manager.plugins:
            plugin_manager.notice_patches()
        return Turn(self.store, self.keeper(), request, digest, over=over, within=self._within)

    async def load_session(self, request: RunRequest, *, asks: bool = True) -> Session:
        return await self.store.load(
            request.place,
            config=request.config.get_session_config,
            create=request.runner.host.auto_create_session,
            complete=request.needs_all,
            asks=asks,
        )

    async def set_up_new(self, session: Session, turn: Turn) -> InvocationContext | None:
        """Build the context, append the message, pick the agent (Spec 2 §1.2).

        A message that answers a call resumes that call's invocation. Without a message, which
        programs of google-adk may omit, the agent runs on the session alone.

        Returns:
          The context; None if no agent runs: the message rejects the request of a removed one.
        """
        request = turn.request
        new_message = request.message or types.Content()
        if request.answers_calls:
            turn.answers = await self._read_answers(session, turn, new_message)
        answered, target = self.find_target(request, session, new_message)
        turn.invocation_id = request.invocation_id or request.id  # a task may have ended meanwhile
        if answered is not None:
            self._check_graphs(log_of(session), new_message, answered, request)
            if not request.once:
                check_answers(log_of(session), new_message)
                turn.invocation_id = answered.invocation_id
            await self._check_not_abandoned(turn)
        ctx = await request.runner.make_context(session, turn, request.message)
        if answered is not None:
            ctx.populate_invocation_agent_states()
            ctx.run_state.is_resumed = True
        sealing = await self._close_parked_calls(session, turn)
        if request.message is not None:
            if await self._append_new_message(ctx, turn, new_message, target, sealing):
                note_pause(ctx, turn)
                return None
        elif sealing or request.state_delta:
            await turn.commit((*sealing, *_state_event(ctx, request.state_delta)))
        if answered is not None:
            prepare_resume(ctx, self.root_agent)
            return ctx
        ctx.agent = request.runner.find_agent(session, self.root_agent)
        go_to_task(ctx, target.asked)
        place_run(ctx, self.root_agent, None)
        return ctx

    async def _check_not_abandoned(self, turn: Turn) -> None:
        """Refuse to answer in an abandoned invocation, which is resumed or sealed first.

        Raises:
          SessionBusyError: the invocation is abandoned by a dead process or a closed event loop.
        """
        keeper, durable = self.keeper(), self.store.durable
        if keeper is None or durable is None or not turn.unclaimed or turn.takes_over:
            return
        lease = await durable.lease(turn.request.place)
        if lease is None or not is_open(lease) or lease.invocation_id != turn.invocation_id:
            return
        if lease.owner != keeper.owner or not keeper.holds(lease.place, lease.token):
            raise SessionBusyError(
                f"Invocation {lease.invocation_id!r} was abandoned in session "
                f"{lease.place.session_id!r}; it is resumed before its call is answered."
            )

    async def _close_parked_calls(
        self, session: Session, turn: Turn, *, has_message: bool = True
    ) -> list[Event]:
        """Return the events that close what a parked invocation left open; see `closing`."""
        durable = self.store.durable
        if durable is None or not turn.unclaimed:
            return []
        return await close_parked_calls(
            durable,
            turn.request.place,
            log_of(session),
            turn.invocation_id,
            self.root_agent,
            has_message=has_message,
        )

    async def set_up_live(self, session: Session, turn: Turn) -> InvocationContext:
        """Build the context of a live run, and claim the session."""
        request = turn.request
        await turn.commit(await self._close_parked_calls(session, turn))
        ctx = await request.runner.make_context(session, turn, None)
        ctx.live_request_queue = request.live
        read_answers = partial(read_live_answers, root_agent=self.root_agent)
        ctx.live_state = LiveState(read_answers)
        ctx.active_streaming_tools = {}
        known = request.config.session_resumption
        ctx.live_session_resumption_handle = known.handle if known is not None else None
        ctx.agent = request.runner.find_agent(session, self.root_agent)
        return ctx

    async def set_up_live_end(self, session: Session, turn: Turn) -> InvocationContext | None:
        """Close the calls of an abandoned live run.

        Returns:
          The context to run the calls that the user's last answer allowed, before the rest is
          closed; None if there is no such answer, or its agent is gone.
        """
        content, asked = find_unfinished_answer(log_of(session), turn.invocation_id) or (None, None)
        agent = None if asked is None else self.root_agent.find_agent(asked.author)
        ctx = await turn.request.runner.make_context(session, turn, content)
        await run_shielded(self._take_over(ctx, session, turn))
        if asked is None or agent is None:
            await seal(ctx, PROCESS_GONE)
            return None
        ctx.agent, ctx.branch, ctx.run_state.is_resumed = agent, asked.branch, True
        return ctx

    async def set_up_resumed(self, session: Session, turn: Turn) -> InvocationContext | None:
        """Rebuild the context of an invocation from its events (Spec 1 §19, FEATURES rows 26, 27).

        Returns:
          The context; None as for a new invocation.

        Raises:
          NothingToResumeError: the session has no such invocation, or a rewind hides it.
        """
        message, invocation_id = turn.request.message, turn.invocation_id
        log = log_of(session)
        check_resumable(session, invocation_id, has_message=message is not None)
        content = message or _newest_message(log, invocation_id)
        ctx = await turn.request.runner.make_context(session, turn, content)
        ctx.run_state.is_resumed = True
        sealing = await self._close_parked_calls(session, turn, has_message=message is not None)
        try:
            if message is None:
                await run_shielded(self._take_over(ctx, session, turn, sealing))
            else:
                turn.answers = await self._read_answers(session, turn, message)
                answered = answered_call(session, message)
                if answered is not None:
                    check_answers(log_of(session), message)
                    self._check_graphs(log_of(session), message, answered, turn.request)
                _, target = self.find_target(turn.request, session, message)
                if await self._append_new_message(ctx, turn, message, target, sealing):
                    note_pause(ctx, turn)
                    return None
        except LeaseLostError:
            raise
        except BaseException as stop:  # boundary: cancelled before the agent resumed
            if turn.fence is not None:
                await seal(ctx, stop)
            raise
        ctx.populate_invocation_agent_states()
        prepare_resume(ctx, self.root_agent)
        return ctx

    async def _take_over(
        self, ctx: InvocationContext, session: Session, turn: Turn, sealing: Sequence[Event] = ()
    ) -> None:
        """Claim the invocation being resumed; keep what its previous owner committed.

        Args:
          sealing: events to commit with the claim.
        """
        await (turn.commit(sealing) if sealing else turn.claim())
        ctx.run_state.journal = await self._open_journal(session, turn)
        note_silent_calls(ctx)
        await self.store.delete_hidden_of_answered(session, turn.invocation_id)

    async def make_context(
        self, session: Session, turn: Turn, user_content: types.Content | None
    ) -> InvocationContext:
        run_config, usage = turn.request.config, self._budget_usage
        runner = turn.request.runner
        app = runner.host.app
        if usage is None and (run_config.budget or app.budget):
            budget = run_config.budget or Budget()
            usage = BudgetUsage(budget.over(app.budget))
        if usage is not None:
            usage.restore_usage(log_of(session), turn.invocation_id, self.root_agent)
        services = RunServices(
            spawn=runner.spawn,
            schedule=run_node,
            commit=turn.commit,
            tool_errors=run_config.tool_errors or app.tool_errors,
            sends_client_secrets=app.send_client_secrets,
            budget_usage=usage,
            is_nested=turn.is_nested,
            deps=turn.request.deps,
            policy=self._policy,
            context_policy=app.context,
            node_gate=self.node_gate,
            close_cut_calls=close_cut_calls,
        )
        state = turn.run_state = RunState(await self._open_journal(session, turn))
        ctx = self._bare_context(session, turn, user_content, services, state)
        # A live run that only ends runs no tool, unless the user's answer allowed one.
        if not self._deps.is_idle and (user_content is not None or not turn.request.ends_live):
            services.deps = await self._deps.provide(ctx, services.deps)
        return ctx

    def _bare_context(
        self,
        session: Session,
        turn: Turn,
        user_content: types.Content | None,
        services: RunServices,
        state: RunState,
    ) -> InvocationContext:
        runner = turn.request.runner.host
        return INVOCATION_TEMPLATE.create(
            artifact_service=runner.artifact_service,
            session_service=runner.session_service,
            memory_service=runner.memory_service,
            credential_service=runner.credential_service,
            plugin_manager=runner.plugin_manager,
            context_cache_config=runner.context_cache_config,
            events_compaction_config=runner.app.events_compaction_config,
            resumability_config=runner.resumability_config,
            invocation_id=turn.invocation_id,
            agent=self.root_agent,
            session=session,
            user_content=user_content,
            run_config=turn.request.config,
            services=services,
            run_state=state,
        )

    async def _open_journal(self, session: Session, turn: Turn) -> Journal | None:
        """Return the journal of a turn's invocation, or None if nothing outlives the process."""
        durable = self.store.durable
        if durable is None or not durable.shared:
            return None
        log, invocation_id = log_of(session), turn.invocation_id
        rows: Sequence[JournalRow] = ()
        is_new = log.start_of(invocation_id) is None
        if not is_new:
            rows = await durable.journal(turn.request.place, invocation_id)
        return Journal(
            invocation_id,
            rows,
            None if is_new else log,
            keeps_effects=getattr(durable, "keeps_effects", False),  # a store of a user's has none
            caller=self._effect_caller,
            session_id=session.id,
        )

    async def _append_new_message(
        self,
        ctx: InvocationContext,
        turn: Turn,
        message: types.Content,
        target: MessageTarget,
        sealing: Sequence[Event] = (),
    ) -> bool:
        """Let plugins change the message, then commit it as the user's event (Spec 2 §1.2).

        Args:
          sealing: events to commit before it.

        Returns:
          Whether all its answers are for agents that are gone, whose calls are then closed too.
        """
        config, plugin_manager = turn.request.config, turn.request.runner.host.plugin_manager
        if turn.answers:
            await self._check_tools(ctx, turn, message)
        if plugin_manager.overrides("on_user_message_callback"):
            await turn.claim()  # so that hooks run once, in the turn
            changed = await plugin_answer(
                plugin_manager.run_on_user_message_callback(
                    user_message=message, invocation_context=ctx
                ),
                types.Content,
                "on_user_message_callback",
                ctx.agent.name,
            )
            if changed is not None:
                ctx.user_content = message = changed
                turn.replace_answers(read_answers(ctx.log, message, turn.request.id))
                if turn.answers:
                    await self._check_tools(ctx, turn, message)
        root: Any = self.root_agent
        if not message.parts and not isinstance(root, LlmAgent | NodeAgent):  # as google-adk
            raise InputValidationError("No parts in the new_message.")
        if config.save_input_blobs_as_artifacts:
            await turn.claim()
            ctx.user_content = message = await save_blobs(ctx, message)
        event = EVENT_TEMPLATE.create(
            invocation_id=ctx.invocation_id,
            author="user",
            content=public_message(message),  # ctx.user_content has the whole of it
            branch=target.branch,
            isolation_scope=target.scope,
            actions=ACTIONS_TEMPLATE.create(state_delta=dict(turn.request.state_delta or {})),
            custom_metadata=target.mark_message(message, turn.request.message_metadata),
        )
        if not turn.answers:
            await turn.commit_message((*sealing, event))
            return False
        closed = close_calls_of_gone_agents(ctx, self.root_agent, turn.answers, message)
        await _commit_answers(ctx, turn, event, (*sealing, event, *closed.events))
        return closed.is_all

    async def _read_answers(
        self, session: Session, turn: Turn, message: types.Content
    ) -> list[CallAnswer]:
        """Return the answers in a message; see `read_answers`."""
        try:
            return read_answers(log_of(session), message, turn.request.id)
        except CallNotOpenError:
            given = [part.function_response for part in message.parts or ()]
            call_ids = [one.id for one in given if one is not None]
            await withdraw_lost_requests(self.store.service, session, call_ids)
            raise

    async def _check_tools(
        self, ctx: InvocationContext, turn: Turn, message: types.Content
    ) -> None:
        """Refuse answers that no tool can act on.

        A message from the inbox without a caller is accepted already: what can run does, and the
        model gets an error for the rest.
        """
        if not (turn.takes_over and turn.kept):
            await check_tools(ctx, self.root_agent, turn.answers, message)

    def _check_graphs(
        self, log: EventLog, message: types.Content, answered: EventRecord, request: RunRequest
    ) -> None:
        """Refuse answers that a graph cannot act on, because it resumes its own invocation only.

        Raises:
          InputValidationError: the message has an idempotency key, so it is of no invocation yet.
          InvalidAnswerError: the message is for several invocations.
        """
        if request.once and find_graph(self.root_agent, answered) is not None:
            # In an invocation of its own, the graph would restart and run its nodes again.
            raise InputValidationError(
                f"The message answers invocation {answered.invocation_id!r} of a workflow graph, "
                "which resumes it; send it without an idempotency key."
            )
        own = request.id if request.once else request.invocation_id or answered.invocation_id
        check_graphs_answered(log, self.root_agent, message, own)

    async def check_answers_of(self, session: Session, turn: Turn) -> None:
        """Check the answers of a message before it is queued.

        Raises:
          IdempotencyKeyReusedError: another request has begun the invocation of its key.
          CallNotOpenError: a call does not wait for an answer.
          CallAlreadyAnsweredError: another message has answered a call.
          InvalidAnswerError: an answer does not fit its call.
        """
        request, log = turn.request, log_of(session)
        if request.message is None:
            return
        if request.once and check_begun(log, request.id, request.digests):
            return
        turn.answers = await self._read_answers(session, turn, request.message)
        if turn.answers:
            check_answers(log, request.message)
            answered = answered_call(session, request.message)
            if answered is not None:
                self._check_graphs(log, request.message, answered, request)
            ctx = self._bare_context(session, turn, request.message, RunServices(), RunState())
            await check_tools(ctx, self.root_agent, turn.answers, request.message)

    def find_target(
        self, request: RunRequest, session: Session, message: types.Content
    ) -> tuple[EventRecord | None, MessageTarget]:
        """Return the record of the call whose invocation a request's message resumes, if any, and
        the message's target.

        A task that waits for the user belongs to a paused invocation in a resumable app and in a
        graph; elsewhere each message starts an invocation of its own (FEATURES row 70).

        Raises:
          InputValidationError: the message answers a call that does not exist.
        """
        answered, log = answered_call(session, message), log_of(session)
        target = resolve_target(log, self.root_agent, message)
        if target.asked is not None and is_imported(target.asked):
            target = MessageTarget()  # imported calls do not wait
        config = request.runner.host.resumability_config
        resumes = config is not None and config.is_resumable
        if target.asked is not None and not resumes:
            asked = find_outermost_call(log, target.asked)
            resumes = asked is not None and find_graph(self.root_agent, asked) is not None
        return answered or (target.asked if resumes else None), target


async def _commit_answers(
    ctx: InvocationContext, turn: Turn, message: Event, events: Sequence[Event]
) -> None:
    """Commit the event of a message with answers, which claims their calls; if the run is cancelled
    meanwhile, seal it, because no later message can decide these calls.

    Args:
      message: the user's event.
      events: the event, with the events to commit before and after it.
    """
    try:
        await run_shielded(turn.commit_message(events))
    except asyncio.CancelledError as stop:
        if message.id and message.id in ctx.log:
            await try_to_seal(ctx, stop)  # if it fails, the turn hands the invocation over
        raise


def _state_event(ctx: InvocationContext, delta: dict[str, Any] | None) -> list[Event]:
    """Return the event of a state delta without a message, if there is a delta."""
    if not delta:
        return []
    actions = ACTIONS_TEMPLATE.create(state_delta=dict(delta))
    return [EVENT_TEMPLATE.create(invocation_id=ctx.invocation_id, author="user", actions=actions)]


def _newest_message(log: EventLog, invocation_id: str | None) -> types.Content | None:
    """Return the newest message of the user in an invocation, or None."""
    for record in log.invocation(invocation_id or ""):
        if record.author == "user" and not record.kinds & TASK_ANSWER:
            return record.event().content
    return None


def begins_as_named(session: Session, request: RunRequest) -> bool:
    """Return whether a message begins the invocation it names, as google-adk lets it."""
    if not follows_adk() or request.message is None or request.invocation_id is None:
        return False
    return log_of(session).start_of(request.invocation_id) is None
