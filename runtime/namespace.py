"""What ``tengen`` has: the names that users write."""
# ruff: noqa: F403, F405, F821

import typing as _typing
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi

from tengen.generated.functions import *
from tengen.generated.scalar_types import *

from .autograd import enable_grad as enable_grad
from .autograd import inference_mode as inference_mode
from .autograd import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from .autograd import is_anomaly_enabled as is_anomaly_enabled
from .autograd import is_grad_enabled as is_grad_enabled
from .autograd import is_inference_mode_enabled as is_inference_mode_enabled
from .autograd import no_grad as no_grad
from .autograd import set_grad_enabled as set_grad_enabled
from .autograd.anomaly_mode import set_anomaly_enabled as set_anomaly_enabled
from .core.device import device as device
from .core.device import get_default_device as get_default_device
from .core.device import set_default_device as set_default_device
from .core.function_dispatch import make_overridable as _make_overridable
from .core.function_dispatch import register_names as _register_names
from .core.memory_format import channels_last as channels_last
from .core.memory_format import channels_last_3d as channels_last_3d
from .core.memory_format import contiguous_format as contiguous_format
from .core.memory_format import layout as layout
from .core.memory_format import memory_format as memory_format
from .core.memory_format import preserve_format as preserve_format
from .core.memory_format import sparse_bsc as sparse_bsc
from .core.memory_format import sparse_bsr as sparse_bsr
from .core.memory_format import sparse_coo as sparse_coo
from .core.memory_format import sparse_csc as sparse_csc
from .core.memory_format import sparse_csr as sparse_csr
from .core.memory_format import strided as strided
from .core.promotion import can_cast as can_cast
from .core.promotion import promote_types as promote_types
from .core.promotion import result_type as result_type
from .core.scalar_type import dtype as dtype
from .core.scalar_type import finfo as finfo
from .core.scalar_type import get_default_dtype as get_default_dtype
from .core.scalar_type import iinfo as iinfo
from .core.scalar_type import set_default_dtype as set_default_dtype
from .core.size import Size as Size
from .core.storage import UntypedStorage as UntypedStorage
from .functional import block_diag as block_diag
from .functional import broadcast_shapes as broadcast_shapes
from .functional import broadcast_tensors as broadcast_tensors
from .functional import cartesian_prod as cartesian_prod
from .functional import cdist as cdist
from .functional import chain_matmul as chain_matmul
from .functional import einsum as einsum
from .functional import lu as lu
from .functional import meshgrid as meshgrid
from .functional import tensordot as tensordot
from .native.parallel import get_num_threads as get_num_threads
from .native.parallel import set_num_threads as set_num_threads
from .random import Generator as Generator
from .random import default_generator as default_generator
from .random import get_rng_state as get_rng_state
from .random import initial_seed as initial_seed
from .random import manual_seed as manual_seed
from .random import seed as seed
from .random import set_rng_state as set_rng_state
from .random import thread_safe_generator as thread_safe_generator
from .serialization import load as load
from .serialization import save as save
from .tensors.creation import as_tensor as as_tensor
from .tensors.creation import asarray as asarray
from .tensors.creation import from_numpy as from_numpy
from .tensors.creation import frombuffer as frombuffer
from .tensors.creation import tensor as tensor
from .tensors.interop import from_dlpack as from_dlpack
from .tensors.interop import to_dlpack as to_dlpack
from .tensors.printing import get_printoptions as get_printoptions
from .tensors.printing import printoptions as printoptions
from .tensors.printing import set_printoptions as set_printoptions
from .tensors.queries import detach_ as detach_
from .tensors.queries import get_device as get_device
from .tensors.queries import is_complex as is_complex
from .tensors.queries import is_conj as is_conj
from .tensors.queries import is_distributed as is_distributed
from .tensors.queries import is_floating_point as is_floating_point
from .tensors.queries import is_inference as is_inference
from .tensors.queries import is_neg as is_neg
from .tensors.queries import is_nonzero as is_nonzero
from .tensors.queries import is_same_size as is_same_size
from .tensors.queries import is_signed as is_signed
from .tensors.queries import is_storage as is_storage
from .tensors.queries import is_tensor as is_tensor
from .tensors.queries import numel as numel
from .tensors.queries import typename as typename
from .tensors.tensor import Tensor as Tensor

if _typing.TYPE_CHECKING:
    from . import autograd as autograd
    from . import func as func
    from . import jit as jit
    from . import library as library
    from . import linalg as linalg
    from . import nn as nn
    from . import onnx as onnx
    from . import ops as ops
    from . import optim as optim
    from . import overrides as overrides
    from . import profiler as profiler
    from . import random as random
    from . import special as special
    from . import utils as utils
    from .custom_operators.tags import Tag as Tag
    from .func.vmap import vmap as vmap
    from .settings import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
    from .settings import get_deterministic_debug_mode as get_deterministic_debug_mode
    from .settings import get_float32_matmul_precision as get_float32_matmul_precision
    from .settings import get_num_interop_threads as get_num_interop_threads
    from .settings import (
        is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled,
    )
    from .settings import is_warn_always_enabled as is_warn_always_enabled
    from .settings import set_deterministic_debug_mode as set_deterministic_debug_mode
    from .settings import set_float32_matmul_precision as set_float32_matmul_precision
    from .settings import set_flush_denormal as set_flush_denormal
    from .settings import set_num_interop_threads as set_num_interop_threads
    from .settings import set_warn_always as set_warn_always
    from .settings import use_deterministic_algorithms as use_deterministic_algorithms
    from .tensors.sparse_creation import sparse_coo_tensor as sparse_coo_tensor

newaxis = None
legacy_contiguous_format = contiguous_format

_make_overridable(globals(), "result_type")


def _name_of(function: _typing.Any) -> str | None:
    from .overrides import resolve_name  # which lists all that is public

    return resolve_name(function)


_register_names(_name_of)

# Python's names are the scalar types' here, as in PyTorch.
bool, int, float = bool_, int_, float_
del bool_, int_, float_
