"""Policies in YAML files: rules, included files, and tests of the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...agent_files.document import Document, FieldPath, read_document
from ...errors import AgentFileError
from .policy import Policy, find_conflicts, find_idle_rules
from .rule import STRICTNESS, Rule, Verdict
from .tool_request import ToolRequest

_VERSION = 1


class PolicyTest(BaseModel):
    """A test in a policy file: a call, and what the rules are to say about it.

    Attributes:
      name: names the test in reports.
      tool, args, agent, source, user, state: the call; see `ToolRequest`.
      expect: the verdict.
      rule: the id of the rule that decides; None if that does not matter.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    tool: str
    expect: Verdict
    name: str = ""
    args: dict[str, Any] = Field(default_factory=dict[str, Any])
    agent: str = "agent"
    source: str = "function"
    user: str = "user"
    state: dict[str, Any] = Field(default_factory=dict[str, Any])
    rule: str | None = None

    def find_fault(self, policy: Policy) -> str:
        """Return how the policy's decision differs from the expected one; empty if it does not."""
        request = ToolRequest(self.tool, self.args, self.agent, self.source, self.user, self.state)
        decision = policy.decide(request)
        decided = "the default" if decision.rule is None else f"rule {decision.rule.id!r}"
        if decision.verdict != self.expect:
            return f"expected {self.expect}, but {decided} says {decision.verdict}"
        if self.rule is not None and (decision.rule is None or decision.rule.id != self.rule):
            return f"expected rule {self.rule!r} to decide, but {decided} does"
        return ""


class _PolicyFields(BaseModel):
    """The fields of a policy file."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    version: Annotated[int, Field(strict=True, ge=_VERSION, le=_VERSION)] = _VERSION
    default: Verdict | None = None
    include: list[str] = Field(default_factory=list[str])
    rules: list[Rule] = Field(default_factory=list[Rule])
    tests: list[PolicyTest] = Field(default_factory=list[PolicyTest])


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """A policy that was read from a file.

    Attributes:
      policy: the rules of the file and of those that it includes.
      tests: their tests, each with the place of its field for messages.
    """

    policy: Policy
    tests: tuple[tuple[str, PolicyTest], ...]

    def run_tests(self) -> list[str]:
        """Run the tests against all rules; return the failures, one line each."""
        faults: list[str] = []
        for place, test in self.tests:
            fault = test.find_fault(self.policy)
            if fault:
                faults.append(f"{place}: {f'test {test.name!r}: ' if test.name else ''}{fault}")
        return faults


@dataclass(slots=True)
class _Reading:
    """The files that are being read."""

    rules: list[tuple[Rule, Document, int]] = field(
        default_factory=list[tuple[Rule, Document, int]]
    )
    tests: list[tuple[str, PolicyTest]] = field(default_factory=list[tuple[str, PolicyTest]])
    defaults: list[Verdict] = field(default_factory=lambda: ["allow"])
    done: set[Path] = field(default_factory=set[Path])


def load_policy(file: str | Path) -> Policy:
    """Read a policy file; see `read_policy_file`."""
    return read_policy_file(file).policy


def read_policy_file(file: str | Path) -> PolicyFile:
    """Read a policy file, the files that it includes, and their tests.

    The strictest `default` of all files holds.

    Args:
      file: the file; paths of included files are relative to the file that names them.

    Raises:
      AgentFileNotFoundError: a file does not exist.
      AgentFileError: a file is no policy; the message names file, line and field.
      MissingExtraError: PyYAML is not installed.
    """
    reading = _Reading()
    _read(Path(file).absolute(), reading, ())
    rules = [rule for rule, _, _ in reading.rules]
    conflicts = [*find_idle_rules(rules), *find_conflicts(rules)]
    faults = [
        reading.rules[index][1].fault(problem, ("rules", reading.rules[index][2], name))
        for index, name, problem in conflicts
    ]
    _raise_faults(faults)
    default = max(reading.defaults, key=lambda one: STRICTNESS[one])
    policy = Policy(rules=tuple(rule for rule, _, _ in reading.rules), default=default)
    return PolicyFile(policy, tuple(reading.tests))


def _read(path: Path, reading: _Reading, above: tuple[Path, ...]) -> None:
    """Read one file and what it includes.

    Args:
      path: the file.
      reading: takes its rules and tests.
      above: the files that include it, the outermost first.
    """
    path = path.resolve()
    reading.done.add(path)
    document = read_document(path, what="a policy is made of fields such as `rules:`")
    try:
        fields = _PolicyFields.model_validate(document.data)
    except ValidationError as error:
        _raise_faults([_fault_of(document, one) for one in error.errors()])
        raise
    for index, name in enumerate(fields.include):
        below = (path.parent / name).resolve()
        if below == path or below in above:
            names = " -> ".join(one.name for one in (*above, path, below))
            raise document.fault(f"the files include each other: {names}.", ("include", index))
        if not below.is_file():
            raise document.fault("there is no such file.", ("include", index))
        if below not in reading.done:
            _read(below, reading, (*above, path))
    if fields.default is not None:
        reading.defaults.append(fields.default)
    reading.rules += [(rule, document, index) for index, rule in enumerate(fields.rules)]
    for index, test in enumerate(fields.tests):
        place = document.places.get(("tests", index))
        line = f", line {place.line}" if place is not None else ""
        reading.tests.append((f"{document.shown}{line}", test))


def _fault_of(document: Document, error: Any) -> AgentFileError:
    """Return a fault of pydantic's at its place in the file."""
    known: list[str | int] = []
    value: Any = document.data
    for step in cast("FieldPath", error["loc"]):
        if isinstance(value, Mapping) and step in value:
            value = cast("Any", value[step])
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):  # pyright: ignore[reportUnknownArgumentType]
            value = cast("Any", value[step])
        elif error["type"] in ("missing", "extra_forbidden"):
            pass  # the field is named, though the file does not have it
        else:
            continue  # a step of pydantic's own, such as the name of a validator
        known.append(step)
    problem = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        problem = "there is no such field"
    return document.fault(f"{problem}.", tuple(known))


def _raise_faults(faults: list[AgentFileError]) -> None:
    """Raise the faults of one file as one error, at the place of the first."""
    if not faults:
        return
    first = faults[0]
    raise AgentFileError(
        "\n".join(str(one) for one in faults),
        file=first.file,
        line=first.line,
        column=first.column,
        field=first.field,
    )
