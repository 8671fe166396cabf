"""The file of the debug plugin: YAML documents whose bodies are JSON, added at the end."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from threading import Lock
from typing import Any

_WRITING = Lock()
# What JSON may hold and YAML may not: control characters, byte order marks, lone surrogates.
_NOT_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def append_document(path: Path, document: dict[str, Any]) -> None:
    """Add a document to the file, which is made for its owner only.

    Args:
      path: the file; its folder has to exist.
      document: JSON values.

    Raises:
      OSError: the file cannot be written.
    """
    text = json.dumps(document, ensure_ascii=False, indent=2)
    text = _NOT_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    # One lock for all files: plugins of two apps may share one.
    with _WRITING:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"---\n{text}\n")
