"""Prometheus metrics of one process, or of several that serve together.

They are counted from the spans of the runs. The text format is simple enough without a client
library, which would also count per process only.
"""

from __future__ import annotations

import json
import os
import threading
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from pathlib import Path

from .recorder import NOT_ASKED, SpanRecord

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_MOST_SERIES = 500  # per metric; further ones are counted under the label value `other`
_OTHER = "other"
_METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "WEBSOCKET"))
_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_SECONDS = "ostinato_model_call_seconds"

# Name -> (type, help, labels).
_METRICS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "ostinato_http_requests_total": ("counter", "Requests by status.", ("method", "status")),
    "ostinato_runs_total": ("counter", "Runs that ended here, by outcome.", ("app", "outcome")),
    "ostinato_runs_running": ("gauge", "Runs under way here.", ("app",)),
    "ostinato_sessions_waiting": ("gauge", "Sessions with messages that wait; at most 1000.", ()),
    "ostinato_model_tokens_total": ("counter", "Tokens of model calls.", ("model", "type")),
    "ostinato_model_errors_total": ("counter", "Model calls that failed.", ("model", "error")),
    "ostinato_tool_calls_total": ("counter", "Tool calls by outcome.", ("tool", "outcome")),
    "ostinato_store_errors_total": ("counter", "Operations on the store that failed.", ()),
    "ostinato_leases_lost_total": ("counter", "Leases that another process took over.", ()),
    _SECONDS: ("histogram", "Duration of model calls.", ("model",)),
}

Series = dict[tuple[str, ...], float]


