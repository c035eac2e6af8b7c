"""A line search for the strong Wolfe conditions: enough of a decrease, and a slope that is flat enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..tensors.tensor import Tensor


class Point(NamedTuple):
    """A place on the line."""

    #: How many times the direction from the start; a number or a 0-d tensor, as all but the gradient.
    t: Any
    loss: Any
    grad: Tensor
    #: The derivative along the line.
    slope: Any


#: The loss and the gradient at so many times the direction.
Objective = Callable[[Any], tuple[float, Tensor]]


def cubic_minimum(a: Point, b: Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """Where the cubic through two points with their slopes is least within ``bounds``: by default these.

    The middle of the bounds where the cubic has no minimum.
    """
    low, high = bounds or ((a.t, b.t) if a.t <= b.t else (b.t, a.t))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square.sqrt() if isinstance(square, Tensor) else square**0.5
    if a.t > b.t:
        a, b = b, a
    found = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(found, low), high)


class StrongWolfe:
    """The search along ``direction`` from ``start``, a Point with ``t`` 0.

    At most ``limit`` steps; it ends early when the bracket's ends differ by less than ``tolerance`` in all
    elements. ``evaluations`` counts the calls of ``objective``.
    """

    def __init__(
        self,
        objective: Objective,
        start: Point,
        direction: Tensor,
        limit: int,
        tolerance: float = 1e-9,
        decrease: float = 1e-4,
        curvature: float = 0.9,
    ) -> None:
        self.objective, self.start, self.direction = objective, start, direction
        self.limit, self.tolerance = limit, tolerance
        self.decrease, self.curvature = decrease, curvature
        self.evaluations = self.steps = 0

    def search(self, t: Any) -> Point:
        """The point that was found, beginning with ``t``."""
        bracket = self._bracket(t)
        return bracket[0] if len(bracket) == 1 else self._zoom(bracket)

    def _at(self, t: Any) -> Point:
        loss, grad = self.objective(t)
        self.evaluations += 1
        return Point(t, loss, grad, grad.dot(self.direction))

    def _too_high(self, point: Point) -> bool:
        start = self.start
        return bool(point.loss > start.loss + self.decrease * point.t * start.slope)

    def _flat(self, point: Point) -> bool:
        return bool(abs(point.slope) <= -self.curvature * self.start.slope)

    def _bracket(self, t: Any) -> list[Point]:
        """Two points with one that fulfils the conditions between them, or the one."""
        before, point = self.start, self._at(t)
        while self.steps < self.limit:
            if self._too_high(point) or (self.steps > 1 and point.loss >= before.loss):
                return [before, point]
            if self._flat(point):
                return [point]
            if point.slope >= 0:
                return [before, point]
            bounds = (point.t + 0.01 * (point.t - before.t), point.t * 10)
            before, point = point, self._at(cubic_minimum(before, point, bounds))
            self.steps += 1
        return [self.start, point]

    def _zoom(self, bracket: list[Point]) -> Point:
        """Narrow the bracket until a point in it fulfils the conditions; the lowest one known."""
        width = self.direction.abs().max()
        stalled = False
        low = 0 if bracket[0].loss <= bracket[1].loss else 1
        while self.steps < self.limit:
            first, second = bracket
            if abs(second.t - first.t) * width < self.tolerance:
                break
            t, stalled = _kept_off(cubic_minimum(first, second), first.t, second.t, stalled)
            point = self._at(t)
            self.steps += 1
            if self._too_high(point) or point.loss >= bracket[low].loss:
                bracket[1 - low] = point
                low = 0 if bracket[0].loss <= bracket[1].loss else 1
                continue
            done = self._flat(point)
            if not done and point.slope * (bracket[1 - low].t - bracket[low].t) >= 0:
                bracket[1 - low] = bracket[low]
            bracket[low] = point
            if done:
                break
        return bracket[low]


def _kept_off(t: Any, one: Any, other: Any, stalled: bool) -> tuple[Any, bool]:
    """``t``, moved off an end of the bracket if it is near one again, and whether it is near one."""
    low, high = min(one, other), max(one, other)
    margin = 0.1 * (high - low)
    if not min(high - t, t - low) < margin:
        return t, False
    if not (stalled or t >= high or t <= low):
        return t, True
    return (high - margin if abs(t - high) < abs(t - low) else low + margin), False
