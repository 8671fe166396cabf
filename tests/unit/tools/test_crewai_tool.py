"""CrewaiTool: what the model sees of a tool of CrewAI, and how it is run.

The class here has the attributes and methods of CrewAI's BaseTool, which is not installed.
"""

from typing import Any

import pytest
from pydantic import BaseModel

from ostinato.integrations.crewai import CrewaiTool as TheSameTool
from ostinato.tools.crewai_tool import CrewaiTool
from ostinato.tools.tool_configs import ToolArgsConfig
from tests.support.optionals import present
from tests.unit.tools.contexts import make_context


class Arguments(BaseModel):
    path: str
    lines: int = 10


class FileReader:
    name = "Read A File"
    description = "Reads a file."
    args_schema = Arguments

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return kwargs


def test_the_name_has_no_spaces_and_the_schema_is_the_tools() -> None:
    tool = CrewaiTool(FileReader(), name="")
    declaration = tool._get_declaration()
    assert declaration is not None
    assert (declaration.name, declaration.description) == ("read_a_file", "Reads a file.")
    assert present(declaration.parameters_json_schema)["required"] == ["path"]
    assert isinstance(tool.tool, FileReader)


def test_name_and_description_can_be_overridden() -> None:
    tool = CrewaiTool(FileReader(), name="read", description="Opens.")
    assert (tool.name, tool.description) == ("read", "Opens.")


async def test_the_arguments_of_the_schema_reach_run() -> None:
    tool = CrewaiTool(FileReader(), name="read")
    args = {"path": "a", "self": 1, "tool_context": 2}
    found = await tool.run_async(args=args, tool_context=make_context())
    assert found == {"path": "a", "lines": 10}


async def test_a_missing_argument_is_reported_to_the_model() -> None:
    found = await CrewaiTool(FileReader(), name="read").run_async(
        args={}, tool_context=make_context()
    )
    assert "mandatory input parameters are not present:\npath" in found["error"]


def test_what_is_no_tool_of_crewai_is_refused() -> None:
    with pytest.raises(ValueError, match="object has not"):
        CrewaiTool(object(), name="x")


READER = FileReader()


def test_a_file_names_the_tool() -> None:
    config = ToolArgsConfig.model_validate({"tool": f"{__name__}.READER"})
    assert CrewaiTool.from_config(config, "agent.yaml").name == "read_a_file"


def test_the_tool_is_at_both_paths() -> None:
    assert TheSameTool is CrewaiTool
