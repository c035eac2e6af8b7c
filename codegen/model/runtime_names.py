"""What generated modules take from the runtime, by name; ``read.homes`` finds where each is defined.

A name that several modules define has its module before it. The names are reserved: no argument has one.
"""

from __future__ import annotations

from typing import Final

#: The Nodes over Tensors.
NODES: Final = (
    "GeneratedNode", "SavesResults", "FREED", "unpack_result", "unpack_tensor", "graph_is_kept",
    "materialize", "not_implemented", "spread", "unpack_tensors", "widened", "widened_to_sum", "Size",
)  # fmt: skip
#: The Nodes over arrays.
ARRAY_NODES: Final = (
    "is_callers_only", "unpack_array", "unpack_arrays", "unpack_result_array", "LARGE", "LibraryFunction",
    "materialize_array", "modified", "spread",
)  # fmt: skip
#: Forward mode.
JVPS: Final = ("not_implemented", "zero_tangent", "widened", "operator")
#: What the Types of all backends share.
TYPE_DEFAULT: Final = (
    "any_requires_grad", "gradient_edge", "gradient_edges", "grad_mode", "run_inplace", "run_out",
    "LazyModule", "node_support.not_differentiable", "record_composite", "versions", "run_not_implemented",
    "rounded", "widened_call", "operator", "tensor.Tensor", "lacks", "in_shape_of", "Type",
)  # fmt: skip
#: What the Types that record share.
VARIABLE_TYPE: Final = (
    "any_requires_grad", "gradient_edge", "gradient_edges", "grad_mode", "differentiable", "LazyModule",
    "no_gradients", "node_support.not_differentiable", "record_node", "record_not_implemented",
    "untracked_view", "versions", "tensor.Tensor",
)  # fmt: skip
#: The Types of a backend.
TYPES: Final = (
    "grad_mode", "run_in_mode", "as_view", "explain", "LARGE", "LazyModule", "LibraryFunction", "versions",
    "operator", "result_layout.channels_last", "column_major", "contiguous", "contiguous_or_channels_last",
    "like", "strided_as",
    "tensor.Tensor",
)  # fmt: skip
#: Those that do not record.
PLAIN_TYPES: Final = (
    "run_factory", "run_kernel", "run_kernels", "run_shared", "run_shared_list", "run_view", "run_views",
    "Promoted", "keeps", "lacks",
)  # fmt: skip
#: Those that record.
RECORDING_TYPES: Final = (
    "any_requires_grad", "gradient_edge", "gradient_edges", "next_sequence_nr", "check_overlap", "store",
    "writes_freely", "written", "differentiable", "no_gradients", "node_support.not_differentiable",
    "record_node", "record_not_implemented", "untracked_view", "storage_of",
)  # fmt: skip
#: What users call; no operator is called as the last is.
BINDINGS: Final = (
    "plain", "active", "memory_format as MemoryFormat", "dtype as ScalarType", "MISSING", "as_given", "held",
    "ints", "many_ints", "one_type", "or_given", "worded", "document as __document__", "again", "but_none",
)  # fmt: skip
METHODS: Final = ("TensorBase", "declare_tensor", "call", "call_comparison", "call_operator", "make")
FUNCTIONS: Final = ("INTEGRAL", "factory_type", "call", "make", "tensor.Tensor")
#: What makes ufuncs of native kernels; what gives functions their fast paths, and the methods of classes.
NATIVE_KERNELS: Final = ("kernels_of",)
FAST_PATHS: Final = ("add_fast_paths",)
FAST_PATHS_OF_BINDINGS: Final = ("add_fast_paths as __add_fast_paths__",)
FAST_PATHS_OF_CLASSES: Final = ("add_fast_paths_to_classes",)
#: What is written of operators for ONNX.
SYMBOLICS: Final = ("onnx",)

ALL: Final = (
    NODES, ARRAY_NODES, JVPS, TYPE_DEFAULT, VARIABLE_TYPE, TYPES, PLAIN_TYPES, RECORDING_TYPES, BINDINGS,
    METHODS, FUNCTIONS, NATIVE_KERNELS, FAST_PATHS, FAST_PATHS_OF_BINDINGS, FAST_PATHS_OF_CLASSES, SYMBOLICS,
)  # fmt: skip


def called(*tables: tuple[str, ...]) -> frozenset[str]:
    """What generated code calls the names of these tables."""
    return frozenset(name.rpartition(" ")[2].rpartition(".")[2] for table in tables for name in table)
