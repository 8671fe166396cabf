"""Chained interactions, which continue a conversation stored by the provider (FEATURES row 214).

A request names the agent's last interaction only if the provider's copy equals the contents that
the request would send. Otherwise it sends the whole conversation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from operator import is_
from typing import Any, NamedTuple

from pydantic_core import to_json

from ... import types
from ...context.invocation import InvocationContext
from ...models.base_llm import BaseLlm
from ...models.llm_request import LlmRequest
from ...models.llm_response import LlmResponse
from ...sessions.log.event_log import EventLog
from ._base_llm_processor import RequestEdit

CHAIN = "ostinato:chain"
"""Key in `custom_metadata` of a response: digest of the conversation that the provider stores."""

_MAX_CANDIDATES = 4  # after a rewind an earlier interaction may match; older ones are not worth it


class InteractionsRequestProcessor(RequestEdit):
    """Names the agent's last interaction, for models that chain them."""

    def edit(self, invocation_context: InvocationContext, llm_request: LlmRequest) -> None:
        """Fill in `previous_interaction_id` if the model chains; `begin_chain` checks it."""
        if not is_chained(invocation_context.agent.canonical_model):
            return
        recent = _get_chain_view(invocation_context).read_recent(invocation_context.log)
        if recent:
            llm_request.previous_interaction_id = recent[0].id


class Chain:
    """The digest of a request, which is recorded on its response."""

    __slots__ = ("_kept",)

    def __init__(self, kept: Any) -> None:
        self._kept = kept

    def record_on(self, response: LlmResponse) -> None:
        """Record the digest on a complete response, before any hook edits it."""
        if response.partial or not response.interaction_id:
            return
        kept = self._kept.copy()
        _update_digest(kept, [response.content] if response.content is not None else [])
        metadata = response.custom_metadata or {}
        response.custom_metadata = {**metadata, CHAIN: kept.hexdigest()}


def is_chained(model: BaseLlm) -> bool:
    """Return whether a model chains interactions."""
    # Not by getattr, which is slow if the model has no such field.
    return bool(model.__dict__.get("use_interactions_api"))


def begin_chain(ctx: InvocationContext, llm_request: LlmRequest) -> Chain:
    """Decide which interaction a request continues, after its last edit.

    An id that a callback or plugin set stays.

    Args:
      ctx: the run.
      llm_request: the request; its `previous_interaction_id` is set or cleared.
    """
    contents = llm_request.contents
    known = len(contents)
    while known and contents[known - 1].role != "model":
        known -= 1
    view = _get_chain_view(ctx)
    kept = view.hash_contents(contents[:known])
    digest = kept.hexdigest()
    candidates = view.read_recent(ctx.log)
    if llm_request.previous_interaction_id in (None, *(c.id for c in candidates)):
        fitting = (c.id for c in candidates if c.digest == digest)
        llm_request.previous_interaction_id = next(fitting, None) if known else None
    _update_digest(kept, contents[known:])
    return Chain(kept)


class _Interaction(NamedTuple):
    """A response stored by the provider, with the digest of its conversation."""

    id: str
    digest: Any


class _ChainView:
    """The chain of one agent, branch and model in a log; it reads each record once.

    Args:
      agent: name of the agent.
      branch: its branch.
      place: start of the digest: the session and the model.
    """

    __slots__ = ("_agent", "_branch", "_contents", "_cursor", "_hash", "_place", "_recent")

    def __init__(self, agent: str, branch: str | None, place: tuple[str, ...]) -> None:
        self._agent, self._branch, self._place = agent, branch, place
        self._recent: list[_Interaction] = []
        self._cursor = 0
        self._contents: list[types.Content] = []
        self._hash = hashlib.sha256(to_json(place))

    def read_recent(self, log: EventLog) -> list[_Interaction]:
        """Return the agent's last interactions, newest first."""
        records, found = log.records, list[_Interaction]()
        for index in range(len(records) - 1, self._cursor - 1, -1):
            record = records[index]
            same = record.author == self._agent and record.branch == self._branch
            if same and '"interactionId"' in record.data:
                event = record.event()
                if event.interaction_id:
                    digest = (event.custom_metadata or {}).get(CHAIN)
                    found.append(_Interaction(event.interaction_id, digest))
                if len(found) == _MAX_CANDIDATES:
                    break
        self._cursor = len(records)
        if found:
            self._recent = [*found, *self._recent][:_MAX_CANDIDATES]
        return self._recent

    def hash_contents(self, contents: list[types.Content]) -> Any:
        """Return a hash of the contents that the caller may update.

        Contents of a session are the same objects from request to request, so only new ones are
        hashed; all of them after a rewind or an edit.
        """
        known = len(self._contents)
        # The identity check runs in C and takes 20 ns per content; hashing takes far longer.
        if known > len(contents) or not all(map(is_, contents, self._contents)):
            known, self._hash = 0, hashlib.sha256(to_json(self._place))
        _update_digest(self._hash, contents[known:])
        self._contents = contents
        return self._hash.copy()


def _get_chain_view(ctx: InvocationContext) -> _ChainView:
    """Return the current agent's chain, cached with the log."""
    session, model = ctx.session, ctx.agent.canonical_model
    place = (session.app_name, session.user_id, session.id, type(model).__name__, model.model)
    key = (CHAIN, ctx.agent.name, ctx.branch, ctx.isolation_scope, place)
    view = ctx.log.views.get(key)
    if view is None:
        view = ctx.log.views[key] = _ChainView(ctx.agent.name, ctx.branch, place)
    return view


def _update_digest(digest: Any, contents: Sequence[types.Content]) -> None:
    """Add contents to a digest, without ids and thoughts, which are not sent back."""
    for content in contents:
        for part in content.parts or ():
            if part.thought or part.text == "":
                continue
            digest.update(to_json([content.role or "user", _part_value(part)], fallback=repr))
            digest.update(b"\n")


def _part_value(part: types.Part) -> Any:
    if part.text is not None:
        return part.text
    if part.function_call is not None:
        return ["call", part.function_call.name, part.function_call.args or {}]
    if part.function_response is not None:
        answer = part.function_response
        return ["answer", answer.name, answer.response, answer.parts]
    return part.model_dump(mode="json", exclude_none=True, exclude={"thought_signature"})


request_processor = InteractionsRequestProcessor()
