"""InMemoryEvalSetsManager: eval sets in memory, for tests and for sets read from files."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

from ._stored_eval_sets import StoredEvalSets
from .eval_set import EvalSet


class InMemoryEvalSetsManager(StoredEvalSets):
    """Eval sets in memory."""

    def __init__(self) -> None:
        self._sets: dict[tuple[str, str], EvalSet] = {}
        self._lock = Lock()

    def get_eval_set(self, app_name: str, eval_set_id: str) -> EvalSet | None:
        """Return a set, or None if it does not exist."""
        return self._sets.get((app_name, eval_set_id))

    def create_eval_set(self, app_name: str, eval_set_id: str) -> EvalSet:
        """Create an empty set; any id is allowed here.

        Raises:
          ValueError: the set exists.
        """
        with self._lock:
            if (app_name, eval_set_id) in self._sets:
                raise ValueError(f"EvalSet {eval_set_id} already exists for app {app_name}.")
            self._sets[app_name, eval_set_id] = EvalSet(
                eval_set_id=eval_set_id, name=eval_set_id, eval_cases=[]
            )
            return self._sets[app_name, eval_set_id]

    def list_eval_sets(self, app_name: str) -> list[str]:
        """Return the ids of the sets of an app."""
        return [eval_set_id for app, eval_set_id in self._sets if app == app_name]

    def save_eval_set(self, app_name: str, eval_set_id: str, eval_set: EvalSet) -> None:
        """Keep a set, in place of an earlier one."""
        self._sets[app_name, eval_set_id] = eval_set

    @contextmanager
    def lock_eval_set(self, app_name: str, eval_set_id: str) -> Generator[None]:
        """Hold the lock of all sets."""
        with self._lock:
            yield
