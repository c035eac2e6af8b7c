"""Families of native kernels: what one entry declares is what its members say when they are written out."""

from __future__ import annotations

import pytest

from tengen.codegen.check.native_kernels import LoweringCheck, load_native_kernels
from tengen.codegen.model.diagnostics import Report
from tengen.codegen.model.source import Located, Place
from tengen.ir.kernels import NativeKernel
from tengen.ir.routines import Routines

PLACE = Place("native_kernels.yaml", 1, 1)
ROUTINES: Routines = {}


def kernels(head: str, body: str, **counts: list[int]) -> dict[str, NativeKernel]:
    """The kernels of an entry."""
    fields = {"kernel": Located(head, PLACE), "body": Located(body, PLACE)}
    if counts:
        lists = {k: Located(tuple([Located(n, PLACE) for n in v]), PLACE) for k, v in counts.items()}
        fields["counts"] = Located(lists, PLACE)
    report = Report()
    found = load_native_kernels([(fields, PLACE)], ROUTINES, LoweringCheck(ROUTINES, set(), report), report)
    assert not report.diagnostics
    return found


@pytest.mark.parametrize(
    ("head", "body", "counts", "member", "members_head", "members_body"),
    [
        (
            "weighted{taps}(x[taps, n], w[taps]:number) -> y[n]",
            "y = sum(x[k] * w[k] for k in range(taps))",
            {"taps": [1, 3]},
            "weighted3",
            "weighted3(x0[n], x1[n], x2[n], w0:number, w1:number, w2:number) -> y[n]",
            "y = x0 * w0 + x1 * w1 + x2 * w2",
        ),
        (
            "products(x[a, n], z[b, n]) -> y[n]",
            "p[i, j] = x[i] * z[j]\nrow[i] = sum(p[i, j] for j in range(b))\ny = row[1] - row[0]",
            {"a": [2], "b": [2]},
            "products",
            "products(x0[n], x1[n], z0[n], z1[n]) -> y[n]",
            "p00 = x0 * z0\np01 = x0 * z1\np10 = x1 * z0\np11 = x1 * z1\n"
            "row0 = p00 + p01\nrow1 = p10 + p11\ny = row1 - row0",
        ),
        (
            "powers(x) -> (y[taps])",
            "times[k in taps] = x * (k + 1)\ny[k] = times[k] + 1",
            {"taps": [2]},
            "powers",
            "powers(x) -> (y0, y1)",
            "times0 = x * (0 + 1)\ntimes1 = x * (1 + 1)\ny0 = times0 + 1\ny1 = times1 + 1",
        ),
        (
            "spread(g[n], r[taps, n]:int64) -> out[m]",
            "out[r[k]] = out[r[k]] + g",
            {"taps": [2]},
            "spread",
            "spread(g[n], r0[n]:int64, r1[n]:int64) -> out[m]",
            "out[r0] = out[r0] + g\nout[r1] = out[r1] + g",
        ),
    ],
)
def test_members_are_what_is_written_out(
    head: str, body: str, counts: dict[str, list[int]], member: str, members_head: str, members_body: str
) -> None:
    family = kernels(head, body, **counts)
    assert len(family) == len(next(iter(counts.values())))
    assert family[member] == kernels(members_head, members_body)[member]
