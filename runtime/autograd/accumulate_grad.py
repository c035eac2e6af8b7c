"""AccumulateGrad: the Node at a leaf, which adds what arrives to the leaf's ``grad``."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from ..core.interception import notify_grad
from ..core.memory_format import NotStrided
from ..core.promotion import promote_types
from ..core.storage import begin_write
from ..kernels.layout import is_dense
from .autograd_meta import AutogradMeta, meta_of
from .grad_mode import grad_mode
from .hooks import run_post_accumulate
from .inference_mode import check_write
from .linear_maps import accumulated
from .node import LEAF_SEQUENCE_NR, Node
from .ownership import is_callers_only
from .writes import add_into, write

_making = threading.Lock()
_ref = weakref.ref


class AccumulateGrad(Node):
    """Adds gradients to ``variable.grad``.

    The leaf holds it, so that it is made once, and it knows the leaf weakly; edges to it hold the
    leaf. Where a user is handed it, it is the other way round (``pin``). Its lock, which is the
    leaf's, keeps sums of several threads exact.
    """

    __slots__ = ("leaf", "lock", "pinned")

    def __init__(self, variable: Any, meta: AutogradMeta) -> None:
        if meta.lock is None:
            meta.lock = threading.Lock()
        self.next_edges = ()
        self.sequence_nr = LEAF_SEQUENCE_NR
        self.shape = variable._array.shape
        self.type = meta.grad_type or variable._type
        self.extra = None if meta.leaf_extra is None else meta.leaf_extra.shared()
        self.leaf = _ref(variable)
        self.pinned = None
        self.lock = meta.lock

    @property
    def variable(self) -> Any:
        """The leaf; None when it is gone, and with it whatever led here."""
        return self.leaf() if self.pinned is None else self.pinned

    def pin(self) -> None:
        """Hold the leaf from now on, and be held by it no more: a user may ask for ``variable``."""
        leaf = self.leaf()
        if self.pinned is None and leaf is not None:
            with _making:
                self.pinned = leaf
                if leaf._meta.accumulator is self:
                    leaf._meta.accumulator = _ref(self)

    def apply(self, grad: Any) -> tuple[Any, ...]:
        """Add an array to the leaf's gradient, in place where there is one already.

        The first array is taken as it is when nobody else holds it and it is laid out as the leaf
        is; the caller's one local variable is not counted.
        """
        variable = self.variable
        if not self._wanted():
            return ()
        lib = self.type.backend.lib
        with self.lock:
            meta = variable._meta
            total = meta.grad
            if total is None:
                try:
                    if not (
                        is_callers_only(grad) and (fits(lib, grad, variable._array) or _any_order(lib, grad))
                    ):
                        grad = copy_like(self.type.backend, grad, variable._array)
                    meta.grad = self.type.wrap(grad)
                except NotStrided:  # the gradient of a strided leaf keeps its layout
                    add_in_layout(self.type, meta, grad)
            elif total._type is self.type:
                begin_write(total)
                add_into(total, grad)
            elif total._type.backend is not self.type.backend:
                add_in_layout(self.type, meta, grad)
            else:  # a gradient of another type, which its owner allowed, or an inference tensor
                check_write(total)
                wide = _common_dtype(total, grad)
                begin_write(total)
                write(total, lib.add(lib.cast(total._array, wide), lib.cast(grad, wide)))
        if self.extra is not None and self.extra.post_accumulate:
            run_post_accumulate(self.extra.post_accumulate, variable)
        return ()

    def _wanted(self) -> bool:
        """Whether the leaf still needs a gradient; RuntimeError when it is no leaf any more."""
        variable = self.variable
        if variable is None:
            return False
        if variable._edge is not None:
            raise RuntimeError("leaf variable has been moved into the graph interior")
        requires: bool = variable._requires_grad
        return requires

    def apply_graph(self, grad: Any) -> tuple[Any, ...]:
        """Add a Tensor to the leaf's gradient: out of place where both may be part of a graph."""
        if not self._wanted():
            return ()
        variable = self.variable
        notify_grad(variable)
        with self.lock:
            meta = variable._meta
            total = meta.grad
            by_parts = grad_mode.enabled or grad_mode.transforms or grad._wraps
            if total is None or by_parts or total._wraps or total._type is not grad._type:
                meta.grad = accumulated(total, grad)
            else:
                total += grad
        return self._accumulated()

    def _accumulated(self) -> tuple[Any, ...]:
        """Run the hooks that wait for the gradient."""
        if self.extra is not None and self.extra.post_accumulate:
            run_post_accumulate(self.extra.post_accumulate, self.variable)
        return ()


