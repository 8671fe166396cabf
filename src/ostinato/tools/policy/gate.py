"""PolicyGate: the one place where a policy lets a tool call run, asks a person, or denies it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ... import types
from ...auth.tool_confirmation import ToolConfirmation
from ...context.context import Context
from ...context.invocation import InvocationContext
from ...errors import AgentConfigError
from ...sessions.base_session_service import BaseSessionService
from ..base_tool import BaseTool
from ..function.function_signature import copy_arguments, start_reading
from ..function_tool import UNCONFIRMED, make_rejection
from .approval import Approval
from .conditions import read_key, split_pointer
from .ledger import Caller, PolicyLedger
from .notes import JUDGED, ONCE, find_answered_note, record_decision
from .policy import Policy, PolicyDecision, asks_over, join_decisions, order_limits
from .rule import Rule
from .tool_reading import read_as_tool
from .tool_request import ToolRequest
from .tool_source import describe_source, is_own_of_runtime, read_defaults


class PolicyGate:
    """Applies policies to the calls of a runner.

    Args:
      policies: the policies; the strictest of their verdicts decides.
      ledger: keeps counts and grants.
      session_id: the user's session, for an agent that runs in a hidden one; None for the run's.
    """

    def __init__(
        self, policies: Sequence[Policy], ledger: PolicyLedger, session_id: str | None = None
    ) -> None:
        self._policies = tuple(policies)
        self._ledger = ledger
        self._session_id = session_id

    def nest(self, session_id: str) -> PolicyGate:
        """Return the gate of an agent that runs in a hidden session of a session."""
        return PolicyGate(self._policies, self._ledger, self._session_id or session_id)

    def with_policy(self, policy: Policy) -> PolicyGate:
        """Return a gate that applies a further policy too."""
        return PolicyGate((*self._policies, policy), self._ledger, self._session_id)

    async def check(
        self,
        ctx: InvocationContext,
        call: types.FunctionCall,
        tool: BaseTool,
        args: dict[str, Any],
        context: Context,
        *,
        can_ask: bool = True,
        in_doubt: str = "",
        refusal: dict[str, Any] | None = None,
    ) -> dict[str, Any] | None:
        """Decide on a call just before it runs, and record the decision for its event.

        The tool gets the values that the rules have judged: what is read of the arguments here is
        not read again.

        Args:
          ctx: the run.
          call: the call, with the arguments that a person has seen or edited.
          tool: the tool.
          args: the arguments with which it is about to run.
          context: the call's context, which takes the request to a person.
          can_ask: whether a person can be asked from here.
          in_doubt: what to say of a call that may have taken effect before a crash; else empty.
          refusal: the response to a call that a person has rejected; no rule decides on it.

        Returns:
          The response in place of the tool's result; None to run the tool.

        Raises:
          StoreError: the store could not count the call.
        """
        if is_own_of_runtime(tool):
            return refusal
        start_reading(tool)
        request = make_request(tool, args)._replace(
            agent=ctx.agent.name, user=ctx.user_id, state=context.state.to_dict
        )
        if refusal is not None:
            await self._check(ctx, call, tool, request, in_doubt).give_back(self._find_limits(tool))
            return refusal
        decision = join_decisions([policy.decide(request) for policy in self._policies])
        is_free = decision.rule is None and decision.verdict == "allow" and not decision.limits
        if is_free and context.tool_confirmation is None:
            return None
        check = self._check(ctx, call, tool, request, in_doubt)
        answer = check.reject(tool, context) or await check.apply(decision)
        if answer is not None:
            await check.give_back(self._find_limits(tool))
        elif context.tool_confirmation is not None or ctx.run_state.is_resumed:
            await check.give_back(self._find_limits(tool), decision.limits)
            check.note_edit()
        if check.note:
            record_decision(ctx, call.id, check.note)
        if answer is _ASK:
            return check.ask(context, in_doubt) if can_ask else {"error": check.question}
        if answer is not None and in_doubt:
            return {**answer, "error": f"{answer['error']} {in_doubt}"}
        return answer

    def _check(
        self,
        ctx: InvocationContext,
        call: types.FunctionCall,
        tool: BaseTool,
        request: ToolRequest,
        in_doubt: str,
    ) -> _Check:
        pointers = {one for policy in self._policies for one in policy.find_pointers(request)}
        recorded = (ctx.run_state.edited_calls or {}).get(call.id or "")
        if recorded is None:
            approval = Approval(ctx.log, call, request, pointers)
        else:  # a person is asked about what runs after the approval
            judged = make_request(tool, copy_arguments(recorded.args or {}))
            approval = Approval(ctx.log, recorded, judged, pointers)
        return _Check(self._ledger, ctx, request, self._session_id, approval, bool(in_doubt))

    def _find_limits(self, tool: BaseTool) -> list[Rule]:
        """Return the rules that may have counted a call of a tool before."""
        return [rule for policy in self._policies for rule in policy.find_limits(tool.name)]


_ASK: dict[str, Any] = {}


def make_request(tool: BaseTool, args: dict[str, Any]) -> ToolRequest:
    """Return a tool call without its caller, which the gate fills in."""
    return ToolRequest(
        tool.name,
        args,
        source=describe_source(tool, args),
        defaults=lambda: read_defaults(tool),
        read=partial(read_as_tool, tool, args),
    )


class _Check:
    """The decision on one call, step by step.

    Attributes:
      note: what the event of the call records of it.
      rule: the rule that decides; None for the default.
    """

    def __init__(
        self,
        ledger: PolicyLedger,
        ctx: InvocationContext,
        request: ToolRequest,
        session_id: str | None,
        approval: Approval,
        in_doubt: bool,
    ) -> None:
        self._ledger = ledger
        self._ctx = ctx
        self._call = approval.call
        self._asked = approval
        self._in_doubt = in_doubt
        self._request = request
        self._args = {**request.defaults(), **request.args}
        session = ctx.session
        key = f"{session.id}\n{ctx.invocation_id}\n{self._call.id}"
        self._caller = Caller(ctx.app_name, ctx.user_id, session_id or session.id, key)
        self.note: dict[str, Any] = {}
        self.rule: Rule | None = None

    @property
    def _approval(self) -> ToolConfirmation | None:
        """The person's newest answer to this call with these arguments; None without one."""
        return self._asked.answer

    @property
    def question(self) -> str:
        """What the policy requires."""
        return _describe("The policy requires approval of", self.rule, self._request)

    def ask(self, context: Context, in_doubt: str) -> dict[str, Any]:
        """Ask the person, and return the response of the call until there is an answer."""
        said = (self.question, self._asked.describe_changes(), in_doubt)
        context.request_confirmation(hint=" ".join(filter(None, said)), payload=self.offer)
        context.actions.skip_summarization = True
        return {"error": UNCONFIRMED}

    @property
    def offer(self) -> dict[str, Any] | None:
        """The grants that the person may choose from; None if there are none."""
        if self.rule is None or not self.rule.grants:
            return None
        return {"grant": ONCE, "grants": [ONCE, *self.rule.grants]}

    async def apply(self, decision: PolicyDecision) -> dict[str, Any] | None:
        """Return the response in place of the tool's result, `_ASK`, or None to run the tool."""
        if decision.verdict == "deny":
            return self._deny(decision.rule, "The policy denies")
        if decision.verdict == "ask":
            refusal = await self._ask(decision)
            if refusal is not None:
                return refusal
        return await self._count(decision)

    async def _ask(self, decision: PolicyDecision) -> dict[str, Any] | None:
        """Look for a grant of each rule that asks, then for the person's answer to this call."""
        open_rules = [
            rule
            for rule in decision.rules
            if rule is None or not (rule.grants and await self._is_granted(rule))
        ]
        if not open_rules:
            return None
        refusal = self._read_approval(open_rules[0])
        if refusal is None:
            await self._grant([rule for rule in open_rules if rule is not None])
        return refusal

    def _read_approval(self, rule: Rule | None) -> dict[str, Any] | None:
        """Return what replaces the call unless a person has approved it."""
        self.rule = rule
        approval = self._approval
        if approval is None:
            if self._asked.is_exhausted:
                return self._deny(rule, "The arguments change after each approval of")
            self._note("ask", rule)
            self.note[JUDGED] = self._asked.digest
            return _ASK
        if not approval.confirmed:
            self._note("deny", rule, by="person")
            return make_rejection(approval)
        self._note("allow", rule, by="person", grant=ONCE)
        return None

    async def _is_granted(self, rule: Rule) -> bool:
        grant = await self._ledger.find_grant(
            rule, self._caller, self._request.tool, self._args, self._read_as_tool(rule)
        )
        if grant is not None:
            self._note("allow", rule, by="grant", grant=grant)
        return grant is not None

    async def _grant(self, rules: Sequence[Rule]) -> None:
        """Store what the person granted beyond this call, under the rules that offer it.

        The payload of an answer to the tool's own question grants nothing.
        """
        approval = self._approval
        payload: Any = None if approval is None else approval.payload
        wanted = read_key(payload, "grant")
        if wanted is None or find_answered_note(self._ctx.log, self._call.id or "") is None:
            return
        for rule in rules:
            if isinstance(wanted, str) and wanted in rule.grants:
                await self._ledger.add_grant(
                    rule,
                    self._caller,
                    self._request.tool,
                    self._args,
                    wanted,
                    self._read_as_tool(rule),
                )
                self._note("allow", rule, by="person", grant=wanted)

    def _read_as_tool(self, rule: Rule) -> Mapping[str, Any]:
        """Return the arguments that a rule counts or binds grants to, as the tool reads them."""
        pointers = [*rule.same] if rule.limit is None else [*rule.same, rule.limit.sum or ""]
        names = {split_pointer(one)[0] for one in pointers if one}
        read = self._request.read
        return {} if read is None or not names else read(names)

    async def _count(self, decision: PolicyDecision) -> dict[str, Any] | None:
        """Count the call under all limits, or under none."""
        limits = order_limits(decision.limits)
        if len(limits) > 1:
            # Not even for a moment may a call count that another limit stops: its count would stop
            # parallel calls.
            for rule in limits:
                read = self._read_as_tool(rule)
                if not self._is_allowed_over(rule) and not await self._ledger.has_room(
                    rule, self._caller, self._args, read
                ):
                    return self._stop_at_limit(rule)
        for rule in limits:
            read = self._read_as_tool(rule)
            taken = await self._take(rule, read)
            if taken is False and self._is_allowed_over(rule):
                self._note("allow", rule, by="person", grant=ONCE)
                taken = await self._take(rule, read, force=True)
            if taken is False:
                return self._stop_at_limit(rule)
        rule = decision.rule or (decision.limits or (None,))[0]
        if not self.note and rule is not None:
            self._note("allow", rule)
        return None

    async def _take(
        self, rule: Rule, read: Mapping[str, Any], *, force: bool = False
    ) -> bool | None:
        return await self._ledger.take(
            rule, self._caller, self._args, read, force=force, in_doubt=self._in_doubt
        )

    async def give_back(self, rules: Sequence[Rule], needed: Sequence[Rule] = ()) -> None:
        """Remove the call's counts, which it does not need now, under some rules with limits.

        Args:
          rules: the rules that may have counted the call.
          needed: those that count it; before an edit, there may have been others.
        """
        for rule in [one for one in rules if one not in needed]:
            await self._ledger.give_back(rule, self._caller, in_doubt=self._in_doubt)

    def reject(self, tool: BaseTool, context: Context) -> dict[str, Any] | None:
        """Return the response to a call that a person rejected when the tool itself asked."""
        answer = context.tool_confirmation
        if answer is None or answer.confirmed or not tool.asks_first or self._in_doubt:
            return None
        return make_rejection(answer)

    def _is_allowed_over(self, rule: Rule) -> bool:
        """Return whether a person has allowed the call to exceed a rule's limit."""
        return asks_over(rule) and self._approval is not None and self._approval.confirmed

    def _stop_at_limit(self, rule: Rule) -> dict[str, Any] | None:
        if asks_over(rule):
            return self._read_approval(rule)
        return self._deny(rule, "The policy's limit is reached; it denies")

    def note_edit(self) -> None:
        """Note the person by whose edit the call no longer fits the rule that asked about it."""
        if "by" in self.note or self._approval is None:
            return
        asked = find_answered_note(self._ctx.log, self._call.id or "")
        if asked is not None:
            note = {**asked, **self.note, "source": self._request.source, "verdict": "allow"}
            self.note = {**note, "by": "person", "grant": ONCE}

    def _deny(self, rule: Rule | None, why: str) -> dict[str, Any]:
        self.rule = rule
        self._note("deny", rule)
        return {"error": _describe(why, rule, self._request)}

    def _note(self, verdict: str, rule: Rule | None, **more: str) -> None:
        self.note = {"verdict": verdict, "source": self._request.source, **more}
        if rule is not None:
            self.note["rule"] = rule.id
            if rule.message:
                self.note["message"] = rule.message


