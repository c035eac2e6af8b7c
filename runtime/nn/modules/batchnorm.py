"""Normalisation of channels over batches."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.device import device as Device
from ...core.scalar_type import dtype as DType
from ...tensors.tensor import Tensor
from .. import functional as F
from .norm_base import LazyNormBase, NormBase, NormBase as _NormBase  # noqa: F401

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class _BatchNorm(NormBase):
    """What normalisations over batches have in common."""

    def forward(self, input: Tensor) -> Tensor:
        """The input (N, C, ...) with mean 0 and variance 1 in each channel, times weight plus bias.

        In training by mean and variance of the batch, which move the running ones; else by these.
        """
        self._check_input_dim(input)
        factor = 0.0 if self.momentum is None else self.momentum
        tracked = self.track_running_stats
        if self.training and tracked and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                factor = 1.0 / float(self.num_batches_tracked)
        mean, var = self.running_mean, self.running_var
        by_batch = self.training or (mean is None and var is None)
        if self.training and not tracked:
            mean = var = None
        return F.batch_norm(input, mean, var, self.weight, self.bias, by_batch, factor, self.eps)

    def drop_running_stats(self) -> None:
        """Forget the running statistics, and keep none from now on: each batch counts for itself."""
        if self.track_running_stats:
            self.running_mean = self.running_var = self.num_batches_tracked = None
            self.track_running_stats = False


class BatchNorm1d(_BatchNorm):
    """The normalisation of the channels of (N, C) or (N, C, L). ValueError for other inputs."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """The normalisation of the channels of (N, C, H, W). ValueError for other inputs."""

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """The normalisation of the channels of (N, C, D, H, W). ValueError for other inputs."""

    ranks = (5,)


class LazyBatchNorm1d(LazyNormBase, _BatchNorm):
    """A BatchNorm1d whose ``num_features`` are those of its first input; then it is one."""

    cls_to_become = BatchNorm1d
    ranks = (2, 3)


class LazyBatchNorm2d(LazyNormBase, _BatchNorm):
    """A BatchNorm2d whose ``num_features`` are those of its first input; then it is one."""

    cls_to_become = BatchNorm2d
    ranks = (4,)


class LazyBatchNorm3d(LazyNormBase, _BatchNorm):
    """A BatchNorm3d whose ``num_features`` are those of its first input; then it is one."""

    cls_to_become = BatchNorm3d
    ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """A batch normalisation that several processes would share; there is one, so it does as the others do.

    ValueError for inputs of fewer than 2 dimensions or without channels.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module with all its batch normalisations as SyncBatchNorms, with the same parameters."""
        made = module
        if isinstance(module, _BatchNorm):
            made = SyncBatchNorm(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            with no_grad():
                for name in ("weight", "bias") if module.affine else ():
                    setattr(made, name, getattr(module, name))
            for name in ("running_mean", "running_var", "num_batches_tracked", "training"):
                setattr(made, name, getattr(module, name))
        for name, child in module.named_children():
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made
