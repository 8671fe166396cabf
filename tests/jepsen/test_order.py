"""The scan over the order finds exactly the histories that a search over all orders refuses."""

from __future__ import annotations

import itertools
import random

import pytest

from tests.jepsen.order import Point, find_inversions, place_of_entry, place_of_read


def is_linearizable(log: int, operations: list[tuple[str, int, float, float]]) -> bool:
    """Return whether some order of all operations obeys real time and the rules of a list.

    Args:
      log: how many entries the list has in the end.
      operations: `append` with the index of its entry, or `read` with the length that it
        returned; call and return.
    """
    for order in itertools.permutations(operations):
        if any(
            later[3] < earlier[2] for at, earlier in enumerate(order) for later in order[at + 1 :]
        ):
            continue
        length = 0
        for kind, number, _, _ in order:
            if number != length:
                break
            length += kind == "append"
        else:
            if length == log:
                return True
    return False


@pytest.mark.parametrize("seed", range(150))
def test_the_scan_decides_as_a_search_over_all_orders_does(seed: int) -> None:
    chance = random.Random(seed)
    appends = chance.randint(1, 3)
    kinds = [("append", index) for index in range(appends)]
    kinds += [("read", chance.randint(0, appends)) for _ in range(chance.randint(1, 3))]
    operations: list[tuple[str, int, float, float]] = []
    for kind, number in kinds:
        # Near to where it belongs, so that about half of the histories are sound.
        begun = number * 2.0 + chance.uniform(-2.0, 2.0) + (kind == "append")
        operations.append((kind, number, begun, begun + chance.uniform(0.1, 4.0)))
    points = [
        Point(place_of_entry(n) if kind == "append" else place_of_read(n), begun, ended, f"{at}")
        for at, (kind, n, begun, ended) in enumerate(operations)
    ]
    assert (not list(find_inversions(points))) == is_linearizable(appends, operations)


def test_both_verdicts_occur() -> None:
    sound = [Point(1, 0.0, 1.0, "a"), Point(2, 0.5, 2.0, "read"), Point(3, 0.2, 3.0, "b")]
    assert list(find_inversions(sound)) == []
    late = Point(3, 0.2, 0.4, "b")
    assert list(find_inversions([*sound[:2], late])) == [(sound[1], late)]


def test_reads_of_one_length_take_effect_in_any_order() -> None:
    assert list(find_inversions([Point(2, 5.0, 6.0, "late"), Point(2, 0.0, 1.0, "early")])) == []
