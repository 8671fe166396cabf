"""Prints the figures of a run as one table: a column per peer, and in brackets how many times less
(or more) than the base peer, google-adk, in the same run."""

ROWS = [  # label, scenario, field
    ("S1 CPU s to the first answer", "s1", "ready_cpu_s"),
    ("S1 CPU s for the imports", "s1", "import_cpu_s"),
    ("S1 RSS MB at the first answer", "s1", "ready_rss_mb"),
    ("S1 modules loaded", "s1", "ready_modules"),
    ("S2 us per invocation (CPU)", "s2", "cpu_us"),
    ("function calls per turn, no history", "calls", "calls.0"),
    ("function calls per turn at 50 turns", "calls", "calls.50"),
    ("function calls per turn at 200 turns", "calls", "calls.200"),
    ("S3 us per turn at 50 turns (CPU)", "s3", "cpu_us_at.50"),
    ("S3 us per turn at 200 turns", "s3", "cpu_us_at.200"),
    ("S3 us per turn at 500 turns", "s3", "cpu_us_at.500"),
    ("S3 us per turn at 2000 turns", "s3", "cpu_us_at.2000"),
    ("S4 us per step of 100 (CPU)", "s4", "step_100_cpu_us"),
    ("S4 us per step of 400 (CPU)", "s4", "step_400_cpu_us"),
    ("S5 32 async tools, ms (CPU)", "s5", "nap_cpu_ms"),
    ("S5 32 blocking 10 ms tools, ms (wall)", "s5", "block_ms"),
    ("S6 us per streamed chunk (CPU)", "s6", "cpu_us_per_chunk"),
    ("S7 1000 sessions, s (wall)", "s7", "wall_s"),
    ("S7 RSS growth MB", "s7", "rss_growth_mb"),
    ("S8 stored: ms per turn at turn 1 (wall)", "s8", "ms_at.1"),
    ("S8 stored: ms per turn at 50 turns", "s8", "ms_at.50"),
    ("S8 stored: ms per turn at 200 turns", "s8", "ms_at.200"),
    ("S8 stored: ms per turn at 500 turns", "s8", "ms_at.500"),
    ("S8 bytes per stored item", "s8", "bytes_per_item"),
    ("S8 load, CPU ms", "s8", "load_cpu_ms"),
    ("S9 MB per 1000 items, many sessions", "s9", "many_sessions_mb_per_1000"),
    ("S9 MB per 1000 items, one session", "s9", "one_session_mb_per_1000"),
    ("OpenAI chat wire: us per turn at 10 turns (CPU)", "wire:chat", "cpu_us_at.10"),
    ("OpenAI chat wire: us per turn at 50 turns (CPU)", "wire:chat", "cpu_us_at.50"),
    ("OpenAI chat wire: us per turn at 200 turns (CPU)", "wire:chat", "cpu_us_at.200"),
    ("Gemini wire: us per turn at 10 turns (CPU)", "wire:gemini", "cpu_us_at.10"),
    ("Gemini wire: us per turn at 50 turns (CPU)", "wire:gemini", "cpu_us_at.50"),
    ("Gemini wire: us per turn at 200 turns (CPU)", "wire:gemini", "cpu_us_at.200"),
    ("OpenAI chat wire: us per streamed chunk (CPU)", "wire:chat", "cpu_us_per_chunk"),
    ("Gemini wire: us per streamed chunk (CPU)", "wire:gemini", "cpu_us_per_chunk"),
]


def find(rows, scenario, field):
    """A figure of one peer, or None. S8 stands for the peer's first store."""
    row = rows.get(scenario)
    if row is None:
        row = next((r for key, r in rows.items() if key.startswith(scenario + ":")), None)
    for key in field.split("."):
        row = row.get(key) if isinstance(row, dict) else None
    return row


def number(value):
    return "-" if value is None else ("%.3g" % value if abs(value) < 1000 else "%.0f" % value)


def ratio(value, base):
    """`(15x less)` or `(1.2x more)` than the base."""
    if not value or not base:
        return ""
    return (
        " (%sx less)" % number(base / value)
        if base >= value
        else " (%sx more)" % number(value / base)
    )


def failures(data):
    """One line for each scenario of each peer that failed."""
    return [
        "%s %s: %s" % (peer, key, row["error"])
        for peer, rows in data.items()
        for key, row in rows.items()
        if isinstance(row, dict) and "error" in row
    ]


def show(data, base):
    """Print the table, the other stores and variants, and what failed."""
    peers = list(data)
    lines = [["", *peers], ["version", *[str(data[p]["info"].get("version", "-")) for p in peers]]]
    for label, scenario, field in ROWS:
        values = {p: find(data[p], scenario, field) for p in peers}
        if all(value is None for value in values.values()):
            continue
        first = values.get(base)
        lines.append(
            [
                label,
                *[number(v) + ("" if p == base else ratio(v, first)) for p, v in values.items()],
            ]
        )
    print_aligned(lines)
    for peer in peers:
        stores = [key for key in data[peer] if key.startswith("s8:")]
        for key in stores[1:] + [key for key in data[peer] if key.startswith("s2:")]:
            row = {k: v for k, v in data[peer][key].items() if k != "rank_values"}
            print("%s %s: %s" % (peer, key, row))
    for line in failures(data):
        print("FAILED " + line)


def print_aligned(lines):
    """A table that reads well on a terminal and is valid Markdown."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    lines.insert(1, ["-" * width for width in widths])
    for line in lines:
        print("| " + " | ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) + " |")
