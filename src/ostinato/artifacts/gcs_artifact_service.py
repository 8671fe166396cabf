"""Artifacts kept in a bucket of Google Cloud Storage: for many machines.

APP/USER/SESSION/NAME/N      one version, its content as the object's
APP/USER/user/user:NAME/N    the same where all sessions of the user share it
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, cast

from ostinato._clock import unique_id
from ostinato._optional import need
from ostinato.artifacts._address import Address, Scope
from ostinato.artifacts._stored_artifacts import (
    ContentKind,
    StoredArtifactService,
    StoredPart,
    put_together,
    take_apart,
)
from ostinato.artifacts.base_artifact_service import ArtifactVersion, find_mime_type
from ostinato.errors import InputValidationError, StoreError
from ostinato.types import Part

EXTRA = "gcs"

# A request that fails for the moment is sent again for this long; the client may do so twice.
_RETRY_SECONDS = 30.0
# What google-adk keeps as the object's metadata, and where this program keeps what it adds.
_DISPLAY_NAME = "adkDisplayName"
_OWN = "ostinato"
_MAX_METADATA = 8192  # bytes, of keys and values
_MAX_NAME = 1024  # bytes
_NO_MIME_TYPE = "application/octet-stream"

# Ids are one segment of an object's name, which may hold no line ends. The session that is called
# as the place of shared artifacts is has its first letter quoted.
_USER_PLACE = "user"
_ID_MARKS = re.compile(r"[/\r\n]|%(?=2F|0A|0D|25|75)")
_NAME_MARKS = re.compile(r"[\r\n]|%(?=0A|0D|25)")
_QUOTED_IN_NAME = re.compile(r"%(0A|0D|25)")


class GcsArtifactService(StoredArtifactService):
    """Keeps each version as one object, named as google-adk does, so that both read the other's.

    What google-adk wrote comes back as it gives it back: text as inline data of type `text/plain`.
    Several processes may write at once. Needs the extra `gcs`; the client is made at the first
    call, and all its work runs in threads. Methods raise StoreError where the bucket cannot be
    used: it does not exist, refuses the account, or does not answer for up to a minute. Ids, name
    and metadata of an artifact must fit into an object's: 1,024 and 8,192 bytes together.
    """

    def __init__(self, bucket_name: str, **kwargs: Any) -> None:
        """Use the bucket `bucket_name`, which must exist.

        Args:
            bucket_name: the bucket's name, without `gs://`.
            kwargs: what `google.cloud.storage.Client` takes: `project`, `credentials`, ...

        Raises:
            InputValidationError: `bucket_name` is empty.
            MissingExtraError: google-cloud-storage is not installed.
        """
        if not bucket_name or "/" in bucket_name:
            raise InputValidationError(
                f"GcsArtifactService needs the name of a bucket, not {bucket_name[:40]!r}; give it "
                "without 'gs://' and folders."
            )
        self.bucket_name = bucket_name
        self._bucket = self._store = ArtifactBucket(bucket_name, kwargs)

    async def close(self) -> None:
        """Close the client's connections."""
        await asyncio.to_thread(self._bucket.close)


