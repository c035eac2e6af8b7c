"""tengen: tensors and automatic differentiation, with operators that are generated from YAML.

The names are PyTorch's, and so is what they do; docs/differences.md says where not.
"""

from __future__ import annotations

import gc as _gc
import typing as _typing
import warnings as _warnings
from importlib import import_module as _import_module

from .generating import generating as _generating
from .version import __version__ as __version__

# A division by zero is no event: its result says so, as in PyTorch.
_warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"tengen\.")

_broken: Exception | None = None
if not _generating():
    # All that is made here stays: to look for garbage meanwhile would take a tenth of the time.
    _collecting = _gc.isenabled()
    _gc.disable()
    try:
        # First, for from deep inside the packages its import takes a quarter longer.
        import numpy as _numpy  # noqa: F401

        from .namespace import *  # noqa: F403
    except Exception as _error:
        _broken = _error
    finally:
        if _collecting:
            if not _gc.get_freeze_count():
                # Old at once, or the next allocation would have all of it looked through.
                _gc.freeze()
                _gc.unfreeze()
            _gc.enable()

_SUBMODULES = frozenset(
    {
        "amp",
        "array_api",
        "__config__",
        "accelerator",
        "autograd",
        "backends",
        "compiler",
        "cpu",
        "distributed",
        "distributions",
        "fft",
        "func",
        "functional",
        "hub",
        "jit",
        "library",
        "linalg",
        "masked",
        "mps",
        "multiprocessing",
        "nn",
        "onnx",
        "ops",
        "optim",
        "overrides",
        "profiler",
        "quasirandom",
        "random",
        "serialization",
        "signal",
        "nested",
        "sparse",
        "special",
        "storage",
        "testing",
        "types",
        "utils",
        "version",
        "xpu",
    }
)

#: Modules that have their name here only.
_ELSEWHERE = {"return_types": "tengen.generated.return_types"}

#: What is in a module that is imported when it is used.
_LAZY = {
    "GradScaler": "amp",
    "Tag": "library",
    "are_deterministic_algorithms_enabled": "settings",
    "autocast": "amp",
    "autocast_decrement_nesting": "dispatch.autocast",
    "autocast_increment_nesting": "dispatch.autocast",
    "clear_autocast_cache": "dispatch.autocast",
    "get_autocast_cpu_dtype": "dispatch.autocast",
    "get_autocast_dtype": "dispatch.autocast",
    "get_autocast_gpu_dtype": "dispatch.autocast",
    "TypedStorage": "tensors.typed_storage",
    "as_torch": "torch_imports",
    "compile": "compiler",
    "OutOfMemoryError": "cuda",
    "get_deterministic_debug_mode": "settings",
    "get_device_module": "accelerator",
    "get_float32_matmul_precision": "settings",
    "get_num_interop_threads": "settings",
    "is_autocast_cache_enabled": "dispatch.autocast",
    "is_autocast_cpu_enabled": "dispatch.autocast",
    "is_autocast_enabled": "dispatch.autocast",
    "is_deterministic_algorithms_warn_only_enabled": "settings",
    "is_warn_always_enabled": "settings",
    "set_autocast_cache_enabled": "dispatch.autocast",
    "set_autocast_cpu_dtype": "dispatch.autocast",
    "set_autocast_cpu_enabled": "dispatch.autocast",
    "set_autocast_dtype": "dispatch.autocast",
    "set_autocast_enabled": "dispatch.autocast",
    "set_autocast_gpu_dtype": "dispatch.autocast",
    "set_default_tensor_type": "tensors.typed_classes",
    "set_deterministic_debug_mode": "settings",
    "set_float32_matmul_precision": "settings",
    "set_flush_denormal": "settings",
    "set_num_interop_threads": "settings",
    "set_warn_always": "settings",
    "sparse_bsc_tensor": "tensors.compressed_creation",
    "sparse_bsr_tensor": "tensors.compressed_creation",
    "sparse_compressed_tensor": "tensors.compressed_creation",
    "sparse_coo_tensor": "tensors.sparse_creation",
    "sparse_csc_tensor": "tensors.compressed_creation",
    "sparse_csr_tensor": "tensors.compressed_creation",
    "use_deterministic_algorithms": "settings",
    "vmap": "func",
}


def __dir__() -> list[str]:
    """What users write, and none of the modules that it is made in; PyTorch has these names, too."""
    special = {name for name in globals() if name.startswith("__")}
    return sorted(
        {*special, *_public(), *_SUBMODULES, *_ELSEWHERE, *_LAZY, *_typed_classes(), *_storage_classes()}
    )


def _public() -> list[str]:
    return [name for name in vars(_import_module("tengen.namespace")) if not name.startswith("_")]


def _typed_classes() -> frozenset[str]:
    """The classes of tensors of one dtype, "FloatTensor", of the dtypes that are older than ``dtype``."""
    from .core.scalar_type import CLASS_NAMES

    return CLASS_NAMES


def _storage_classes() -> frozenset[str]:
    """The classes of storages of one dtype, "FloatStorage"."""
    from .core.scalar_type import STORAGE_NAMES

    return STORAGE_NAMES


def _is_device_module(name: str) -> _typing.Any:
    """Whether a device of another array library has this name, and a module of it here, which needs it."""
    from tengen.generated.backends import BACKENDS

    if name not in {row["device"] for row in BACKENDS.values() if "extra" in row}:
        return False  # before any file is looked at: programs ask for names that are not there
    from pathlib import Path

    here = Path(__file__).parent
    return (here / f"{name}.py").exists() or (here / name).is_dir()


def _attribute(name: str) -> _typing.Any:
    """Submodules that are imported when they are first used; what a process that generates left out."""
    if _broken is not None:
        reason = "the generated code does not load; `python -m tengen.codegen.gen` makes it anew"
        raise ImportError(f"{reason} ({type(_broken).__name__}: {_broken})") from _broken
    if name == "__all__":
        return _public()
    if name in _SUBMODULES or name in _ELSEWHERE:
        return _import_module(_ELSEWHERE.get(name, f"tengen.{name}"))
    if not name.startswith("_") and not _generating() and _is_device_module(name):
        return _import_module(f"tengen.{name}")
    if name in _LAZY:
        return getattr(_import_module(f"tengen.{_LAZY[name]}"), name)
    if name in _typed_classes():
        return _import_module("tengen.tensors.typed_classes").typed_class(name)
    if name in _storage_classes():
        return _import_module("tengen.tensors.storage_classes").storage_class(name)
    if name == "_segment_reduce":  # PyTorch's first name for it
        return _import_module("tengen.generated.functions").segment_reduce
    if name.startswith("_") and not name.startswith("__") and not _generating():
        # An operator with an underscore, as PyTorch has them beside its public ones; `dir` does not show it.
        found = getattr(_import_module("tengen.generated.internal_functions"), name, None)
        if getattr(found, "__module__", None) == "tengen.generated.internal_functions":
            return found
    if _generating() and not name.startswith("__"):
        return getattr(_import_module("tengen.namespace"), name)
    raise _import_module("tengen.core.missing_name").MissingName("tengen", name, __dir__)


if not _typing.TYPE_CHECKING:  # a checker would believe that every name exists
    __getattr__ = _attribute
