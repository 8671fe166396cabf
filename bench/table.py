"""The figures of a run as one table: a column per peer, then how many times less ours takes than
google-adk, with plain functions called in the event loop as google-adk does and in threads as is
our default, and than google-adk's cheaper variant, all in one run; last the goal."""

from dataclasses import dataclass

BASE, STUB, OURS, INLINE = "adk", "adk-stub", "ours", "ours-inline"
NAMES = {BASE: "google-adk", STUB: "google-adk, a2a_stub", INLINE: "ours, inline"}


@dataclass(frozen=True)
class Row:
    """A line of the table.

    `field` leads to the figure within the scenario's result; `a / b` is one figure over another.
    The goals are for ours: `most` is the highest figure, `times` the lowest ratio to google-adk.
    Where peers got to different places, `same` is a figure that has to be equal to be compared.
    """

    label: str
    scenario: str
    field: str
    most: float | None = None
    times: float | None = None
    same: str = ""


ROWS = [
    Row("S1 CPU s to the first answer", "s1", "ready_cpu_s"),
    Row("S1 CPU s for the imports", "s1", "import_cpu_s"),
    Row("S1 RSS MB at the first answer", "s1", "ready_rss_mb", most=45),
    Row("S1 modules loaded", "s1", "ready_modules"),
    Row("S2 us per invocation (CPU)", "s2", "cpu_us", 300, 15),
    Row("function calls per turn, no history", "calls", "calls.0", 2000),
    Row("function calls per turn at 50 turns", "calls", "calls.50", 2000),
    Row("function calls per turn at 200 turns", "calls", "calls.200", 2000),
    Row("pydantic validations per turn", "calls", "validations"),
    Row("asyncio tasks per turn", "calls", "tasks"),
    Row("function calls per step of 100", "calls", "step"),
    Row("function calls per tool call of 32", "calls", "tool"),
    Row("function calls per chunk", "calls", "chunk"),
    Row("S3 us per turn at 10 turns (CPU)", "s3", "cpu_us_at.10"),
    Row("S3 us per turn at 50 turns", "s3", "cpu_us_at.50"),
    Row("S3 us per turn at 200 turns", "s3", "cpu_us_at.200"),
    Row("S3 us per turn at 500 turns", "s3", "cpu_us_at.500", times=500),
    Row("S3 us per turn at 2000 turns", "s3", "cpu_us_at.2000"),
    Row("S3 2000 turns over 10 turns", "s3", "cpu_us_at.2000 / cpu_us_at.10", 1.5),
    Row("S4 us per step of 100 (CPU)", "s4", "step_100_cpu_us", times=33),
    Row("S4 us per step of 400 (CPU)", "s4", "step_400_cpu_us", times=160),
    Row("S4 400 steps over 100 steps", "s4", "step_400_cpu_us / step_100_cpu_us", 1.1),
    Row("S5 32 async tools, ms (CPU)", "s5", "nap_cpu_ms", times=4),
    Row("S5 32 blocking 10 ms tools, ms (wall)", "s5", "block_ms", 15),
    Row("S6 us per streamed chunk (CPU)", "s6", "cpu_us_per_chunk", 20, 9),
    Row("S7 1000 sessions, s (wall)", "s7", "wall_s", 0.6, 13),
    Row("S7 RSS growth MB", "s7", "rss_growth_mb", 30),
    Row("S8 stored: ms per turn at turn 1 (wall)", "s8", "ms_at.1", 0.6),
    Row("S8 stored: ms per turn at 50 turns", "s8", "ms_at.50", 0.6),
    Row("S8 stored: ms per turn at 200 turns", "s8", "ms_at.200", 0.6),
    Row("S8 stored: ms per turn at 500 turns", "s8", "ms_at.500", 0.6),
    Row("S8 bytes per stored item", "s8", "bytes_per_item", 400),
    Row("S8 load of the long session, CPU ms", "s8", "open_stored_cpu_ms", 12, same="load_items"),
    Row("S8 load, CPU ms per item", "s8", "open_stored_cpu_ms / load_items"),
    Row("S8 load and look at every item, CPU ms", "s8", "load_cpu_ms", same="load_items"),
    Row("S9 MB per 1000 items, many sessions", "s9", "many_sessions_mb_per_1000", 2),
    Row("S9 MB per 1000 items, one session", "s9", "one_session_mb_per_1000", 2),
    Row("OpenAI chat wire: us per turn at 10 turns (CPU)", "wire:chat", "cpu_us_at.10"),
    Row("OpenAI chat wire: us per turn at 50 turns (CPU)", "wire:chat", "cpu_us_at.50"),
    Row("OpenAI chat wire: us per turn at 200 turns (CPU)", "wire:chat", "cpu_us_at.200"),
    Row("Gemini wire: us per turn at 10 turns (CPU)", "wire:gemini", "cpu_us_at.10"),
    Row("Gemini wire: us per turn at 50 turns (CPU)", "wire:gemini", "cpu_us_at.50"),
    Row("Gemini wire: us per turn at 200 turns (CPU)", "wire:gemini", "cpu_us_at.200"),
    Row("Anthropic wire: us per turn at 10 turns (CPU)", "wire:anthropic", "cpu_us_at.10"),
    Row("Anthropic wire: us per turn at 50 turns (CPU)", "wire:anthropic", "cpu_us_at.50"),
    Row("Anthropic wire: us per turn at 200 turns (CPU)", "wire:anthropic", "cpu_us_at.200"),
    Row("OpenAI chat wire: us per streamed chunk (CPU)", "wire:chat", "cpu_us_per_chunk"),
    Row("Gemini wire: us per streamed chunk (CPU)", "wire:gemini", "cpu_us_per_chunk"),
    Row("Anthropic wire: us per streamed chunk (CPU)", "wire:anthropic", "cpu_us_per_chunk"),
]


