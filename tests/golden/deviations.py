"""Where ostinato does otherwise than google-adk on purpose, each with its reason.

A deviation edits the recorded trace at a path of keys and positions, as in "turns.0.events.2";
`test_golden.py` applies them, and fails for one that is not needed.
"""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

Edit = Literal["put", "insert", "drop"]


@dataclass(frozen=True)
class Deviation:
    """One edit of the recorded traces of the scenarios that match: put a value, insert or drop."""

    scenario: str
    edit: Edit
    path: str
    reason: str
    value: Any = None

    def __str__(self) -> str:
        return f"{self.scenario}:{self.edit}:{self.path}"

    def concerns(self, name: str) -> bool:
        return fnmatchcase(name, self.scenario)

    def apply(self, trace: Any) -> None:
        """Edit the trace in place. A path "**.key" drops the key wherever it stands."""
        if self.path.startswith("**."):
            _drop_everywhere(trace, self.path[3:])
            return
        *way, last = self.path.split(".")
        for step in way:
            trace = trace[int(step)] if isinstance(trace, list) else trace[step]
        at: Any = int(last) if isinstance(trace, list) else last
        if self.edit == "drop":
            del trace[at]
        elif self.edit == "insert":
            trace.insert(at, self.value)
        else:
            trace[at] = self.value


def _drop_everywhere(value: Any, key: str) -> None:
    if isinstance(value, dict):
        value.pop(key, None)
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, (dict, list)):
            _drop_everywhere(item, key)


DEVIATIONS: list[Deviation] = [
    Deviation(
        "none_removes_key", "drop", "sessions.0.state.a",
        "State set to None removes the top-level key (google-adk keeps null).",
    ),
    Deviation(
        "rewind", "drop", "sessions.0.state.only2",
        "State set to None removes the top-level key, so a rewind leaves no null behind.",
    ),
    Deviation(
        "partials_without_streaming", "drop", "turns.0.events.0",
        "Without SSE only whole responses are yielded, whatever the model streams (Spec 2 §6.5).",
    ),
    Deviation(
        "resume_of_ended_invocation", "put", "turns.1.events",
        "An invocation whose root has ended has nothing to resume (google-adk asks the model).", [],
    ),
]  # fmt: skip
