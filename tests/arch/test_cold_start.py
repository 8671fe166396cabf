"""A fresh process that imports an agent, a runner and a session service loads nothing heavy. The
test counts modules, so no machine's speed touches it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

IMPORTS = """
from ostinato.agents import Agent
from ostinato.runners import Runner
from ostinato.sessions import InMemorySessionService
"""

HEAVY = {
    "the alias of google.adk": ("ostinato.compat",),
    "provider SDKs": ("google.genai", "google.adk", "openai", "anthropic", "litellm", "mistralai"),
    "SQL toolkits": ("sqlalchemy", "alembic", "asyncpg", "aiomysql", "aiosqlite", "psycopg"),
    "web frameworks": ("fastapi", "starlette", "uvicorn", "flask", "aiohttp", "jinja2"),
    "HTTP clients": ("httpx", "httpx2", "requests", "urllib3", "grpc"),
    "terminal toolkits": ("rich", "prompt_toolkit"),
    "telemetry SDKs": ("opentelemetry.sdk", "opentelemetry.exporter"),
    "readers of files": ("yaml",),
    "skills": ("ostinato.skills", "ostinato.tools.skills"),
    "test tools": ("pytest", "hypothesis"),
}


def modules_after(code: str) -> set[str]:
    """The names in sys.modules of a fresh interpreter that ran `code`."""
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def loaded(modules: set[str], names: tuple[str, ...]) -> list[str]:
    return [n for n in names if n in modules or any(m.startswith(f"{n}.") for m in modules)]


@pytest.fixture(scope="module")
def modules() -> set[str]:
    return modules_after(IMPORTS)


@pytest.mark.parametrize("kind", HEAVY)
def test_start_loads_none(kind: str, modules: set[str]) -> None:
    assert "ostinato.runners" in modules, "the import did not reach the package"
    assert not loaded(modules, HEAVY[kind])


def test_the_count_sees_what_is_loaded() -> None:
    assert loaded(modules_after("import rich.text"), HEAVY["terminal toolkits"]) == ["rich"]
