"""McpInstructionProvider: the name; MCP is not built yet."""

from .._later_on import NotBuilt


class McpInstructionProvider(
    NotBuilt, part="MCP", instead="give the agent a function as its instruction"
):
    """An instruction that a prompt of an MCP server gives."""
