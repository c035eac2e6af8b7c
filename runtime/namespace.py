"""What ``tengen`` has: the names that users write."""
# ruff: noqa: F403, F405, F821

import typing as _typing
from math import e as e, inf as inf, nan as nan, pi as pi
from types import ModuleType as _ModuleType

from tengen.generated.functions import *
from tengen.generated.scalar_types import *

from .autograd import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    is_anomaly_enabled as is_anomaly_enabled,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from .autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from .core.array_namespace import register_namespace as _register_namespace
from .core.device import (
    device as device,
    get_default_device as get_default_device,
    register_accelerator as _register_accelerator,
    set_default_device as set_default_device,
)
from .core.function_dispatch import make_overridable as _make_overridable, register_names as _register_names
from .core.memory_format import (
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format,
    jagged as jagged,
    layout as layout,
    memory_format as memory_format,
    preserve_format as preserve_format,
    sparse_bsc as sparse_bsc,
    sparse_bsr as sparse_bsr,
    sparse_coo as sparse_coo,
    sparse_csc as sparse_csc,
    sparse_csr as sparse_csr,
    strided as strided,
)
from .core.promotion import can_cast as can_cast, promote_types as promote_types, result_type as result_type
from .core.scalar_type import (
    dtype as dtype,
    finfo as finfo,
    get_default_dtype as get_default_dtype,
    iinfo as iinfo,
    set_default_dtype as set_default_dtype,
)
from .core.size import Size as Size
from .core.storage import UntypedStorage as UntypedStorage
from .core.sym_int import SymInt as SymInt
from .eigensolvers import lobpcg as lobpcg
from .functional import (
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    block_diag as block_diag,
    broadcast_shapes as broadcast_shapes,
    broadcast_tensors as broadcast_tensors,
    cartesian_prod as cartesian_prod,
    cdist as cdist,
    chain_matmul as chain_matmul,
    einsum as einsum,
    lu as lu,
    meshgrid as meshgrid,
    tensordot as tensordot,
)
from .kernels.parallel import get_num_threads as get_num_threads, set_num_threads as set_num_threads
from .random import (
    Generator as Generator,
    default_generator as default_generator,
    get_rng_state as get_rng_state,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    seed as seed,
    set_rng_state as set_rng_state,
    thread_safe_generator as thread_safe_generator,
)
from .serialization import load as load, save as save
from .tensors import fast_path_classes as _fast_path_classes  # noqa: F401  it tells the C machine of the classes
from .tensors.creation import (
    as_tensor as as_tensor,
    asarray as asarray,
    from_file as from_file,
    from_numpy as from_numpy,
    frombuffer as frombuffer,
    tensor as tensor,
)
from .tensors.interop import from_dlpack as from_dlpack, to_dlpack as to_dlpack
from .tensors.printing import (
    get_printoptions as get_printoptions,
    printoptions as printoptions,
    set_printoptions as set_printoptions,
)
from .tensors.queries import (
    detach_ as detach_,
    get_device as get_device,
    is_complex as is_complex,
    is_conj as is_conj,
    is_distributed as is_distributed,
    is_floating_point as is_floating_point,
    is_inference as is_inference,
    is_neg as is_neg,
    is_nonzero as is_nonzero,
    is_same_size as is_same_size,
    is_signed as is_signed,
    is_storage as is_storage,
    is_tensor as is_tensor,
    numel as numel,
    typename as typename,
)
from .tensors.tensor import Tensor as Tensor

if _typing.TYPE_CHECKING:
    from . import (
        amp as amp,
        array_api as array_api,
        autograd as autograd,
        func as func,
        jit as jit,
        library as library,
        linalg as linalg,
        nn as nn,
        onnx as onnx,
        ops as ops,
        optim as optim,
        overrides as overrides,
        profiler as profiler,
        random as random,
        special as special,
        utils as utils,
    )
    from .accelerator import get_device_module as get_device_module
    from .amp import GradScaler as GradScaler, autocast as autocast
    from .compiler import compile as compile
    from .cuda import OutOfMemoryError as OutOfMemoryError
    from .custom_operators.tags import Tag as Tag
    from .dispatch.autocast import (
        autocast_decrement_nesting as autocast_decrement_nesting,
        autocast_increment_nesting as autocast_increment_nesting,
        clear_autocast_cache as clear_autocast_cache,
        get_autocast_cpu_dtype as get_autocast_cpu_dtype,
        get_autocast_dtype as get_autocast_dtype,
        get_autocast_gpu_dtype as get_autocast_gpu_dtype,
        is_autocast_cache_enabled as is_autocast_cache_enabled,
        is_autocast_cpu_enabled as is_autocast_cpu_enabled,
        is_autocast_enabled as is_autocast_enabled,
        set_autocast_cache_enabled as set_autocast_cache_enabled,
        set_autocast_cpu_dtype as set_autocast_cpu_dtype,
        set_autocast_cpu_enabled as set_autocast_cpu_enabled,
        set_autocast_dtype as set_autocast_dtype,
        set_autocast_enabled as set_autocast_enabled,
        set_autocast_gpu_dtype as set_autocast_gpu_dtype,
    )
    from .func.vmap import vmap as vmap
    from .settings import (
        are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled,
        get_deterministic_debug_mode as get_deterministic_debug_mode,
        get_float32_matmul_precision as get_float32_matmul_precision,
        get_num_interop_threads as get_num_interop_threads,
        is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
        is_warn_always_enabled as is_warn_always_enabled,
        set_deterministic_debug_mode as set_deterministic_debug_mode,
        set_float32_matmul_precision as set_float32_matmul_precision,
        set_flush_denormal as set_flush_denormal,
        set_num_interop_threads as set_num_interop_threads,
        set_warn_always as set_warn_always,
        use_deterministic_algorithms as use_deterministic_algorithms,
    )
    from .tensors.compressed_creation import (
        sparse_bsc_tensor as sparse_bsc_tensor,
        sparse_bsr_tensor as sparse_bsr_tensor,
        sparse_compressed_tensor as sparse_compressed_tensor,
        sparse_csc_tensor as sparse_csc_tensor,
        sparse_csr_tensor as sparse_csr_tensor,
    )
    from .tensors.sparse_creation import sparse_coo_tensor as sparse_coo_tensor
    from .tensors.typed_classes import set_default_tensor_type as set_default_tensor_type
    from .tensors.typed_storage import TypedStorage as TypedStorage
    from .torch_imports import as_torch as as_torch

newaxis = None
legacy_contiguous_format = contiguous_format

_make_overridable(globals(), "result_type")


def _name_of(function: _typing.Any) -> str | None:
    from .overrides import resolve_name  # which lists all that is public

    return resolve_name(function)


_register_names(_name_of)


def _accelerator() -> str | None:
    from .accelerator import current_accelerator  # which asks its library

    found = current_accelerator(check_available=True)
    return None if found is None else found.type


_register_accelerator(_accelerator)


def _array_namespace() -> _ModuleType:
    from . import array_api

    return array_api


_register_namespace(_array_namespace)

# Python's names are the scalar types' here, as in PyTorch.
bool, int, float = bool_, int_, float_
del bool_, int_, float_
