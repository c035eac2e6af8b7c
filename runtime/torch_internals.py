"""The content of PyTorch's private modules that packages import, where it means something here."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from typing import Any, Final

from .core.absent import absent

_NO_HIGHER: Final = "what is called with functions is a function here"
_NO_DISPATCH: Final = "`__torch_function__`, of a class or a mode, sees the calls of operators"


def _custom_ops() -> dict[str, Any]:
    """``torch._custom_ops``: the older names of ``torch.library``'s functions."""
    library = import_module("tengen.library")

    def custom_op(qualname: str, func_or_schema: Any = None) -> Any:
        """Define an operator by its schema, or as a decorator of a function that has its signature."""
        if isinstance(func_or_schema, str):
            return library.define(qualname, func_or_schema)

        def define(function: Any) -> Any:
            library.define(qualname, library.infer_schema(function, mutates_args=()))
            return function

        return define if func_or_schema is None else define(func_or_schema)

    def impl(qualname: str, *, device_types: Any = None, func: Any = None) -> Any:
        return library.register_kernel(qualname, device_types, func)

    def impl_abstract(qualname: str, *, func: Any = None) -> Any:
        return library.register_fake(qualname, func)

    return {
        "custom_op": custom_op,
        "get_ctx": library.get_ctx,
        "impl": impl,
        "impl_abstract": impl_abstract,
        "infer_schema": library.infer_schema,
    }


def _tensor_str() -> dict[str, Any]:
    """``torch._tensor_str``: the options of printing, and the text of the elements alone."""
    printing = import_module("tengen.tensors.printing")
    names = ("get_printoptions", "printoptions", "set_printoptions")
    return {
        **{name: getattr(printing, name) for name in names},
        "PRINT_OPTS": printing.options,
        "_str": lambda self, *, tensor_contents=None: printing.tensor_str(self),
        "_tensor_str": lambda self, indent: printing.elements_str(self, indent),
    }


def _operators() -> dict[str, Any]:
    """``torch._ops``: the classes of operators."""
    overloads = import_module("tengen.custom_operators.overloads")
    return {
        "HigherOrderOperator": absent("torch._ops", "HigherOrderOperator", _NO_HIGHER),
        "OpOverload": overloads.OpOverload,
        "OpOverloadPacket": overloads.OpOverloadPacket,
        "ops": import_module("tengen.ops"),
    }


def _contextlib() -> dict[str, Any]:
    """``torch.utils._contextlib``: contexts that decorate."""
    ContextDecorator: Any = import_module("tengen.autograd.grad_mode").ContextDecorator

    class _NoParamDecoratorContextManager(ContextDecorator):  # type: ignore[misc]
        """A context that decorates without parentheses, too."""

        def __new__(cls, orig_func: Any = None) -> Any:
            made = super().__new__(cls)
            return made if orig_func is None else made(orig_func)

    return {
        "_DecoratorContextManager": ContextDecorator,
        "_NoParamDecoratorContextManager": _NoParamDecoratorContextManager,
    }


def _python_dispatch() -> dict[str, Any]:
    """``torch.utils._python_dispatch``: there are no modes of it, and subclasses of tensors wrap none."""

    def is_traceable_wrapper_subclass(t: object) -> bool:
        tensor: Any = import_module("tengen").Tensor
        kind = type(t)
        is_own = isinstance(t, tensor) and kind is not tensor
        return is_own and all(hasattr(kind, name) for name in ("__tensor_flatten__", "__tensor_unflatten__"))

    return {
        "TorchDispatchMode": absent("torch.utils._python_dispatch", "TorchDispatchMode", _NO_DISPATCH),
        "_disable_current_modes": nullcontext,
        "_get_current_dispatch_mode": lambda: None,
        "_get_current_dispatch_mode_stack": list,
        "is_in_torch_dispatch_mode": lambda include_infra_modes=True: False,
        "is_traceable_wrapper_subclass": is_traceable_wrapper_subclass,
    }


def _functional_tensor() -> dict[str, Any]:
    reason = "`torch.func.functionalize` writes through no wrappers"
    return {
        "FunctionalTensor": absent("torch._subclasses.functional_tensor", "FunctionalTensor", reason),
        "mb_unwrap_functional_tensor": lambda tensor: tensor,
    }


def available_device_type() -> str | None:
    """The kind of accelerators that is there, or None."""
    found = import_module("tengen.accelerator").current_accelerator()
    return None if found is None else str(found.type)


def device_module(device_type: str) -> Any:
    """The module of a kind of devices. RuntimeError where there is none."""
    found = getattr(import_module("tengen"), device_type, None)
    if found is None:
        name = f"torch.{device_type}"
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as '{name}'."
        )
    return found


def _named_member_accessor() -> dict[str, Any]:
    return {"swap_tensor": import_module("tengen.func.module_state").swap_tensor}


def _model_zoo() -> dict[str, Any]:
    """``torch.utils.model_zoo``: an older name of what ``torch.hub`` downloads."""
    try:
        tqdm: Any = import_module("tqdm").tqdm
    except ImportError:
        tqdm = absent("torch.utils.model_zoo", "tqdm", "the package tqdm is not installed")
    return {"load_url": import_module("tengen.hub").load_state_dict_from_url, "tqdm": tqdm}


#: By PyTorch's name: a module of tengen, or what gives the names in one that is made.
INTERNALS: Final[dict[str, str | Callable[[], dict[str, Any]]]] = {
    "torch._custom_ops": _custom_ops,
    "torch._dynamo.utils": lambda: {"is_compile_supported": lambda device_type: False},
    "torch._functorch": dict,
    "torch._functorch.make_functional": "tengen.torch_functorch",
    "torch._functorch.vmap": "tengen.func.vmap_parts",
    "torch._guards": lambda: {"active_fake_mode": lambda: None, "detect_fake_mode": lambda inputs=None: None},
    "torch._ops": _operators,
    "torch._subclasses.functional_tensor": _functional_tensor,
    "torch._tensor_str": _tensor_str,
    "torch.nn.utils._named_member_accessor": _named_member_accessor,
    "torch.utils._contextlib": _contextlib,
    "torch.utils._python_dispatch": _python_dispatch,
    "torch.utils.model_zoo": _model_zoo,
    "torch.utils.data._utils.worker": "tengen.utils.data.worker",
}
