"""Evaluation: eval sets, metrics, judges and simulated users, in the formats of google-adk.

[docs/evaluation.md](../../../docs/evaluation.md) is the guide.
"""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.evaluation.agent_evaluator import AgentEvaluator as AgentEvaluator
    from ostinato.evaluation.agent_evaluator import evaluate_set as evaluate_set

__getattr__, __dir__, __all__ = attach(__name__)
