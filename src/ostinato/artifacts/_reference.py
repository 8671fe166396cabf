"""Resolution of artifact references, within the referring artifact's scope and bounded.

A user who could point at another user's artifact could read it; a reference that points at itself
would never end. Called by the artifact services at saving and loading.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ostinato.artifacts._address import Address, locate
from ostinato.artifacts.artifact_util import is_artifact_ref, parse_artifact_uri
from ostinato.errors import InputValidationError
from ostinato.types import Part

_MAX_HOPS = 5


def find_target(reference: Part, source: Address) -> tuple[Address, int]:
    """The address and version that the artifact at `source` refers to.

    Raises:
        InputValidationError: the URI is not that of an artifact's version, or it belongs to another
            app, user or session.
    """
    uri = (reference.file_data and reference.file_data.file_uri) or ""
    parsed = parse_artifact_uri(uri)
    if parsed is None:
        raise InputValidationError(
            f"Artifact {source.filename!r} refers to {uri!r}, which names no artifact version; "
            "build references with ostinato.artifacts.artifact_util.get_artifact_uri."
        )
    target = locate(parsed.app_name, parsed.user_id, parsed.session_id, parsed.filename)
    same_owner = (target.app_name, target.user_id) == (source.app_name, source.user_id)
    if not same_owner or target.session_id not in (None, source.session_id):
        raise InputValidationError(
            f"Artifact {source.filename!r} refers to {uri!r}, outside its own app, user or "
            "session. Save a copy there, or use a 'user:' name to share it among sessions."
        )
    return target, parsed.version


async def load_resolved(
    read: Callable[[Address, int | None], Awaitable[Part | None]],
    address: Address,
    version: int | None,
) -> Part | None:
    """What `read` finds at `address`, or at the end of the references that start there.

    Raises:
        InputValidationError: see `find_target`; or there are more than 5 references in a row.
    """
    place, number = address, version
    for _ in range(_MAX_HOPS + 1):
        part = await read(place, number)
        if part is None or not is_artifact_ref(part):
            return part
        place, number = find_target(part, place)
    raise InputValidationError(
        f"Artifact {address.filename!r} starts a chain of more than {_MAX_HOPS} references, or a "
        "circle; save the content itself."
    )
