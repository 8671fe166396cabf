"""Context: the argument of callbacks and tools; CallbackContext and ToolContext are this class.

`ostinato.agents.context`, `agents.callback_context` and `tools.tool_context` are its faces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from .. import auth, types
from ..auth.asked import remember_request
from ..auth.redaction import public_config
from ..events.event import Event
from ..events.event_actions import ACTIONS_TEMPLATE, EventActions
from ..events.ui_widget import UiWidget
from ..sessions.log.ordered_delta import OrderedDelta, WriteOrder
from ..sessions.session import Session, marks_of
from ..sessions.state import State
from .deps import Deps_co
from .invocation import InvocationContext
from .readonly import ReadonlyContext

if TYPE_CHECKING:
    from ..artifacts.base_artifact_service import ArtifactVersion
    from ..auth.auth_credential import AuthCredential
    from ..auth.auth_tool import AuthConfig
    from ..auth.credential_service.base_credential_service import BaseCredentialService
    from ..auth.tool_confirmation import ToolConfirmation
    from ..memory.base_memory_service import SearchMemoryResponse
    from ..memory.memory_entry import MemoryEntry
    from ._ports import NodeLike


class Context(ReadonlyContext[Deps_co]):
    """Writable view of a run for one callback or one tool call (Spec 1 §4, FEATURES rows 42, 43).

    Writes go into `actions` and take effect when the event with them is committed.

    Args:
      invocation_context: the run.
      event_actions: effects of the next event; new ones if None.
      function_call_id: id of the tool call, for a tool.
      tool_confirmation: the user's answer, if the call was confirmed or rejected.
      node: the workflow node that runs, with `node_path` and `run_id` of its place.
      resume_inputs: answers to the node's requests, by id.
      attempt_count: number of this attempt of the node, from 1.
      parent_ctx: context of the node that called this one.

    A callback or a tool may set `output` and `route` as a node does; no event carries them.

    Attributes:
      output: a node's output, in place of yielding it.
      route: selects the edges that are taken after the node.
      event_author: author of events that the node yields without one.
      node_run: the run of the node, set by the workflow; None outside of nodes.
      interrupt_ids: ids of the requests that the node waits for.
    """

    output: Any = None
    route: Any = None
    error: Exception | None = None
    error_node_path = ""
    event_author = ""
    node_run: Any = None
    interrupt_ids: Set[str] = frozenset()

    # Defaults on the class, so that a mock with this class as its spec has them.
    function_call_id: str | None = None
    tool_confirmation: ToolConfirmation | None = None
    node: NodeLike | None = None
    node_path: str = ""
    run_id: str = "1"
    resume_inputs: dict[str, Any] = {}
    attempt_count: int = 1
    parent_ctx: Context | None = None

    def __init__(
        self,
        invocation_context: InvocationContext,
        *,
        event_actions: EventActions | None = None,
        function_call_id: str | None = None,
        tool_confirmation: ToolConfirmation | None = None,
        node: NodeLike | None = None,
        node_path: str | None = None,
        run_id: str = "",
        resume_inputs: dict[str, Any] | None = None,
        attempt_count: int = 1,
        parent_ctx: Context | None = None,
        use_as_output: bool = False,
    ) -> None:
        super().__init__(invocation_context)
        actions = ACTIONS_TEMPLATE.create() if event_actions is None else event_actions
        try:
            order: Any = invocation_context.run_state.write_order
        except AttributeError:  # a test's stand-in has none
            order = None
        if order.__class__ is WriteOrder and not isinstance(actions.state_delta, OrderedDelta):
            actions.state_delta = OrderedDelta(order, actions.state_delta)
        self._actions = actions
        schema: Any = None if node is None else getattr(node, "state_schema", None)
        if not schema:
            outer = invocation_context if parent_ctx is None else parent_ctx
            schema = outer.state_schema
        self.state_schema = schema if isinstance(schema, type) else None  # a mock has a mock
        self._state = State(
            invocation_context.session.state,
            self._actions.state_delta,
            self.state_schema,
            marks=marks_of(invocation_context.session),
        )
        self.function_call_id = function_call_id
        self.tool_confirmation = tool_confirmation
        self.node = node
        self.node_path = node_path or ""
        self.run_id = run_id or "1"
        self.resume_inputs = resume_inputs or {}
        self.attempt_count = attempt_count
        self.parent_ctx = parent_ctx
        self.use_as_output = use_as_output

    @property
    def state(self) -> State:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The session's state; writes go into `actions.state_delta`."""
        return self._state

    @property
    def actions(self) -> EventActions:
        """The effects that go with the next event."""
        return self._actions

    @property
    def _event_actions(self) -> EventActions:
        """The effects, under google-adk's private name, which tests use."""
        return self._actions

    @property
    def isolation_scope(self) -> str | None:
        """Scope of the delegated task this runs in; None in the conversation itself.

        Once it is set, `get_invocation_context` returns a context of that scope.
        """
        return self._invocation_context.isolation_scope

    @isolation_scope.setter
    def isolation_scope(self, scope: str | None) -> None:
        self._invocation_context = self._invocation_context.model_copy()
        self._invocation_context.isolation_scope = scope

    @property
    def idempotency_key(self) -> str:
        """Key of this tool call or of this run of a node, the same when it is run again after a
        crash.

        Raises:
          ValueError: this is not the context of a tool call or of a node.
        """
        ctx, of = self._invocation_context, self.function_call_id or self.node_path
        of = of or self._need_call("idempotency_key")
        return "/".join((ctx.app_name, ctx.user_id, ctx.session.id, ctx.invocation_id, of))

    def get_invocation_context(self) -> InvocationContext:
        """Return the run."""
        return self._invocation_context

    async def run_node(
        self,
        node: NodeLike | Callable[..., Any],
        node_input: Any = None,
        *,
        use_as_output: bool = False,
        run_id: str | None = None,
        use_sub_branch: bool = False,
        override_branch: str | None = None,
        override_isolation_scope: str | None = None,
        raise_on_wait: bool = False,
    ) -> Any:
        """Run a node from within another and return its output (FEATURES A.25).

        A node that finished before an interruption is not run again: its output is returned.

        Args:
          node: a node, an agent, a tool or a function.
          node_input: its input.
          use_as_output: its output is the calling node's, too.
          run_id: names the run within the calling node, with a character that is no digit; numbers
            are given in the order of the calls.
          use_sub_branch: run it on a branch of its own.
          override_branch: run it on this branch.
          override_isolation_scope: run it in this isolation scope.
          raise_on_wait: end the calling node if the node waits for an output.

        Raises:
          DynamicNodeFailError: it failed.
          NodeError: the calling node is not `rerun_on_resume`, or the run id is taken for numbers.
          NotImplementedError: no Runner started the run, so it cannot run nodes.
        """
        schedule = self._invocation_context.services.schedule
        if schedule is None:
            raise NotImplementedError(
                "run_node needs a run that a Runner started; this context has none."
            )
        return await schedule(
            self,
            node,
            node_input,
            use_as_output=use_as_output,
            run_id=run_id,
            use_sub_branch=use_sub_branch,
            override_branch=override_branch,
            override_isolation_scope=override_isolation_scope,
            raise_on_wait=raise_on_wait,
        )

    async def load_artifact(self, filename: str, version: int | None = None) -> types.Part | None:
        """Return an artifact of this session, the newest version unless one is given."""
        return await self._require_artifacts().load_artifact(
            **self._session_place(), filename=filename, version=version
        )

    async def save_artifact(
        self,
        filename: str,
        artifact: types.Part,
        custom_metadata: dict[str, Any] | None = None,
    ) -> int:
        """Save an artifact and note its version in `actions.artifact_delta` (FEATURES row 197).

        Returns:
          The version, from 0.
        """
        version = await self._require_artifacts().save_artifact(
            **self._session_place(),
            filename=filename,
            artifact=artifact,
            custom_metadata=custom_metadata,
        )
        self._actions.artifact_delta[filename] = version
        return version

    async def get_artifact_version(
        self, filename: str, version: int | None = None
    ) -> ArtifactVersion | None:
        """Return the metadata of an artifact's version, the newest by default."""
        return await self._require_artifacts().get_artifact_version(
            **self._session_place(), filename=filename, version=version
        )

    async def list_artifacts(self) -> list[str]:
        """Return the names of the session's artifacts and of the user's."""
        return await self._require_artifacts().list_artifact_keys(**self._session_place())

    async def save_credential(self, auth_config: AuthConfig) -> None:
        """Keep the exchanged credential of `auth_config` in the credential service."""
        await self._require_credentials().save_credential(auth_config, self)

    async def load_credential(self, auth_config: AuthConfig) -> AuthCredential | None:
        """Return the credential kept for `auth_config`, or None."""
        return await self._require_credentials().load_credential(auth_config, self)

    def get_auth_response(self, auth_config: AuthConfig) -> AuthCredential | None:
        """Return the credential the user gave in answer to a request, or None.

        Where its code could not be exchanged when the answer came, for lack of the client's
        secret, that is done now with the one in `auth_config`, and blocks.

        Raises:
          CredentialExchangeError: the exchange failed for a reason the user cannot fix.
        """
        # A delta that is thrown away: a credential never gets into an event.
        kept = State(self._invocation_context.session.state, {})
        return auth.AuthHandler(auth_config).take_auth_response(self.state, kept)

    def request_credential(self, auth_config: AuthConfig) -> None:
        """Ask the user for a credential; the tool is called again with it (Spec 1 §10).

        The request holds nothing secret. What it lacks comes from `auth_config` when the answer
        is there.

        Raises:
          ValueError: this is not the context of a tool call.
        """
        call_id = self._need_call("request_credential")
        request = auth.AuthHandler(auth_config).generate_auth_request()
        kind: type = type(self.session)
        tells = False
        if issubclass(kind, Session):  # a mocked session gets no answer
            remember_request(self.session, call_id, request)
            tells = self._invocation_context.services.sends_client_secrets
        self._actions.requested_auth_configs[call_id] = public_config(
            request, with_client_secret=tells
        )

    def request_confirmation(self, *, hint: str | None = None, payload: Any | None = None) -> None:
        """Ask the user to confirm this tool call (FEATURES rows 146, 147).

        Args:
          hint: what to tell the user.
          payload: JSON the user may fill in.

        Raises:
          ValueError: this is not the context of a tool call.
        """
        call_id = self._need_call("request_confirmation")
        self._actions.requested_tool_confirmations[call_id] = auth.ToolConfirmation(
            hint=hint or "", payload=payload
        )

    async def add_session_to_memory(self) -> None:
        """Put the whole session into the memory service."""
        await self._require_memory().add_session_to_memory(self.session)

    async def add_events_to_memory(
        self, *, events: Sequence[Event], custom_metadata: Mapping[str, object] | None = None
    ) -> None:
        """Put some events into the memory service."""
        await self._require_memory().add_events_to_memory(
            app_name=self.app_name,
            user_id=self.user_id,
            session_id=self.session.id,
            events=events,
            custom_metadata=custom_metadata,
        )

    async def add_memory(
        self,
        *,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Put ready-made memories into the memory service."""
        await self._require_memory().add_memory(
            app_name=self.app_name,
            user_id=self.user_id,
            memories=memories,
            custom_metadata=custom_metadata,
        )

    async def search_memory(self, query: str) -> SearchMemoryResponse:
        """Return what the memory service knows about `query` for this user."""
        return await self._require_memory().search_memory(
            app_name=self.app_name, user_id=self.user_id, query=query
        )

    def render_ui_widget(self, ui_widget: UiWidget) -> None:
        """Ask the user interface to render a widget with this event.

        Raises:
          ValueError: a widget with its id was added already.
        """
        widgets = self._actions.render_ui_widgets or []
        if any(widget.id == ui_widget.id for widget in widgets):
            raise ValueError(
                f"UI widget with ID {ui_widget.id!r} already exists in the current event actions."
            )
        self._actions.render_ui_widgets = [*widgets, ui_widget]

    def _need_call(self, what: str) -> str:
        if not self.function_call_id:
            raise ValueError(
                f"{what} requires function_call_id. Only the context of a tool call has one."
            )
        return self.function_call_id

    def _session_place(self) -> dict[str, str]:
        ctx = self._invocation_context
        return {"app_name": ctx.app_name, "user_id": ctx.user_id, "session_id": ctx.session.id}

    def _require_artifacts(self) -> Any:
        if self._invocation_context.artifact_service is None:
            raise ValueError("Artifact service is not initialized. Give the Runner one.")
        return self._invocation_context.artifact_service

    def _require_memory(self) -> Any:
        if self._invocation_context.memory_service is None:
            raise ValueError("Memory service is not available. Give the Runner one.")
        return self._invocation_context.memory_service

    def _require_credentials(self) -> BaseCredentialService:
        if self._invocation_context.credential_service is None:
            raise ValueError("Credential service is not initialized. Give the Runner one.")
        return self._invocation_context.credential_service


# The names under which tools and callbacks know it; aliases, so that type checkers export them.
CallbackContext = Context
ToolContext = Context


def invocation_of(context: ReadonlyContext) -> Any:
    """Return a context's invocation; of a mock of a context, what its test put in its place."""
    return context._invocation_context  # pyright: ignore[reportPrivateUsage]
