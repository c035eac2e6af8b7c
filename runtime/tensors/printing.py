"""How tensors print: PyTorch's format, and the options that change it.

All elements of a tensor are shown alike: as integers with a point, with a fixed number of
decimals, or in scientific notation, whichever the finite ones need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from ..autograd.forward_mode import newest_tangent
from ..core.device import default_device
from ..core.function_dispatch import NOTHING, at_level
from ..core.interception import active
from ..core.memory_format import strided
from ..core.package_name import package
from ..core.scalar_type import bool_, default, default_complex, int64
from ..core.tensor_base import TensorBase
from ..kernels.cpu import cast
from ..kernels.dtypes import is_complex32

Array = np.ndarray[Any, Any]

# -- options


class _Options:
    __slots__ = ("edgeitems", "linewidth", "precision", "sci_mode", "threshold")

    def __init__(self) -> None:
        self.precision = 4
        self.threshold: float = 1000
        self.edgeitems = 3
        self.linewidth = 80
        self.sci_mode: bool | None = None


options: Final = _Options()

_PROFILES: Final[dict[str, dict[str, float]]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print.

    ``precision``: decimals (4). ``threshold``: the number of elements above which a tensor is
    summarised (1000). ``edgeitems``: how many then remain at each edge of each dimension (3).
    ``linewidth``: where lines break (80). ``profile``: ``default``, ``short`` or ``full``, before
    the others apply. ``sci_mode``: scientific notation always, never, or (None) as needed.
    """
    changes: dict[str, Any] = dict(_PROFILES.get(profile, {})) if profile is not None else {}
    given = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    changes.update({name: value for name, value in given.items() if value is not None})
    for name, value in changes.items():
        setattr(options, name, value)
    options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options, as arguments for ``set_printoptions``."""
    return {name: getattr(options, name) for name in _Options.__slots__}


@contextmanager
def printoptions(**changes: Any) -> Iterator[None]:
    """A context in which some options are different; arguments as ``set_printoptions``."""
    before = get_printoptions()
    try:
        set_printoptions(**changes)
        yield
    finally:
        set_printoptions(**before)


# -- numbers


class _Format:
    """How each of some real numbers is shown, all in the same width."""

    __slots__ = ("show", "width")

    def __init__(self, values: Array) -> None:
        self.show: Callable[[Any], str] = str
        self.width = 1
        if values.dtype.kind in "biu":
            self.width = max([1, *map(len, map(str, values.ravel().tolist()))])
            return
        self.show = _integral
        numbers = values.ravel().astype(np.float64)
        numbers = numbers[np.isfinite(numbers) & (numbers != 0)]
        if not numbers.size:
            return
        integral = bool((numbers == np.ceil(numbers)).all())
        if _wants_scientific(np.abs(numbers)):
            self.show = f"{{:.{options.precision}e}}".format
        elif not integral:
            self.show = f"{{:.{options.precision}f}}".format
        self.width = max([len(self.show(number)) for number in numbers.tolist()])

    def __call__(self, value: Any) -> str:
        return self.show(value).rjust(self.width)


def _integral(value: float) -> str:
    """A floating-point number that is an integer: the point says what it is."""
    return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"


def _wants_scientific(magnitudes: Array) -> bool:
    if options.sci_mode is not None:
        return options.sci_mode
    smallest, largest = float(magnitudes.min()), float(magnitudes.max())
    return largest / smallest > 1000.0 or largest > 1e8 or smallest < 1e-4


class _ComplexFormat:
    """How each of some complex numbers is shown: both parts in widths of their own."""

    __slots__ = ("imag", "real", "width")

    def __init__(self, values: Array) -> None:
        self.real = _Format(values.real)
        self.imag = _Format(values.imag)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: complex) -> str:
        imag = self.imag(value.imag).lstrip() + "j"
        return self.real(value.real) + (imag if imag[0] in "+-" else "+" + imag)


# -- arrays


def _summarised(values: Array) -> Array:
    """The elements that a summary shows: those near the edges of every dimension."""
    edge = options.edgeitems
    if not edge:
        return values if values.ndim < 2 else values[(slice(0),) * values.ndim]
    kept = [[*range(edge), *range(n - edge, n)] if n > 2 * edge else [*range(n)] for n in values.shape]
    return values[np.ix_(*kept)]  # of all dimensions at once: of expanded memory no more is made


def _array_str(values: Array, indent: int) -> str:
    if values.size == 0:
        return "[]"
    if is_complex32(values.dtype):
        values = cast(values, np.dtype(np.complex64))
    summarise = values.size > options.threshold
    shown = _summarised(values) if summarise else values
    form = _ComplexFormat(shown) if values.dtype.kind == "c" else _Format(shown)
    return _nested(values, indent, summarise, form)


def _nested(values: Array, indent: int, summarise: bool, form: Callable[[Any], str]) -> str:
    if values.ndim == 0:
        return form(values.item())
    size, edge = len(values), options.edgeitems
    shorten = summarise and size > 2 * edge
    if values.ndim == 1:
        return _line(values, indent, shorten, form)
    rows = [*range(edge), *range(size - edge, size)] if shorten else range(size)
    parts = [_nested(values[i], indent + 1, summarise, form) for i in rows]
    if shorten:
        parts.insert(edge, "...")
    return "[" + ("," + "\n" * (values.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _line(values: Array, indent: int, shorten: bool, form: Any) -> str:
    edge = options.edgeitems
    if shorten and not edge:
        items = ["..."]
    elif shorten:
        items = [*map(form, values[:edge].tolist()), " ...", *map(form, values[-edge:].tolist())]
    else:
        items = [*map(form, values.tolist())]
    per_line = max(1, math.floor((options.linewidth - indent) / (form.width + 2)))
    lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


# -- tensors


def tensor_str(tensor: Any) -> str:
    """``repr(tensor)``."""
    if tensor.is_nested:
        return _nested_str(tensor)
    cls = type(tensor)
    own = cls.__module__.partition(".")[0] in ("tengen", package.name)
    prefix = "tensor(" if own else f"{cls.__name__}("
    contents, suffixes = _contents(tensor, len(prefix))
    suffixes += _gradient(tensor) + _tangent(tensor)
    return _joined(prefix + contents, suffixes, len(prefix), tensor.is_sparse)


def _nested_str(tensor: Any) -> str:
    """A nested tensor: of the layout strided its components, of jagged its sizes and offsets."""
    suffixes = _gradient(tensor) + _tangent(tensor)
    array, T = tensor._array, tensor._type
    if tensor.layout is strided:
        plain = T.of_array(array.values).recorded(False)
        inner = [tensor_str(plain.wrap(component)) for component in array.components()]
        parts = ",\n".join(["  " + text.replace("\n", "\n  ") for text in inner])
        return (
            f"nested_tensor([\n{parts}\n])"
            if not suffixes
            else f"nested_tensor([\n{parts}\n], {', '.join(suffixes)})"
        )
    size = ", ".join(map(str, array.shape))
    offsets = f"offsets=tensor({_array_str(array.offsets, 0)})"
    contiguous = f"contiguous={tensor.is_contiguous()}"
    return f"NestedTensor({', '.join([f'size=({size})', offsets, *suffixes, contiguous])})"


_HTML: Final = (
    '<div><div style="opacity: 0.7; font-size: 0.9em">{facts}</div>'
    '<pre style="margin: 0.3em 0 0; background: none; color: inherit; overflow-x: auto">{text}</pre></div>'
)


def tensor_html(tensor: Any) -> str:
    """A tensor as a notebook shows it; no colour is named, so it is right on light and on dark pages."""
    from html import escape

    with at_level(NOTHING):  # a subclass or a mode that overrides attributes is not asked
        T, shape = tensor._type, tuple(tensor._array.shape)
        facts = [type(tensor).__name__, f"shape {shape}", str(T.scalar_type), str(T.backend.device)]
        contents, _ = _contents(tensor, 0)
        lines = [contents, *_tangent(tensor)]
        return _HTML.format(
            facts=escape(" · ".join(facts + _gradient(tensor))), text=escape("\n".join(lines))
        )


def elements_str(tensor: Any, indent: int) -> str:
    """The elements of a tensor with data, as ``repr`` shows them at an indent, and nothing else."""
    return _elements(tensor, indent)[0]


def _contents(tensor: Any, indent: int) -> tuple[str, list[str]]:
    """What is stored, and what that does not tell of shape, dtype, device and layout."""
    if tensor.is_nested:
        return _nested_str(tensor), []
    return (_elements if tensor.layout is strided else _parts)(tensor, indent)


def _tells_dtype(scalar_type: Any) -> bool:
    """Whether the elements look like those of this dtype alone."""
    return scalar_type in (default.dtype, default_complex(), int64, bool_)


def _elements(tensor: TensorBase, indent: int) -> tuple[str, list[str]]:
    """The elements, and what they do not tell of shape, dtype and device."""
    T = tensor._type
    where, scalar_type = T.backend.device, T.scalar_type
    suffixes = [] if where.type == default_device.type else [f"device='{where}'"]
    size, named_type = f"size={tuple(tensor._array.shape)}", f"dtype={scalar_type}"
    try:
        values = T.backend.lib.to_numpy(tensor._array)
    except NotImplementedError:  # no data
        suffixes.append(size)
        if scalar_type is not default.dtype:
            suffixes.append(named_type)
        return "...", suffixes
    if values.size == 0:
        if values.ndim != 1:
            suffixes.append(size)
        if scalar_type is not default.dtype:
            suffixes.append(named_type)
        return "[]", suffixes
    if not options.edgeitems:
        suffixes.append(size)
    if not _tells_dtype(scalar_type):
        suffixes.append(named_type)
    return _array_str(values, indent), suffixes


def _parts(tensor: Any, indent: int) -> tuple[str, list[str]]:
    """The arrays that a sparse tensor stores, by the methods that give them, and its shape and dtype."""
    parts = []
    for name, array in tensor._array.parts().items():
        text = f"{name}=tensor("
        size = "" if array.size else f", size={tuple(array.shape)}"
        parts.append(text + _array_str(array, indent + len(text)) + size + ")")
    scalar_type = tensor._type.scalar_type
    facts = [f"size={tuple(tensor._array.shape)}", f"nnz={tensor._nnz()}"]
    if not _tells_dtype(scalar_type):
        facts.append(f"dtype={scalar_type}")
    return (",\n" + " " * indent).join(parts), [*facts, f"layout={tensor.layout}"]


def _gradient(tensor: Any) -> list[str]:
    try:
        grad_fn = tensor.grad_fn
    except RuntimeError:  # a view that was made and written to where nothing is recorded
        return ["grad_fn=<Invalid>"]
    if grad_fn is not None:
        return [f"grad_fn=<{grad_fn.name()}>"]
    return ["requires_grad=True"] if tensor.requires_grad else []


def _tangent(tensor: Any) -> list[str]:
    if not active:
        return []
    tangent = newest_tangent(tensor)
    return [] if tangent is None else [f"tangent={tangent}"]


def _joined(text: str, suffixes: Sequence[str], indent: int, apart: bool = False) -> str:
    """``text`` with the suffixes, on new lines where one is full, or with ``apart`` at once."""
    parts = [text]
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if apart or length + len(suffix) + 2 > options.linewidth:
            apart = False
            parts.append(",\n" + " " * indent + suffix)
            length = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            length += len(suffix) + 2
    return "".join(parts) + ")"
