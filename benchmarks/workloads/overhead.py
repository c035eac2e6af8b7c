"""Single operators on 8x8 float32: what stands between a call and its kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from libraries import Arrays, Tensors

from .floors_small import overhead
from .workload import Rival, Workload, data

#: Name, program over tensors, program over arrays. Those after the first eight are not in the mean.
OPERATORS: tuple[tuple[str, Callable[..., Rival], Callable[..., Any]], ...] = (
    ("add", lambda m, a, b: lambda: a + b, lambda xp, a, b: a + b),
    ("mul", lambda m, a, b: lambda: a * b, lambda xp, a, b: a * b),
    ("exp", lambda m, a, b: lambda: a.exp(), lambda xp, a, b: xp.exp(a)),
    ("sum", lambda m, a, b: lambda: a.sum(), lambda xp, a, b: xp.sum(a)),
    ("matmul", lambda m, a, b: lambda: a @ b, lambda xp, a, b: a @ b),
    ("index", lambda m, a, b: lambda: a[1], lambda xp, a, b: a[1]),
    ("view", lambda m, a, b: lambda: a.view(64), lambda xp, a, b: xp.reshape(a, (64,))),
    ("cat", lambda m, a, b: lambda: m.cat([a, b]), lambda xp, a, b: xp.concatenate([a, b])),
    ("mul by a number", lambda m, a, b: lambda: a * 2.0, lambda xp, a, b: a * 2.0),
    ("sum(dim=1)", lambda m, a, b: lambda: a.sum(dim=1), lambda xp, a, b: xp.sum(a, axis=1)),
    (
        "mean(-1, keepdim=True)",
        lambda m, a, b: lambda: a.mean(-1, keepdim=True),
        lambda xp, a, b: xp.mean(a, axis=-1, keepdims=True),
    ),
    ("softmax(dim=1)", lambda m, a, b: lambda: a.softmax(dim=1), lambda xp, a, b: None),
    ("cat(dim=1)", lambda m, a, b: lambda: m.cat([a, b], dim=1), lambda xp, a, b: None),
    ("transpose", lambda m, a, b: lambda: a.t(), lambda xp, a, b: a.T),
    ("slice", lambda m, a, b: lambda: a[1:5], lambda xp, a, b: a[1:5]),
)
INPLACE: tuple[tuple[str, Callable[..., Rival]], ...] = (
    ("add_", lambda m, a, b: lambda: a.add_(b)),
    ("mul_", lambda m, a, b: lambda: a.mul_(b)),
    ("zero_", lambda m, a, b: lambda: a.zero_()),
    ("clamp_(min=0)", lambda m, a, b: lambda: a.clamp_(min=0.0)),
)
IN_MEAN = 8


def _tensors(make: Callable[..., Rival], recording: bool) -> Callable[[Tensors], Rival]:
    def rival(library: Tensors) -> Rival:
        a = library.tensor(data(8, 8, seed=1), recording)
        b = library.tensor(data(8, 8, seed=2) * 0 + 0.9999)
        return make(library.m, a, b)

    return rival


def _arrays(function: Callable[..., Any]) -> Callable[[Arrays], Rival]:
    def rival(library: Arrays) -> Rival:
        a, b = library.put(data(8, 8, seed=1)), library.put(data(8, 8, seed=2) * 0 + 0.9999)
        return library.function(lambda a, b: function(library.xp, a, b), a, b)

    return rival


def _workloads(recording: bool) -> list[Workload]:
    row = "overhead, recording" if recording else "overhead"
    found = []
    for i, (name, make, over) in enumerate(OPERATORS):
        has_arrays = "softmax" not in name and "cat(" not in name and not recording
        found.append(
            Workload(
                f"{row}: {name}",
                row,
                _tensors(make, recording),
                _arrays(over) if has_arrays else None,
                0.65,
                0.9,
                counted=i < IN_MEAN,
                floor=overhead(name),
            )
        )
    return found


OVERHEAD = (
    *_workloads(False),
    *_workloads(True),
    *(
        Workload(
            f"in place: {name}", "in place", _tensors(make, False), None, 0.65, 0.9, floor=overhead(name)
        )
        for name, make in INPLACE
    ),
)
