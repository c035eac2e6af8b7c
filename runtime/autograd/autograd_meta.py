"""AutogradMeta: what few tensors need, made when it is first needed."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .accumulate_grad import AccumulateGrad
    from .forward_mode import ForwardGrad
    from .hooks import NodeExtra
    from .view import ViewList
    from .view_paths import ViewPath
    from .writes import SharedArray

#: How a view was made, where that restricts what may be written through it.
PLAIN_VIEW, MULTI_OUTPUT_VIEW, NO_GRAD_VIEW, CUSTOM_VIEW, INFERENCE_VIEW = 0, 1, 2, 3, 4
#: Of what shows the memory of a tensor that does not know of it: it has no base.
UNTRACKED_VIEW = 5


class AutogradMeta:
    """The rarer attributes of a tensor's part in a graph; slots of the tensor hold the frequent ones."""

    __slots__ = (
        "accumulator",
        "creation",
        "follows",
        "forward_grad",
        "grad",
        "grad_type",
        "leaf_extra",
        "lock",
        "name",
        "path",
        "relatives",
        "retains_grad",
        "shared",
    )

    def __init__(self) -> None:
        #: The accumulated gradient of a leaf, or of a tensor that retains it.
        self.grad: Any = None
        #: The Type of a leaf's gradient, where that was said; None: the leaf's.
        self.grad_type: Any = None
        #: The AccumulateGrad of a leaf; weakly where that holds the leaf, or is another handle's.
        self.accumulator: AccumulateGrad | weakref.ref[AccumulateGrad] | None = None
        #: Held while something is added to a leaf's ``grad``; made with its first accumulator.
        self.lock: threading.Lock | None = None
        #: A leaf's hooks, handed to each of its accumulators.
        self.leaf_extra: NodeExtra | None = None
        self.name: str | None = None
        self.retains_grad = False
        self.creation = PLAIN_VIEW
        #: Of a view without a history: it requires gradients only as its base does, and gets none.
        self.follows = False
        #: Of what is no view: those that show the same memory and are no views of it either, itself too.
        self.relatives: ViewList | None = None
        #: Where arrays cannot change: what the tensor shows, with others, and the path to its part.
        self.shared: SharedArray | None = None
        self.path: ViewPath | None = None
        #: The tangents of forward mode.
        self.forward_grad: ForwardGrad | None = None

    def live_accumulator(self) -> AccumulateGrad | None:
        """The AccumulateGrad of a leaf, if there is one."""
        known = self.accumulator
        return known() if known.__class__ is weakref.ref else known  # type: ignore[return-value]

    def fit_accumulator(self, shape: tuple[int, ...], T: Any) -> None:
        """Tell the accumulator that its leaf has another shape or Type from now on."""
        accumulator = self.live_accumulator()
        if accumulator is not None:
            accumulator.shape, accumulator.type = shape, self.grad_type or T


def meta_of(tensor: Any) -> AutogradMeta:
    """The tensor's AutogradMeta, made if there is none yet."""
    meta: AutogradMeta | None = tensor._meta
    if meta is None:
        meta = tensor._meta = AutogradMeta()
    return meta
