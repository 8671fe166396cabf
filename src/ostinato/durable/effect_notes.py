"""Description of a call that runs, from which its row in the effects ledger is made."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..sessions.store.effect_row import (
    Outcome,
    Resolution,
    digest_json,
    encode_effect,
    now_ms,
)


class EffectCaller(NamedTuple):
    """Who called an agent as a tool, for the effects of its hidden session.

    Attributes:
      session_id: the session that the user knows; its ledger keeps them.
      path: the agents from that session's down to the caller, such as `shop/payer`.
    """

    session_id: str
    path: str


def nest_caller(journal: Any, session_id: str, agent: str) -> EffectCaller:
    """Return the caller of an agent that runs as a tool.

    Args:
      journal: the journal of the caller's run, or None; it tells who called the caller as a tool.
      session_id: the caller's session.
      agent: its name.
    """
    above: EffectCaller | None = journal and journal.caller
    if above is None:
        return EffectCaller(session_id, agent)
    return EffectCaller(above.session_id, f"{above.path}/{agent}")


class EffectNote:
    """A call of a tool, as the effects ledger will describe it.

    Args:
      tool: name of the tool.
      source: name of the tool's class.
      agent: name of the agent that calls it.
      args: the arguments as the tool gets them; only their digest is kept.
      approved_by: the user who approved the call; '' if it needed no approval.

    Attributes:
      attempts: how many times the tool was begun, in this process and in earlier ones.
      outcome: what is known of the result.
      resolution: how a doubt was resolved; '' if there was none.
    """

    __slots__ = (
        "_agent",
        "_approved_by",
        "_args_digest",
        "_begun",
        "_is_begun",
        "_source",
        "attempts",
        "outcome",
        "resolution",
        "tool",
    )

    def __init__(
        self, tool: str, source: str, agent: str, args: dict[str, Any], approved_by: str = ""
    ) -> None:
        self.tool = tool
        self.attempts = 0
        self.outcome: Outcome = "unknown"
        self.resolution: Resolution = ""
        self._source, self._agent, self._approved_by = source, agent, approved_by
        self._args_digest = digest_json(args)
        self._begun = 0
        self._is_begun = False

    @property
    def is_effect(self) -> bool:
        """Whether the tool was begun, now or before a crash, or its second run was rejected."""
        return self.attempts > 0 or self.resolution == "rejected"

    def begin(self) -> None:
        """Count an attempt; a second begin of the same attempt changes nothing."""
        if not self._is_begun:
            self._is_begun = True
            self.attempts += 1
            self._begun = now_ms()

    def to_text(
        self,
        call_id: str,
        invocation_id: str,
        response: dict[str, Any] | None,
        caller: EffectCaller | None = None,
        ran_in: str = "",
    ) -> str:
        """Return the text of the ledger's row.

        Args:
          call_id, invocation_id: the call and its run.
          response: the response, or None.
          caller: who called the agent as a tool, or None.
          ran_in: the hidden session in which that agent runs.
        """
        return encode_effect(
            self.tool,
            self._agent if caller is None else f"{caller.path}/{self._agent}",
            (call_id, invocation_id),
            (self._args_digest, digest_json(response)),
            max(now_ms() - self._begun, 0) if self._is_begun else 0,
            (self.attempts, self.outcome, self.resolution, self._approved_by, self._source),
            "" if caller is None else ran_in,
        )
