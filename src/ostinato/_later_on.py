"""Names that exist before their work does: a class or function that says, when it is used, which
part of Ostinato brings it and what to use until then.

Thin modules at ADK's public paths are made of these, so that a program can import such a name for
typing or `isinstance`; no object of such a class ever exists.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self


class Missing(NamedTuple):
    """A name that is not implemented yet, the part that will add it, and what to use until then."""

    name: str
    part: str
    instead: str

    def error(self) -> NotImplementedError:
        """Return the error to raise when the name is used."""
        return NotImplementedError(
            f"{self.name} is not built yet in Ostinato; it comes with {self.part}. "
            f"Until then: {self.instead}."
        )


class NotBuilt:
    """Base of a class that exists by name only.

    A subclass gives `part` and `instead`; a class that a program derives from it needs neither and
    raises the same error.
    """

    __not_built__: ClassVar[Missing | None] = None

    def __init_subclass__(cls, *, part: str = "", instead: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        if part:
            cls.__not_built__ = Missing(cls.__name__, part, instead)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Raise NotImplementedError with the name, its part and the remedy."""
        missing = cls.__not_built__ or Missing(cls.__name__, "a later part", "do without it")
        raise missing.error()


def not_built(name: str, *, part: str, instead: str) -> Callable[..., Any]:
    """Return a function that raises NotImplementedError when it is called.

    Args:
      name: the function's public name.
      part: the part of Ostinato that brings it.
      instead: what to use until then; the error says "Until then: <instead>."
    """
    missing = Missing(name, part, instead)

    def raises(*args: Any, **kwargs: Any) -> Any:
        raise missing.error()

    raises.__name__ = raises.__qualname__ = name
    raises.__doc__ = f"Not built yet: raises NotImplementedError ({part})."
    vars(raises)["__not_built__"] = missing
    return raises
