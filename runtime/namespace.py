"""What ``tengen`` has: the names that users write."""
# ruff: noqa: F403, F405

from __future__ import annotations

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import TYPE_CHECKING as _TYPE_CHECKING

import tengen.bindings as _bindings  # noqa: F401
from tengen.autograd import enable_grad as enable_grad
from tengen.autograd import inference_mode as inference_mode
from tengen.autograd import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from tengen.autograd import is_anomaly_enabled as is_anomaly_enabled
from tengen.autograd import is_grad_enabled as is_grad_enabled
from tengen.autograd import is_inference_mode_enabled as is_inference_mode_enabled
from tengen.autograd import no_grad as no_grad
from tengen.autograd import set_grad_enabled as set_grad_enabled
from tengen.creation import as_tensor as as_tensor
from tengen.creation import asarray as asarray
from tengen.creation import from_numpy as from_numpy
from tengen.creation import frombuffer as frombuffer
from tengen.creation import tensor as tensor
from tengen.device import device as device
from tengen.function_dispatch import make_overridable as _make_overridable
from tengen.generated.functions import *
from tengen.generated.scalar_types import *
from tengen.interop import from_dlpack as from_dlpack
from tengen.interop import to_dlpack as to_dlpack
from tengen.memory_format import channels_last as channels_last
from tengen.memory_format import channels_last_3d as channels_last_3d
from tengen.memory_format import contiguous_format as contiguous_format
from tengen.memory_format import layout as layout
from tengen.memory_format import memory_format as memory_format
from tengen.memory_format import preserve_format as preserve_format
from tengen.memory_format import strided as strided
from tengen.native.parallel import get_num_threads as get_num_threads
from tengen.native.parallel import set_num_threads as set_num_threads
from tengen.printing import get_printoptions as get_printoptions
from tengen.printing import printoptions as printoptions
from tengen.printing import set_printoptions as set_printoptions
from tengen.promotion import can_cast as can_cast
from tengen.promotion import promote_types as promote_types
from tengen.promotion import result_type as result_type
from tengen.queries import is_complex as is_complex
from tengen.queries import is_floating_point as is_floating_point
from tengen.queries import is_inference as is_inference
from tengen.queries import is_nonzero as is_nonzero
from tengen.queries import is_same_size as is_same_size
from tengen.queries import is_storage as is_storage
from tengen.queries import is_tensor as is_tensor
from tengen.queries import numel as numel
from tengen.queries import typename as typename
from tengen.random import Generator as Generator
from tengen.random import default_generator as default_generator
from tengen.random import get_rng_state as get_rng_state
from tengen.random import initial_seed as initial_seed
from tengen.random import manual_seed as manual_seed
from tengen.random import seed as seed
from tengen.random import set_rng_state as set_rng_state
from tengen.scalar_type import dtype as dtype
from tengen.scalar_type import finfo as finfo
from tengen.scalar_type import get_default_dtype as get_default_dtype
from tengen.scalar_type import iinfo as iinfo
from tengen.scalar_type import set_default_dtype as set_default_dtype
from tengen.serialization import load as load
from tengen.serialization import save as save
from tengen.size import Size as Size
from tengen.storage import UntypedStorage as UntypedStorage
from tengen.tensor import Tensor as Tensor
from tengen.variadic import block_diag as block_diag
from tengen.variadic import broadcast_tensors as broadcast_tensors
from tengen.variadic import cartesian_prod as cartesian_prod
from tengen.variadic import chain_matmul as chain_matmul
from tengen.variadic import einsum as einsum
from tengen.variadic import meshgrid as meshgrid
from tengen.variadic import tensordot as tensordot

if _TYPE_CHECKING:
    from tengen import autograd as autograd
    from tengen import func as func
    from tengen import jit as jit
    from tengen import library as library
    from tengen import linalg as linalg
    from tengen import nn as nn
    from tengen import onnx as onnx
    from tengen import ops as ops
    from tengen import optim as optim
    from tengen import overrides as overrides
    from tengen import profiler as profiler
    from tengen import random as random
    from tengen import special as special
    from tengen import utils as utils
    from tengen.custom_operators.tags import Tag as Tag
    from tengen.func import vmap as vmap

newaxis = None

_make_overridable(globals(), "result_type")

# Python's names are the scalar types' here, as in PyTorch.
bool = bool_
int = int_
float = float_
