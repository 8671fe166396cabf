"""Which guardrails hold for a run as a whole: the app's, and those of the agents above the one that
it begins with. The driver asks.
"""

from __future__ import annotations

from ..agents.base_agent import BaseAgent
from ..apps.app import App
from ..context.guardrail import Guards


def guards_above(app: App, agent: BaseAgent) -> Guards | None:
    """Return the guardrails of the app and of an agent's ancestors, outermost first; None where
    there are none.
    """
    found: Guards | None = None
    above = agent.parent_agent
    while above is not None:
        if above.input_guardrails or above.output_guardrails:
            own = Guards.of(above.name, above)
            found = own if found is None else own + found
        above = above.parent_agent
    if app.input_guardrails or app.output_guardrails:
        own = Guards.of(app.name, app)
        found = own if found is None else own + found
    return found
