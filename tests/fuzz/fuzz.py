"""Tries random programs for as long as one wants.

    python dev.py fuzz [--minutes N] [--seed S] [--batches N]

Programs come in batches; each batch has a seed, which is printed with what it finds: with that seed and one
batch it is found again. A finding is printed as the smallest program that shows it, and ends as an entry of
pinned.py.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from importlib.util import find_spec

import conftest  # noqa: F401 - the neighbours are found by it
from checks import CHECKS, ORACLE, Finding, check
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st
from programs import draw_program

BATCH = 40


def batch(number: int, names: list[str], count: int, seen: Counter[str]) -> None:
    """The programs of one seed. Raises Finding for the smallest that fails a check."""

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    @given(st.data())
    def program(data: st.DataObject) -> None:
        made = draw_program(lambda strategy: data.draw(strategy))
        seen["programs"] += 1
        for name in names:
            seen[name] += check(name, made)

    program()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=1.0, help="how long new batches are begun (1)")
    parser.add_argument("--seed", type=int, default=None, help="the seed of the first batch (a fresh one)")
    parser.add_argument("--batches", type=int, default=None, help="how many batches, whatever the time")
    known = CHECKS | ORACLE if find_spec("torch") else CHECKS
    parser.add_argument("--checks", nargs="+", choices=[*known], default=[*known], help="which checks (all)")
    options = parser.parse_args()
    first = int.from_bytes(os.urandom(4), "little") if options.seed is None else options.seed
    print(f"random programs from seed {first}; checks: {', '.join(options.checks)}", flush=True)
    end, number, seen, failed = time.monotonic() + 60 * options.minutes, first, Counter[str](), 0
    while (time.monotonic() < end) if options.batches is None else (number - first < options.batches):
        try:
            batch(number, options.checks, BATCH, seen)
        except Finding as finding:
            failed += 1
            print(f"\nFOUND {finding}\n  again: python dev.py fuzz --seed {number} --batches 1", flush=True)
        number += 1
    shown = ", ".join(f"{name} {count}" for name, count in seen.items())
    print(f"{number - first} batches from seed {first}, {failed} with findings: {shown}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
