"""The command `ostinato create`: creates the folder of a small, commented agent."""

from __future__ import annotations

import argparse
import keyword
import os
import re
import shlex
from pathlib import Path

from ..agents.llm_agent import LlmAgent
from ..errors import ModelUnavailableError
from ..models.registry import check_model
from .cli_error import USAGE, CliError
from .parser import program_command

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

_AGENT = '''\
"""{name}: an agent to start from. Run it with `ostinato run {path}`.

Try:
- What time is it in Tokyo?
- Is it later in Berlin or in New York?
"""

from datetime import datetime, timedelta, timezone

from ostinato.agents import Agent
from ostinato.tools import ToolContext

# Hours that a city's clock is ahead of UTC (without daylight saving time).
OFFSETS = {{"berlin": 1, "london": 0, "new york": -5, "sydney": 10, "tokyo": 9}}


# A tool is a plain function. The model reads its name, its docstring and its parameters with their
# types, and decides by them when to call it and with what. What it returns goes back to the model.
def get_time(city: str, tool_context: ToolContext) -> dict[str, str]:
    """Tell what time it is in a city.

    Args:
      city: Name of the city, such as Tokyo.
    """
    offset = OFFSETS.get(city.lower())
    if offset is None:
        # The model reads this too: it may call again with another city, or ask the user.
        return {{"error": f"No clock in {{city}}. There are clocks in {{', '.join(OFFSETS)}}."}}
    # The model does not see tool_context. Its state is kept with the session; keys that start with
    # "user:" are shared by all sessions of a user.
    tool_context.state["last_city"] = city
    time = datetime.now(timezone(timedelta(hours=offset)))
    return {{"report": f"In {{city}} it is {{time:%H:%M}}."}}


# `ostinato run` starts the agent that is called root_agent. Its instruction says what to do;
# {{last_city?}} in it would be filled in from the state. Where several agents work together, they
# choose each other by their descriptions.
root_agent = Agent(
    name="{name}",
    model="{model}",
    description="Tells the time in cities around the world.",
    instruction=(
        "You tell people what time it is. Always ask get_time, never guess. Answer in one sentence."
    ),
    tools=[get_time],
)
'''

_INIT = '''\
"""The agent {name}."""

from . import agent as agent
'''

_ENV = """\
# Copy this file to .env and fill in the key of your model's provider; ostinato run reads it.
# Keep .env out of version control.
GOOGLE_API_KEY=
# OPENAI_API_KEY=
# ANTHROPIC_API_KEY=
"""

_README = """\
# {name}

An agent with one tool, made by `ostinato create`.

    ostinato run {path} "What time is it in Tokyo?"
    ostinato run {path}

- `agent.py`: the agent and its tool. Start here.
- `.env.example`: which keys there are; copy it to `.env`.

Sessions are kept in `.ostinato/sessions.db`, in the folder where the command is run:
`ostinato sessions list`.
"""


def main(args: argparse.Namespace) -> int:
    """Create the folder; return the exit code.

    Raises:
      CliError: the name is not valid for an agent, or the folder is not empty.
    """
    folder = Path(args.name)
    path = shlex.quote(str(folder))
    create_agent(folder, args.model or LlmAgent.DEFAULT_MODEL)
    print(f'  {program_command()} run {path} "What time is it in Tokyo?"')
    return 0


def create_agent(folder: Path, model: str) -> None:
    """Create the folder of an agent, and print what is in it.

    Raises:
      CliError: the folder's name is not valid for an agent, or the folder is not empty.
    """
    name = _agent_name(folder)
    _check_free(folder)
    if not re.fullmatch(r"[\w./:@-]+", model):
        raise CliError(f"{model!r} is not a valid model name.", USAGE)
    path = shlex.quote(str(folder))
    texts = {
        "agent.py": _AGENT.format(name=name, path=path, model=model),
        "__init__.py": _INIT.format(name=name),
        ".env.example": _ENV,
        "README.md": _README.format(name=name, path=path),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CliError(f"{folder} cannot be made: {error.strerror}.") from error
    try:
        check_model(model)
    except ModelUnavailableError:
        print(
            f"{model} is not available here. Until it is, `ostinato run` uses the offline stand-in,"
            "\na small rule-based program, not a language model."
        )
    print(f"Created {folder}{os.sep} with {', '.join(texts)}. Try it:")


def _agent_name(folder: Path) -> str:
    name = folder.resolve().name
    if not _NAME.fullmatch(name) or keyword.iskeyword(name) or name == "user":
        suggestion = re.sub(r"\W+", "_", name).strip("_").lower()
        if not suggestion or not suggestion[0].isalpha() or keyword.iskeyword(suggestion):
            suggestion = f"my_{suggestion}".rstrip("_")
        suggestion = "my_user" if suggestion == "user" else suggestion
        raise CliError(
            f"{name!r} is not a valid agent name: use a letter, then letters, digits and _; no "
            f"Python keyword, and not user. How about {suggestion}?",
            USAGE,
        )
    return name


def _check_free(folder: Path) -> None:
    if folder.is_dir():
        inside = sorted(os.listdir(folder))
        if inside:
            raise CliError(
                f"The folder {folder} exists and is not empty ({', '.join(inside[:3])}"
                f"{', …' if len(inside) > 3 else ''}). Give another name."
            )
    elif folder.exists():
        raise CliError(f"{folder} exists and is not a folder. Give another name.")
