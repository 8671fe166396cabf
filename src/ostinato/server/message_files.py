"""Conversion of files in messages of other protocols (base64, data URLs, addresses) to parts."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from urllib.parse import unquote_to_bytes

from .. import types
from .problems import invalid_input

_ANY = "application/octet-stream"


def part_from_base64(
    data: str, mime_type: str | None, where: str, name: str | None = None
) -> types.Part:
    """Return a part from base64.

    Args:
      data: the base64.
      mime_type: the media type; None guesses it from the name.
      where: the field of the request, for the error.
      name: the file's name.

    Raises:
      Problem: the data is not valid base64.
    """
    try:
        found = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid_input(f"{where} is not valid base64.") from error
    kind = mime_type or mimetypes.guess_type(name or "")[0] or _ANY
    return types.Part(inline_data=types.Blob(data=found, mime_type=kind, display_name=name))


def part_from_url(
    url: str, where: str, mime_type: str | None = None, name: str | None = None
) -> types.Part:
    """Return a part from a URL: the bytes of a data URL, else a reference to the address.

    The address is not fetched here; the model's provider fetches it.

    Raises:
      Problem: the URL is not a data, http, https or gs URL.
    """
    scheme, _, rest = url.partition(":")
    if scheme.lower() == "data":
        head, comma, data = rest.partition(",")
        kind, _, coding = head.partition(";")
        if not comma:
            raise invalid_input(f"{where} is not a valid data URL.")
        if coding.rpartition(";")[2].strip().lower() == "base64":
            return part_from_base64(data, mime_type or kind or None, where, name)
        blob = types.Blob(
            data=unquote_to_bytes(data),
            mime_type=mime_type or kind or "text/plain",
            display_name=name,
        )
        return types.Part(inline_data=blob)
    if scheme.lower() not in ("http", "https", "gs"):
        raise invalid_input(f"{where} has to be a data: or https: URL.")
    kind = mime_type or mimetypes.guess_type(url.partition("?")[0])[0]
    return types.Part(
        file_data=types.FileData(file_uri=url, mime_type=kind or _ANY, display_name=name)
    )
