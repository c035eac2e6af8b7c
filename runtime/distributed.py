"""Training by several processes, by PyTorch's names: it is not available here.

``is_available`` says so. The other names are there, so that programs which import them can be imported;
whoever calls one gets RuntimeError. What outgrows a machine goes to a cluster by the arrays: see the device
"dask".
"""

from __future__ import annotations

from typing import Any

from .core.absent import absent
from .core.package_name import package

__all__ = ["is_available", "is_initialized", "is_torchelastic_launched"]

_NAMES = frozenset(
    (
        "Backend",
        "BackendConfig",
        "BarrierOptions",
        "BroadcastOptions",
        "DeviceMesh",
        "DistBackendError",
        "DistError",
        "DistNetworkError",
        "DistStoreError",
        "FileStore",
        "GatherOptions",
        "GradBucket",
        "HashStore",
        "P2POp",
        "PrefixStore",
        "ProcessGroup",
        "ProcessGroupGloo",
        "ProcessGroupMPI",
        "ProcessGroupNCCL",
        "ReduceOp",
        "ReduceOptions",
        "ScatterOptions",
        "Store",
        "TCPStore",
        "Work",
        "all_gather",
        "all_gather_coalesced",
        "all_gather_into_tensor",
        "all_gather_object",
        "all_reduce",
        "all_reduce_coalesced",
        "all_to_all",
        "all_to_all_single",
        "barrier",
        "batch_isend_irecv",
        "broadcast",
        "broadcast_object_list",
        "breakpoint",
        "destroy_process_group",
        "gather",
        "gather_object",
        "get_backend",
        "get_backend_config",
        "get_global_rank",
        "get_group_rank",
        "get_node_local_rank",
        "get_process_group_ranks",
        "get_rank",
        "get_world_size",
        "group",
        "init_device_mesh",
        "init_process_group",
        "irecv",
        "is_backend_available",
        "is_gloo_available",
        "is_mpi_available",
        "is_nccl_available",
        "is_ucc_available",
        "is_xccl_available",
        "isend",
        "monitored_barrier",
        "new_group",
        "new_subgroups",
        "new_subgroups_by_enumeration",
        "recv",
        "recv_object_list",
        "reduce",
        "reduce_op",
        "reduce_scatter",
        "reduce_scatter_tensor",
        "rpc",
        "scatter",
        "scatter_object_list",
        "send",
        "send_object_list",
        "split_group",
        "supports_complex",
    )
)


def __dir__() -> list[str]:
    return sorted(__all__)


def is_available() -> bool:
    """False: there is no such thing here."""
    return False


def is_initialized() -> bool:
    """False: there is no group of processes."""
    return False


def is_torchelastic_launched() -> bool:
    """False: there is no such thing here."""
    return False


#: Why a name is not available.
REASON = (
    'tengen computes in one process. A device of another array library ("dask", "jax") spreads arrays over '
    "machines"
)


def __getattr__(name: str) -> Any:
    if name.startswith("is_") and name in _NAMES:
        return is_available
    if name in _NAMES:
        return absent(f"{package.name}.distributed", name, REASON)
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}; distributed.is_available() is False"
    )
