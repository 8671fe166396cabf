"""The pages of the reference: every public name from its docstring, and every command."""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"

# Each public module with what it is for. Its names are those of its face (`ostinato._lazy`).
FACES: dict[str, str] = {
    "ostinato": "The names that most programs need.",
    "ostinato.agents": "Agents, their contexts and the settings of a run.",
    "ostinato.apps": "Apps: a tree of agents with plugins, budget, compaction and resumability.",
    "ostinato.artifacts": "Services that store files.",
    "ostinato.auth": "Credentials for tools, and how a user gives them.",
    "ostinato.code_executors": "Where code that a model writes is run.",
    "ostinato.environment": "Files and processes that an agent may use.",
    "ostinato.errors": "Every error, in one tree.",
    "ostinato.evaluation": "Evaluation of agents.",
    "ostinato.events": "Events and what they carry.",
    "ostinato.memory": "Services that remember across sessions.",
    "ostinato.models": "Models, failover, retries and rate limits.",
    "ostinato.planners": "Planners, which make a model plan before it acts.",
    "ostinato.plugins": "Plugins: hooks for all agents of an app.",
    "ostinato.runners": "Runners, which run an app over its sessions.",
    "ostinato.sessions": "Sessions, their state and the services that store them.",
    "ostinato.skills": "Agent Skills: their records, and where they are loaded from.",
    "ostinato.telemetry": "Spans and what they contain.",
    "ostinato.testing": "The test kit.",
    "ostinato.tools": "Tools and toolsets.",
    "ostinato.tools.policy": "Policies: rules about tool calls, kept as data.",
    "ostinato.tools.skills": "Agent Skills as tools of an agent.",
    "ostinato.types": "Contents, parts and the settings of a model call.",
    "ostinato.workers": "Workers that run submitted messages.",
    "ostinato.workflow": "Workflows: graphs of nodes.",
}

# Public names that programs import from the module that defines them.
OTHERS: dict[str, tuple[str, ...]] = {
    "ostinato.context.run_config": ("StreamingMode", "ToolThreadPoolConfig"),
    "ostinato.events.child_event": ("ParentCall",),
    "ostinato.events.request_input": ("RequestInput",),
    "ostinato.hosting.erasure": ("erase_user",),
    "ostinato.server.app": ("make_app",),
    "ostinato.server.settings": ("ServerSettings",),
    "ostinato.cli.fast_api": ("get_fast_api_app",),
}


def read_public_names(module: str) -> dict[str, str]:
    """Return the public names of a module, each with the dotted name where it is defined."""
    if module in OTHERS:
        return {name: f"{module}.{name}" for name in OTHERS[module]}
    face = import_module(module)
    if getattr(face, "__all__", None) and module not in ("ostinato.errors", "ostinato.runners"):
        return dict(_read_homes(module))
    return {
        name: f"{module}.{name}"
        for name, value in vars(face).items()
        if isinstance(value, type) and value.__module__ == module and name[0] != "_"
    }


def _read_homes(module: str) -> Iterator[tuple[str, str]]:
    """Yield the names of a face, each with its home."""
    from ostinato._lazy import read_names

    file = SOURCE / Path(*module.split("."), "__init__.py")
    if not file.exists():
        file = SOURCE / Path(*module.split(".")).with_suffix(".py")
    code = compile(file.read_text(encoding="utf-8"), str(file), "exec")
    listed = set(import_module(module).__all__)
    for name, home in read_names(code, module).items():
        if name in listed:
            yield name, f"{home.module}.{home.name}"


def find_definition(dotted: str) -> tuple[Path, ast.AST | None]:
    """Return the file and the syntax of a dotted name; follow re-exports."""
    for _ in range(5):
        module, _, name = dotted.rpartition(".")
        base = SOURCE / Path(*module.split("."))
        file = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
        tree = _parse(file)
        moved = ""
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                if node.name == name:
                    return file, node
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        moved = f"{_resolve(node, module, base.is_dir())}.{alias.name}"
            elif _assigns(node, name):
                return file, node
        if not moved:
            return file, None
        dotted = moved
    return SOURCE, None


