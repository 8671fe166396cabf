"""How long a provider's answer asks to wait, by its headers. Adapters use it for their errors."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from .. import _clock

_LONGEST_S = 24 * 3600.0


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds until a retry (0 to a day), or None if the headers do not say.

    Args:
      headers: those of the answer; `retry-after-ms` goes before `retry-after`, which holds seconds
        or a date.
    """
    milliseconds, given = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    try:
        wait = float(milliseconds) / 1000 if milliseconds else float(given)
    except ValueError:
        try:
            wait = parsedate_to_datetime(given).timestamp() - _clock.now()
        except ValueError:
            return None
    return min(max(wait, 0.0), _LONGEST_S) if wait == wait else None
