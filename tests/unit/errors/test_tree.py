"""The error tree: what is drawn at the top of the module is what the classes are."""

from __future__ import annotations

import ast
import builtins
import inspect
import pickle
import re
from functools import cache
from pathlib import Path

import pytest

import ostinato
from ostinato import errors
from ostinato.errors import ModelRetry, OstinatoError

pytestmark = pytest.mark.long

BRANCHES = {"ModelBehaviorError", "DeveloperError", "CallerError", "ProviderError", "StoreError"}
# Exceptions that no caller of the library sees.
OUTSIDE = {
    "ClosedOutputError",
    # Names of google-adk that tools and programs raise or catch themselves.
    "A2AClientError",
    "AgentCardResolutionError",
    "AuthCredentialMissingError",
    "NodeTimeoutError",
    "DynamicNodeFailError",
    "NodeInterruptedError",
    "ToolExecutionError",
    "TokenEndpointError",  # caught inside auth/
    "CallTimeout",  # the worker pool's, for FunctionTool
    "CassetteMismatchError",  # this and the next three are failed assertions of users' tests
    "EvaluationFailedError",
    "ScenarioError",  # a failed assertion, too
    "ProcessKilledError",  # stands for a death; crash_everywhere catches it
    "InvariantError",  # a failed assertion of a simulation
    "StuckError",  # a simulation that does not end
    "ProcessDiedError",  # this and the next are faults that a simulation plays
    "SimulatedToolError",
    "ScriptError",
    "SharedHistoryError",
    "CliError",  # this and the next are messages of the command line
    "SetupError",  # the next two are such errors that are ImportErrors, too
    "AgentImportError",
    "AgentModuleNotFoundError",
    "Problem",  # an HTTP answer of the server; the next ends a live conversation there
    "_Draining",
    "GuardrailStop",  # the runner catches it
    "CodeNameError",  # this and the next become AgentFileErrors with a place
    "FieldFault",
    "FileTooLargeError",  # its callers tell which file; the next is told as the service's error
    "OperationError",
    "BadAnswer",  # this and the next are told by adapters as errors of the tree
    "Unsendable",
    "HttpError",  # this and the next become errors of the tree in the adapters
    "_StaleConnection",
    "_StoppedError",  # ends GEPA; its cause is raised
    "CaseNotRunError",  # becomes the message of a case that was not evaluated
    "ResultTooLarge",  # this and the next two are told to the model
    "FetchFailed",
    "RefusedAddress",
    "_MalformedArguments",  # arguments that a model streams; they are told to it
    "ArgumentError",  # this and the next become a tool's answer to the model
    "RequestFailed",
    "McpConnectionError",  # callers of a toolset's own methods get it, and a call tells the model
    "TooLargeInline",  # caught inside tools/openapi
    "KeyHasEnded",  # the runner catches it
    "OverwrittenError",  # the stores catch it
    "FailedTurnError",  # the evaluation catches it and fails the case
    "NotApplicableError",  # metrics raise it; the evaluation catches it
    "KubernetesError",  # caught inside the executor, which tells the model
    "RegistryError",  # a skill toolset tells it to the model
    "_AnswerLost",  # caught inside tools/mcp
}
_LINE = re.compile(r"^(?P<lead>[│├└─ ]*)(?P<name>\w+Error)(?: \((?P<also>\w+)\))?")


def drawn() -> dict[str, tuple[str | None, str | None]]:
    """Class -> its parent in the drawing, and the built-in class drawn in parentheses."""
    found: dict[str, tuple[str | None, str | None]] = {}
    above: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = _LINE.match(line)
        if match is None or not match["lead"]:
            continue
        depth = len(match["lead"])
        while above and above[-1][0] >= depth:
            above.pop()
        found[match["name"]] = (above[-1][1] if above else None, match["also"])
        above.append((depth, match["name"]))
    return found


def real() -> dict[str, type[Exception]]:
    """The error classes of the module, by name."""
    return {
        name: cls
        for name, cls in inspect.getmembers(errors, inspect.isclass)
        if issubclass(cls, OstinatoError)
    }


@cache
def nodes() -> list[tuple[Path, ast.AST]]:
    """Every node of the package's source, with its file."""
    return [
        (path, node)
        for path in Path(inspect.getfile(ostinato)).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]


def test_the_drawn_tree_is_the_real_one() -> None:
    tree = {}
    for name, cls in real().items():
        ours = [b.__name__ for b in cls.__bases__ if issubclass(b, OstinatoError)]
        builtin = [b.__name__ for b in cls.__bases__ if not issubclass(b, OstinatoError)]
        assert len(ours) <= 1 and len(builtin) <= 1, name
        if cls is OstinatoError:
            builtin = []
        tree[name] = (ours[0] if ours else None, builtin[0] if builtin else None)
    assert drawn() == tree


def test_the_branches_are_named_after_those_who_can_mend_an_error() -> None:
    assert {c.__name__ for c in OstinatoError.__subclasses__()} >= BRANCHES
    ours = {c.__name__ for c in OstinatoError.__subclasses__() if c.__module__ == errors.__name__}
    assert ours == BRANCHES


def test_every_exception_of_the_package_is_in_the_tree_or_listed_here() -> None:
    strays: set[str] = set()
    for path, node in nodes():
        if not isinstance(node, ast.ClassDef) or path == Path(errors.__file__ or ""):
            continue
        bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        built_in = {b for b in bases if isinstance(getattr(builtins, b, None), type)}
        if any(issubclass(getattr(builtins, b), BaseException) for b in built_in):
            strays.add(node.name)
    assert strays == OUTSIDE


def test_every_error_is_raised_or_extended_somewhere_in_the_package() -> None:
    used: set[str] = set()
    for _, node in nodes():
        if isinstance(node, ast.Call | ast.ClassDef):
            parts = [node.func] if isinstance(node, ast.Call) else node.bases
            used |= {ast.unparse(part).rpartition(".")[2] for part in parts}
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
            used |= {part.id for part in node.value.elts if isinstance(part, ast.Name)}
    assert real().keys() - used == set()


@pytest.mark.parametrize("name", sorted(real()))
def test_an_error_says_its_message_and_survives_pickling(name: str) -> None:
    error = real()[name]("agent 'a': do this")
    assert str(error) == "agent 'a': do this"
    twin = pickle.loads(pickle.dumps(error))
    assert type(twin) is type(error) and str(twin) == str(error)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("ostinato.errors.already_exists_error", "AlreadyExistsError"),
        ("ostinato.errors.input_validation_error", "InputValidationError"),
        ("ostinato.errors.not_found_error", "NotFoundError"),
        ("ostinato.errors.session_not_found_error", "SessionNotFoundError"),
        ("ostinato.sessions.state", "StateSchemaError"),
        ("ostinato.agents.invocation_context", "LlmCallsLimitExceededError"),
    ],
)
def test_errors_are_the_same_at_the_paths_that_programs_know(path: str, name: str) -> None:
    module = __import__(path, fromlist=[name])
    assert getattr(module, name) is real()[name]


def test_model_retry_is_no_error_of_the_tree_and_keeps_its_message() -> None:
    assert not issubclass(ModelRetry, OstinatoError)
    assert ModelRetry("again").message == "again" and str(ModelRetry("again")) == "again"
