"""Normalisation of channels over each sample."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

from ...core.device import device as Device
from ...core.scalar_type import dtype as DType
from ...core.user_stack import program_stacklevel
from ...tensors.tensor import Tensor
from .. import functional as F
from .norm_base import LazyNormBase, NormBase

__all__ = [
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class _InstanceNorm(NormBase):
    """What normalisations of samples have in common."""

    ranks: ClassVar[tuple[int, int]]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        """The input (N, C, ...) or (C, ...) with mean 0 and variance 1 in each channel of each sample."""
        self._check_input_dim(input)
        alone = input.ndim == self.ranks[0]
        dim = 0 if alone else 1
        if input.shape[dim] != self.num_features:
            self._tell_of_features(dim, input.shape[dim])
        return self._normalised(input.unsqueeze(0)).squeeze(0) if alone else self._normalised(input)

    def _tell_of_features(self, dim: int, found: int) -> None:
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features ({self.num_features}), "
                f"but got: {found}."
            )
        warnings.warn(
            f"input's size at dim={dim} does not match num_features. You can silence this warning by not "
            "passing in num_features, which is not used because affine=False",
            stacklevel=program_stacklevel(),
        )

    def _normalised(self, input: Tensor) -> Tensor:
        by_sample = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        statistics = (self.running_mean, self.running_var)
        return F.instance_norm(input, *statistics, self.weight, self.bias, by_sample, momentum, self.eps)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        if local_metadata.get("version") is None and not self.track_running_stats:
            there = [f"{prefix}{n}" for n in ("running_mean", "running_var") if f"{prefix}{n}" in state_dict]
            if there:
                names, name = " and ".join(f'"{key}"' for key in there), type(self).__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {name} with track_running_stats=False. "
                    f"If state_dict is a checkpoint saved before 0.4.0, this may be expected because {name} "
                    "does not track running stats by default since 0.4.0. Please remove these keys from "
                    "state_dict. If the running stats are actually needed, instead set "
                    f"track_running_stats=True in {name} to enable them. See the documentation of {name} for "
                    "details."
                )
            for key in there:
                state_dict.pop(key)
        rest = (strict, missing_keys, unexpected_keys, error_msgs)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class InstanceNorm1d(_InstanceNorm):
    """The normalisation of each sample of (N, C, L), or of (C, L). ValueError for other inputs."""

    ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """The normalisation of each sample of (N, C, H, W), or of (C, H, W). ValueError for other inputs."""

    ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """The normalisation of each sample of (N, C, D, H, W), or of (C, D, H, W).

    ValueError for other inputs.
    """

    ranks = (4, 5)


class LazyInstanceNorm1d(LazyNormBase, _InstanceNorm):
    """An InstanceNorm1d whose ``num_features`` are those of its first input; then it is one."""

    cls_to_become = InstanceNorm1d
    ranks = (2, 3)


class LazyInstanceNorm2d(LazyNormBase, _InstanceNorm):
    """An InstanceNorm2d whose ``num_features`` are those of its first input; then it is one."""

    cls_to_become = InstanceNorm2d
    ranks = (3, 4)


class LazyInstanceNorm3d(LazyNormBase, _InstanceNorm):
    """An InstanceNorm3d whose ``num_features`` are those of its first input; then it is one."""

    cls_to_become = InstanceNorm3d
    ranks = (4, 5)