@cache
def _parse(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _resolve(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    kept = parts[: len(parts) - node.level + is_package]
    return ".".join([*kept, *([node.module] if node.module else [])])


def _assigns(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    return isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == name


def make_pages() -> Iterator[tuple[str, str]]:
    """Yield path and Markdown of each page of the reference."""
    sys.path.insert(0, str(SOURCE))
    rows: list[str] = []
    for module, purpose in [*FACES.items(), ("other modules", "Names in modules of their own.")]:
        modules = [module] if module in FACES else list(OTHERS)
        uri = f"{module.replace('ostinato.', '').replace(' ', '-')}.md"
        names = {f"{m}.{n}": home for m in modules for n, home in read_public_names(m).items()}
        rows.append(f"| [`{module}`]({uri}) | {purpose} | {len(names)} |")
        blocks = [f"# {module}\n\n{purpose}\n"]
        for public, home in sorted(names.items(), key=lambda item: item[0].rpartition(".")[2]):
            module_name, _, name = public.rpartition(".")
            blocks.append(f"## {name}\n\n`from {module_name} import {name}`\n\n{_block(home)}")
        yield f"reference/{uri}", "\n".join(blocks)
    table = "\n".join(["| module | what it has | names |", "|---|---|---|", *rows])
    yield (
        "reference/index.md",
        "# Reference\n\nEvery public name, from its docstring. What is not listed here is private "
        f"and may change.\n\n{table}\n\nThe commands: [command line](command-line.md).\n",
    )
    yield "reference/command-line.md", make_command_page()


def _block(home: str) -> str:
    _, node = find_definition(home)
    if node is None or isinstance(node, ast.Assign | ast.AnnAssign):
        return f"Defined as `{home}`.\n"
    return f"::: {home}\n"


def strip_citations(text: str) -> str:
    """Return a text without its references to chapters of the specification."""
    return re.sub(r"\s?\((?:Spec|FEATURES)\s[^()]{1,80}\)", "", text)


def expand_blocks(markdown: str) -> str:
    """Return a page whose blocks are written out: signatures and docstrings, as Markdown."""
    blocks = re.compile(r"^::: (\S+)$", re.MULTILINE)
    return blocks.sub(lambda match: strip_citations(_describe(match[1])), markdown)


def _describe(home: str) -> str:
    _, node = find_definition(home)
    if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return f"`{home}`"
    parts = [f"```python\n{_signature(node)}\n```", ast.get_docstring(node) or ""]
    for method in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and method.name[0] != "_":
            text = (ast.get_docstring(method) or "").partition("\n")[0]
            parts.append(f"- `{_signature(method)}`: {text}")
    return "\n\n".join(parts)


def _signature(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(ast.unparse(base) for base in node.bases)
        made = [each for each in node.body if getattr(each, "name", "") == "__init__"]
        init = next((each for each in made if isinstance(each, ast.FunctionDef)), None)
        arguments = f"  # made with ({ast.unparse(init.args)})" if init else ""
        return f"class {node.name}{f'({bases})' if bases else ''}{arguments}"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    return f"{word} {node.name}({ast.unparse(node.args)}){returns}"


def make_command_page() -> str:
    """Return the page of all commands, from their help."""
    from ostinato.cli.parser import build_parser

    parser = build_parser()
    parts = ["# Command line\n\n" + _help_of(parser)]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                parts.append(f"## ostinato {name}\n\n{_help_of(command)}")
    return "\n".join(parts)


def _help_of(parser: argparse.ArgumentParser) -> str:
    parser.prog = "ostinato " + parser.prog.partition(" ")[2]
    text = re.sub(r"usage: \S+", "usage: ostinato", parser.format_help(), count=1)
    return f"```text\n{text.strip()}\n```\n"
