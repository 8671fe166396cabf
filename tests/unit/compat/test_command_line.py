"""`ostinato run` of an agent folder written for google-adk: it gets the alias by itself."""

from pathlib import Path

import pytest

from tests.unit.compat.interpreters import adk_python, attempt, run, without_google

pytestmark = pytest.mark.long

AGENT = """
from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmResponse
from google.genai import types
from .tools import look_up


class Echo(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        said = llm_request.contents[-1].parts[-1].text
        yield LlmResponse(content=types.ModelContent(f"You said {said}, {look_up(1)}."))


root_agent = Agent(name="echo", model=Echo(model="echo"), tools=[look_up])
"""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder as `adk create` lays it out."""
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "__init__.py").write_text("from . import agent\n")
    (folder / "agent.py").write_text(AGENT)
    (folder / "tools.py").write_text("def look_up(key: int) -> str:\n    return 'seven'\n")
    return folder


@pytest.mark.parametrize(
    "genai",
    [
        pytest.param(True, id="google-genai", marks=pytest.mark.service),
        pytest.param(False, id="alone"),
    ],
)
def test_it_runs_and_says_so(desk: Path, genai: bool, tmp_path: Path) -> None:
    path = () if genai else (without_google(tmp_path / "site"),)
    out = run("-m", "ostinato", "run", "desk", "Hi", cwd=tmp_path, path=path, bare=not genai)
    assert "You said Hi, seven." in out
    assert "imports google.adk" in out and "gets Ostinato under that name" in out


def test_an_agent_of_our_own_hears_nothing_of_it(desk: Path, tmp_path: Path) -> None:
    (desk / "agent.py").write_text(
        AGENT.replace("google.adk", "ostinato").replace("google.genai", "ostinato")
    )
    out = run("-m", "ostinato", "run", "desk", "Hi", cwd=tmp_path)
    assert "You said Hi, seven." in out and "google" not in out


def test_an_installed_google_adk_is_left_alone(desk: Path, tmp_path: Path) -> None:
    other = tmp_path / "site" / "google" / "adk" / "agents"
    other.mkdir(parents=True)
    (other.parent / "__init__.py").write_text("")
    (other / "__init__.py").write_text("class Agent: ...\n")
    (desk / "agent.py").write_text("from google.adk.agents import Agent\nroot_agent = Agent()\n")
    site = (str(tmp_path / "site"),)
    done = attempt("-m", "ostinato", "run", "desk", "Hi", cwd=tmp_path, path=site)
    assert done.returncode == 1 and "is an agent of google-adk" in done.stderr
    assert "pip uninstall google-adk" in done.stderr
    assert "`python -m ostinato.compat -m ostinato run desk`" in done.stderr
    (desk / "agent.py").write_text(AGENT)
    done = attempt(
        "-m", "ostinato.compat", "-m", "ostinato", "run", "desk", "Hi", cwd=tmp_path, path=site
    )
    assert done.returncode == 0 and "You said Hi, seven." in done.stdout
    last = done.stdout.strip().splitlines()[-1].strip()
    assert last.startswith("python -m ostinato.compat -m ostinato run desk --session ")


TEST = """
from google.adk.agents import Agent
from google.genai import types

def test_names():
    assert Agent.__module__.startswith("ostinato.") and types.Content
"""


@pytest.mark.long
@pytest.mark.parametrize("how", ["alias", "conftest"])
def test_tests_run_through_the_alias(how: str, tmp_path: Path) -> None:
    (tmp_path / "test_desk.py").write_text(TEST)
    if how == "conftest":
        (tmp_path / "conftest.py").write_text(
            "import ostinato.compat\n\nostinato.compat.install(force=True)\n"
        )
    start = ("-m", "ostinato.compat") if how == "alias" else ()
    plain = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_desk.py")
    done = attempt(*start, *plain, cwd=tmp_path, warnings="default")
    assert "1 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.service
def test_the_real_google_adk_refuses_the_alias_unless_forced() -> None:
    code = """
import ostinato.compat
try:
    ostinato.compat.install()
except ostinato.errors.DeveloperError as error:
    assert "google-adk is installed" in str(error)
else:
    raise AssertionError
from google.adk.version import __version__
assert __version__ == "2.3.0"
"""
    run(code="import ostinato.errors" + code, python=adk_python(), warnings="ignore")
