"""What a Tensor has of autograd: ``requires_grad``, ``grad``, ``grad_fn``, hooks, ``detach`` ..."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from ..autograd.autograd_meta import AutogradMeta, meta_of
from ..autograd.edge import Edge
from ..autograd.grad_dtype import check_grad_dtype, grad_dtype_of, set_grad_dtype
from ..autograd.grad_mode import grad_mode, inside_transform
from ..autograd.hooks import NodeExtra, RemovableHandle, add_hook, add_to, extra_of
from ..autograd.run_backward import backward
from ..autograd.view import StaleView, differentiable, follow_base
from ..autograd.writes import share
from ..core.interception import AliasKind, active, notify_alias, notify_grad
from ..core.scalar_type import dtype
from ..core.storage import Storage, storage_of
from ..core.tensor_base import TensorBase
from ..core.user_stack import program_stacklevel

if TYPE_CHECKING:
    from ..autograd.node import Node
    from .tensor import Tensor

_NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't "
    "be populated during autograd.backward(). If you indeed want the .grad field to be populated for a "
    "non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by "
    "mistake, make sure you access the leaf Tensor instead."
)


class AutogradProperties(TensorBase):
    """The part of Tensor that has to do with gradients."""

    __slots__ = ()

    _array: Any
    _type: Any
    _requires_grad: bool
    _edge: Edge | None
    _storage: Storage | None
    _meta: AutogradMeta | None

    # -- requires_grad -------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are computed for this tensor. Settable for leaves only.

        The views of a leaf that were made before it was set require gradients as the leaf does.

        Setting it raises RuntimeError for a tensor that was computed, and for dtypes that are
        neither floating point nor complex.
        """
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        if self._edge is not None:
            if value:
                return
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed "
                "variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
        if value and not differentiable(self._type):
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        if value and not self._type.recording and not grad_mode.inference:
            raise RuntimeError(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
            )
        self._requires_grad = value
        if self._storage is not None and self._storage.views:
            follow_base(self)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set ``requires_grad``, and return the tensor.

        Errors as for the attribute; TypeError for what is no bool; and RuntimeError inside a function that
        ``tengen.func`` transforms.
        """
        if not isinstance(requires_grad, bool):
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                + type(requires_grad).__name__
            )
        if grad_mode.transforms:
            raise RuntimeError(inside_transform("requires_grad_"))
        self.requires_grad = requires_grad
        return self

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode, and so never takes part in a graph."""
        return not self._type.recording

    @property
    def is_leaf(self) -> bool:
        """Whether the tensor was not computed from tensors that require gradients."""
        return self._edge is None

    # -- grad ----------------------------------------------------------------------------

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have accumulated, or None.

        Only leaves get one, and tensors for which ``retain_grad()`` was called. What is assigned
        must be None or have this tensor's shape and device, and its ``grad_dtype``.
        """
        if active:
            notify_grad(self)
        meta = self._meta
        found: Tensor | None = None if meta is None else meta.grad
        if found is None and self._edge is not None and (meta is None or not meta.retains_grad):
            warnings.warn(_NON_LEAF_GRAD, UserWarning, stacklevel=program_stacklevel())
        return found

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if active:
            notify_grad(self)
        if value is None:
            if self._meta is not None:
                self._meta.grad = None
            return
        self._check_grad(value)
        meta_of(self).grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    @property
    def _grad(self) -> Tensor | None:
        """``grad``, without a warning where nothing ever comes."""
        if active:
            notify_grad(self)
        return None if self._meta is None else self._meta.grad

    @_grad.setter
    def _grad(self, value: Tensor | None) -> None:
        self.grad = value

    @_grad.deleter
    def _grad(self) -> None:
        self.grad = None

    def _check_grad(self, value: Any) -> None:
        if not isinstance(value, TensorBase):
            raise TypeError(
                "assigned grad expected to be a Tensor or None but got grad of type " + type(value).__name__
            )
        if value is self:
            raise RuntimeError("can't assign Tensor as its own grad")
        here, there = self._type, value._type
        if here.backend.device != there.backend.device:
            raise RuntimeError(
                f"attempting to assign a gradient with device type '{there.backend.device}' to a tensor with "
                f"device type '{here.backend.device}'. Please ensure that the gradient and the tensor are on "
                "the same device"
            )
        check_grad_dtype(self, value)
        if value._array.shape != self._array.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value._array.shape)}' to a tensor of size "
                f"'{list(self._array.shape)}'. Please ensure that the gradient and the tensor are the same "
                "size"
            )

    @property
    def grad_dtype(self) -> dtype | None:
        """The dtype that ``grad`` has, into which gradients are cast: by default this tensor's.

        It may be set, also to None: then they keep the dtype that they arrive in, and any may be assigned.
        Raises RuntimeError for a tensor that is no leaf, and where ``grad`` has another dtype already.
        """
        return grad_dtype_of(self)

    @grad_dtype.setter
    def grad_dtype(self, value: dtype | None) -> None:
        set_grad_dtype(self, value)

    @property
    def grad_fn(self) -> Node | None:
        """The Node that computed the tensor; None for leaves."""
        if self._edge is None:
            return None
        node = self._edge[0]
        if isinstance(node, StaleView):
            raise RuntimeError(node.message)
        return node

    @property
    def output_nr(self) -> int:
        """Which result of its ``grad_fn`` the tensor is."""
        return 0 if self._edge is None else self._edge[1]

    def retain_grad(self) -> None:
        """Let backward passes fill ``grad`` though the tensor is not a leaf.

        Raises RuntimeError when it does not require gradients, and inside a function that ``tengen.func``
        transforms; nothing happens for a leaf.
        """
        if not self._requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if grad_mode.transforms:
            raise RuntimeError(inside_transform("retain_grad"))
        if self._edge is None:
            return
        meta = meta_of(self)
        if meta.retains_grad:
            return
        node, number = self._edge[0], self._edge[1]
        extra = extra_of(node)
        if extra.retained is None:
            extra.retained = {}
        extra.retained[number] = weakref.ref(self)
        meta.retains_grad = True

    @property
    def retains_grad(self) -> bool:
        """Whether ``retain_grad()`` was called for this tensor, which is not a leaf."""
        return self._meta is not None and self._meta.retains_grad

    def register_hook(self, hook: Callable[[Any], Any]) -> RemovableHandle:
        """Call ``hook(grad)`` whenever the gradient of this tensor is computed.

        It returns None, or a Tensor of the same shape and dtype that takes the gradient's place.
        Raises RuntimeError when the tensor does not require gradients.
        """
        if not self._requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._edge is not None:
            node, number = self._edge[0], self._edge[1]
            return add_hook(extra_of(node), number, hook)
        return add_hook(leaf_extra(self), 0, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], None]) -> RemovableHandle:
        """Call ``hook(tensor)`` whenever a gradient was accumulated into ``grad`` of this leaf.

        It returns None. Raises RuntimeError when the tensor does not require gradients, or is
        no leaf.
        """
        if not self._requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._edge is not None:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        hooks = leaf_extra(self).post_accumulate
        assert hooks is not None
        return add_to(hooks, hook)

    # -- the graph -----------------------------------------------------------------------

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Tensor | Sequence[Tensor] | Mapping[Any, Tensor] | None = None,
    ) -> None:
        """Add the gradients of this tensor with respect to the graph's leaves to their ``grad``.

        ``gradient`` has this tensor's shape; it may be left out for a real scalar. See
        ``tengen.autograd.backward``.
        """
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def detach(self) -> Tensor:
        """The same memory without history. Writing into one bumps the version of both."""
        out: Tensor = self._type.wrap(self._array)
        out._storage = storage_of(self)
        if not self._type.backend.mutable:
            share(self, out)
        if active:
            notify_alias(self, out, AliasKind.DETACHED)
        return out

    def detach_(self) -> Self:
        """Forget the history: the tensor becomes a leaf that needs no gradient. RuntimeError for a view."""
        if self._base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using "
                "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as True, "
                "gradients are views of DDP buckets, and hence detach_() cannot be called on these gradients."
            )
        if self._edge is not None:
            # A Node that saved this result must still see writes into it.
            views: Any = storage_of(self).views
            if views is not None:
                views.waiting = True
        self._edge = None
        self._requires_grad = False
        if self._storage is not None and self._storage.views:
            follow_base(self)
        if self._meta is not None:
            self._meta.retains_grad = False
            self._meta.forward_grad = None
        return self

    # -- memory --------------------------------------------------------------------------

    @property
    def _version(self) -> int:
        """How often the tensor's memory was written to. RuntimeError for an inference tensor."""
        if not self._type.recording:
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._storage is None else self._storage.version

    def _is_view(self) -> bool:
        """Whether this is a view of another tensor (``_base``)."""
        return self._base is not None

    @property
    def data(self) -> Tensor:
        """The same memory without history, and with a version counter of its own.

        Writing through it is not noticed by autograd. Assigning a tensor of the same kind gives
        this one that tensor's memory; its version counter stays that of its former views. RuntimeError
        for that in a function that is transformed.
        """
        out: Tensor = self._type.wrap(self._array)
        if not self._type.backend.mutable:
            share(self, out)
        if active:
            notify_alias(self, out, AliasKind.DETACHED)
        return out

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, TensorBase):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if grad_mode.transforms:
            raise RuntimeError(
                "mutating directly with `.data` inside functorch transform is not allowed: "
                "use copy_(), or detach() and an operator that is not in place"
            )
        T = value._type.recorded(self._type.recording)
        if T.backend is not self._type.backend:
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
                "incompatible tensor type."
            )
        if self._requires_grad and not differentiable(T):
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex dtype"
            )
        self._array = value._array
        self._type = T
        if not T.backend.mutable:
            share(value, self)
        if self._meta is not None:
            self._meta.fit_accumulator(self._array.shape, T)

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    @property
    def name(self) -> str | None:
        """The tensor's name, for those that give it one; None else."""
        return None if self._meta is None else self._meta.name


def leaf_extra(leaf: Any) -> NodeExtra:
    """The NodeExtra that holds a leaf's hooks; its accumulators, now and later, share them."""
    meta = meta_of(leaf)
    extra: NodeExtra | None = meta.leaf_extra
    if extra is None:
        extra = meta.leaf_extra = NodeExtra()
        extra.tensor_hooks, extra.post_accumulate = {}, {}
    accumulator = meta.live_accumulator()
    if accumulator is not None:
        own = extra_of(accumulator)
        own.tensor_hooks, own.post_accumulate = extra.tensor_hooks, extra.post_accumulate
    return extra
