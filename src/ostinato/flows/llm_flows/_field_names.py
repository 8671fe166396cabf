"""What pydantic notes of each record: the names of the fields that were given. Projections share
these sets among their contents, which are many.
"""

from pydantic import BaseModel

from ... import types

_NAMES_OF_FIELDS: dict[frozenset[str], set[str]] = {}


def share_names_of_fields(content: types.Content) -> None:
    """Let contents of one shape share the sets in which pydantic notes what was given.

    They are most of what a content weighs, and nobody edits the contents of a projection.
    """
    records: list[BaseModel] = [content]
    for part in content.parts or ():
        records.append(part)
        nested = part.function_call or part.function_response
        if nested is not None:
            records.append(nested)
    for record in records:
        names = record.__pydantic_fields_set__
        shared = _NAMES_OF_FIELDS.setdefault(frozenset(names), names)
        object.__setattr__(record, "__pydantic_fields_set__", shared)