def find(rows, scenario, field):
    """A figure of one peer, or None. S8 stands for the peer's first store."""
    if " / " in field:
        above, below = (find(rows, scenario, part) for part in field.split(" / "))
        return above / below if above and below else None
    row = rows.get(scenario)
    if row is None:
        row = next((r for key, r in rows.items() if key.startswith(scenario + ":")), None)
    for key in field.split("."):
        row = row.get(key) if isinstance(row, dict) else None
    return row


def number(value):
    """Three digits, or all before the point."""
    if value is None:
        return "-"
    return "%.3g" % value if abs(value) < 1000 else "%.0f" % value


def times(value, base):
    """How many times less than the base, or a dash."""
    return number(base / value) + "x" if value and base else "-"


def verdict(row, value, base):
    """The goals of a line and whether they were reached."""
    if value is None or (row.most is None and row.times is None):
        return ""
    goals, reached = [], []
    if row.times is not None:
        goals.append("%sx" % number(row.times))
        reached.append(base is not None and base / value >= row.times)
        if base is None:
            goals[-1] += " (google-adk did not get there)"
            reached.pop()
    if row.most is not None:
        goals.append("at most " + number(row.most))
        reached.append(value <= row.most)
    return "%s: %s" % (", ".join(goals), "yes" if all(reached) else "NO")


def order(table):
    """The columns: google-adk, the other peers, the bounds, ours last."""
    peers = [peer for peer in table if peer not in (BASE, STUB, OURS, INLINE)]
    first, last = ([p for p in pair if p in table] for pair in ((BASE, STUB), (INLINE, OURS)))
    return [*first, *peers, *last]


def main_lines(table):
    """The table as rows of cells, a head first."""
    peers = order(table)
    versions = [str(table[p]["info"].get("version", "-")).replace("?", "-") for p in peers]
    lines = [
        ["", *[NAMES.get(p, p) for p in peers], "adk/inline", "adk/ours", "stub/ours", "goal"],
        ["version", *versions, "", "", "", ""],
    ]
    for row in ROWS:
        values = {p: find(table[p], row.scenario, row.field) for p in peers}
        if all(value is None for value in values.values()):
            continue
        ours, base = values.get(OURS), values.get(BASE)
        if row.same:
            ours_at, base_at = (
                find(table.get(p, {}), row.scenario, row.same) for p in (OURS, BASE)
            )
            base = base if ours_at == base_at else None
        apart = " / " in row.field and row.most is not None
        pairs = ((values.get(INLINE), base), (ours, base), (ours, values.get(STUB)))
        ends = ["", "", ""] if apart else [times(value, other) for value, other in pairs]
        cells = [number(value) for value in values.values()]
        lines.append([row.label, *cells, *ends, verdict(row, ours, base)])
    return lines


