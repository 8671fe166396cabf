"""Writes the measured figures into docs/benchmarks.md, docs/from-adk.md and docs/scaling.md, and
their curves beside them: `report.py` after `bench.py run` and `scale.py`. The documents' words are
written by hand; what stands between `<!-- figures NAME -->` and `<!-- end -->` is replaced.

  report.py [--results results/latest.json] [--scale results/scale.json] [--check]

The JSON files are copied to docs/benchmarks/, so that a reader has every figure. `--check` writes
nothing and fails if a document has figures other than those of the copies."""

import argparse
import json
import re
import sys
from pathlib import Path

from plot import chart
from table import (
    NAMES,
    OURS,
    aligned,
    append_line,
    cold_line,
    failures,
    layer_lines,
    main_lines,
    number,
    order,
    profile_lines,
    store_lines,
    variant_lines,
)

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
KEPT = DOCS / "benchmarks"
SHORT = {"S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "function"}
BLOCK = re.compile(r"(<!-- figures (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def machine_lines(machine):
    """What the figures were measured on."""
    return (
        "%(cpu)s, %(cores)s cores, %(memory_gib)s GiB, %(system)s, Python %(python)s; %(date)s, "
        "commit %(commit)s, load %(load1_at_start)s at the start" % machine
    )


def picture(name, alt):
    return "![%s](benchmarks/%s.svg)" % (alt, name)


def chart_of(title, x_label, y_label, curves, **axes):
    """A chart, or None where there is nothing to show."""
    return chart(title, x_label, y_label, curves, **axes) if any(curves.values()) else None


class Peers:
    """The blocks and curves of the benchmark beside the peers."""

    def __init__(self, data):
        self.data, self.table = data, data["peers"]

    def machine(self):
        machine = self.data["machine"]
        took = "It took %d minutes." % round(machine.get("seconds", 0) / 60)
        return "%s. %s" % (machine_lines(machine), took)

    def peers(self):
        """The one table; what failed is below it."""
        lines = main_lines(self.table)
        below = ["- " + line for line in failures(self.table)]
        return aligned(lines) + ("\n\nWhat failed:\n\n" + "\n".join(below) if below else "")

    def cold(self):
        lines = [cold_line(self.data.get("cold"))]
        if self.data.get("appends"):
            lines.append(append_line(self.data["appends"]))
        return "\n".join("- " + line for line in lines)

    def layers(self):
        return aligned(layer_lines(self.table))

    def stores(self):
        return aligned(store_lines(self.table))

    def variants(self):
        return aligned(variant_lines(self.table))

    def short(self):
        """The lines that matter most, google-adk and ours alone."""
        lines = main_lines(self.table)
        shown = {
            "google-adk": "google-adk",
            OURS: "Ostinato",
            "adk/ours": "times less",
            "adk/inline": "times less, plain tools in the loop",
            "stub/ours": "than without the failing import",
        }
        columns = [lines[0].index(each) for each in shown]
        return aligned(
            [["", *shown.values()]]
            + [
                [line[0], *[line[column] for column in columns]]
                for line in lines[1:]
                if line[0].split(" ")[0] in SHORT and line[columns[2]] not in ("", "-")
            ]
        )

    def missed(self):
        """The goals that were not reached."""
        lines = main_lines(self.table)
        column = lines[0].index(OURS)
        found = [
            "- %s: %s (goal %s; %s against google-adk)"
            % (line[0], line[column], line[-1].removesuffix(": NO"), line[-3] or "-")
            for line in lines
            if line[-1].endswith("NO")
        ]
        if (self.data.get("cold") or {}).get("times", 0) > 2:
            found.append("- " + cold_line(self.data["cold"]))
        return "\n".join(found) or "None: every goal was reached."

    def profiles(self):
        """Where ours spends it."""
        found = self.table[OURS].get("calls", {}).get("profiles", {})
        return "\n\n".join(
            "### %s\n\n%s" % (name, aligned(profile_lines(rows)))
            for name, rows in found.items()
            if rows
        )

    def series(self, scenario, field, divide=1.0):
        """A curve for each peer: from a figure by size to points."""
        curves = {}
        for peer in order(self.table):
            row = self.table[peer].get(scenario) or next(
                (r for k, r in self.table[peer].items() if k.startswith(scenario + ":")), {}
            )
            points = [(float(x), y / divide) for x, y in (row.get(field) or {}).items()]
            curves[NAMES.get(peer, peer)] = [(x, y) for x, y in points if x > 0 and y > 0]
        return curves

    def curves(self):
        """The pictures: name -> SVG."""
        turns, log = "turns in the session", {"log_x": True, "log_y": True}
        found = {
            "history": chart_of(
                "A turn by the length of its session",
                turns,
                "CPU ms per turn",
                self.series("s3", "cpu_us_at", 1000),
                **log,
            ),
            "stored": chart_of(
                "A stored turn by the length of its session",
                turns,
                "ms per turn",
                self.series("s8", "ms_at"),
                **log,
            ),
            "load": chart_of(
                "Loading a session",
                "items in the session",
                "CPU ms",
                self.series("s8", "load_cpu_ms_at"),
                **log,
            ),
            "memory": chart_of(
                "Memory of many sessions of one turn",
                "stored items",
                "MB more than at the start",
                self.series("s9", "many_sessions_mb_at"),
            ),
        }
        return {name: svg for name, svg in found.items() if svg}

    def curve_pictures(self):
        return "\n\n".join(picture(name, name) for name in self.curves())


class Scale:
    """The blocks and curves of ours alone."""

    def __init__(self, data):
        self.data = data

    def rows(self, part):
        return self.data.get(part, {}).get("result")

    def machine(self):
        found = {machine_lines(part["machine"]): None for part in self.data.values()}
        return "\n".join("- " + line for line in found)

    def history(self):
        heads = [
            "events",
            "next turn, ms",
            "its CPU",
            "open, CPU ms",
            "read every event, CPU ms",
        ]
        heads += [
            "first turn of a process, ms",
            "list 50 of 1,000, ms",
            "page of 50, ms",
            "resident MB",
            "file MB",
        ]
        lines = [heads]
        for row in self.rows("history") or []:
            turn, woken = row["next_turn"], row["first_turn_of_a_process"]
            figures = (row["events"], turn["wall_ms"], turn["cpu_ms"], row["open"]["cpu_ms"])
            figures += (
                row["read_every_event"]["cpu_ms"],
                woken["wall_ms"],
                row["list_50_of_1000"]["wall_ms"],
            )
            figures += (row["page_of_50"]["wall_ms"], row["rss_mb"], row["file_mb"])
            lines.append([number(each) for each in figures])
        return aligned(lines)

    def sessions(self):
        heads = ["store", "sessions at once", "wall s (ideal 0.1)", "CPU s", "of it the collector"]
        lines = [[*heads, "CPU ms per session", "first answer s", "median s", "MB more"]]
        for row in self.rows("sessions") or []:
            each = row["cpu_s"] / row["sessions"] * 1000
            figures = (row["sessions"], row["wall_s"], row["cpu_s"], row["collector_s"], each)
            figures += (row["first_s"], row["median_s"], row["rss_growth_mb"])
            lines.append([row["store"], *[number(figure) for figure in figures]])
        return aligned(lines)

    def shape(self):
        lines = [["", "how many", "CPU ms per turn", "CPU ms, first turn", "us per chunk"]]
        for what, rows in (self.rows("shape") or {}).items():
            for row in rows:
                keys = ("turn_ms", "first_turn_ms", "us_per_chunk")
                cells = [number(row.get(key)) for key in keys]
                lines.append([what, number(row["size"]), *cells])
        return aligned(lines)

    def workers(self):
        heads = ["workers", "invocations", "seconds", "per second", "times one worker"]
        heads += ["least and most of a worker", "p50 s", "p99 s", "p99 s of the busy session"]
        lines = [[*heads, "lock waits seen", "of samples"]]
        rows = self.rows("workers") or []
        for row in rows:
            rate, first = row["per_second"], rows[0]["per_second"]
            shares = "%d to %d" % (min(row["by_worker"]), max(row["by_worker"]))
            figures = [number(row["p50_s"]), number(row["p99_s"]), number(row["busy_p99_s"])]
            begin = [number(row[key]) for key in ("workers", "invocations", "seconds")]
            ends = [number(row["lock_waits"]), number(row["samples"])]
            lines.append([*begin, number(rate), number(rate / first), shares, *figures, *ends])
        return aligned(lines)

    def soak(self):
        found = self.rows("soak")
        if not found:
            return "Not run."
        told = (
            "%d of %d events over %d sessions, a cache of %.1f MB, %d process(es): resident memory "
            "after the first tenth lay within %s %%: %s."
        )
        moved = found["rss_moved"]
        return told % (
            found["events"],
            found["goal"],
            found["sessions"],
            found["cache_mb"],
            len(found["processes"]),
            number((moved - 1) * 100) if moved else "-",
            "flat" if found["flat"] else "NOT flat",
        )

    def curves(self):
        found = {}
        rows = self.rows("history") or []
        if rows:
            curves = {
                "next turn": [(r["events"], r["next_turn"]["wall_ms"]) for r in rows],
                "open": [(r["events"], r["open"]["wall_ms"]) for r in rows],
                "first turn of a process": [
                    (r["events"], r["first_turn_of_a_process"]["wall_ms"]) for r in rows
                ],
                "page of 50": [(r["events"], r["page_of_50"]["wall_ms"]) for r in rows],
                "list 50": [(r["events"], r["list_50_of_1000"]["wall_ms"]) for r in rows],
            }
            args = ("A session on SQLite by its length", "events in the session", "ms", curves)
            found["scale_history"] = chart(*args, log_x=True, log_y=True)
        rows = self.rows("sessions") or []
        if rows:
            curves = {}
            for row in rows:
                point = (row["sessions"], row["wall_s"])
                curves.setdefault(row["store"], []).append(point)
            args = ("Sessions at once, two model calls of 50 ms each", "sessions", "s", curves)
            found["scale_sessions"] = chart(*args, log_x=True, log_y=True)
        shape = self.rows("shape") or {}
        curves = {
            what: [(r["size"], r["turn_ms"]) for r in shape[what]]
            for what in ("tools", "agents")
            if what in shape
        }
        if curves:
            args = ("A turn by tools and sub-agents", "how many", "CPU ms per turn", curves)
            found["scale_shape"] = chart(*args, log_x=True)
        soak = self.rows("soak")
        if soak:
            curves = {
                "process %d" % (number_ + 1): [(s["events"], s["rss_mb"]) for s in samples]
                for number_, samples in enumerate(soak["processes"][-8:])
            }
            args = ("Resident memory of the soak", "events", "MB", curves)
            found["scale_soak"] = chart(*args)
        return found

    def curve_pictures(self):
        return "\n\n".join(picture(name, name) for name in self.curves())


def filled(text, source):
    """A document with its blocks replaced; what a source does not know stays."""

    def block(match):
        make = getattr(source, match.group(2), None)
        return match.group(0) if make is None else match.group(1) + make() + "\n" + match.group(3)

    return BLOCK.sub(block, text)


def main():
    """Read the command line; the exit code is 1 if --check found something."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", default=str(HERE / "results" / "latest.json"))
    parser.add_argument("--scale", default=str(HERE / "results" / "scale.json"))
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    pairs = (
        (Path(asked.results), "results.json", ("benchmarks.md", "from-adk.md"), Peers),
        (Path(asked.scale), "scale.json", ("scaling.md",), Scale),
    )
    stale = []
    for measured, copy, documents, kind in pairs:
        kept = KEPT / copy
        source = kept if asked.check or not measured.exists() else measured
        if not source.exists():
            print("%s: no figures, left as it is" % documents[0])
            continue
        text = source.read_text()
        made = kind(json.loads(text))
        files = {DOCS / name: filled((DOCS / name).read_text(), made) for name in documents}
        files.update({KEPT / (name + ".svg"): svg for name, svg in made.curves().items()})
        if source != kept:
            files[kept] = text
        for path, new in files.items():
            if asked.check:
                stale += [path] if not path.exists() or path.read_text() != new else []
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(new)
        print("%s: from %s" % (documents[0], source))
    for path in stale:
        print("%s does not have the kept figures; run bench/report.py" % path)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
