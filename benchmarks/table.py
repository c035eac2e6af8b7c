"""The suite's figures as tables: on a terminal, and in README.md.

    python benchmarks/table.py benchmarks/figures.json benchmarks/README.md

writes what figures.json holds between the two markers of README.md.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
RIVALS = {"autograd": "HIPS autograd", "jax": "JAX", "jit": "JAX jit"}
_UNITS = ((1.0, "s"), (1e3, "ms"), (1e6, "us"))
Row = Mapping[str, Any]


# -- figures ---------------------------------------------------------------------------------------


def ratio(row: Row, name: str) -> float | None:
    """A library's time, or bytes, torch's being 1; None where either was not measured."""
    found = values(row)
    return found[name] / found["torch"] if name in found and found.get("torch") else None


def values(row: Row) -> dict[str, float]:
    """What was measured of each library."""
    found: dict[str, float] = row["seconds"] if "seconds" in row else row["values"]
    return found


def floor(row: Row, kind: str) -> float | None:
    """The floor by NumPy, or by the machine (the higher of BLAS's and memory's), torch's time being 1."""
    base, floors = values(row).get("torch"), row["floors"]
    found = [floors[n] for n in (("numpy",) if kind == "numpy" else ("gemm", "memory")) if n in floors]
    return max(found) / base if found and base else None


def mean(found: Iterable[float | None]) -> float | None:
    """The arithmetic mean of those that are known."""
    known = [f for f in found if f is not None]
    return statistics.fmean(known) if known else None


