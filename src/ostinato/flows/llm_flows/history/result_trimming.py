"""Trimming of tool results in requests; the log keeps every result."""

from __future__ import annotations

from collections import deque
from operator import is_
from typing import Any

from pydantic_core import to_json

from .... import types
from ....context.context_policy import ContextPolicy
from ....context.invocation import InvocationContext
from ....models.llm_request import LlmRequest
from ....tools.stored_result import describe_result, find_artifact, make_preview, make_ref
from .visibility import strip_client_ids

_SMALL = 600
"""Characters up to which a result stays, as a note in its place would be no shorter."""
_HINT = 100


def trim_results(ctx: InvocationContext, llm_request: LlmRequest, keep_ids: bool) -> None:
    """Leave out of a request's contents what exceeds the app's context policy.

    Args:
      ctx: the run, which has a policy.
      llm_request: a request whose contents have all call ids; changed in place.
      keep_ids: whether the model is sent client-made call ids.
    """
    policy = ctx.services.context_policy
    if policy is None:
        return
    prompts = ctx.run_state.initial_prompts
    place = ctx.node_path if prompts else None
    key = ("trimmed", ctx.agent.name, ctx.branch, ctx.isolation_scope, place, keep_ids, policy)
    trimmer = ctx.log.views.get(key)
    if trimmer is None:
        trimmer = ctx.log.views[key] = ResultTrimmer(policy, keep_ids)
    llm_request.contents = trimmer.update(llm_request.contents)
    count, chars = trimmer.count, trimmer.chars
    llm_request.trimmed = {"trimmed_results": count, "trimmed_chars": chars} if count else {}


class ResultTrimmer:
    """The contents of one conversation within the limits of a policy.

    It works through each content once. When the results exceed `history_tokens`, it leaves out the
    oldest until half of that is left; until the next time the contents before the new ones are the
    same objects, and a provider's cache of the prompt holds. The outcome depends on the contents
    alone, so that another process sends the same request.

    Attributes:
      chars: bytes of results that the last contents leave out.
    """

    __slots__ = ("_cut", "_keep_ids", "_live", "_policy", "_seen", "_shown", "_size", "chars")

    def __init__(self, policy: ContextPolicy, keep_ids: bool = False) -> None:
        self._policy = policy
        self._keep_ids = keep_ids
        self._start_over()

    def _start_over(self) -> None:
        self._seen: list[types.Content] = []
        self._shown: list[types.Content] = []
        self._live: deque[tuple[int, int]] = deque()  # index and size of what is not left out
        self._cut: dict[int, int] = {}  # the shortened results of each content
        self._size = self.chars = 0

    @property
    def count(self) -> int:
        """Results of which the last contents hold a part or nothing."""
        return sum(self._cut.values())

    def update(self, contents: list[types.Content]) -> list[types.Content]:
        """Return a new list of the contents to send.

        Args:
          contents: the whole conversation, which usually extends that of the last call; unchanged.
        """
        if len(contents) < len(self._seen) or not all(map(is_, contents, self._seen)):
            self._start_over()
        for content in contents[len(self._seen) :]:
            self._seen.append(content)
            self._shown.append(content)
            self._add(content)
        return list(self._shown)

    def _add(self, content: types.Content) -> None:
        """Bound the results of the newest content, and leave out older ones above the limit."""
        at = len(self._seen) - 1
        answers = sum([part.function_response is not None for part in content.parts or ()])
        if not answers:
            self._show(at, content)
            return
        policy = self._policy
        room = policy.history_chars // answers
        size = self._shorten(at, min(policy.result_chars, room), min(policy.preview_chars, room))
        self._live.append((at, size))
        self._size += size
        if self._size <= policy.history_chars:
            return
        while self._size > policy.history_chars // 2 and len(self._live) > 1:
            index, size = self._live.popleft()
            self._size -= size
            self._shorten(index, _SMALL, _HINT)

    def _shorten(self, index: int, limit: int, preview: int) -> int:
        """Show at most a preview of each result above a limit; return the characters shown."""
        content = self._seen[index]
        parts: list[types.Part] = []
        whole = shown = cut = 0
        for part in content.parts or ():
            size = _measure(part)
            whole += size
            answer = part.function_response
            if answer is not None and answer.id and size > limit:
                short = _make_short(answer, preview)
                part = part.model_copy(update={"function_response": short})
                cut, size = cut + 1, _measure(part)
            parts.append(part)
            shown += size
        before = sum(map(_measure, self._shown[index].parts or ()))
        self.chars += before - shown
        if cut:
            self._cut[index] = cut
            content = types.Content(role=content.role, parts=parts)
        self._show(index, content)
        return shown

    def _show(self, index: int, content: types.Content) -> None:
        self._shown[index] = content if self._keep_ids else _without_client_ids(content)


def _make_short(answer: types.FunctionResponse, preview: int) -> types.FunctionResponse:
    response: dict[str, Any] = answer.response or {}
    artifact = find_artifact(response)
    if artifact is None:
        text = describe_result(response)[0]
        short = make_preview(text, answer.id or "", preview)
    else:
        begun = response.get("preview") or response.get("content") or ""
        text = begun if isinstance(begun, str) else to_json(begun).decode()
        short = make_preview(text, make_ref(*artifact), preview)
        short["total_chars"] = response.get("total_chars")
    return types.FunctionResponse(id=answer.id, name=answer.name, response=short)


def _measure(part: types.Part) -> int:
    """Return the bytes of a part's result as JSON, without its media."""
    answer = part.function_response
    return len(to_json(answer.response)) if answer is not None and answer.response else 0


def _without_client_ids(content: types.Content) -> types.Content:
    """Return a content without the call ids that the model never gave; it is shared, so a copy."""
    parts: list[types.Part] = []
    for part in content.parts or ():
        call, answer = part.function_call, part.function_response
        if call is not None:
            part = part.model_copy(update={"function_call": call.model_copy()})
        elif answer is not None:
            part = part.model_copy(update={"function_response": answer.model_copy()})
        parts.append(part)
    if all(map(is_, parts, content.parts or ())):
        return content
    copied = types.Content(role=content.role, parts=parts)
    strip_client_ids(copied)
    return copied
