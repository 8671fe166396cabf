"""Signature of a model class whose validators are built when the first object is made."""

from __future__ import annotations

import inspect
from typing import Any

from pydantic import BaseModel


class DeferredSignature:
    """The attribute `__signature__` of a class that defers its build.

    Such a class has the signature of its base until its first object exists, so that `help()` and
    editors would not show its own fields. Reading the signature builds the class; pydantic then
    replaces this attribute.
    """

    def __get__(self, instance: object, owner: type[BaseModel]) -> inspect.Signature:
        """Return the signature of a class.

        Raises:
          AttributeError: read from an object, which may be callable and then has its own.
        """
        if instance is None:
            owner.model_rebuild(raise_errors=False)
            found: Any = vars(owner).get("__signature__")
            if found is not None and found is not self:
                return found.__get__(None, owner)
        raise AttributeError("__signature__")
