"""The command `ostinato create`: creates the folder of an agent, or a project from a template."""

from __future__ import annotations

import argparse
import keyword
import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from ..agents.llm_agent import LlmAgent
from ..errors import ModelUnavailableError
from ..models.registry import check_model
from ..version import __version__
from .cli_error import USAGE, CliError
from .create_options import TEMPLATES
from .deploy import install_project, project_name, serve_values
from .parser import program_command
from .project_files import render_layers, write_files

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# Names that a package beside the agents, or a folder of the project, has.
_TAKEN = frozenset({"agents", "ostinato", "tests", "mcp", "fastapi", "uvicorn", "pytest"})
_LONGEST = 40
_CLOCK = "What time is it in Tokyo?"
_DEV = ("pyright>=1.1.390", "pytest>=8.2", "pytest-asyncio>=0.24", "ruff>=0.8")


@dataclass(frozen=True, slots=True)
class _Template:
    """What a template is made of.

    Attributes:
      layers: the folders in `templates`, later ones over earlier ones.
      question: a question that the agent answers without a model.
      extras: extras of Ostinato that the project needs.
      dependencies: other packages that it needs.
      dev: other packages that its tests need.
      pytest_options: lines of its pytest settings.
      testpaths: where its tests are.
    """

    layers: tuple[str, ...]
    question: str = _CLOCK
    extras: tuple[str, ...] = ("server",)
    dependencies: tuple[str, ...] = ()
    dev: tuple[str, ...] = ()
    pytest_options: str = ""
    testpaths: tuple[str, ...] = ("tests",)


_LAYERS = {
    "agent": _Template(("project", "clock")),
    "multi-agent": _Template(("project", "multi_agent"), "What is the status of order A-102?"),
    "workflow": _Template(("project", "workflow"), "lunch 12.50"),
    "service": _Template(
        ("project", "clock", "service"),
        extras=("postgres", "server"),
        dependencies=("fastapi>=0.115", "uvicorn>=0.36,<1"),
        dev=("httpx2>=2,<3",),
    ),
    "mcp-server": _Template(("project", "clock", "mcp_server"), extras=("mcp", "server")),
    "evaluation": _Template(
        ("project", "clock", "evaluation"),
        pytest_options="ostinato_eval = true\n",
        testpaths=("tests", "agents"),
    ),
}


def main(args: argparse.Namespace) -> int:
    """Create the folder; return the exit code.

    Raises:
      CliError: the name is not valid for an agent, the folder is not empty, or an argument is
        missing and there is no terminal to ask at.
    """
    template: str | None = args.template
    if args.name is None:
        args.name, template = _ask_for_arguments(template)
    folder = Path(args.name)
    model = args.model or LlmAgent.DEFAULT_MODEL
    path = shlex.quote(str(folder))
    if template is None:
        create_agent(folder, model)
        print(f'  {program_command()} run {path} "{_CLOCK}"')
        return 0
    _check_package_name(_agent_name(folder))
    name = _write_checked(folder, model, template)
    print(f"  cd {path}")
    print("  pip install -e '.[dev]' && pytest")
    print(f'  ostinato run agents/{name} "{_LAYERS[template].question}"')
    print("  ostinato web agents")
    return 0


def create_agent(folder: Path, model: str) -> None:
    """Create the folder of an agent, and print what is in it.

    Raises:
      CliError: the folder's name is not valid for an agent, or the folder is not empty.
    """
    _write_checked(folder, model, None)


def _write_checked(folder: Path, model: str, template: str | None) -> str:
    """Write an agent or a project into a new or empty folder, and return the agent's name."""
    name = _agent_name(folder)
    _check_free(folder)
    if not re.fullmatch(r"[\w./:@-]+", model):
        raise CliError(f"{model!r} is not a valid model name.", USAGE)
    if template is None:
        texts = _render_plain(name, shlex.quote(str(folder)), model)
    else:
        texts = _render_project(name, template, model)
    write_files(folder, texts)
    if template != "workflow":
        _report_missing_model(model)
    print(f"Created {folder}{os.sep} with {', '.join(texts)}. Try it:")
    return name


def _ask_for_arguments(template: str | None) -> tuple[str, str]:
    """Ask for the arguments that were not given; raise CliError without a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CliError(
            "create needs NAME, the folder to create, and takes --template "
            f"({', '.join(TEMPLATES)}) and --model. It asks for them at a terminal only.",
            USAGE,
        )
    try:
        while not (name := input("Name of the agent, and of its folder: ").strip()):
            pass
        if template is None:
            template = _ask_for_template()
    except EOFError:
        raise CliError("No name was given; nothing was created.", USAGE) from None
    return name, template


def _ask_for_template() -> str:
    names = list(TEMPLATES)
    for number, (one, summary) in enumerate(TEMPLATES.items(), 1):
        print(f"  {number}  {one:12} {summary}")
    while True:
        answer = input("Template, by number or name (1): ").strip() or "1"
        if answer in names:
            return answer
        if answer.isascii() and answer.isdigit() and 1 <= int(answer[:3]) <= len(names):
            return names[int(answer[:3]) - 1]
        print(f"There is no template {answer!r}.")


def _render_plain(name: str, path: str, model: str) -> dict[str, str]:
    values = {"name": name, "path": path, "model": f'"{model}"', "import_os": ""}
    texts = render_layers(("plain", "clock"), values)
    agent = texts[f"agents/{name}/agent.py"]
    plain = ("__init__.py", ".env.example", "README.md")
    return {"agent.py": agent, **{file: texts[file] for file in plain}}


def _render_project(name: str, template: str, model: str) -> dict[str, str]:
    parts = _LAYERS[template]
    ostinato = f"ostinato[{','.join(parts.extras)}]>={__version__}"
    given = f'"{model}"'
    if template in ("agent", "service", "mcp-server", "evaluation"):
        given = f'os.environ.get("MODEL", {given})'
    source = {"source": "agents/", "target": "/srv/agents/", "install": install_project()}
    values = {
        "name": name,
        "project": project_name(name),
        "template": template,
        "summary": TEMPLATES[template],
        "path": f"agents/{name}",
        "model": given,
        "import_os": "import os\n",
        "dependencies": _list_strings((ostinato, *parts.dependencies)),
        "dev": _list_strings((*_DEV, *parts.dev)),
        "testpaths": _list_strings(parts.testpaths),
        "pytest_options": parts.pytest_options,
        **source,
        **serve_values(name if template == "service" else None),
    }
    values["about"] = render_layers(parts.layers, values)["about.md"]
    texts = render_layers((*parts.layers, "deploy_image"), values)
    del texts["about.md"]
    return texts


def _list_strings(texts: tuple[str, ...]) -> str:
    return ", ".join(f'"{text}"' for text in texts)


def _report_missing_model(model: str) -> None:
    try:
        check_model(model)
    except ModelUnavailableError:
        print(
            f"{model} is not available here. Until it is, `ostinato run` uses the offline stand-in,"
            "\na small rule-based program, not a language model."
        )


def _check_package_name(name: str) -> None:
    """Refuse a name that would hide another package in the project, or make its lines too long."""
    if len(name) > _LONGEST:
        raise CliError(f"{name!r} is too long: use at most {_LONGEST} characters.", USAGE)
    if name.lower() in _TAKEN or name in sys.stdlib_module_names:
        raise CliError(
            f"{name!r} is the name of a Python package that the project needs; a project cannot "
            f"have it. How about my_{name}?",
            USAGE,
        )


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