class ArtifactBucket:
    """Reads and writes versions as objects of one bucket.

    Several processes may share it: a version is written on the condition that its object does not
    exist, which the service grants to one writer only. Every method raises StoreError where the
    bucket cannot be used; what may pass by itself is tried again for up to a minute before.
    """

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.name = name
        self._options = options
        self._storage = need("google.cloud.storage", extra=EXTRA)
        self._api = need("google.api_core.exceptions", extra=EXTRA)
        self._auth = need("google.auth.exceptions", extra=EXTRA)
        self._media = need("google.cloud.storage.exceptions", extra=EXTRA)
        retry = need("google.cloud.storage.retry", extra=EXTRA).DEFAULT_RETRY
        self._retry = retry.with_timeout(_RETRY_SECONDS)
        self._gate = threading.Lock()
        self._opened: Any = None

    def write(self, address: Address, part: Part, custom_metadata: dict[str, Any]) -> int:
        """Store a new version and return its number."""
        stored, write = take_apart(part), unique_id()
        prefix = _version_prefix(address)
        mime_type = find_mime_type(part, address.filename) or _NO_MIME_TYPE
        metadata = _build_metadata(part, stored, custom_metadata, write, address.filename)
        with self._translate_errors():
            while True:
                number = max(self._version_numbers(prefix), default=-1) + 1
                blob = self._open_bucket().blob(f"{prefix}{number}")
                blob.metadata = metadata
                try:
                    blob.upload_from_string(
                        stored.content, mime_type, if_generation_match=0, retry=self._retry
                    )
                except self._api.PreconditionFailed:
                    # Another writer took the number; or it was this one, and the answer was lost.
                    there = self._find_blob(prefix, number)
                    if there is None or _own_metadata(there).get("write") != write:
                        continue
                return number

    def versions(self, address: Address) -> list[int]:
        """The numbers of all versions, rising."""
        with self._translate_errors():
            return self._version_numbers(_version_prefix(address))

    def describe(self, address: Address, version: int | None) -> ArtifactVersion | None:
        """Describe a version (default: the latest); None if it does not exist."""
        with self._translate_errors():
            blob = self._pick_blob(address, version)
            return None if blob is None else self._build_description(blob, address.filename)

    def describe_all(self, address: Address) -> list[ArtifactVersion]:
        """What is known about all versions, oldest first."""
        with self._translate_errors():
            blobs = [
                blob for _, blob in sorted(self._version_blobs(_version_prefix(address)).items())
            ]
            return [self._build_description(blob, address.filename) for blob in blobs]

    def read(self, address: Address, version: int | None) -> Part | None:
        """The content of one version, the latest by default; None if there is no such version."""
        with self._translate_errors():
            blob = self._pick_blob(address, version)
            if blob is None:
                return None
            kind, fields = _read_kind(blob)
            content = b""
            if kind is not None:
                try:
                    content = blob.download_as_bytes(retry=self._retry)
                except self._api.NotFound:  # removed since
                    return None
            return put_together(StoredPart(kind, fields, content))

    def remove(self, address: Address) -> None:
        """Remove all versions, the oldest first, so that none becomes the latest again."""
        with self._translate_errors():
            for _, blob in sorted(
                self._version_blobs(_version_prefix(address), fields="name").items()
            ):
                try:
                    blob.delete(retry=self._retry)
                except self._api.NotFound:  # another removed it
                    continue

    def names(self, scope: Scope) -> list[str]:
        """The names of all artifacts of one scope, in no order."""
        prefix = _scope_path(scope)
        with self._translate_errors():
            found: set[str] = set()
            for blob in self._list_blobs(prefix, fields="name"):
                name, _, number = blob.name[len(prefix) :].rpartition("/")
                if name and _is_number(number):
                    found.add(name)
        return [_QUOTED_IN_NAME.sub(lambda m: chr(int(m[1], 16)), name) for name in found]

    def close(self) -> None:
        """Close the client's connections; the next call opens new ones."""
        with self._gate:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.client.close()

    def _open_bucket(self) -> Any:
        with self._gate:
            if self._opened is None:
                self._opened = self._storage.Client(**self._options).bucket(self.name)
            return self._opened

    def _list_blobs(self, prefix: str, **options: Any) -> Iterator[Any]:
        if "fields" in options:
            options["fields"] = f"items({options['fields']}),nextPageToken"
        return self._open_bucket().list_blobs(prefix=prefix, retry=self._retry, **options)

    def _version_blobs(self, prefix: str, **options: Any) -> dict[int, Any]:
        """The versions' objects; those of names that only begin alike are left out."""
        blobs = self._list_blobs(prefix, delimiter="/", **options)
        numbers = ((blob.name[len(prefix) :], blob) for blob in blobs)
        return {int(number): blob for number, blob in numbers if _is_number(number)}

    def _version_numbers(self, prefix: str) -> list[int]:
        return sorted(self._version_blobs(prefix, fields="name"))

    def _find_blob(self, prefix: str, number: int) -> Any:
        """One version's object. A list, because a single object is not found in a bucket that is
        not there either.
        """
        name = f"{prefix}{number}"
        blobs = self._list_blobs(name, max_results=1)
        return next((blob for blob in blobs if blob.name == name), None)

    def _pick_blob(self, address: Address, version: int | None) -> Any:
        prefix = _version_prefix(address)
        if version is None:
            version = max(self._version_numbers(prefix), default=-1)
        return self._find_blob(prefix, version) if version >= 0 else None

    def _build_description(self, blob: Any, filename: str) -> ArtifactVersion:
        kind, fields = _read_kind(blob)
        text = kind == "text"
        mime_type = "text/plain" if text else find_mime_type(Part.model_validate(fields), filename)
        return ArtifactVersion(
            version=int(blob.name.rpartition("/")[2]),
            canonical_uri=f"gs://{self.name}/{blob.name}",
            custom_metadata=_custom_metadata(blob),
            create_time=blob.time_created.timestamp(),
            mime_type=mime_type,
        )

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        """Translate errors of the client into StoreError."""
        refused = (self._api.GoogleAPIError, self._auth.GoogleAuthError, OSError)
        media = (self._media.InvalidResponse, self._media.DataCorruption)
        try:
            yield
        except (*refused, *media) as error:
            raise StoreError(f"The bucket {self.name!r} {self._explain_error(error)}.") from error

    def _explain_error(self, error: Exception) -> str:
        api, auth = self._api, self._auth
        if isinstance(error, api.NotFound):
            return "does not exist; make it, or mend bucket_name"
        if isinstance(error, api.Forbidden):
            return (
                "refuses this account; give it the role Storage Object User "
                "(roles/storage.objectUser) for the bucket"
            )
        for_now = (api.ServerError, api.TooManyRequests, api.RetryError, auth.TransportError)
        if isinstance(error, (*for_now, OSError)):
            return f"did not answer in {_RETRY_SECONDS:.0f} s of trying again; try later"
        if isinstance(error, (auth.GoogleAuthError, api.Unauthorized)):
            return (
                "cannot be opened without valid credentials; pass credentials=..., or sign in with "
                "`gcloud auth application-default login`"
            )
        if isinstance(error, api.ClientError):
            return f"refused the request: HTTP {cast('Any', error).code}"
        return f"answered otherwise than Cloud Storage does: {type(error).__name__}"


