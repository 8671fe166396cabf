"""How a runner is made, and how the context of an invocation is. `Runner` builds on this class."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, cast

from .. import types
from .._shielded import shielded
from ..agents.base_agent import BaseAgent
from ..agents.node_agent import as_agent
from ..apps.app import App, check_tree
from ..auth.redaction import public_message
from ..context.app_config import ResumabilityConfig
from ..context.budget import Budget, Spending
from ..context.callbacks import plugin_answer
from ..context.deps import MakeDeps
from ..context.invocation import NEW_RUN, InvocationContext, RunPorts
from ..durable.journal import Journal
from ..durable.lease import DEFAULT_SECONDS, LeaseKeeper, keeper_of
from ..errors import (
    AgentConfigError,
    InputValidationError,
    LeaseLostError,
    NothingToResumeError,
)
from ..events.event import MADE, Event
from ..events.event_actions import NO_ACTIONS
from ..models.context_cache_config import ContextCacheConfig
from ..plugins.base_plugin import BasePlugin
from ..plugins.plugin_manager import PluginManager
from ..sessions._durable_store import Fence, InboxMessage, Lease, Place
from ..sessions.base_session_service import BaseSessionService
from ..sessions.event_log import EventRecord
from ..sessions.session import Session, log_of
from ..workflow.nodes import as_node
from ..workflow.requests import check_answers
from ..workflow.schedule import run_node
from .agent_choice import (
    check_mode,
    find_agent_to_run,
    go_on,
    is_transferable_across_agent_tree,
)
from .deps import DepsSource
from .live import LIVE_DIGEST, PROCESS_GONE
from .message import answered_call, newest_message, save_blobs
from .request import RunRequest
from .run_table import RunTable
from .sealing import answers_for_parked, seal
from .spending import count_again
from .store_access import StoreAccess
from .task_choice import Whereto, graph_of, outermost, where_to
from .tree_digest import tree_digest
from .turn import Turn
from .unattended import Unattended


class RunnerSetup:
    """Services and settings of a runner, and the contexts of invocations made of them.

    Args and errors of the constructor are those of `Runner`.

    Attributes:
      spending: what the run that this runner works for has used of its budget; None where it works
        for none.
      within: tells the session that the run belongs to which this runner works for, and its owner's
        fence; None where it works for none.
    """

    spending: Spending | None = None
    within: Callable[[], tuple[Place, Fence] | None] | None = None

    def __init__(
        self,
        *,
        app: App | None = None,
        app_name: str | None = None,
        agent: BaseAgent | None = None,
        node: Any = None,
        plugins: list[BasePlugin] | None = None,
        artifact_service: Any = None,
        session_service: BaseSessionService,
        memory_service: Any = None,
        credential_service: Any = None,
        plugin_close_timeout: float = 5.0,
        auto_create_session: bool = False,
        lease_seconds: float = DEFAULT_SECONDS,
        max_attempts: int = 3,
        make_deps: MakeDeps | None = None,
    ) -> None:
        self.app = self._resolve_app(app, app_name, agent, plugins, node)
        self.app_name = app_name or self.app.name
        self.agent: BaseAgent = as_agent(self.app.root_agent)
        check_tree(self.agent)
        check_mode(self.agent)
        self.artifact_service = artifact_service
        self.session_service = session_service
        self.memory_service = memory_service
        self.credential_service = credential_service
        self.auto_create_session = auto_create_session
        self.context_cache_config: ContextCacheConfig | None = self.app.context_cache_config
        self.resumability_config: ResumabilityConfig | None = self.app.resumability_config
        self.plugin_manager = PluginManager(self.app.plugins, close_timeout=plugin_close_timeout)
        self.max_attempts = max_attempts
        self._store = StoreAccess(session_service)
        self._runs = RunTable()
        self._unattended = Unattended()
        self._lease_seconds = lease_seconds
        self._digest: str | None = None
        self._deps = DepsSource(self.agent, make_deps or self.app.make_deps)

    @staticmethod
    def _resolve_app(
        app: App | None,
        app_name: str | None,
        agent: BaseAgent | None,
        plugins: list[BasePlugin] | None,
        node: Any = None,
    ) -> App:
        if node is not None:
            if app is not None or agent is not None:
                raise AgentConfigError("Only one of app, agent, or node may be provided.")
            agent = cast(BaseAgent, as_node(node))
            app_name = app_name or agent.name
        if app is not None:
            if agent is not None or plugins is not None:
                raise AgentConfigError(
                    "Give the Runner either app, or agent and plugins; not both."
                )
            return app
        if agent is None or not app_name:
            raise AgentConfigError("Give the Runner either app, or agent and app_name.")
        # An app name that no App would take, such as a folder's, is checked where sessions are
        # made.
        return App.model_construct(name=app_name, root_agent=agent, plugins=plugins or [])

    def _keeper(self) -> LeaseKeeper | None:
        """Return who keeps leases of this store; None where no other process reaches it."""
        durable = self._store.durable
        if durable is None or not durable.shared:
            return None
        return keeper_of(durable, self._lease_seconds)

    def _turn(self, request: RunRequest, *, over: Lease | InboxMessage | None = None) -> Turn:
        """Make a request's turn.

        Args:
          over: what a dead owner left behind, and the request goes on with.
        """
        if self._digest is None:
            self._digest = tree_digest(self.agent)
        live = request.live is not None or request.ends_live
        digest = LIVE_DIGEST if live else self._digest
        return Turn(self._store, self._keeper(), request, digest, over=over, within=self.within)

    async def _get_or_create_session(self, request: RunRequest, *, asks: bool = True) -> Session:
        return await self._store.load(
            request.place,
            config=request.config.get_session_config,
            create=self.auto_create_session,
            complete=request.needs_all,
            asks=asks,
        )

    async def _setup_context_for_new_invocation(
        self, session: Session, turn: Turn
    ) -> InvocationContext:
        """Build the context, append the message, pick the agent (Spec 2 §1.2).

        A message that answers a call goes on with that call's invocation.
        """
        request = turn.request
        new_message = request.message or types.Content()
        answered, whereto = self._answered(session, new_message)
        if answered is not None and not request.once:
            check_answers(log_of(session), new_message)
            turn.invocation_id = answered.invocation_id
        elif answered is not None and graph_of(self.agent, answered) is not None:
            # Under the key's own invocation the graph would begin anew, and run its nodes again.
            raise InputValidationError(
                f"The message answers invocation {answered.invocation_id!r} of a workflow graph, "
                "which goes on with it; send it without an idempotency key."
            )
        ctx = await self._new_invocation_context(session, turn, new_message)
        sealing: list[Event] = []
        if answered is not None:
            ctx.populate_invocation_agent_states()
            ctx.ports.resumed = True
        if self._store.durable is not None and turn.unclaimed:
            sealing = await answers_for_parked(
                self._store.durable, request.place, log_of(session), turn.invocation_id, self.agent
            )
        await self._append_new_message(ctx, turn, new_message, whereto, sealing)
        if answered is None:
            ctx.agent = self._find_agent_to_run(session, self.agent)
        else:
            go_on(ctx, self.agent)
        return ctx

    async def _setup_context_for_live_run(self, session: Session, turn: Turn) -> InvocationContext:
        """Build the context of a live run, and claim the session for as long as it lasts."""
        request, sealing = turn.request, list[Event]()
        if self._store.durable is not None and turn.unclaimed:
            sealing = await answers_for_parked(
                self._store.durable, request.place, log_of(session), turn.invocation_id, self.agent
            )
        await turn.commit(sealing)
        ctx = await self._new_invocation_context(session, turn, None)
        ctx.live_request_queue = request.live
        ctx.active_streaming_tools = {}
        known = request.config.session_resumption
        ctx.live_session_resumption_handle = known.handle if known is not None else None
        ctx.agent = self._find_agent_to_run(session, self.agent)
        return ctx

    async def _end_live_run(self, session: Session, turn: Turn) -> None:
        """Answer the calls of a live run whose process is gone."""
        ctx = await self._new_invocation_context(session, turn, None)
        await shielded(self._take_over(ctx, session, turn))
        await seal(ctx, PROCESS_GONE)

    async def _setup_context_for_resumed_invocation(
        self, session: Session, turn: Turn
    ) -> InvocationContext:
        """Rebuild the context of an invocation from its events (Spec 1 §19, FEATURES rows 26, 27).

        Raises:
          NothingToResumeError: the session has no such invocation.
        """
        message, invocation_id = turn.request.message, turn.invocation_id
        log = log_of(session)
        if log.start_of(invocation_id) is None:
            raise NothingToResumeError(
                f"Invocation {invocation_id!r} is not in session {session.id!r}: there is nothing "
                "to resume. To start a new invocation, leave invocation_id out."
            )
        content = message or newest_message(log, invocation_id)
        ctx = await self._new_invocation_context(session, turn, content)
        ctx.ports.resumed = True
        try:
            if message is None:
                await shielded(self._take_over(ctx, session, turn))
            else:
                if answered_call(session, message) is not None:
                    check_answers(log_of(session), message)
                _, whereto = self._answered(session, message)
                await self._append_new_message(ctx, turn, message, whereto)
        except LeaseLostError:
            raise
        except BaseException as stop:  # boundary: cancelled before the agent went on
            if turn.fence is not None:
                await seal(ctx, stop)
            raise
        ctx.populate_invocation_agent_states()
        go_on(ctx, self.agent)
        return ctx

    async def _take_over(self, ctx: InvocationContext, session: Session, turn: Turn) -> None:
        """Claim an invocation that is gone on with; what its last owner wrote counts up to now."""
        await turn.claim()
        ctx.ports.journal = await self._open_journal(session, turn)
        await self._store.delete_hidden_of_answered(session, turn.invocation_id)

    async def _new_invocation_context(
        self, session: Session, turn: Turn, user_content: types.Content | None
    ) -> InvocationContext:
        run_config, spending = turn.request.config, self.spending
        if spending is None and (run_config.budget or self.app.budget):
            budget = run_config.budget or Budget()
            spending = Spending(budget.over(self.app.budget))
        if spending is not None:
            count_again(spending, log_of(session), turn.invocation_id, self.agent)
        ports = RunPorts(
            spawn=self._spawn,
            schedule=run_node,
            commit=turn.commit,
            journal=await self._open_journal(session, turn),
            tool_errors=run_config.tool_errors or self.app.tool_errors,
            spending=spending,
        )
        ctx = NEW_RUN.fill(
            artifact_service=self.artifact_service,
            session_service=self.session_service,
            memory_service=self.memory_service,
            credential_service=self.credential_service,
            plugin_manager=self.plugin_manager,
            context_cache_config=self.context_cache_config,
            events_compaction_config=self.app.events_compaction_config,
            resumability_config=self.resumability_config,
            invocation_id=turn.invocation_id,
            agent=self.agent,
            session=session,
            user_content=user_content,
            run_config=run_config,
            ports=ports,
        )
        ports.deps = turn.request.deps
        if not self._deps.is_idle and not turn.request.ends_live:
            ports.deps = await self._deps.provide(ctx, ports.deps)
        return ctx

    async def _open_journal(self, session: Session, turn: Turn) -> Journal | None:
        """Return the journal of a turn's invocation; None where nothing outlives the process."""
        durable = self._store.durable
        if durable is None or not durable.shared:
            return None
        log, invocation_id = log_of(session), turn.invocation_id
        if log.start_of(invocation_id) is None:
            return Journal(invocation_id)
        return Journal(invocation_id, await durable.journal(turn.request.place, invocation_id), log)

    async def _append_new_message(
        self,
        ctx: InvocationContext,
        turn: Turn,
        message: types.Content,
        whereto: Whereto,
        sealing: Sequence[Event] = (),
    ) -> None:
        """Let plugins change the message, then commit it as the user's event (Spec 2 §1.2).

        Args:
          sealing: events to commit before it.
        """
        config = turn.request.config
        if self.plugin_manager.overrides("on_user_message_callback"):
            await turn.claim()  # so that hooks run once, when the turn has come
            changed = await plugin_answer(
                self.plugin_manager.run_on_user_message_callback(
                    user_message=message, invocation_context=ctx
                ),
                types.Content,
                "on_user_message_callback",
                ctx.agent.name,
            )
            if changed is not None:
                ctx.user_content = message = changed
        if not message.parts:
            raise InputValidationError("No parts in the new_message.")
        if config.save_input_blobs_as_artifacts:
            await turn.claim()
            ctx.user_content = message = await save_blobs(ctx, message)
        event = MADE.fill(
            invocation_id=ctx.invocation_id,
            author="user",
            content=public_message(message),  # ctx.user_content has the whole of it
            branch=whereto.branch,
            isolation_scope=whereto.scope,
            actions=NO_ACTIONS.fill(state_delta=dict(turn.request.state_delta or {})),
            custom_metadata=config.custom_metadata,
        )
        await ctx.ports.commit((*sealing, event))

    def _answered(
        self, session: Session, message: types.Content
    ) -> tuple[EventRecord | None, Whereto]:
        """Return the record of the call whose invocation a message goes on with, if it does, and
        where the message is said.

        A task that waits for the user is part of a paused invocation where the app is resumable,
        and in a graph; elsewhere each message begins one of its own (FEATURES row 70).

        Raises:
          InputValidationError: the message answers a call that does not exist.
        """
        answered = answered_call(session, message)
        whereto = where_to(log_of(session), self.agent, message)
        goes_on = self.resumability_config is not None and self.resumability_config.is_resumable
        if whereto.asked is not None and not goes_on:
            asked = outermost(log_of(session), whereto.asked)
            goes_on = asked is not None and graph_of(self.agent, asked) is not None
        return answered or (whereto.asked if goes_on else None), whereto

    def _find_agent_to_run(self, session: Session, root_agent: BaseAgent) -> BaseAgent:
        """Return the agent that goes on with the conversation (Spec 2 §1.4)."""
        return find_agent_to_run(log_of(session), root_agent)

    def _is_transferable_across_agent_tree(self, agent_to_run: BaseAgent) -> bool:
        """Tell whether control can pass from an agent up to the root (Spec 2 §1.4)."""
        return is_transferable_across_agent_tree(agent_to_run)

    def _spawn(self, **_: Any) -> AsyncGenerator[Event, None]:
        """Run another agent beside an invocation; `Runner` does."""
        raise NotImplementedError
