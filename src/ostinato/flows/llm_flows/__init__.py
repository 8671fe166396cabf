"""The parts of the loop; a lazy face for those that most agents do without."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

# pyright: reportUnusedImport=false
# ruff: noqa: F401 - renamed, because every processor's module calls its own `request_processor`

if TYPE_CHECKING:
    from ostinato.flows.llm_flows._code_execution import (
        kind_of_code as kind_of_code,
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
