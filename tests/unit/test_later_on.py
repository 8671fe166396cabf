"""Names that exist before their work: they can be imported, derived from and tested against, and
say what to use instead when they are used."""

from __future__ import annotations

import abc

import pytest

from ostinato._later_on import NotBuilt, not_built


class Boat(NotBuilt, part="the harbour", instead="swim"):
    """Not there yet."""


MESSAGE = r"^Boat is not built yet in Ostinato; it comes with the harbour\. Until then: swim\.$"


def test_a_class_raises_when_it_is_constructed() -> None:
    with pytest.raises(NotImplementedError, match=MESSAGE):
        Boat("red", sails=2)


def test_a_program_may_derive_from_it() -> None:
    class Ferry(Boat):
        def __init__(self, cars: int) -> None:
            self.cars = cars

    with pytest.raises(NotImplementedError, match=MESSAGE):
        Ferry(3)
    assert issubclass(Ferry, Boat)


def test_it_may_stand_beside_other_bases_and_options() -> None:
    class Port(abc.ABC):  # noqa: B024 - only its metaclass matters here
        def __init_subclass__(cls, *, depth: int = 0) -> None:
            cls.depth = depth

    class Dinghy(Boat, Port, depth=3):
        pass

    assert Dinghy.depth == 3
    with pytest.raises(NotImplementedError, match=MESSAGE):
        Dinghy()


@pytest.mark.parametrize("value", [None, 1, "x", object(), Boat])
def test_nothing_is_an_instance(value: object) -> None:
    assert not isinstance(value, Boat)


def test_the_bare_base_raises_too() -> None:
    with pytest.raises(NotImplementedError, match="NotBuilt is not built yet"):
        NotBuilt()


def test_a_function_raises_when_it_is_called() -> None:
    sail = not_built("sail", part="the harbour", instead="row")
    assert sail.__name__ == "sail" and "harbour" in (sail.__doc__ or "")
    with pytest.raises(NotImplementedError, match=r"^sail is not built yet .* Until then: row\.$"):
        sail(1, to="sea")
