"""The alias in processes of their own, with warnings as errors: the same modules and classes under
both names, whatever a program does with them."""

import textwrap
from pathlib import Path

import pytest

from tests.unit.compat.interpreters import attempt, run, without_google

pytestmark = pytest.mark.long

INSTALL = "import ostinato.compat\nostinato.compat.install()\n"


def alias(code: str, **settings: object) -> str:
    """Run code after install()."""
    return run(code=INSTALL + textwrap.dedent(code), **settings)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def alone(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A search path without google-genai and anything else named google."""
    return without_google(tmp_path_factory.mktemp("site") / "packages")


def test_both_names_are_the_same_module_and_class() -> None:
    alias("""
        import google.adk, google.adk.agents.llm_agent, ostinato.agents.llm_agent
        import google.adk as adk
        from google.adk import agents
        from google.adk.agents.llm_agent import LlmAgent as A
        from google.adk.agents import LlmAgent, BaseAgent as B
        from ostinato.agents import BaseAgent, LlmAgent as C
        assert google.adk is adk is __import__("ostinato")
        assert adk.agents is agents is ostinato.agents
        assert google.adk.agents.llm_agent is ostinato.agents.llm_agent
        assert A is LlmAgent is C is adk.Agent is adk.agents.Agent and B is BaseAgent
        assert isinstance(A(name="a"), BaseAgent) and isinstance(C(name="a"), B)
    """)


def test_the_root_has_the_names_of_google_adk() -> None:
    alias("""
        from google.adk import Agent, Context, Event, Runner, Workflow
        import google.adk, google.adk.agents.context, google.adk.workflow
        assert Workflow is google.adk.workflow.Workflow
        assert Context is google.adk.agents.context.Context
        assert {"Agent", "Context", "Event", "Runner", "Workflow"} <= set(google.adk.__all__)
    """)


def test_subpackages_are_there_after_import_google_adk() -> None:
    alias("""
        import google.adk as adk
        names = "agents apps artifacts auth code_executors errors events flows memory models"
        names += " planners plugins runners sessions telemetry tools utils"
        for name in names.split():
            assert getattr(adk, name).__name__ == f"ostinato.{name}", name
        assert adk.agents.llm_agent.LlmAgent is adk.Agent
        assert not hasattr(adk, "no_such_thing") and not hasattr(adk.agents, "_llm_agent")
    """)


def test_a_module_keeps_its_own_spec_loader_and_name() -> None:
    alias("""
        import inspect, pkgutil, sys
        import ostinato.events.event as own
        spec, loader = own.__spec__, own.__loader__
        import google.adk.events.event as other
        assert other.__spec__ is spec and other.__loader__ is loader
        assert other.__name__ == other.__spec__.name == "ostinato.events.event"
        for name, module in list(sys.modules.items()):
            if name.startswith("google.adk"):
                assert module.__spec__.name == module.__name__, name
                assert module.__spec__.parent == module.__package__, name
        assert inspect.getmodule(other.Event) is own
        assert "class Event" in inspect.getsource(other)
        import google.adk
        assert "agents" in {item.name for item in pkgutil.iter_modules(google.adk.__path__)}
    """)


def test_the_spec_of_an_alias_tells_of_the_module_before_it_is_imported() -> None:
    alias("""
        import importlib.util, sys, warnings
        spec = importlib.util.find_spec("google.adk.sessions.state")
        assert (spec.name, spec.parent) == ("google.adk.sessions.state", "ostinato.sessions")
        assert "google.adk.sessions.state" not in sys.modules
        assert spec.loader.is_package(spec.name) is False
        assert "class State" in spec.loader.get_source(spec.name)
        assert spec.loader.get_code(spec.name).co_filename.endswith("sessions/state.py")
        package = importlib.util.find_spec("google.adk.planners")
        assert package.parent == "ostinato.planners" and package.loader.is_package(package.name)
        module = importlib.util.module_from_spec(package)  # wears the alias's spec from here on
        exec("from . import base_planner", vars(module))
        package.loader.exec_module(module)
        assert module.__spec__.name == "ostinato.planners"
    """)


def test_a_module_of_google_adk_runs_by_name(tmp_path: Path) -> None:
    version = run("-m", "ostinato", "--version", cwd=tmp_path)
    assert run("-m", "ostinato.compat", "-m", "google.adk", "--version", cwd=tmp_path) == version


def test_relative_imports_run_inside_aliased_packages() -> None:
    alias("""
        import google.adk.agents.llm_agent as module
        exec("from . import base_agent\\nfrom ..events.event import Event", vars(module))
        assert module.base_agent.__name__ == "ostinato.agents.base_agent"
        import google.adk.agents as package
        exec("from .base_agent import BaseAgent", vars(package))
    """)


def test_reload_goes_by_the_own_name() -> None:
    alias("""
        import importlib, sys
        import google.adk.utils.context_utils as module
        import google.adk.events.event_actions as actions
        before = actions.EventActions
        assert importlib.reload(module) is module
        assert importlib.reload(actions) is actions is sys.modules["ostinato.events.event_actions"]
        assert actions.EventActions is not before
        assert sys.modules["google.adk.events.event_actions"] is actions
        import google.adk
        assert importlib.reload(google.adk) is google.adk
    """)


def test_pickle_goes_both_ways() -> None:
    alias("""
        import copyreg, pickle
        from google.adk.events import Event
        from google.adk.agents.llm_agent import LlmAgent
        from google.genai import types
        event = Event(author="a", content=types.UserContent("Hi"))
        data = pickle.dumps(event)
        assert b"ostinato.events.event" in data and pickle.loads(data) == event
        old = b"cgoogle.adk.events.event\\nEvent\\n."
        assert pickle.loads(old) is Event is pickle.loads(b"costinato.events.event\\nEvent\\n.")
        assert pickle.loads(pickle.dumps(LlmAgent)) is LlmAgent
    """)


def test_a_pickle_needs_no_alias_to_be_read() -> None:
    hexed = alias("""
        import pickle
        from google.adk.events import Event, EventActions
        print(pickle.dumps(Event(author="a", actions=EventActions(state_delta={"k": 1}))).hex())
    """)
    code = f"import pickle; e = pickle.loads(bytes.fromhex({hexed.strip()!r}))\n"
    run(code=code + "import sys; assert e.author == 'a' and 'google.adk' not in sys.modules")


def test_threads_import_at_once() -> None:
    alias("""
        import threading, importlib, sys
        names = ["agents.llm_agent", "runners", "tools.function_tool", "events", "apps.app",
                 "sessions.in_memory_session_service", "agents", "models.llm_request"]
        found, start = [], threading.Barrier(16)
        def work(name, package):
            start.wait()
            found.append((name, importlib.import_module(f"{package}.{name}")))
        threads = [
            threading.Thread(target=work, args=(name, package))
            for name in names for package in ("google.adk", "ostinato")
        ]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert len(found) == 16
        for name, module in found:
            assert module is sys.modules[f"ostinato.{name}"] is sys.modules[f"google.adk.{name}"]
            assert module.__spec__.name == f"ostinato.{name}"
    """)


def test_install_sets_the_defaults_and_uninstall_takes_all_back() -> None:
    run(
        code=textwrap.dedent("""
        import sys
        from ostinato.agents.run_config import RunConfig
        import ostinato.compat as compat
        from ostinato._adk_mode import follows_adk
        path, finders = list(sys.path), list(sys.meta_path)
        before = RunConfig()
        assert (before.sync_tools, before.copy_contents) == ("thread", False)
        for _ in range(2):
            compat.install()
            compat.install()
            assert compat.is_installed() and len(sys.meta_path) == len(finders) + 1
            config = RunConfig()
            assert (config.sync_tools, config.copy_contents) == ("inline", True)
            assert follows_adk()
            import google.adk.agents
            assert google.adk.agents.RunConfig is RunConfig
            compat.uninstall()
            assert not follows_adk()
            assert (RunConfig().sync_tools, RunConfig().copy_contents) == ("thread", False)
            assert (sys.path, sys.meta_path) == (path, finders)
            assert not [name for name in sys.modules if name.startswith("google.adk")]
            try:
                import google.adk.agents
            except ModuleNotFoundError:
                pass
            else:
                raise AssertionError
        compat.uninstall()
        """)
    )


@pytest.mark.parametrize("genai", [True, False], ids=["google-genai", "alone"])
def test_google_genai(genai: bool, alone: str) -> None:
    if genai:
        alias("""
            from google.genai import types, Client
            import google.adk.events
            import ostinato.types
            assert types.__name__ == "google.genai.types" and types is not ostinato.types
            event = google.adk.events.Event(author="a", content=types.UserContent("Hi"))
            assert type(event.content) is ostinato.types.UserContent
        """)
        return
    alias(
        """
        from google import genai
        from google.genai import types
        from google.genai.types import Content, Part
        import google.genai.types, importlib, ostinato.types
        assert types is ostinato.types is genai.types is google.genai.types
        assert types.__spec__.name == "ostinato.types" and importlib.reload(types) is types
        assert Part.from_text(text="x").text == "x" and Content is ostinato.types.Content
        for line, word in [
            ("from google.genai import Client", "Client"),
            ("genai.Client", "pip install google-genai"),
            ("import google.genai.errors", "pip install google-genai"),
            ("from google.genai.types import NoSuchThing", "NoSuchThing"),
            ("import google.cloud.storage", "google.cloud"),
        ]:
            try:
                exec(line)
            except (ImportError, AttributeError) as error:
                assert word in str(error), error
            else:
                raise AssertionError(line)
        """,
        path=(alone,),
        bare=True,
    )


@pytest.mark.parametrize("first", ["alias", "google-genai"])
def test_records_of_google_genai_equal_ours_of_the_same_fields(first: str) -> None:
    lines = [
        "import ostinato.compat; ostinato.compat.install()",
        "import google.genai.types as types",
    ]
    check = """
        import ostinato.types as ours, inspect
        part, call = types.Part(text="a"), types.FunctionCall(name="f", args={"a": 1})
        assert part == ours.Part(text="a") and ours.Part(text="a") == part
        assert part != ours.Part(text="b") and ours.Part(text="b") != part
        assert types.Content(role="user", parts=[part]) == ours.UserContent("a")
        assert [ours.UserContent("a")] == [types.UserContent("a")]
        assert call == ours.FunctionCall(name="f", args={"a": 1}) != types.FunctionCall(name="f")
        assert part == types.Part(text="a") != types.Part(text="b") and part != call != "f"
        assert types.FinishReason.STOP == ours.FinishReason.STOP
        assert types.__spec__.loader is types.__loader__
        assert "class Part" in inspect.getsource(types)
        assert type(types.__loader__).__name__ == "SourceFileLoader"
        ostinato.compat.uninstall()
        assert part != ours.Part(text="a") and ours.Part(text="a") == part
        assert part == types.Part(text="a")
    """
    ordered = lines if first == "alias" else lines[::-1]
    run(code="\n".join(ordered) + textwrap.dedent(check))


def test_google_genai_first_and_a_google_of_others(alone: str, tmp_path: Path) -> None:
    (tmp_path / "google" / "protobuf").mkdir(parents=True)
    (tmp_path / "google" / "protobuf" / "__init__.py").write_text("KIND = 'protobuf'\n")
    alias(
        """
        from google.genai import types
        from google.protobuf import KIND
        import google.adk.agents, google
        assert types.__name__ == "ostinato.types" and google.adk.agents.LlmAgent
        assert KIND == "protobuf" and google.__spec__.name == "google"
        ostinato.compat.uninstall()
        import google.protobuf
        assert not hasattr(google, "adk") and not hasattr(google, "genai")
        """,
        path=(alone, str(tmp_path)),
        bare=True,
    )


MISSING = [
    ("from google.adk.agents import LLMAgent", ["LLMAgent", "Did you mean", "LlmAgent"]),
    ("from google.adk.agents import Wombat", ["no Wombat in google.adk.agents", "LoopAgent"]),
    ("import google.adk.agents.llm_agnet", ["no module google.adk.agents.llm_agnet", "llm_agent"]),
    ("from google.adk.tools._x_util import f", ["private name", "google.adk.tools", "BaseTool"]),
    ("from google.adk.a2a.utils import x", ["google.adk.a2a.utils is not", "ostinato serve"]),
    ("adk.optimization.sampler", ["google.adk.optimization", "evaluation.prompt_optimization"]),
    ("from google.adk.models.lite_llm import TextChunk", ["lite_llm.TextChunk", "BaseLlm"]),
    ("from google.adk.models.lite_llm import LiteLLM", ["LiteLLM", "ostinato.models.lite_llm"]),
    ("import google.adk.agents.llm_agent.LlmAgent", ["google.adk.agents.llm_agent"]),
    ("adk.agents.Wombat", ["ostinato.agents", "Wombat"]),
    ("from google.adk.runners import InMemoryRuner", ["InMemoryRuner", "ostinato.runners"]),
]


def test_a_question_for_a_missing_module_is_answered_as_in_python() -> None:
    said = alias(
        """
        import importlib.util
        for name in ("bogus", "optimization", "tools.spanner", "sessions.bogus"):
            print(importlib.util.find_spec("google.adk." + name))
        for filler in ("", "dummy", "anything"):
            print(__import__("google.adk.sessions", fromlist=[filler]).__name__)
        """
    )
    assert said.split() == ["None"] * 4 + ["ostinato.sessions"] * 3


def test_a_missing_name_says_what_to_write() -> None:
    said = alias(f"""
        import google.adk as adk
        for line in {[line for line, _ in MISSING]!r}:
            try:
                exec(line)
            except (ImportError, AttributeError) as error:
                print(repr(str(error)))
    """).splitlines()
    assert len(said) == len(MISSING)
    for message, (line, words) in zip(said, MISSING, strict=True):
        for word in words:
            assert word in message, line


def test_python_says_which_attribute_was_meant() -> None:
    done = attempt(code=INSTALL + "import google.adk as adk\nadk.agents.LoopAgnt")
    assert "Did you mean: 'LoopAgent'" in done.stderr


def test_probing_for_a_module_is_an_import_error() -> None:
    alias("""
        try:
            from google.adk.optimization.sampler import Sampler
        except ModuleNotFoundError as error:
            assert error.name == "google.adk.optimization"
        try:
            from google.adk.tools import no_such_tool
        except ImportError:
            no_such_tool = None
        import ostinato.agents
        assert not hasattr(ostinato.agents, "Wombat")
    """)


def test_the_command_explains_a_name_missing_from_a_module(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("from google.adk.runners import InMemoryRuner\n")
    done = attempt("-m", "ostinato.compat", str(program))
    assert done.returncode == 1
    assert "program.py" in done.stderr and "Did you mean InMemoryRunner" in done.stderr


def test_the_command_runs_modules_passes_arguments_and_refuses_what_is_not_there(
    tmp_path: Path,
) -> None:
    package = tmp_path / "desk"
    package.mkdir()
    (package / "__init__.py").write_text("from google.adk.agents import Agent\n")
    (package / "tools.py").write_text("def look() -> str:\n    return 'seen'\n")
    (package / "__main__.py").write_text(
        "import sys\nfrom . import Agent\nfrom .tools import look\n"
        "print(Agent(name='a', tools=[look]).name, sys.argv[1:], __name__)\n"
    )
    said = run("-m", "ostinato.compat", "-m", "desk", "--loud", cwd=tmp_path)
    assert said == "a ['--loud'] __main__\n"
    assert run("-m", "ostinato.compat", "--help").startswith("usage: python -m ostinato.compat")
    for arguments in ([], ["-m"], ["nothing.py"]):
        done = attempt("-m", "ostinato.compat", *arguments, cwd=tmp_path)
        assert done.returncode == 1 and "usage: python -m ostinato.compat" in done.stderr


CHILDREN = """
import concurrent.futures, multiprocessing, subprocess, sys
from google.adk.agents import LlmAgent
from google.genai import types

class Desk(LlmAgent):
    floor: int = 1

def child(floor):
    from google.adk.events import Event
    event = Event(author="a", content=types.UserContent("Hi"))
    return Desk(name="d", floor=floor).floor, type(event).__module__, LlmAgent.__module__

if __name__ == "__main__":
    for kind in KINDS:
        context = multiprocessing.get_context(kind)
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            print(*pool.submit(child, 7).result())
    code = "from google.genai import types; import google.adk as a; print(a.Agent.__module__)"
    print(subprocess.check_output([sys.executable, *OPTIONS, "-c", code], text=True).strip())
"""
CHILDREN_SAY = "7 ostinato.events.event ostinato.agents.llm_agent\n" * 2 + (
    "ostinato.agents.llm_agent\n"
)


@pytest.mark.service  # its processes start four more, which import all
@pytest.mark.parametrize("genai", [True, False], ids=["google-genai", "alone"])
def test_child_processes_have_the_alias(genai: bool, alone: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    options = "['-W', 'error']" if genai else "['-W', 'error', '-S']"
    kinds = "('spawn', 'forkserver')"
    program.write_text(CHILDREN.replace("OPTIONS", options).replace("KINDS", kinds))
    path = () if genai else (alone,)
    said = run("-m", "ostinato.compat", str(program), path=path, bare=not genai)
    assert said == CHILDREN_SAY


@pytest.mark.parametrize("kind", ["spawn", pytest.param("forkserver", marks=pytest.mark.service)])
def test_children_of_a_program_that_installs_the_alias_itself(tmp_path: Path, kind: str) -> None:
    program = tmp_path / "program.py"
    guarded = (
        'if __name__ == "__main__":\n    import ostinato.compat\n    ostinato.compat.install()'
    )
    text = CHILDREN.split("    code =")[0].replace("KINDS", f"[{kind!r}]")
    program.write_text(guarded + "\n" + text)
    assert run(str(program)) == CHILDREN_SAY.splitlines(keepends=True)[0]


def test_other_commands_get_the_alias_by_their_search_path(alone: str) -> None:
    code = "import ostinato.compat; print(*ostinato.compat.child_path(), sep='\\n')"
    folders = run(code=code, path=(alone,), bare=True).splitlines()
    assert len(folders) == 2 and len(run(code=code).splitlines()) == 1
    said = run(
        code="from google.genai.types import Part; import google.adk as a; print(a.Agent, Part)",
        path=(*folders, alone),
        bare=True,
    )
    assert said.split("'")[1::2] == [
        "ostinato.agents.llm_agent.LlmAgent",
        "ostinato.types.content.Part",
    ]


@pytest.fixture
def pretended(tmp_path: Path) -> str:
    """A search path with a google-adk of another maker."""
    package = tmp_path / "google" / "adk"
    (package / "agents").mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = '2.3.0'\n")
    (package / "agents" / "__init__.py").write_text("class LlmAgent: ...\n")
    return str(tmp_path)


def test_an_installed_google_adk_is_left_alone_unless_forced(pretended: str) -> None:
    run(
        code=textwrap.dedent("""
        import sys, ostinato.compat as compat
        from ostinato.errors import DeveloperError
        try:
            compat.install()
        except DeveloperError as error:
            for word in ("google-adk is installed", "pip uninstall", "install(force=True)"):
                assert word in str(error)
        else:
            raise AssertionError
        assert not compat.is_installed()
        compat.arm()
        import google.adk.agents
        assert google.adk.agents.LlmAgent.__module__ == "google.adk.agents"
        try:
            compat.install(force=True)
        except DeveloperError as error:
            assert "imported already" in str(error)
        else:
            raise AssertionError
        """),
        path=(pretended,),
    )
    run(
        code=textwrap.dedent("""
        import ostinato.compat as compat
        compat.install(force=True)
        import google.adk.agents
        assert google.adk.agents.LlmAgent.__module__ == "ostinato.agents.llm_agent"
        """),
        path=(pretended,),
    )


def test_arming_waits_for_the_first_import_of_google_adk() -> None:
    run(
        code=textwrap.dedent("""
        import ostinato.compat as compat
        from google.genai import types
        compat.arm(), compat.arm()
        assert not compat.is_installed()
        from google.adk.agents import Agent
        assert compat.is_installed() and Agent.__module__ == "ostinato.agents.llm_agent"
        compat.uninstall()
        assert not compat.is_installed()
        """)
    )


def test_records_reach_the_loggers_of_google_adk_and_of_ostinato() -> None:
    alias("""
        import logging
        from google.adk.agents import LlmAgent
        found = []
        class Kept(logging.Handler):
            def emit(self, record):
                found.append((self.name, record.name))
        for name in ("google_adk", "ostinato"):
            handler = Kept()
            handler.name = name
            logging.getLogger(name).addHandler(handler)
        def warn():
            found.clear()
            LlmAgent(name="p", sub_agents=[LlmAgent(name="a"), LlmAgent(name="a")])
            return found
        name = "google_adk.google.adk.agents.base_agent"
        assert warn() == [("ostinato", name), ("google_adk", name)]
        logging.getLogger("google_adk").setLevel(logging.ERROR)
        assert warn() == []
        logging.getLogger("google_adk").setLevel(logging.NOTSET)
        assert len(warn()) == 2
        ostinato.compat.uninstall()
        from ostinato.agents.base_agent import logger
        logger.warning("x")
        assert found[2:] == [("ostinato", "ostinato.agents.base_agent")]
    """)


def test_records_are_instances_of_google_genai_s_classes_of_their_name() -> None:
    alias("""
        import copy, pickle
        from google.genai import types
        import ostinato.types as own
        part, content = own.Part(text="a"), own.UserContent("hello")
        assert isinstance(part, types.Part) and isinstance(content, types.Content)
        assert isinstance(content, types.UserContent) and not isinstance(part, types.Content)
        assert isinstance(own.GenerateContentConfig(), types.GenerateContentConfig)
        match content:
            case types.Content(parts=[types.Part(text=text)]):
                assert text == "hello"
            case _:
                raise AssertionError(content)

        class Mine(types.Content):
            pass

        assert isinstance(Mine(), types.Content) and not isinstance(content, Mine)
        theirs = types.Content(role="user", parts=[part])
        dumped = {"parts": [{"text": "a"}], "role": "user"}
        assert theirs.model_dump(exclude_none=True) == dumped
        assert copy.deepcopy(theirs) == theirs == pickle.loads(pickle.dumps(theirs))
        assert own.Content.model_validate(theirs) == theirs
        ostinato.compat.uninstall()
        assert not isinstance(part, types.Part) and isinstance(theirs, types.Content)
    """)
