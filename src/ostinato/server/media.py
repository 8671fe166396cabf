"""Files in messages of other protocols: base64, data URLs and addresses, as parts."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from urllib.parse import unquote_to_bytes

from .. import types
from .problems import Problem

_ANY = "application/octet-stream"


def inline(data: str, mime_type: str | None, where: str, name: str | None = None) -> types.Part:
    """Return base64 as a part.

    Args:
      data: the base64.
      mime_type: what it is; guessed from the name where None.
      where: the field of the request, for the error.
      name: the file's name.

    Raises:
      Problem: it is no base64.
    """
    try:
        found = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Problem(400, "InputValidationError", f"{where} is no valid base64.") from error
    kind = mime_type or mimetypes.guess_type(name or "")[0] or _ANY
    return types.Part(inline_data=types.Blob(data=found, mime_type=kind, display_name=name))


def addressed(
    url: str, where: str, mime_type: str | None = None, name: str | None = None
) -> types.Part:
    """Return what an address names as a part: the bytes of a data URL, else the address.

    Nothing is fetched here: the model's provider does.

    Raises:
      Problem: it is neither a data URL nor an address of the web or of a bucket.
    """
    scheme, _, rest = url.partition(":")
    if scheme.lower() == "data":
        head, comma, data = rest.partition(",")
        kind, _, coding = head.partition(";")
        if not comma:
            raise Problem(400, "InputValidationError", f"{where} is no valid data URL.")
        if coding.rpartition(";")[2].strip().lower() == "base64":
            return inline(data, mime_type or kind or None, where, name)
        blob = types.Blob(
            data=unquote_to_bytes(data),
            mime_type=mime_type or kind or "text/plain",
            display_name=name,
        )
        return types.Part(inline_data=blob)
    if scheme.lower() not in ("http", "https", "gs"):
        raise Problem(400, "InputValidationError", f"{where} has to be a data: or https: URL.")
    kind = mime_type or mimetypes.guess_type(url.partition("?")[0])[0]
    return types.Part(
        file_data=types.FileData(file_uri=url, mime_type=kind or _ANY, display_name=name)
    )
