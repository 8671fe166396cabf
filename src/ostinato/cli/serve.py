"""The commands `ostinato serve` and `ostinato web` (agents over HTTP) and `ostinato mcp` (agents as
MCP tools on standard input and output).
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

from .._optional import need
from ..agents.llm_agent import LlmAgent
from ..hosting.loader import has_agent
from ..hosting.log_setup import log_to_stderr
from ..server.settings import ServerSettings
from .cli_error import USAGE, CliError
from .create import create_agent
from .parser import program_command

_FIRST_AGENT = "my_agent"  # the folder that is offered
_TOKEN = "OSTINATO_TOKEN"
_SMALL = 4 * 1024 * 1024  # bytes of a body that carries no files


def main(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if args.command == "mcp":
        return _serve_mcp(args)
    settings = _read_settings(args)
    for package in ("starlette", "uvicorn"):
        need(package, extra="server")
    page = import_module("ostinato.server.page")
    if settings.page and settings.ui is None and not page.is_built():
        raise CliError(page.HOW_TO_BUILD)
    if settings.developer:
        _offer_agent(settings.agents)
    with log_to_stderr(settings.log_level, settings.log_format):
        return import_module("ostinato.server.serving").serve(settings)


def _offer_agent(folder: Path) -> None:
    """Offer to create an agent in a folder that has none; without a terminal, say how."""
    inside = [folder, *folder.iterdir()] if folder.is_dir() else []
    if not inside or any(one.is_dir() and has_agent(one) for one in inside):
        return
    agent = folder / _FIRST_AGENT
    if not sys.stdin.isatty():
        print(f"No agent in {folder}. Create one: {program_command()} create {agent}")
        return
    try:
        answer = input(f"No agent in {folder}. Create {agent}? [Y/n] ")
    except EOFError:
        return
    if answer.strip().lower() in ("", "y", "yes"):
        create_agent(agent, LlmAgent.DEFAULT_MODEL)
        print("  the page, once it is served:")


def _serve_mcp(args: argparse.Namespace) -> int:
    need("starlette", extra="server")
    settings = ServerSettings(
        agents=Path(args.path),
        db=args.db,
        page=False,
        allow_code_from=tuple(args.allow_code_from),
        policy=Path(args.policy) if args.policy else None,
    )
    with log_to_stderr("warning", "text"):
        return import_module("ostinato.server.mcp.transports").serve_stdio(settings)


def _read_settings(args: argparse.Namespace) -> ServerSettings:
    for option, value, least in (
        ("--workers", args.workers, 1),
        ("--max-body", args.max_body, 1),
        ("--grace", args.grace, 0),
        ("--drain-delay", args.drain_delay, 0),
        ("--port", args.port, 0),
        ("--rate-limit", args.rate_limit, 1),
        ("--max-connections", args.max_connections, 1),
    ):
        if value is not None and value < least:
            raise CliError(f"{option} has to be {least} or more, not {value}.", USAGE)
    if not args.lease > 0:
        raise CliError(f"--lease has to be more than 0, not {args.lease}.", USAGE)
    return ServerSettings(
        agents=Path(args.path),
        db=args.db,
        artifacts=args.artifacts,
        memory=args.memory,
        traces=args.traces,
        host=args.host,
        port=args.port,
        url_prefix=args.url_prefix.rstrip("/"),
        token=_read_tokens(args) or None,
        allow_origins=tuple(args.allow_origin),
        allow_hosts=tuple(args.allow_host),
        reload=args.reload,
        workers=args.workers,
        grace=args.grace,
        drain_delay=args.drain_delay,
        lease_seconds=args.lease,
        max_body=min(args.max_body, _SMALL),
        max_upload=args.max_body,
        rate_limit=args.rate_limit,
        trusted_proxies=_split_list(",".join(args.trusted_proxies)),
        max_connections=args.max_connections,
        allow_app_state=args.allow_app_state,
        developer=args.command == "web",
        log_level=args.log_level,
        log_format=args.log_format,
        access_log=args.access_log,
        metrics=args.metrics,
        contents=args.contents,
        page=args.command == "web",
        stand_in=args.command == "web",
        ui=Path(args.ui_dir) if args.ui_dir else None,
        allow_code_from=tuple(args.allow_code_from),
        policy=Path(args.policy) if args.policy else None,
    )


def _read_tokens(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the tokens of the command line, else of the file, else of the environment."""
    if args.token:
        return tuple(one.strip() for one in args.token if one.strip())
    if args.token_file is None:
        return _split_list(os.environ.get(_TOKEN, ""))
    try:
        text = Path(args.token_file).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CliError(f"--token-file {args.token_file} cannot be read: {error}.", USAGE) from error
    found = _split_list(text.replace("\n", ","))
    if not found:
        raise CliError(f"--token-file {args.token_file} holds no token.", USAGE)
    return found


def _split_list(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())
