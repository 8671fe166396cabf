"""Policy as data: rules that allow, ask about or deny tool calls."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.tools.policy.conditions import Condition as Condition
    from ostinato.tools.policy.dry_run import DryRun as DryRun
    from ostinato.tools.policy.dry_run import dry_run as dry_run
    from ostinato.tools.policy.gate import PolicyGate as PolicyGate
    from ostinato.tools.policy.gate import check_policy as check_policy
    from ostinato.tools.policy.gate import make_gate as make_gate
    from ostinato.tools.policy.ledger import PolicyLedger as PolicyLedger
    from ostinato.tools.policy.policy import Policy as Policy
    from ostinato.tools.policy.policy import PolicyDecision as PolicyDecision
    from ostinato.tools.policy.policy_file import load_policy as load_policy
    from ostinato.tools.policy.rule import Limit as Limit
    from ostinato.tools.policy.rule import Rule as Rule
    from ostinato.tools.policy.tool_request import ToolRequest as ToolRequest

__getattr__, __dir__, __all__ = attach(__name__)