class PrometheusMetrics:
    """Recorder that counts runs, model calls, tool calls and requests; thread-safe.

    Args:
      folder: where processes that serve together exchange their counts; None for one process.

    Attributes:
      wants_content: False: contents are not needed.
    """

    wants_content = False

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._values: dict[str, Series] = {name: {} for name in _METRICS}
        self._buckets: dict[tuple[str, ...], list[int]] = {}

    def on_start(self, record: SpanRecord) -> None:
        """Count a run that has begun; see `Recorder`."""
        if record.operation == "invocation":
            self._add_value("ostinato_runs_running", (record.place[0],))

    def on_end(self, record: SpanRecord) -> None:
        """Count what a span says; see `Recorder`."""
        if record.operation == "invocation":
            self._add_value("ostinato_runs_running", (record.place[0],), -1)
            self._add_value("ostinato_runs_total", (record.place[0], _outcome_of(record)))
        elif record.operation == "execute_tool":
            tool = str(record.attributes.get("gen_ai.tool.name", ""))
            self._add_value("ostinato_tool_calls_total", (tool, "error" if record.error else "ok"))
        elif record.operation == "chat":
            self._count_model_call(record)

    def _count_model_call(self, record: SpanRecord) -> None:
        if record.attributes.get("ostinato.outcome") == NOT_ASKED:
            return
        model = str(record.attributes.get("gen_ai.request.model", ""))
        for kind in ("input", "output"):
            tokens = record.attributes.get(f"gen_ai.usage.{kind}_tokens")
            if tokens:
                self._add_value("ostinato_model_tokens_total", (model, kind), tokens)
        if record.error is not None:
            error = str(record.attributes.get("error.type", "error"))
            self._add_value("ostinato_model_errors_total", (model, error))
        seconds = max(0.0, (record.end or record.start) - record.start)
        labels = self._add_value(_SECONDS, (model,), seconds)
        with self._lock:
            counts = self._buckets.setdefault(labels, [0] * (len(_BUCKETS) + 1))
            counts[bisect_left(_BUCKETS, seconds)] += 1

    def count_request(self, method: str, status: int) -> None:
        """Count a request that was answered."""
        known = method if method in _METHODS else _OTHER
        self._add_value("ostinato_http_requests_total", (known, str(status)))

    def set_total(self, name: str, value: float) -> None:
        """Set a metric without labels to a total that this process counts elsewhere."""
        with self._lock:
            self._values[name][()] = value

    def _add_value(self, name: str, labels: tuple[str, ...], value: float = 1) -> tuple[str, ...]:
        """Add to a series; return the labels under which it is counted."""
        with self._lock:
            series = self._values[name]
            if labels not in series and len(series) >= _MOST_SERIES:
                labels = (_OTHER,) * len(labels)
            series[labels] = series.get(labels, 0) + value
        return labels

    def save(self) -> None:
        """Write the counts to the folder, for the other processes."""
        if self._folder is not None:
            file = self._folder / f"{os.getpid()}.json"
            unfinished = file.with_suffix(".new")
            unfinished.write_text(json.dumps(self._take_snapshot()), "utf-8")
            unfinished.replace(file)

    def _take_snapshot(self) -> dict[str, list[tuple[tuple[str, ...], list[float]]]]:
        """Return each metric's series: labels, and the value or the sum and bucket counts."""
        with self._lock:
            found = {
                name: [(labels, [value]) for labels, value in series.items()]
                for name, series in self._values.items()
            }
            found[_SECONDS] = [
                (labels, [value, *self._buckets.get(labels, [0] * (len(_BUCKETS) + 1))])
                for labels, value in self._values[_SECONDS].items()
            ]
        return found

    def render(self) -> str:
        """Return all counts in Prometheus's text format, those of other processes added."""
        sums: dict[str, dict[tuple[str, ...], list[float]]] = {name: {} for name in _METRICS}
        for snapshot, alive in (*self._read_others(), (self._take_snapshot(), True)):
            for name, series in snapshot.items():
                if alive or _METRICS[name][0] != "gauge":
                    _add_series(sums[name], series)
        lines: list[str] = []
        for name, (kind, explanation, labels) in _METRICS.items():
            lines += [f"# HELP {name} {explanation}", f"# TYPE {name} {kind}"]
            series = sums[name] or ({} if labels else {(): [0.0]})
            write = _histogram_lines if kind == "histogram" else _plain_lines
            for values, numbers in sorted(series.items()):
                lines += write(name, dict(zip(labels, values, strict=True)), numbers)
        return "\n".join(lines) + "\n"

    def _read_others(self) -> Iterable[tuple[dict[str, list[tuple[list[str], list[float]]]], bool]]:
        """Yield the counts of other processes, and whether each process is alive."""
        if self._folder is None:
            return
        for file in sorted(self._folder.glob("*.json")):
            if file.stem != str(os.getpid()):
                yield json.loads(file.read_text("utf-8")), _is_alive(int(file.stem))


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _add_series(
    sums: dict[tuple[str, ...], list[float]],
    series: Iterable[tuple[Iterable[str], list[float]]],
) -> None:
    for labels, numbers in series:
        known = sums.get(tuple(labels))
        sums[tuple(labels)] = (
            numbers if known is None else [a + b for a, b in zip(known, numbers, strict=True)]
        )


def _outcome_of(record: SpanRecord) -> str:
    """Return how a run ended: completed, paused, cancelled, failed, taken over or repeated."""
    kind = record.attributes.get("error.type")
    if kind == "RunCancelledError":
        return "cancelled"
    if kind == "LeaseLostError":
        return "taken over"
    if record.error is not None:
        return "failed"
    if not record.invocation_id:
        return "repeated"
    return str(record.attributes.get("ostinato.outcome", "completed"))


def _plain_lines(name: str, labels: Mapping[str, str], numbers: list[float]) -> list[str]:
    return [f"{name}{_format_labels(labels)} {_format_number(numbers[0])}"]


def _histogram_lines(name: str, labels: Mapping[str, str], numbers: list[float]) -> list[str]:
    lines: list[str] = []
    count = 0.0
    for bound, more in zip((*map(str, _BUCKETS), "+Inf"), numbers[1:], strict=True):
        count += more
        lines.append(
            f"{name}_bucket{_format_labels({**labels, 'le': bound})} {_format_number(count)}"
        )
    lines.append(f"{name}_sum{_format_labels(labels)} {_format_number(numbers[0])}")
    lines.append(f"{name}_count{_format_labels(labels)} {_format_number(count)}")
    return lines


def _format_labels(labels: Mapping[str, str]) -> str:
    pairs = ",".join(f'{name}="{_escape_label(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escape_label(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _format_number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
