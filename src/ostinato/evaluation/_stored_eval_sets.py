"""Operations on eval sets that are stored whole: in files, in memory, in a bucket."""

from __future__ import annotations

import abc
import re
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager

from .. import _clock
from ..errors import InputValidationError, NotFoundError
from .eval_case import EvalCase
from .eval_set import EvalSet
from .eval_sets_manager import EvalSetsManager

EVAL_SET_FILE_EXTENSION = ".evalset.json"


def check_id(kind: str, value: str, *, allow: str = "") -> None:
    """Refuse an id with other characters than letters, digits and underscores.

    Args:
      kind: what it is the id of, for the error.
      value: the id.
      allow: further characters; a leading dot is never allowed.

    Raises:
      InputValidationError: the id has other characters.
    """
    if not re.fullmatch(rf"[a-zA-Z0-9_{re.escape(allow)}]+", value) or value.startswith("."):
        raise InputValidationError(
            f"Invalid {kind}. Use letters, digits and underscores only, not {value[:60]!r}."
        )


class StoredEvalSets(EvalSetsManager):
    """A store that reads and writes a set as a whole."""

    @abc.abstractmethod
    def save_eval_set(self, app_name: str, eval_set_id: str, eval_set: EvalSet) -> None:
        """Write a set, in place of an earlier one."""

    @abc.abstractmethod
    def lock_eval_set(self, app_name: str, eval_set_id: str) -> AbstractContextManager[None]:
        """Return the lock under which a set is read, changed and written."""

    def create_eval_set(self, app_name: str, eval_set_id: str) -> EvalSet:
        """Create an empty set.

        Raises:
          ValueError: the id is invalid, or the set exists.
        """
        check_id("Eval Set ID", eval_set_id)
        eval_set = EvalSet(
            eval_set_id=eval_set_id,
            name=eval_set_id,
            eval_cases=[],
            creation_timestamp=_clock.now(),
        )
        with self.lock_eval_set(app_name, eval_set_id):
            if self.get_eval_set(app_name, eval_set_id) is not None:
                raise InputValidationError(
                    f"EvalSet {eval_set_id} already exists for app {app_name}."
                )
            self.save_eval_set(app_name, eval_set_id, eval_set)
        return eval_set

    def get_eval_case(self, app_name: str, eval_set_id: str, eval_case_id: str) -> EvalCase | None:
        """Return a case, or None if the set or the case does not exist."""
        eval_set = self.get_eval_set(app_name, eval_set_id)
        cases = eval_set.eval_cases if eval_set is not None else []
        return next((case for case in cases if case.eval_id == eval_case_id), None)

    def add_eval_case(self, app_name: str, eval_set_id: str, eval_case: EvalCase) -> None:
        """Add a case.

        Raises:
          NotFoundError: the set does not exist.
          ValueError: the set has a case of this id.
        """
        with self._change_set(app_name, eval_set_id) as eval_set:
            if any(case.eval_id == eval_case.eval_id for case in eval_set.eval_cases):
                raise InputValidationError(
                    f"Eval id `{eval_case.eval_id}` already exists in `{eval_set_id}` eval set."
                )
            eval_set.eval_cases.append(eval_case)

    def update_eval_case(
        self, app_name: str, eval_set_id: str, updated_eval_case: EvalCase
    ) -> None:
        """Replace the case of the same id; it keeps its place.

        Raises:
          NotFoundError: the set or the case does not exist.
        """
        with self._change_set(app_name, eval_set_id) as eval_set:
            eval_set.eval_cases[_find_case(eval_set, updated_eval_case.eval_id)] = updated_eval_case

    def delete_eval_case(self, app_name: str, eval_set_id: str, eval_case_id: str) -> None:
        """Delete a case.

        Raises:
          NotFoundError: the set or the case does not exist.
        """
        with self._change_set(app_name, eval_set_id) as eval_set:
            del eval_set.eval_cases[_find_case(eval_set, eval_case_id)]

    @contextmanager
    def _change_set(self, app_name: str, eval_set_id: str) -> Generator[EvalSet]:
        """Yield a set to change it; it is written if the block ends without an error."""
        with self.lock_eval_set(app_name, eval_set_id):
            eval_set = self.get_eval_set(app_name, eval_set_id)
            if eval_set is None:
                raise NotFoundError(f"Eval set `{eval_set_id}` not found. App: {app_name!r}.")
            yield eval_set
            self.save_eval_set(app_name, eval_set_id, eval_set)


def _find_case(eval_set: EvalSet, eval_case_id: str) -> int:
    for place, case in enumerate(eval_set.eval_cases):
        if case.eval_id == eval_case_id:
            return place
    raise NotFoundError(
        f"Eval case `{eval_case_id}` not found in eval set `{eval_set.eval_set_id}`."
    )
