"""What normalisations by channel have in common: weight, bias and running statistics."""

from __future__ import annotations

from typing import Any, ClassVar

from tengen.generated.functions import ones, zeros

from ...autograd.grad_mode import no_grad
from ...core.device import device as Device
from ...core.scalar_type import dtype as DType, int64
from ...tensors.tensor import Tensor
from .. import init
from ..parameter import UninitializedBuffer, UninitializedParameter
from .base import Registered, new_parameter
from .lazy import LazyModuleMixin
from .module import Module

__all__: list[str] = []


class NormBase(Module):
    """A normalisation of channels, with ``affine`` with weight and bias, which are 1 and 0 at first.

    With ``track_running_stats`` it has the buffers ``running_mean`` and ``running_var``, which move by
    ``momentum`` to those of each batch (by the plain average where it is None), and ``num_batches_tracked``.
    """

    _version = 2
    __constants__: ClassVar[list[str]] = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    #: The numbers of dimensions of inputs, and what is said of others.
    ranks: ClassVar[tuple[int, ...]] = ()
    num_features: int
    weight: Any = Registered()
    bias: Any = Registered()
    running_mean: Any = Registered("_buffers")
    running_var: Any = Registered("_buffers")
    num_batches_tracked: Any = Registered("_buffers")

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, new_parameter(num_features, device, dtype) if wanted else None)
        tracked = track_running_stats
        self.register_buffer(
            "running_mean", zeros(num_features, device=device, dtype=dtype) if tracked else None
        )
        self.register_buffer(
            "running_var", ones(num_features, device=device, dtype=dtype) if tracked else None
        )
        count = zeros((), dtype=int64, device=device) if tracked else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the batches: mean 0, variance 1, none counted."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Forget the batches; weight 1, bias 0."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim not in self.ranks:
            expected = " or ".join(f"{rank}D" for rank in self.ranks)
            raise ValueError(f"expected {expected} input (got {input.ndim}D input)")

    def extra_repr(self) -> str:
        """What it was made with."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *rest: Any) -> None:
        version = local_metadata.get("version")
        key = f"{prefix}num_batches_tracked"
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            counted = self.num_batches_tracked
            there = counted is not None and not counted.is_meta
            state_dict[key] = counted if there else zeros((), dtype=int64)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class LazyNormBase(LazyModuleMixin, NormBase):
    """A normalisation whose ``num_features`` are those of its first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = zeros((), dtype=int64, device=device)

    def reset_parameters(self) -> None:
        """Forget the batches; weight 1, bias 0; if they have a shape."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Give parameters and statistics the size of the input's channels."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        with no_grad():
            for part in (self.weight, self.bias, self.running_mean, self.running_var):
                if part is not None:
                    part.materialize((self.num_features,))
            self.reset_parameters()
