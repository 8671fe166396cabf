"""Record the fields and members that google-genai has for the records we have.

Run it as `python record_genai.py` once in an environment of each version that we follow: it writes
what is installed into genai_surface.json beside it. The conformance test describes ours with the
same functions.
"""

import json
import typing
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import ModuleType

from pydantic import BaseModel
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

import ostinato.types as ours

TARGET = Path(__file__).with_name("genai_surface.json")


def leaves(annotation: object) -> Iterator[str]:
    """Yield the names in a type: containers and members, the same for either library's spelling."""
    late = getattr(annotation, "__metadata__", ())
    if late and hasattr(late[0], "name"):
        yield from leaves(getattr(ours, late[0].name))
        return
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        yield from leaves(arguments[0])
        return
    if origin in (list, dict):
        yield origin.__name__
    if origin is typing.Literal:
        yield from map(str, arguments)
        return
    for argument in arguments:
        yield from leaves(argument)
    if not arguments and annotation is not type(None):
        yield getattr(annotation, "__forward_arg__", None) or getattr(annotation, "__name__", "?")


def describe_field(name: str, info: FieldInfo) -> str:
    """Describe a field as `leaves =default @alias`, the last two only where they are unusual."""
    words = sorted(set(leaves(info.annotation)) - {"Any"}) or ["Any"]
    if info.is_required():
        words.append("=required")
    elif info.default is not None:
        words.append(f"={info.default}")
    if info.alias != to_camel(name):
        words.append(f"@{info.alias}")
    return " ".join(words)


def describe(thing: object) -> dict[str, str] | None:
    """Describe a record's fields or an enum's members; None for anything else."""
    if isinstance(thing, type) and issubclass(thing, Enum):
        return {member.name: member.value for member in thing}
    if isinstance(thing, type) and issubclass(thing, BaseModel):
        return {name: describe_field(name, info) for name, info in thing.model_fields.items()}
    return None


def surface(genai: ModuleType) -> dict[str, dict[str, str]]:
    """Describe everything in `genai` that we have too."""
    described = {name: describe(getattr(genai, name, None)) for name in sorted(ours.__all__)}
    return {name: what for name, what in described.items() if what is not None}


def main() -> None:
    """Record the installed version beside those recorded before."""
    known = json.loads(TARGET.read_text()) if TARGET.exists() else {}
    major = import_module("google.genai").__version__.split(".")[0]
    known[major] = surface(import_module("google.genai.types"))
    blocks = [
        f' "{version}": {{\n'
        + ",\n".join(f'  "{name}": {json.dumps(what)}' for name, what in names.items())
        + "\n }"
        for version, names in sorted(known.items())
    ]
    TARGET.write_text("{\n" + ",\n".join(blocks) + "\n}\n")


if __name__ == "__main__":
    main()
