"""A record of ``dev.py cuda`` as a page: what is printed, and what docs/cuda.md quotes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- gpu: begin -->", "<!-- gpu: end -->"
#: Outcomes of items that are as they should be; "lacks" is said of operators that the backend has not.
GOOD = frozenset({"passed", "ran", "lacks", "skipped", "measured"})
NOBODY = """\
!!! warning "Not run on a GPU yet"
    What the backend shares with other array libraries is tested on these, its own part over a stand-in for
    CuPy. Nobody has run an operator on a GPU, and there are no figures. Tell us what you find."""
#: How many of the items that are not good the page names.
NAMED = 25
Record = Mapping[str, Any]


def failed(record: Record) -> list[tuple[str, str, Record]]:
    """Part, item and result of all that is not as it should be."""
    return [
        (name, item, result)
        for name, part in record["parts"].items()
        for item, result in part["results"].items()
        if result["outcome"] not in GOOD
    ]


def is_good(record: Record) -> bool:
    """Whether all was done, and is as it should be."""
    parts = record["parts"].values()
    whole = record["ended"] and all(p["items"] and not p["not_reached"] and not p["notes"] for p in parts)
    return bool(whole and not failed(record))


def markdown(record: Record | None) -> str:
    """The page; of no record that there is none."""
    if record is None:
        return NOBODY
    blocks = [
        _list(_circumstances(record)),
        _table(("part", "seconds", "items", "of them"), _parts(record)),
        _list(_not_good(record)),
        _timings(record),
        _list(_training(record)),
    ]
    return "\n\n".join(block for block in blocks if block)


def device_of(record: Record) -> dict[str, Any]:
    """What is known of the machine."""
    found: dict[str, Any] = {}
    for result in record["parts"].get("device", {"results": {}})["results"].values():
        found.update(result)
    return found


def is_of_a_gpu(record: Record) -> bool:
    """Whether it is known that a GPU has done it, and no stand-in for CuPy."""
    device = device_of(record)
    return "name" in device and device.get("stand_in") is False


def _circumstances(record: Record) -> Iterator[str]:
    device = device_of(record)
    yield f"{record['date']}, {record['seconds']:.0f} of {record['limit']:.0f} s"
    if device.get("stand_in"):
        yield "**over the stand-in for CuPy: no GPU**"
    if not record["ended"]:
        yield "**it was ended before it was done**"
    if "name" in device:
        cuda = " and ".join(f"{what} {device[what]}" for what in ("runtime", "driver"))
        words = f"{device['gigabytes']} GB, capability {device['capability']}, CUDA's {cuda}"
        yield f"{device['name']}, {words}"
    if "versions" in device:
        versions = ", ".join(f"{name} {number}" for name, number in device["versions"].items())
        with_c = "with" if device["c_machine"] else "without"
        yield f"{device['system']}, {versions}, {with_c} the C machine"
    yield f"tengen: {record['installed'].get('text', record['installed']['how'])}"


def _parts(record: Record) -> Iterator[Sequence[Any]]:
    for name, part in record["parts"].items():
        counts = Counter(result["outcome"] for result in part["results"].values())
        words = [f"{count} {outcome}" for outcome, count in counts.most_common()]
        words += [f"{len(part['not_reached'])} not reached"] if part["not_reached"] else []
        yield name, f"{part['seconds']:.0f}", part["items"], ", ".join(words) or "nothing"


def _not_good(record: Record) -> Iterator[str]:
    for name, part in record["parts"].items():
        yield from (f"{name}: {_quoted(note)}" for note in part["notes"])
    found = failed(record)
    for name, item, result in found[:NAMED]:
        yield f"{name}, `{item}` {result['outcome']}: {_quoted(result.get('text', 'see its figures'))}"
    if len(found) > NAMED:
        more = Counter(name for name, _, _ in found[NAMED:])
        yield "and more: " + ", ".join(f"{count} of {name}" for name, count in more.items())


def _quoted(text: str) -> str:
    return f"`{text.replace('`', chr(39))}`"


def _timings(record: Record) -> str:
    results = record["parts"].get("timings", {"results": {}})["results"]
    rows = [
        (name, *(f"{r[n]:.4g}" if n in r else "" for n in ("tengen", "torch", "ratio")))
        for name, r in results.items()
        if r["outcome"] == "measured"
    ]
    return _table(("float32, forward unless said", "tengen, ms", "torch, ms", "ratio"), rows) if rows else ""


def _training(record: Record) -> Iterator[str]:
    result = record["parts"].get("network", {"results": {}})["results"].get("training", {})
    if "cuda" in result:
        sides = [
            f"{result[d]['share']:.1%} of them on `{d}`, {result[d]['seconds'][-1]:.2f} s for the last epoch"
            for d in ("cuda", "cpu")
        ]
        words = f"after {result['epochs']} epochs of {result['data']}"
        yield f"the demo's network knows, {words}, {'; '.join(sides)}"


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def put(record: Record | None, page: Path) -> str:
    """The text of a page with the record between its markers. ValueError where it has none."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, there, after = rest.partition(END)
    if not there:
        raise ValueError(f"{page.name} has no {BEGIN} ... {END}")
    return f"{before}{BEGIN}\n\n{markdown(record)}\n\n{END}{after}"
