"""The parts of the loop; a lazy face for those that few agents need."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

# pyright: reportUnusedImport=false
# ruff: noqa: F401 - renamed, because each processor's module has a `request_processor`

if TYPE_CHECKING:
    from ostinato.flows.llm_flows._code_execution import (
        find_code_state as find_code_state,
    )
    from ostinato.flows.llm_flows._code_execution import (
        request_processor as code_execution_request_processor,
    )
    from ostinato.flows.llm_flows._code_execution import (
        response_processor as code_execution_response_processor,
    )
    from ostinato.flows.llm_flows._nl_planning import (
        request_processor as nl_planning_request_processor,
    )
    from ostinato.flows.llm_flows._nl_planning import (
        response_processor as nl_planning_response_processor,
    )

__getattr__, __dir__, __all__ = attach(__name__)
