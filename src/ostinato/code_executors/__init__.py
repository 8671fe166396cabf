"""Code executors: they run the code that a model writes, or have the model's service run it."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.code_executors.agent_engine_sandbox_code_executor import (
        AgentEngineSandboxCodeExecutor as AgentEngineSandboxCodeExecutor,
    )
    from ostinato.code_executors.base_code_executor import BaseCodeExecutor as BaseCodeExecutor
    from ostinato.code_executors.built_in_code_executor import (
        BuiltInCodeExecutor as BuiltInCodeExecutor,
    )
    from ostinato.code_executors.code_executor_context import (
        CodeExecutorContext as CodeExecutorContext,
    )
    from ostinato.code_executors.container_code_executor import (
        ContainerCodeExecutor as ContainerCodeExecutor,
    )
    from ostinato.code_executors.gke_code_executor import GkeCodeExecutor as GkeCodeExecutor
    from ostinato.code_executors.sandboxed_local_code_executor import (
        SandboxedLocalCodeExecutor as SandboxedLocalCodeExecutor,
    )
    from ostinato.code_executors.unsafe_local_code_executor import (
        UnsafeLocalCodeExecutor as UnsafeLocalCodeExecutor,
    )
    from ostinato.code_executors.vertex_ai_code_executor import (
        VertexAiCodeExecutor as VertexAiCodeExecutor,
    )

__getattr__, __dir__, __all__ = attach(__name__)
