"""EvalSetsManager: the port of a store of eval sets."""

from __future__ import annotations

import abc

from .eval_case import EvalCase
from .eval_set import EvalSet


class EvalSetsManager(abc.ABC):
    """A store of eval sets, by app and id."""

    @abc.abstractmethod
    def get_eval_set(self, app_name: str, eval_set_id: str) -> EvalSet | None:
        """Return a set, or None if it does not exist."""

    @abc.abstractmethod
    def create_eval_set(self, app_name: str, eval_set_id: str) -> EvalSet:
        """Create an empty set.

        Raises:
          ValueError: the id has other characters than letters, digits and underscores, or the set
            exists.
        """

    @abc.abstractmethod
    def list_eval_sets(self, app_name: str) -> list[str]:
        """Return the ids of the sets of an app.

        Raises:
          NotFoundError: there is no such app.
        """

    @abc.abstractmethod
    def get_eval_case(self, app_name: str, eval_set_id: str, eval_case_id: str) -> EvalCase | None:
        """Return a case, or None if it does not exist."""

    @abc.abstractmethod
    def add_eval_case(self, app_name: str, eval_set_id: str, eval_case: EvalCase) -> None:
        """Add a case.

        Raises:
          NotFoundError: the set does not exist.
          ValueError: the set has a case of this id.
        """

    @abc.abstractmethod
    def update_eval_case(
        self, app_name: str, eval_set_id: str, updated_eval_case: EvalCase
    ) -> None:
        """Replace the case with the id of `updated_eval_case`.

        Raises:
          NotFoundError: the set or the case does not exist.
        """

    @abc.abstractmethod
    def delete_eval_case(self, app_name: str, eval_set_id: str, eval_case_id: str) -> None:
        """Delete a case.

        Raises:
          NotFoundError: the set or the case does not exist.
        """
