"""What a Tensor is made of: the slots, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from .memory_format import layout as Layout
    from .storage import Storage


class TensorBase:
    """The handle that a user holds.

    Whoever allocates one with ``new(cls)`` sets all the slots: a slot that was never set is an
    AttributeError later, and a test for it would cost every operator.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_array",
        "_base",
        "_edge",
        "_meta",
        "_requires_grad",
        "_storage",
        "_type",
    )

    #: Whether a layer has its elements, and ``_array`` only describes them.
    _wraps: ClassVar[bool] = False

    #: The backend's array: np.ndarray for CPU, MetaArray for Meta. Never a NumPy scalar.
    _array: Any
    #: The Type: one for each (backend, scalar type, recording or not).
    _type: Any
    #: Whether gradients flow to this tensor: a leaf that asked for them, or a result that has an edge.
    _requires_grad: bool
    #: (Node, output number) of a result that was recorded; None for a leaf.
    _edge: Any
    #: Version counter and views, shared with views and detached handles; None until needed.
    _storage: Storage | None
    #: None, or the tensor this is a view of: always the root of a chain of views.
    _base: TensorBase | None
    #: None, or the AutogradMeta: grad, hooks, name, what made this view ...
    _meta: Any

    if TYPE_CHECKING:  # what a Tensor has besides, as far as it is used below

        @property
        def is_nested(self) -> bool: ...

        @property
        def layout(self) -> Layout: ...

        def item(self) -> Any: ...

        def tolist(self) -> Any: ...


#: What a tensor is made of, besides its class and its attributes.
PARTS = tuple([name for name in TensorBase.__slots__ if not name.startswith("__")])

#: The namespaces of the modules that use the class Tensor and are imported before it is made.
_declared: list[dict[str, Any]] = []
_defined: list[type[TensorBase]] = []


def declare_tensor(namespace: dict[str, Any]) -> None:
    """Give a module, whose ``globals()`` these are, the name ``Tensor`` as soon as that class is made.

    For what Tensor itself is made of, which cannot import it: a forward declaration.
    """
    _declared.append(namespace)
    for tensor in _defined:
        namespace["Tensor"] = tensor


def define_tensor(tensor: type[TensorBase]) -> None:
    """Say that the class Tensor is made."""
    _defined.append(tensor)
    for namespace in _declared:
        namespace["Tensor"] = tensor