def layer_lines(table):
    """What each layer adds to a turn, for those that were measured with layers."""
    lines = [["switched on", "", "us per turn (CPU)", "added", "calls per turn", "us per chunk"]]
    for peer in order(table):
        rows = {k.split(":")[1]: r for k, r in table[peer].items() if k.startswith("layers:")}
        plain = rows.get("none", {}).get("cpu_mean_us")
        for layer, row in rows.items():
            turn = row.get("cpu_mean_us")
            added = number(turn - plain) if turn and plain and layer != "none" else ""
            calls, chunk = number(row.get("calls")), number(row.get("cpu_us_per_chunk"))
            lines.append([layer, NAMES.get(peer, peer), number(turn), added, calls, chunk])
    return lines


def store_lines(table):
    """Every store of S8."""
    points = ("1", "50", "200", "500")
    heads = ["ms at turn %s" % p for p in points]
    lines = [["", "store", *heads, "bytes per item", "load, CPU ms"]]
    for peer in order(table):
        for key, row in table[peer].items():
            if key.startswith("s8:") and "error" not in row:
                cells = [number(row["ms_at"].get(p)) for p in points]
                ends = [number(row["bytes_per_item"]), number(row["load_cpu_ms"])]
                lines.append([NAMES.get(peer, peer), key[3:], *cells, *ends])
    return lines


def variant_lines(table):
    """Every variant of S2."""
    lines = [["", "variant", "us per invocation (CPU)"]]
    for peer in order(table):
        for key, row in table[peer].items():
            if key.startswith("s2:"):
                lines.append([NAMES.get(peer, peer), key[3:], number(row.get("cpu_us"))])
    return lines


def profile_lines(profile):
    """Where the calls and the time of one shape of ours go."""
    lines = [["folder, then function", "share of CPU", "calls each"]]
    for name, share, calls in profile:
        lines.append(["`%s`" % name, "%.1f %%" % (100 * share), "%.2f" % calls])
    return lines


def failures(table):
    """One line for each scenario of each peer that failed."""
    lines = [
        "%s %s: %s" % (peer, key, row["error"])
        for peer, rows in table.items()
        for key, row in rows.items()
        if isinstance(row, dict) and "error" in row
    ]
    for peer, rows in table.items():
        error = rows.get("s4", {}).get("error_400")
        if error:
            lines.append("%s s4, 400 steps: %s" % (peer, error[:90]))
    return lines


def cold_line(found):
    """What a fresh process pays for its imports."""
    if not found:
        return "FAILED cold start: the imports do not work"
    return (
        "cold start: %(cpu).3f CPU s, %(mb).1f MB, %(modules)d modules; " % found["ours"]
        + "import pydantic with one model %.3f CPU s: " % found["pydantic"]["cpu"]
        + "%.2f times (goal: at most 2)" % found["times"]
    )


def append_line(found):
    """A stored turn beside the least it can cost."""
    return (
        "a stored turn, synchronous=FULL: %.2f ms, four raw fenced appends of the same bytes in "
        "turn %.2f ms: %.2f ms more (goal: at most 1)"
        % (found["turn_ms"], found["raw_ms"], found["turn_ms"] - found["raw_ms"])
    )


def show(data):
    """Print all tables and what failed."""
    table = data["peers"]
    for lines in (main_lines(table), layer_lines(table), store_lines(table), variant_lines(table)):
        if len(lines) > 1:
            print(aligned(lines) + "\n")
    if "cold" in data:
        print(cold_line(data["cold"]))
    if data.get("appends"):
        print(append_line(data["appends"]))
    for line in failures(table):
        print("FAILED " + line)


def aligned(lines):
    """A table that reads well on a terminal and is valid Markdown."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    lines = [lines[0], ["-" * max(3, width) for width in widths], *lines[1:]]
    rows = [[cell.ljust(w) for cell, w in zip(line, widths, strict=True)] for line in lines]
    return "\n".join(("| " + " | ".join(row) + " |") for row in rows)
