"""Cases of eval sets as pytest items; `ostinato.testing.plugin` collects them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..errors import OstinatoError
from ..hosting.loader import AGENT_FILE, load_agent
from ..hosting.setup_error import SetupError
from .agent_evaluator import AgentEvaluator, evaluate_set
from .case_report import describe_failures, format_details
from .eval_case import EvalCase
from .eval_config import EvalConfig
from .eval_set import EvalSet
from .local_eval_sets_manager import load_eval_set_from_file

_CONFIG_FILE = "test_config.json"


class EvaluationFailedError(AssertionError):
    """A case failed; the message holds the metrics and the turns."""


class EvalSetFile(pytest.File):
    """An eval set: one item for each case."""

    def collect(self) -> Iterator[EvalCaseItem]:
        """Load the set and its agent, and yield its cases."""
        try:
            config = AgentEvaluator.find_config_for_test_file(str(self.path))
            folder = find_agent_folder(self.path, config, self.config.rootpath)
            if folder is None:
                raise self.CollectError(
                    f"No agent was found for {self.path.name}: put the file into the agent's "
                    f'folder or below it, or name the folder as "agent" in {_CONFIG_FILE}.'
                )
            eval_set = load_eval_set_from_file(str(self.path), self.path.name)
            loaded = load_agent(str(folder))
        except SetupError as error:
            raise self.CollectError(error.message) from error
        except OstinatoError as error:
            raise self.CollectError(str(error)) from error
        agent = loaded.app or loaded.root
        kind: Any = EvalCaseItem
        for case in eval_set.eval_cases:
            yield kind.from_parent(
                self, name=case.eval_id, agent=agent, case=case, eval_config=config
            )


class EvalCaseItem(pytest.Item):
    """One case.

    Args:
      agent: the agent or App.
      case: the case.
      eval_config: criteria and settings.
    """

    def __init__(
        self, *, agent: Any, case: EvalCase, eval_config: EvalConfig, **options: Any
    ) -> None:
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType]
        self._agent, self._case, self._eval_config = agent, case, eval_config

    def runtest(self) -> None:
        """Run the case.

        Raises:
          EvaluationFailedError: a metric failed, or the agent could not be run.
        """
        alone = EvalSet(eval_set_id=self.path.name, eval_cases=[self._case])
        num_runs = int(self.config.getini("ostinato_eval_runs"))
        run = asyncio.run(evaluate_set(self._agent, alone, self._eval_config, num_runs=num_runs))
        failures = describe_failures(self._case.eval_id, run.results)
        if failures:
            details = format_details(self._case.eval_id, run.results)
            raise EvaluationFailedError("\n".join([*failures, "", details]))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the failures of a case without the traceback of its run."""
        if isinstance(excinfo.value, EvaluationFailedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the file and the case, for the summary."""
        return self.path, None, f"{self.path.name}: {self.name}"


def find_agent_folder(file: Path, config: EvalConfig, root: Path) -> Path | None:
    """Return the folder of the agent that a set is for, or None.

    Args:
      file: the set.
      config: the config beside it; its `agent` comes first.
      root: the folder above which no agent is looked for.
    """
    if config.agent is not None:
        return file.parent / config.agent
    for folder in file.parents:
        if any((folder / name).is_file() for name in ("agent.py", AGENT_FILE)):
            return folder
        if folder == root:
            return None
    return None


def collect_eval_file(file: Path, parent: Any) -> EvalSetFile:
    """Return the collector of an eval set.

    Args:
      file: a file `*.test.json` or `*.evalset.json`.
      parent: the collector of its folder.
    """
    make: Any = EvalSetFile
    return make.from_parent(parent, path=file)
