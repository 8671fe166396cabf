"""Keys of the old form of evaluation files."""

from __future__ import annotations


class EvalConstants:
    """The keys of one turn in the old form, in which a file is a list of turns."""

    QUERY = "query"
    EXPECTED_TOOL_USE = "expected_tool_use"
    RESPONSE = "response"
    REFERENCE = "reference"
    TOOL_NAME = "tool_name"
    TOOL_INPUT = "tool_input"
    MOCK_TOOL_OUTPUT = "mock_tool_output"