class AccumulateInLayout(AccumulateGrad):
    """The accumulator of a leaf that is not strided: gradients come in any layout."""

    __slots__ = ()

    def apply(self, grad: Any) -> tuple[Any, ...]:
        """Add an array to the leaf's gradient."""
        if not self._wanted():
            return ()
        with self.lock:
            add_in_layout(self.type, self.variable._meta, grad)
        return self._accumulated()


AccumulateInLayout.__name__ = AccumulateInLayout.__qualname__ = AccumulateGrad.__name__


def add_in_layout(T: Any, meta: AutogradMeta, grad: Any) -> None:
    """Add an array to a gradient, both of any layout: strided is what is strided in one of them."""
    T, total = T.of_array(grad), meta.grad
    if total is None:
        meta.grad = T.wrap(T.backend.lib.copy(grad))
        return
    own, lib = total._type.backend, total._type.backend.lib
    check_write(total)
    if own.rank <= T.backend.rank:
        begin_write(total)
        summed = lib.add_(total._array, lib.cast(grad, total._array.dtype) if own is T.backend else grad)
        if summed is not total._array:
            lib.copyto(total._array, summed)
    else:
        meta.grad = T.wrap(T.backend.lib.add(grad, total._array))


def _common_dtype(total: Any, grad: Any) -> Any:
    """The array dtype in which an array is added to a gradient of another scalar type."""
    T = total._type
    return promote_types(T.scalar_type, T.of_array(grad).scalar_type).array_dtype


def fits(lib: Any, grad: Any, like: Any) -> bool:
    """Whether ``grad`` is an array laid out as a gradient of ``like`` is to be."""
    if not grad.shape:
        return False  # it may be a scalar of the library
    if lib.is_contiguous(like):
        contiguous: bool = lib.is_contiguous(grad)
        return contiguous
    dense = is_dense(like.shape, lib.strides(like))
    same: bool = lib.same_layout(grad, like) if dense else lib.is_contiguous(grad)
    return same


def _any_order(lib: Any, grad: Any) -> bool:
    """Whether an array may be a gradient as it is laid out, no policy wanting the leaf's layout."""
    if grad_mode.layout_policy or not grad.shape or not hasattr(grad, "strides"):
        return False
    return is_dense(grad.shape, lib.strides(grad))


def copy_like(backend: Any, grad: Any, like: Any) -> Any:
    """A copy of ``grad`` with the strides of ``like`` when that is dense, else contiguous."""
    lib = backend.lib
    if not backend.mutable or not hasattr(like, "strides"):  # such arrays are laid out alike
        return lib.copy(grad)
    strides = lib.strides(like)
    if lib.is_contiguous(like) or not is_dense(like.shape, strides):
        copied = lib.empty(tuple(like.shape), grad.dtype)
    else:
        copied = lib.empty_strided(tuple(like.shape), strides, grad.dtype)
    lib.copyto(copied, grad)
    return copied


def new_accumulator(leaf: Any) -> AccumulateGrad | None:
    """The accumulator of a leaf, made if there is no live one; None of a view that only follows its base."""
    with _making:  # two threads must not make two: hooks are added to the one that is known
        meta: AutogradMeta = leaf._meta or meta_of(leaf)
        if meta.follows:
            return None
        accumulator = meta.live_accumulator()
        if accumulator is None:
            strided = leaf._type.backend.is_strided
            accumulator = meta.accumulator = (AccumulateGrad if strided else AccumulateInLayout)(leaf, meta)
        return accumulator
