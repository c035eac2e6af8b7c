"""What begins with an underscore in PyTorch, where several modules of the runtime use it."""

from __future__ import annotations

PRIVATE_THERE = frozenset(
    {
        "_BaseDataLoaderIter",
        "_DependentProperty",
        "_ExperimentalConfig",
        "_IncompatibleKeys",
        "_InverseTransform",
        "_MultiProcessingDataLoaderIter",
        "_SingleProcessDataLoaderIter",
        "_batch_lowrank_logdet",
        "_batch_mahalanobis",
        "_batch_mv",
        "_broadcast_to_and_flatten",
        "_overload",
        "_overload_method",
        "_script_if_tracing",
        "_standard_normal",
        "_sum_rightmost",
    }
)