def _scope_path(scope: Scope) -> str:
    app_name, user_id, session_id = scope
    place = _USER_PLACE if session_id is None else _quote_id(session_id)
    if session_id == _USER_PLACE:
        place = f"%{ord(place[0]):02X}{place[1:]}"
    return f"{_quote_id(app_name)}/{_quote_id(user_id)}/{place}/"


def _version_prefix(address: Address) -> str:
    """The name of a version's object without its number."""
    name = _NAME_MARKS.sub(_quote_mark, address.filename)
    prefix = f"{_scope_path(address.scope)}{name}/"
    size = len(prefix.encode("utf-8")) + 10
    if size > _MAX_NAME:
        raise InputValidationError(
            f"The app's, user's and session's ids and the artifact name {address.filename[:40]!r} "
            f"take {size} bytes together; Cloud Storage allows {_MAX_NAME}. Give shorter ones."
        )
    return prefix


def _quote_id(text: str) -> str:
    return _ID_MARKS.sub(_quote_mark, text)


def _quote_mark(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and (text == "0" or text[0] != "0")


def _build_metadata(
    part: Part, stored: StoredPart, custom: dict[str, Any], write: str, filename: str
) -> dict[str, str]:
    """Return an object's metadata: the user's values, non-texts as JSON, and the store's own."""
    for key in custom:
        if key in ("", _OWN, _DISPLAY_NAME):
            raise InputValidationError(
                f"custom_metadata of artifact {filename!r} has the key {key!r}, which Cloud "
                "Storage or this program needs; give it another name."
            )
    other = [key for key, value in custom.items() if not isinstance(value, str)]
    metadata = {key: json.dumps(v) if key in other else v for key, v in custom.items()}
    own = {"write": write, "kind": stored.kind, "part": stored.fields, "json": other}
    metadata[_OWN] = json.dumps(own, separators=(",", ":"))
    if part.inline_data is not None and part.inline_data.display_name:
        metadata[_DISPLAY_NAME] = part.inline_data.display_name
    size = sum(len(key.encode()) + len(value.encode()) for key, value in metadata.items())
    if size > _MAX_METADATA:
        raise InputValidationError(
            f"The metadata of artifact {filename!r} takes {size} bytes; Cloud Storage allows "
            f"{_MAX_METADATA}. Keep long values in an artifact of their own."
        )
    return metadata


def _blob_metadata(blob: Any) -> dict[str, str]:
    return dict(blob.metadata or {})


def _own_metadata(blob: Any) -> dict[str, Any]:
    """What this program wrote beside the content; empty for what google-adk wrote.

    Raises:
        StoreError: another program wrote the object.
    """
    text = _blob_metadata(blob).get(_OWN)
    if text is None:
        return {}
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if isinstance(found, dict) and {"write", "kind", "part", "json"} <= found.keys():
        return cast("dict[str, Any]", found)
    raise StoreError(
        f"The object {blob.name!r} is damaged: its metadata {_OWN!r} cannot be read; delete the "
        "artifact, or restore the object."
    )


def _read_kind(blob: Any) -> tuple[ContentKind, dict[str, Any]]:
    """The kind of content and the part without it; google-adk keeps a type and a name only."""
    own = _own_metadata(blob)
    if own:
        return own["kind"], own["part"]
    data = {"mime_type": blob.content_type, "display_name": _blob_metadata(blob).get(_DISPLAY_NAME)}
    return "data", {"inline_data": data}


def _custom_metadata(blob: Any) -> dict[str, Any]:
    other = _own_metadata(blob).get("json", ())
    return {
        key: json.loads(value) if key in other else value
        for key, value in _blob_metadata(blob).items()
        if key not in (_OWN, _DISPLAY_NAME)
    }
