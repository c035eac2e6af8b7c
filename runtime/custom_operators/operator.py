"""CustomOperator: an operator whose kernels, derivative and batching rule a program registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tengen.generated.backends import BACKENDS
from tengen.generated.operators import Row

from ..autograd.grad_mode import grad_mode
from ..core.device import DEVICES, as_device, default_device
from ..core.interception import active, layers_hidden
from ..core.library_tables import add_row, remove_row
from ..core.storage import storage_of
from ..core.tensor_base import TensorBase
from ..dispatch.autocast import SUPPORTED as AUTOCAST_DEVICES, is_autocast_available
from ..dispatch.operator import Operator, add_operator, remove_operator
from .conversions import conversion
from .keys import AUTOGRAD, EXPLICIT, IMPLICIT

if TYPE_CHECKING:
    from .gradients import Formula
    from .schemas import FunctionSchema


def fallthrough_kernel() -> None:
    """What ``Library.impl`` is given so that nothing is done for a key.

    It is never called: NotImplementedError.
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A function that was registered for a key of an operator."""

    function: Callable[..., Any]
    key: str
    with_keyset: bool
    source: str
    #: What ``register_autograd`` was given, if that has registered it.
    formula: Formula | None = None


#: For all operators that have no kernel of their own for a key: ``Library("_", "IMPL").fallback``.
fallbacks: dict[str, Kernel] = {}


class CustomOperator(Operator):
    """An operator that a program has defined: called as the declared ones, with kernels of its own."""

    __slots__ = (
        "_below",
        "_own_autograd",
        "check_result",
        "counts_writes",
        "definition",
        "gives_tensor",
        "inside",
        "is_plain",
        "kernels",
        "lists",
        "overload",
        "positional",
        "signature",
        "tags",
        "vmap_rule",
    )

    fixed = False

    def __init__(self, signature: FunctionSchema, tags: tuple[Any, ...] = ()) -> None:
        self.signature = signature
        self.tags = tags
        arguments = signature.arguments
        parameters = tuple(
            [(a.name, a.type, not a.has_default, a.default_value, a.kwarg_only) for a in arguments]
        )
        plain = tuple([(*row[:3], None, row[4]) for row in parameters])  # dtypes are named there, not held
        tensors = tuple([i for i, a in enumerate(arguments) if a.holds_tensors])
        kind = "mutating" if signature.is_mutable else "view" if signature.is_view else "functional"
        row = Row(
            schema=str(signature),
            method="",
            parameters=plain,
            promote="",
            promoted=(),
            same_dtype=(),
            zero_dim=(),
            numbers_become=None,
            tensors=tensors,
            written=tuple([i for i, a in enumerate(arguments) if a.is_write]),
            factory=None,
            options=0,
            out=False,
            numbers=False,
            refuse=None,
            kind=kind,
            base=None,
            decomposes=False,
            layouts=None,
        )
        super().__init__(signature.full_name, row)
        for parameter, given in zip(self.parameters, parameters, strict=True):
            parameter.default = given[3]
            parameter.convert = conversion(parameter.type)
            parameter.variadic = False  # loose ints and tensors are for functions that the project declares
        #: How many arguments may be given by position.
        self.positional = sum([not a.kwarg_only for a in arguments])
        #: The arguments that kernels are given as lists.
        self.lists = [i for i, a in enumerate(arguments) if a.type.rstrip("?").endswith("]")]
        #: Whether kernels are given the arguments as they are.
        returned = signature.returns
        self.is_plain = not self.lists and self.positional == len(arguments)
        self.is_plain = self.is_plain and not any([r.type.endswith("]") for r in returned])
        #: Whether it has one result, a tensor.
        self.gives_tensor = not signature.is_tuple and [r.type for r in returned] == ["Tensor"]
        #: Whether a call counts as a write to these, whatever the kernel does.
        self.counts_writes = False
        #: The registered functions by key, the newest last.
        self.kernels: dict[str, list[Kernel]] = {}
        self.vmap_rule: Callable[..., Any] | None = None
        #: Looks at what a kernel returned for the arguments.
        self.check_result: Callable[[CustomOperator, Sequence[Any], Any, Kernel], None] | None = None
        #: What ``custom_op`` has made, if that has made it.
        self.definition: Any = None
        #: What users call.
        self.overload: Any = None
        #: The threads in which its own Autograd kernel runs.
        self.inside: set[int] = set()
        self._below: dict[str, Kernel] = {}
        self._own_autograd: dict[str, Kernel | None] = {}
        add_operator(self, row)
        self.changed()

    # -- registering

    def add_kernel(self, kernel: Kernel) -> None:
        """Register a function for its key, before what was registered."""
        self.kernels.setdefault(kernel.key, []).append(kernel)
        self.changed()

    def remove_kernel(self, kernel: Kernel) -> None:
        """Take a function back; what was registered before it counts again."""
        found = self.kernels.get(kernel.key, [])
        if kernel in found:
            found.remove(kernel)
            if not found:
                del self.kernels[kernel.key]
            self.changed()

    def remove(self) -> None:
        """Forget the operator."""
        remove_row("batching", "RULES", self.name)
        self.forget_autocast()
        remove_operator(self.name)

    def cast_under_autocast(self, device_type: Any, wanted: Any) -> None:
        """Have autocast cast the tensors to a dtype. ValueError for a kind of devices without autocast."""
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise ValueError(f"Device type '{device_type}' does not support autocast.")
        if device_type in AUTOCAST_DEVICES:
            add_row("operators", "AUTOCAST", self.name, wanted)

    def forget_autocast(self) -> None:
        """Take back what autocast was told."""
        remove_row("operators", "AUTOCAST", self.name)

    def changed(self) -> None:
        """Something was registered: decide anew what calls do."""
        self._below.clear()
        self._own_autograd.clear()
        # A function for Autograd, or a formula, is not for what is made of differentiable operators.
        backends = [key for key in self.kernels if key == EXPLICIT or key.removeprefix(AUTOGRAD) in BACKENDS]
        self.decomposes = self.newest(IMPLICIT) is not None and not backends
        if self.decomposes:
            self.kind = "composite"
        elif self.kind == "composite":
            self.kind = "mutating" if self.written else "view" if self.signature.is_view else "functional"
        if self.vmap_rule is not None or (not self.decomposes and self.kind != "functional"):
            from .batching import RegisteredRule

            add_row("batching", "RULES", self.name, RegisteredRule())
        else:
            remove_row("batching", "RULES", self.name)

    # -- calling

    def proceed(self, *arguments: Any) -> Any:
        """The rest of the path below the interceptors: autograd, then the kernel."""
        tensors = self._tensors(arguments)
        backend = self.backend(tensors, arguments)
        try:
            own = self._own_autograd[backend]
        except KeyError:
            own = self._own_autograd[backend] = self.autograd_kernel(backend)
        if own is not None:
            if own.key == IMPLICIT:
                return self.finished(self.run(own, arguments))
            if own.function is fallthrough_kernel or not _may_record(tensors):
                return self.below(backend, arguments)
            if own.formula is not None:
                return own.formula.run(backend, tensors, arguments)
            from .gradients import run_own

            return run_own(self, own, backend, arguments)
        if not (grad_mode.enabled and any([t._requires_grad for t in tensors])):
            return self.below(backend, arguments)
        from .gradients import record_without

        return record_without(self, backend, tensors, arguments)

    def below(self, backend: str, arguments: Sequence[Any]) -> Any:
        """Run the kernel of a backend, which no layer looks into, and check what it returns."""
        if self.counts_writes:
            self._count_writes(arguments)
        kernel = self._below.get(backend) or self._kernel(backend)
        if active:
            with layers_hidden():
                result = self.run(kernel, arguments)
        else:
            result = self.run(kernel, arguments)
        result = self.finished(result)
        if self.check_result is not None:
            self.check_result(self, arguments, result, kernel)
        return result

    def run(self, kernel: Kernel, arguments: Sequence[Any]) -> Any:
        """Call a registered function as it wants to be called."""
        if self.is_plain and not kernel.with_keyset:
            return kernel.function(*arguments)
        args, keywords = self.divided(arguments)
        if kernel.with_keyset:
            return kernel.function(frozenset({kernel.key}), *args, **keywords)
        return kernel.function(*args, **keywords)

    def divided(self, arguments: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments by position and those by name, as users' functions are given them."""
        given = list(arguments)
        for i in self.lists:
            if given[i] is not None:
                given[i] = list(given[i])
        count = self.positional
        if count == len(given):
            return given, {}
        names = [p.name for p in self.parameters[count:]]
        return given[:count], dict(zip(names, given[count:], strict=True))

    def _count_writes(self, arguments: Sequence[Any]) -> None:
        for i in self.written:
            value = arguments[i]
            for tensor in value if value.__class__ in (list, tuple) else (value,):
                if tensor is not None and tensor._type.recording:  # inference tensors do not count
                    storage_of(tensor).version += 1

    # -- which kernel

    def backend(self, tensors: Sequence[Any], arguments: Sequence[Any]) -> str:
        """The name of the backend whose kernel is meant; empty where no argument says it."""
        name = ""
        T: Any = None
        for tensor in tensors:
            if tensor._type is T:
                continue
            T = tensor._type
            found: str = T.backend.name
            if found != name and (not name or name == DEVICES[default_device.type]):
                name = found
        if name:
            return name
        at = next((i for i, p in enumerate(self.parameters) if p.type.startswith("Device")), None)
        given = None if at is None else arguments[at]
        return "" if given is None else DEVICES[as_device(given).type]

    def newest(self, key: str) -> Kernel | None:
        """What was registered for a key, if anything was."""
        found = self.kernels.get(key)
        if found and found[-1].function is not fallthrough_kernel:
            return found[-1]
        return None

    def autograd_kernel(self, backend: str) -> Kernel | None:
        """What is run for a backend in place of its kernel, so that it is differentiated; None for nothing.

        The function for that backend's Autograd; what the operator is made of, where the backend has no
        kernel; what was registered for Autograd last: a function, or a formula.
        """
        own = self.kernels.get(AUTOGRAD + backend) if backend else None
        if own:
            return own[-1]
        implicit = self.newest(IMPLICIT)
        if implicit is not None and backend not in self.kernels and EXPLICIT not in self.kernels:
            return implicit
        found = self.kernels.get(AUTOGRAD)
        if found:
            return found[-1]
        return next((self._fallback(key) for key in (AUTOGRAD + backend, AUTOGRAD) if key in fallbacks), None)

    def kernel_for(self, backend: str) -> Kernel | None:
        """What is run for a backend, below autograd; None where there is nothing."""
        found = [self.newest(key) for key in (backend, EXPLICIT, IMPLICIT)]
        own = next((k for k in found if k is not None), None)
        if own is not None or backend not in fallbacks:
            return own
        everyones = self._fallback(backend)
        return None if everyones.function is fallthrough_kernel else everyones

    def _fallback(self, key: str) -> Kernel:
        """A key's function for all operators, which is given this one before its arguments."""
        found = fallbacks[key]
        function = found.function
        if function is fallthrough_kernel:
            return found
        if found.with_keyset:
            return replace(found, function=lambda keys, *a, **k: function(keys, self.overload, *a, **k))
        return replace(found, function=lambda *a, **k: function(self.overload, *a, **k))

    def _kernel(self, backend: str) -> Kernel:
        found = self.kernel_for(backend)
        if found is None:
            raise self._missing(backend)
        self._below[backend] = found
        return found

    def _missing(self, backend: str) -> NotImplementedError:
        if not backend:
            return NotImplementedError(
                "There were no tensor arguments to this function (e.g., you passed an empty list of "
                f"Tensors), but no fallback function is registered for schema {self.name}. Register one "
                "for all devices."
            )
        if not BACKENDS[backend]["data"]:
            return NotImplementedError(
                f"{self.name}: attempted to run this operator with {backend} tensors, but there was no "
                f"fake impl or {backend} kernel registered. tengen.library.register_fake registers one."
            )
        known = ", ".join(self.kernels) or "none"
        return NotImplementedError(
            f"Could not run '{self.name}' with arguments from the '{backend}' backend. '{self.name}' is only "
            f"available for these backends: [{known}]."
        )

    # -- results

    def finished(self, result: Any) -> Any:
        """What a kernel returned, as the schema has it; RuntimeError or TypeError for something else."""
        if self.gives_tensor and isinstance(result, TensorBase):
            return result
        returns = self.signature.returns
        if self.signature.is_tuple:
            if result.__class__ is not tuple and result.__class__ is not list:
                raise TypeError(
                    f"{self.name}: Object of type '{type(result).__name__}' is not an instance of "
                    f"'sequence', and the schema has {len(returns)} results: {self.signature}"
                )
            if len(result) != len(returns):
                raise RuntimeError(
                    f"{self.name}: the kernel returned {len(result)} results, and the schema has "
                    f"{len(returns)}: {self.signature}"
                )
            return tuple([self._one(r, a.type) for r, a in zip(result, returns, strict=True)])
        if returns:
            return self._one(result, returns[0].type)
        if result is not None:
            raise RuntimeError(
                f"Expected the kernel of {self.name} to return None but it returned something else instead."
            )
        return None

    def _one(self, result: Any, kind: str) -> Any:
        if isinstance(result, TensorBase):
            fits = kind.startswith("Tensor") and not kind.endswith("]")
        elif kind.endswith("]") and isinstance(result, (list, tuple)):
            element = kind[:-1].rpartition("[")[0]
            return [self._one(r, element) for r in result]
        else:
            fits = result is None if kind.startswith("Tensor") else _is_number(result, kind)
        if not fits:
            raise RuntimeError(
                f"{self.name}: Unable to cast {result!r} to {kind}, which the kernel has to return"
            )
        return result


def _may_record(tensors: Sequence[Any]) -> bool:
    """Whether keys of autograd are for a call: never in inference mode, nor for its tensors alone."""
    return not grad_mode.inference and any([t._type.recording for t in tensors])


def _is_number(value: Any, kind: str) -> bool:
    """Whether a result is of a type that is none of tensors."""
    if kind.endswith("?"):
        return value is None or _is_number(value, kind[:-1])
    if kind == "bool":
        return isinstance(value, bool)
    if kind in ("int", "SymInt"):
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "float":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "Scalar":
        return isinstance(value, (bool, int, float, complex))
    return True
