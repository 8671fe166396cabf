"""McpInstructionProvider: a name of google-adk that raises; MCP is not supported yet."""

from .._later_on import NotBuilt


class McpInstructionProvider(
    NotBuilt, part="MCP", instead="give the agent a function as its instruction"
):
    """An instruction from a prompt of an MCP server."""
