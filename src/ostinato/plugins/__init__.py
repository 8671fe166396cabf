"""Plugins: hooks around whole runs, for every agent of an app."""

from typing import TYPE_CHECKING

from ostinato._lazy import attach

if TYPE_CHECKING:
    from ostinato.plugins._reflect_retry_model_plugin import (
        ReflectAndRetryModelPlugin as ReflectAndRetryModelPlugin,
    )
    from ostinato.plugins._tool_call_integrity_plugin import (
        ToolCallIntegrityError as ToolCallIntegrityError,
    )
    from ostinato.plugins._tool_call_integrity_plugin import (
        ToolCallIntegrityPlugin as ToolCallIntegrityPlugin,
    )
    from ostinato.plugins.base_plugin import BasePlugin as BasePlugin
    from ostinato.plugins.context_filter_plugin import ContextFilterPlugin as ContextFilterPlugin
    from ostinato.plugins.debug_logging_plugin import DebugLoggingPlugin as DebugLoggingPlugin
    from ostinato.plugins.global_instruction_plugin import (
        GlobalInstructionPlugin as GlobalInstructionPlugin,
    )
    from ostinato.plugins.logging_plugin import LoggingPlugin as LoggingPlugin
    from ostinato.plugins.multimodal_tool_results_plugin import (
        MultimodalToolResultsPlugin as MultimodalToolResultsPlugin,
    )
    from ostinato.plugins.plugin_manager import PluginManager as PluginManager
    from ostinato.plugins.reflect_retry_tool_plugin import (
        ReflectAndRetryToolPlugin as ReflectAndRetryToolPlugin,
    )
    from ostinato.plugins.save_files_as_artifacts_plugin import (
        SaveFilesAsArtifactsPlugin as SaveFilesAsArtifactsPlugin,
    )

__getattr__, __dir__, __all__ = attach(__name__)
