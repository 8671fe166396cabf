"""Planners, which make an agent plan by the model's thinking or by prompt."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.planners.base_planner import BasePlanner as BasePlanner
    from ostinato.planners.built_in_planner import BuiltInPlanner as BuiltInPlanner
    from ostinato.planners.plan_re_act_planner import PlanReActPlanner as PlanReActPlanner

__getattr__, __dir__, __all__ = attach(__name__)
