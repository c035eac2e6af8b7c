"""Views of arrays that have no strides, by how they were made.

Where arrays cannot change, and share no memory, a view remembers the operators that made it of the array that
it is a part of. By these it is read anew after a write, and what is written to it is put back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from .view_geometry import TensorGeometry, ViewGeometry, geometry_of

Shape = tuple[int, ...]


class ViewStep(Protocol):
    """An operator whose results are views of its first argument, with the other arguments."""

    type: Any
    shape: Shape

    def read(self, array: Any) -> tuple[Any, ...]:
        """The views of an array."""

    def write(self, array: Any, number: int, value: Any) -> Any:
        """The array after ``value`` was written to the view of this number."""

    def spread(self, number: int, value: Any) -> Any:
        """Zeros to which ``value`` is added where the view of this number lies."""

    def is_writable(self) -> bool:
        """Whether ``write`` is possible."""

    def geometry(self, source: Any, number: int) -> Any:
        """Where the view of this number lies, given its source on the device meta, or None: a meta tensor.

        None where strided memory has no such view.
        """


class ViewPath:
    """How a view is made of an array: of the view at ``parent``, or the array itself, by a step."""

    __slots__ = ("_meta", "number", "parent", "step")

    def __init__(self, parent: ViewPath | None, step: ViewStep, number: int) -> None:
        self.parent = parent
        self.step = step
        #: Of the results of the step.
        self.number = number
        self._meta: Any = None

    def read(self, root: Any, known: dict[tuple[ViewPath | None, ViewStep], tuple[Any, ...]]) -> Any:
        """The view of an array; what the steps of other views have read is ``known``."""
        place = (self.parent, self.step)
        if place not in known:
            source = root if self.parent is None else self.parent.read(root, known)
            known[place] = self.step.read(source)
        return known[place][self.number]

    def write(self, root: Any, value: Any) -> Any:
        """The array after a write to the view."""
        if self.parent is None:
            return self.step.write(root, self.number, value)
        return self.parent.write(root, self.step.write(self.parent.read(root, {}), self.number, value))

    def steps(self, base: ViewPath | None) -> tuple[tuple[ViewStep, int], ...] | None:
        """The steps from the view at ``base`` to this one; None where they do not lead there."""
        found: list[tuple[ViewStep, int]] = []
        path: ViewPath | None = self
        while path is not base:
            if path is None:
                return None
            found.append((path.step, path.number))
            path = path.parent
        return tuple(reversed(found))

    def geometry(self, T: Any) -> TensorGeometry | None:
        """Where the elements, of a Type, would lie in strided memory; None where they could not."""
        meta = self._on_meta()
        if meta is False:
            return None
        lib, array = meta._type.backend.lib, meta._array
        return TensorGeometry(tuple(array.shape), lib.strides(array), lib.storage_offset(array), T)

    def _on_meta(self) -> Any:
        if self._meta is None:
            source = None if self.parent is None else self.parent._on_meta()
            found = None if source is False else self.step.geometry(source, self.number)
            self._meta = False if found is None else found
        return self._meta


class ArrayGeometry:
    """The shape and the Type of an array without strides."""

    __slots__ = ("shape", "type")

    def __init__(self, shape: Shape, T: Any) -> None:
        self.shape = shape
        self.type = T


class PathGeometry:
    """A base and a view of it, as ViewGeometry, of arrays without strides.

    With ``lead`` the arrays have these dimensions in front, which number such arrays. ``whole`` are the steps
    that made the base, all of whose elements it shows, of the array that the steps to the view begin with.
    """

    __slots__ = ("base", "lead", "steps", "view", "whole")

    def __init__(
        self,
        base: ArrayGeometry,
        view: ArrayGeometry,
        steps: tuple[tuple[ViewStep, int], ...],
        lead: Shape = (),
        whole: tuple[tuple[ViewStep, int], ...] = (),
    ) -> None:
        self.base = base
        self.whole = whole
        self.view = view
        self.steps = steps
        self.lead = lead

    def repeated(self, count: int) -> PathGeometry:
        """``count`` such pairs."""
        return PathGeometry(self.base, self.view, self.steps, (count, *self.lead), self.whole)

    def view_of(self, array: Any) -> Any:
        """From an array like the base, what the view shows of it."""
        return self._each(self.lead, lambda a: _sources(self._start(a), self.steps)[-1], array)

    def spread(self, array: Any) -> Any:
        """From an array like the view, one like the base that is zero elsewhere; overlaps add up."""
        return self._each(self.lead, self._scatter, array)

    def erase(self, array: Any) -> Any:
        """An array like the base, with zeros where the view lies."""
        zeros = self.view.type.backend.lib.zeros((*self.lead, *self.view.shape), self.view.type.dtype)
        return self._each(self.lead, self._put, array, zeros)

    def open(self, array: Any) -> tuple[Any, Any]:
        """What ``replaced`` takes: an array like the base, and what the view shows of it."""
        return array, self.view_of(array)

    def replaced(self, opened: tuple[Any, Any], value: Any) -> Any:
        """The opened base with ``value``, or zeros for None, where the view lies."""
        if value is None:
            return self.erase(opened[0])
        return self._each(self.lead, self._put, opened[0], value)

    def _start(self, array: Any) -> Any:
        """What the steps to the view begin with, of an array like the base."""
        for step, number in reversed(self.whole):
            array = step.spread(number, array)
        return array

    def _scatter(self, array: Any) -> Any:
        for step, number in reversed(self.steps):
            array = step.spread(number, array)
        return _sources(array, self.whole)[-1]

    def _put(self, array: Any, value: Any) -> Any:
        sources = _sources(self._start(array), self.steps)
        for source, (step, number) in zip(reversed(sources[:-1]), reversed(self.steps), strict=True):
            value = step.write(source, number, value)
        return _sources(value, self.whole)[-1]

    def _each(self, lead: Shape, function: Callable[..., Any], *arrays: Any) -> Any:
        """The function of each array of those that ``lead`` numbers."""
        if not lead:
            return function(*arrays)
        parts = [self._each(lead[1:], function, *[a[i, ...] for a in arrays]) for i in range(lead[0])]
        return self.base.type.backend.lib.stack(parts)


def _sources(array: Any, steps: tuple[tuple[ViewStep, int], ...]) -> list[Any]:
    """An array, and what each step makes of the one before."""
    arrays = [array]
    for step, number in steps:
        arrays.append(step.read(arrays[-1])[number])
    return arrays


#: A base and a view of it.
Pair = ViewGeometry | PathGeometry


def pair_of(base: Any, view: Any) -> Pair:
    """A base and a view of it, whatever their arrays are. RuntimeError where the view is none of the base."""
    if base._wraps or base._type.backend.mutable:
        return ViewGeometry(geometry_of(base), geometry_of(view))
    own, other = view._meta, base._meta
    if other is None or own.shared is not other.shared:
        raise RuntimeError("a view has another memory than its base: one of them was given other data")
    steps = _steps(own.path, other.path)
    if steps is not None:
        return PathGeometry(_shape_of(base), _shape_of(view), steps)
    steps, whole = _steps(own.path, None), _steps(other.path, None)  # the base got another shape in place
    return PathGeometry(_shape_of(base), _shape_of(view), steps or (), (), whole or ())


def _steps(path: ViewPath | None, base: ViewPath | None) -> tuple[tuple[ViewStep, int], ...] | None:
    """The steps from one path to another; None where they do not lead there."""
    if path is None:
        return () if base is None else None
    return path.steps(base)


def _shape_of(tensor: Any) -> ArrayGeometry:
    return ArrayGeometry(tuple(tensor._array.shape), tensor._type)
