"""Record golden traces from google-adk, in that package's own interpreter; never part of the tests.

    python tests/golden/record.py --package google.adk [--check] [NAME ...]

Only scenarios that follow the installed release are recorded (2.3.0 or 2.13.0). `--check` writes
nothing: it plays every scenario and says where the stored trace differs.
"""

import argparse
import asyncio
import importlib
import logging
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from golden.normalise import to_text  # noqa: E402
from golden.registry import load, play  # noqa: E402


def main() -> int:
    """Play the chosen scenarios; return how many failed or differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", default="google.adk")
    parser.add_argument("--out", type=Path, default=HERE / "traces")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    version = importlib.import_module(f"{options.package}.version").__version__
    bad = 0
    for scenario in load().values():
        if options.names and scenario.name not in options.names:
            continue
        if options.package == "google.adk" and scenario.adk != version:
            continue
        path = options.out / f"{scenario.name}.json"
        try:
            first = asyncio.run(play(scenario, options.package))
        except Exception as error:
            bad += 1
            print(f"{scenario.name}: FAILED {type(error).__name__}: {error}")
            if options.names:
                raise
            continue
        trace = {"scenario": scenario.name, "google-adk": scenario.adk, **first}
        text = to_text(trace) + "\n"
        if options.check:
            if not path.exists() or path.read_text() != text:
                bad += 1
                print(f"{scenario.name}: differs from the stored trace")
            continue
        again = asyncio.run(play(scenario, options.package))
        if again != first:
            bad += 1
            print(f"{scenario.name}: not the same twice")
            continue
        path.write_text(text)
    print(f"{version}: {bad} bad")
    return bad


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