def grouped(workloads: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Rows of the table, each with its workloads, in the order of the suite."""
    groups: dict[str, list[Row]] = {}
    for w in workloads:
        groups.setdefault(w["row"], []).append(w)
    return list(groups.items())


def counted(members: Sequence[Row]) -> list[Row]:
    """Those of a row's workloads that are in its mean."""
    return [w for w in members if w["counted"]] or list(members)


# -- a terminal ------------------------------------------------------------------------------------


def print_record(record: Mapping[str, Any]) -> None:
    """A line for each workload: our ratio to torch, torch's time, the rivals' and the floors' ratios."""
    heads = f"{'ratio':>7}{'target':>8}{'limit':>7}   {'torch':>10}  autograd    jax    jit  numpy machine"
    if record["workloads"]:
        print(f"{'workload':50}{heads}")
    for name, members in grouped(record["workloads"]):
        for w in members:
            print(_line(w))
        shown = mean(ratio(w, "tengen") for w in counted(members))
        if len(members) > 1 and shown is not None:
            print(f"{'= ' + name + ', mean':50}{shown:7.2f}{_verdict(members[0], shown)}")
    for row in record["processes"]:
        found = {**values(row), **{f"floor {n}": v for n, v in row["floors"].items()}}
        cells = "  ".join(f"{n} {amount(row, v)}" for n, v in found.items())
        shown = ratio(row, "tengen")
        mark = _verdict(row, shown) if shown is not None else ""
        print(f"{row['name']:50}{cell(shown):>7}{mark:18}{cells}")


def _line(w: Row) -> str:
    shown, found = ratio(w, "tengen"), values(w)
    mark = _verdict(w, shown) if shown is not None else " " * 18
    base = found.get("torch", next(iter(found.values()), None))
    others = [cell(ratio(w, n)) for n in RIVALS] + [cell(floor(w, "numpy")), cell(floor(w, "machine"))]
    time = "" if base is None else seconds(base)
    return f"{w['name']:50}{cell(shown):>7}{mark}{time:>10}  {others[0]:>8}" + "".join(
        f"{text:>7}" for text in others[1:]
    )


def _verdict(row: Row, shown: float) -> str:
    return f"{cell(row['target']):>8}{cell(row['limit']):>7}{verdict(row, shown) or ' ':>2} "


def verdict(row: Row, shown: float) -> str:
    """``*`` where the target is reached, ``!`` where not even the limit is kept."""
    if row["target"] is not None and shown <= row["target"]:
        return "*"
    return "!" if row["limit"] is not None and shown > row["limit"] else ""


def cell(found: float | None) -> str:
    """A ratio with two digits behind the point, or as many as it takes to see it."""
    if found is None:
        return "-"
    return f"{found:.2f}" if found >= 0.01 or found == 0 else f"{found:.4f}"


def amount(row: Row, value: float) -> str:
    """A time, or a number of bytes."""
    return f"{value / 1e6:.0f} MB" if row.get("unit") == "bytes" else seconds(value)


def seconds(value: float) -> str:
    """A time with its unit."""
    factor, unit = next((f, u) for f, u in _UNITS if value * f >= 1 or u == "us")
    return f"{value * factor:.3g} {unit}" if value * factor < 1000 else f"{value * factor:.0f} {unit}"


# -- README.md -------------------------------------------------------------------------------------


def markdown(figures: Mapping[str, Any]) -> str:
    """What stands between the markers: the circumstances, and a table for each number of threads."""
    runs = figures["runs"]
    parts = [_circumstances(runs)]
    for run in runs:
        parts.append(f"### {_title(run)}\n\n{_table(run)}")
    whole = next((run for run in runs if run["processes"]), None)
    if whole is not None:
        parts.append(f"### Whole processes\n\n{_processes(whole)}")
    return "\n\n".join(parts)


def _circumstances(runs: Sequence[Mapping[str, Any]]) -> str:
    first = runs[0]
    versions = ", ".join(f"{name} {number}" for name, number in first["versions"].items())
    lines = [first["date"], versions, first["machine"], f"NumPy's BLAS: {first['blas']}"]
    return "\n".join(f"- {line}" for line in lines)


def _title(run: Mapping[str, Any]) -> str:
    clock = "processor time" if run["clock"] == "processor" else "wall time"
    if run["threads"] == "default":
        return f"The libraries' own choice of threads, {run['processors']} processors, {clock}"
    return f"{run['threads']} thread{'s' * (run['threads'] != '1')}, {clock}"


def _table(run: Mapping[str, Any]) -> str:
    heads = [
        *("workload", "tengen", "worst", "target", "not above", "torch"),
        *(*RIVALS.values(), "floor: NumPy", "floor: machine"),
    ]
    lines = [_cells(heads), _cells(["---"] * len(heads))]
    for name, members in grouped(run["workloads"]):
        lines.append(_cells(_row(name, counted(members))))
    return "\n".join(lines)


def _row(name: str, members: Sequence[Row]) -> list[str]:
    shown = mean(ratio(w, "tengen") for w in members)
    worst = max(members, key=lambda w: ratio(w, "tengen") or 0.0)
    times = [values(w)["torch"] for w in members if "torch" in values(w)]
    base = _range(times)
    label = f"{name}, mean of {len(members)}" if len(members) > 1 else name
    first = members[0]
    return [
        label,
        "" if shown is None else f"{cell(shown)} {verdict(first, shown)}".rstrip(),
        f"{cell(ratio(worst, 'tengen'))} {worst['name'].rpartition(': ')[2]}" if len(members) > 1 else "",
        *(_known(first["target"]), _known(first["limit"]), base),
        *(_known(mean(ratio(w, n) for w in members)) for n in RIVALS),
        *(_known(mean(floor(w, kind) for w in members)) for kind in ("numpy", "machine")),
    ]


def _processes(run: Mapping[str, Any]) -> str:
    heads = ["", "tengen", "target", "not above", "tengen's", "torch's", "floor: NumPy's"]
    lines = [_cells(heads), _cells(["---"] * len(heads))]
    for row in run["processes"]:
        shown, found = ratio(row, "tengen"), values(row)
        lines.append(
            _cells(
                [
                    row["name"],
                    "" if shown is None else f"{cell(shown)} {verdict(row, shown)}".rstrip(),
                    *(_known(row["target"]), _known(row["limit"])),
                    *(amount(row, found[n]) if n in found else "" for n in ("tengen", "torch")),
                    amount(row, row["floors"]["numpy"]) if "numpy" in row["floors"] else "",
                ]
            )
        )
    return "\n".join(lines)


def _range(times: Sequence[float]) -> str:
    if not times:
        return ""
    low, high = seconds(min(times)), seconds(max(times))
    return low if low == high else f"{low} to {high}"


def _known(found: float | None) -> str:
    return "" if found is None else cell(found)


def _cells(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def put(text: str, figures: Mapping[str, Any]) -> str:
    """A page with the figures between its markers; ValueError where these are not there once, in order."""
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"the page needs one {BEGIN} and, behind it, one {END}")
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{markdown(figures)}\n\n{END}{rest.partition(END)[2]}"


def main(source: str, target: str) -> None:
    """Write the figures into the page."""
    page = Path(target)
    text = put(page.read_text(encoding="utf-8"), json.loads(Path(source).read_text(encoding="utf-8")))
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:3])
