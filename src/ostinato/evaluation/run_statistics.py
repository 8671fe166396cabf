"""Statistics of repeated runs: pass rate, pass@k, pass^k, confidence interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .eval_result import EvalCaseResult
from .evaluator import EvalStatus

_Z_95 = 1.959963984540054  # quantile of the normal distribution for 95 percent


@dataclass(frozen=True, slots=True)
class CaseStatistics:
    """How often a case passed.

    Attributes:
      runs: number of runs.
      passed: number of runs that passed.
    """

    runs: int
    passed: int

    @property
    def pass_rate(self) -> float:
        """Share of runs that passed."""
        return self.passed / self.runs if self.runs else 0.0

    @property
    def is_flaky(self) -> bool:
        """Whether some runs passed and others did not."""
        return 0 < self.passed < self.runs

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 percent confidence interval of the pass rate."""
        return get_wilson_interval(self.passed, self.runs)

    def get_pass_at(self, k: int) -> float:
        """Return pass@k: the chance that at least one of k runs passes.

        Args:
          k: from 1 to the number of runs.

        Raises:
          ValueError: `k` is out of range.
        """
        self._check_k(k)
        return 1.0 - math.comb(self.runs - self.passed, k) / math.comb(self.runs, k)

    def get_pass_all(self, k: int) -> float:
        """Return pass^k: the chance that all of k runs pass.

        Args:
          k: from 1 to the number of runs.

        Raises:
          ValueError: `k` is out of range.
        """
        self._check_k(k)
        return math.comb(self.passed, k) / math.comb(self.runs, k)

    def _check_k(self, k: int) -> None:
        if not 1 <= k <= self.runs:
            raise ValueError(f"k={k} must be from 1 to the number of runs, {self.runs}.")


def get_wilson_interval(passed: int, runs: int) -> tuple[float, float]:
    """Return the 95 percent confidence interval of a share.

    Args:
      passed: number of successes.
      runs: number of attempts.
    """
    if not runs:
        return 0.0, 1.0
    rate, square = passed / runs, _Z_95**2
    middle = (rate + square / (2 * runs)) / (1 + square / runs)
    half = _Z_95 * math.sqrt(rate * (1 - rate) / runs + square / (4 * runs**2))
    half /= 1 + square / runs
    return max(0.0, middle - half), min(1.0, middle + half)


def count_runs(results: Sequence[EvalCaseResult]) -> CaseStatistics:
    """Return the statistics of the runs of one case.

    Args:
      results: its results.
    """
    passed = sum(one.final_eval_status is EvalStatus.PASSED for one in results)
    return CaseStatistics(len(results), passed)
