"""What of PyTorch's public names is here, what is not on purpose, and what is missing.

``python dev.py coverage`` runs it. Where torch is installed its names are asked of it, else those are taken
that are recorded. ``--absent`` and ``--reasons`` list names, in the places that are given or in all;
``--check`` fails if a name is absent without a reason.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import NamedTuple

import names_page
import recorded_names


class Covered(NamedTuple):
    """The names of one place."""

    present: list[str]
    on_purpose: dict[str, str]  # with their reasons
    absent: list[str]


def coverage(found: Mapping[str, Mapping[str, str]], given: Mapping[str, str]) -> dict[str, Covered]:
    """By places of PyTorch, what is here."""
    result = {}
    for place, members in found.items():
        present = [n for n in members if names_page.has(names_page.full(place, n))]
        reasons = {
            n: names_page.reason(names_page.full(place, n), given) for n in members if n not in present
        }
        on_purpose = {n: why for n, why in reasons.items() if why}
        result[place] = Covered(present, on_purpose, [n for n, why in reasons.items() if not why])
    return result


def table(covered: Mapping[str, Covered]) -> str:
    """The counts, and their sums."""
    rows = {place or "torch": tuple(map(len, one)) for place, one in covered.items()}
    rows["in all"] = tuple(map(sum, zip(*rows.values(), strict=True)))
    width = max(map(len, rows))
    head = f"{'':{width}}  present  absent on purpose  absent"
    return "\n".join([head, *(f"{n:{width}}  {p:7}  {o:17}  {a:6}" for n, (p, o, a) in rows.items())])


def main(arguments: Sequence[str]) -> int:
    """Print the coverage; returns the exit status."""
    parser = argparse.ArgumentParser(prog="dev.py coverage", description="PyTorch's public names, and ours.")
    parser.add_argument("places", nargs="*", help="of PyTorch, as linalg or Tensor; all if none is given")
    parser.add_argument("--absent", action="store_true", help="list what is absent")
    parser.add_argument("--reasons", action="store_true", help="list what is absent on purpose, and why")
    parser.add_argument("--check", action="store_true", help="fail if anything is absent")
    options = parser.parse_args(arguments)
    if find_spec("torch"):
        found = recorded_names.of_torch()
    else:
        print("torch is not installed: these are the names that were recorded of it")
        found = recorded_names.recorded()
    chosen = {"" if place == "torch" else place for place in options.places} or set(found)
    if chosen - set(found):
        parser.error(
            f"no such places: {', '.join(sorted(chosen - set(found)))}; there are {', '.join(found)}"
        )
    covered = coverage({p: members for p, members in found.items() if p in chosen}, names_page.reasons())
    for place, one in covered.items():
        if options.absent and one.absent:
            print(f"{place or 'torch'}, absent: {' '.join(one.absent)}")
        for name, why in one.on_purpose.items() if options.reasons else ():
            print(f"{names_page.full(place, name)}: {why}")
    print(table(covered))
    return int(options.check and any(one.absent for one in covered.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