def _describe(what: str, rule: Rule | None, request: ToolRequest) -> str:
    """Return what a rule says about a call, for the model or a person."""
    name = "default" if rule is None else f"rule {rule.id!r}"
    text = f"{what} this call of {request.tool!r} ({name})"
    return f"{text}: {rule.message}" if rule is not None and rule.message else f"{text}."


def check_policy(value: Any) -> Policy:
    """Return a setting that is a policy.

    Raises:
      ValueError: it is something else.
    """
    if not isinstance(value, Policy):
        raise ValueError(
            f"policy must be a Policy, not {type(value).__name__}; load_policy(FILE) reads a file"
        )
    return value


def make_gate(
    policies: Sequence[Any], service: BaseSessionService, *, is_durable: bool
) -> PolicyGate | None:
    """Return the gate of a runner, or None if there is no policy.

    Args:
      policies: policies, and None for those that are not set.
      service: the session store of the runs.
      is_durable: whether the store refuses writes over values that the writer has not seen.

    Raises:
      AgentConfigError: a setting is no policy, or the store cannot keep counts and grants.
    """
    given: list[Policy] = []
    for one in policies:
        if one is None:
            continue
        try:
            given.append(check_policy(one))
        except ValueError as error:
            raise AgentConfigError(f"{error}.") from None
    if not given:
        return None
    if not is_durable and any(policy.needs_ledger for policy in given):
        raise AgentConfigError(
            "The policy has limits or grants, which need one of Ostinato's session services: "
            f"{type(service).__name__} cannot refuse a write that overtakes another one. Use "
            "SqliteSessionService or DatabaseSessionService, or take limits and grants out."
        )
    return PolicyGate(given, PolicyLedger(service))
