"""What is written for torch, run with tengen: values, and functions that call torch.

An operator of PyTorch's database is a public function of torch, or a few lines around such functions. A
public function is tengen's of the same name; a function of the database is made anew, with ``torch`` in its
globals and closures replaced. Import this only where torch is installed.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import torch

import tengen

#: Where public functions of torch are looked for; what is in two places is the same in both.
PLACES = (
    "",
    "Tensor",
    "linalg",
    "fft",
    "special",
    "nn.functional",
    "masked",
    "signal.windows",
    "nn.utils.rnn",
    "sparse",
    "overrides",
)
#: Modules whose functions are made anew.
DATABASE = "torch.testing._internal"


class Absent(Exception):
    """tengen has no such name."""


class NotComparable(Exception):
    """A value that tengen has no kind of: a sparse tensor, a dtype or more dimensions than it has."""


def own(path: str) -> Any:
    """tengen's value of a public name; Absent if there is none."""
    found: Any = tengen
    parts = path.split(".")
    for i, part in enumerate(parts):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = import_module(".".join(["tengen", *parts[: i + 1]]))
            except ImportError:
                raise Absent(path) from None
    return found


@functools.cache
def public_paths() -> dict[int, list[str]]:
    """The public names of torch's functions and classes, by identity."""
    found: dict[int, list[str]] = {}
    for place in PLACES:
        home = torch.Tensor if place == "Tensor" else import_module(f"torch.{place}".rstrip("."))
        for name in dir(home):
            value = getattr(home, name)
            if callable(value) and (not name.startswith("_") or place == "Tensor"):
                found.setdefault(id(value), []).append(f"{place}.{name}".lstrip("."))
    return found


class Translator:
    """Translates values of one call: tensors that share memory do so in tengen, too."""

    def __init__(self) -> None:
        self._bases: dict[Any, Any] = {}

    def value(self, value: Any, path: str | None = None) -> Any:
        """A value in tengen; ``path`` is its name in torch, where that is known."""
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, torch.dtype):
            return dtype(value)
        if isinstance(value, (torch.layout, torch.memory_format)):
            return own(str(value).removeprefix("torch."))
        if isinstance(value, torch.device):
            return tengen.device(str(value))
        if isinstance(value, torch.Size):
            return tengen.Size(value)
        if isinstance(value, torch.Generator):
            return tengen.Generator().manual_seed(value.initial_seed())
        if isinstance(value, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
            return own("ops." + str(value).replace("::", "."))
        if isinstance(value, types.ModuleType):
            return self.module(value)
        if isinstance(value, torch.nn.Module):
            return self.layer(value)
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            return type(value)(self.value(v) for v in value)
        if isinstance(value, dict):
            return {k: self.value(v) for k, v in value.items()}
        if isinstance(value, slice):
            return slice(*(self.value(v) for v in (value.start, value.stop, value.step)))
        if isinstance(value, functools.partial):
            given = self.value(value.keywords)
            return functools.partial(self.value(value.func), *self.value(value.args), **given)
        return self.function(value, path) if callable(value) else value

    def module(self, value: types.ModuleType) -> Any:
        """A module; those that are not torch's as they are."""
        package, _, path = value.__name__.partition(".")
        return Namespace(value, path, self) if package == "torch" else value

    def layer(self, value: torch.nn.Module) -> Any:
        """A layer that has no parameters: tengen's class with its attributes."""
        made = self.function(type(value), None)()
        vars(made).update({n: self.value(v) for n, v in vars(value).items() if not n.startswith("_")})
        return made

    def function(self, value: Any, path: str | None) -> Any:
        """A function or a class of torch in tengen; others as they are."""
        home = str(getattr(value, "__module__", None) or type(value).__module__)
        if isinstance(value, types.FunctionType) and home.startswith(DATABASE):
            return self.remade(value)
        for known in public_paths().get(id(value), ()):
            path = known
            with contextlib.suppress(Absent):
                return own(known)
        name = getattr(value, "__name__", "")
        if path in (None, name) and name.startswith("_") and hasattr(torch.ops.aten, name):
            return own(f"ops.aten.{name}")  # where tengen has what is private in torch
        if path is None and (not home.startswith("torch") or "._" in home.replace("torch._C", "")):
            return value  # not torch's, or a tool of its tests
        return own(
            path or f"{home}.{getattr(value, '__name__', type(value).__name__)}".removeprefix("torch.")
        )

    def remade(self, value: types.FunctionType) -> Any:
        """A function of the database with tengen in the place of torch."""
        code = value.__code__
        given = {n: value.__globals__[n] for n in names(code) if n in value.__globals__}
        scope = Globals(
            given, self, __builtins__=value.__globals__["__builtins__"], __name__=value.__module__
        )
        cells = tuple(types.CellType(self.value(cell.cell_contents)) for cell in value.__closure__ or ())
        defaults = self.value(value.__defaults__)
        made = types.FunctionType(code, scope, value.__name__, defaults, cells or None)
        made.__kwdefaults__ = self.value(value.__kwdefaults__)
        return made

    def tensor(self, value: torch.Tensor) -> Any:
        """A tensor of the same values and strides; a leaf, which requires grad if the given one does."""
        if value.is_nested or value.is_quantized or value.layout is torch._mkldnn:
            raise NotComparable(str(value.layout))
        if value.layout is not torch.strided:
            return self.sparse(value)
        if value.dim() > 64:  # NumPy's limit
            raise NotComparable(f"{value.dim()} dimensions")
        if value.numel() and not value.untyped_storage().nbytes():
            raise NotComparable("a tensor whose memory was taken away")
        kind = dtype(value.dtype)
        if value.device.type == "meta":
            made = tengen.empty(tuple(value.shape), dtype=kind, device="meta")
        else:
            plain = value.detach().resolve_conj().resolve_neg()
            base = self.base(plain)
            made = base.as_strided(tuple(plain.shape), plain.stride(), plain.storage_offset()).detach()
        return made.requires_grad_(value.requires_grad)

    def sparse(self, value: torch.Tensor) -> Any:
        """A sparse tensor of the same indices and values; a leaf, as by ``tensor``."""
        plain = value.detach()
        if value.layout is torch.sparse_coo:
            parts = self.value([plain._indices(), plain._values(), plain.shape])
            made = tengen.sparse_coo_tensor(*parts, is_coalesced=value.is_coalesced())
        else:
            rows = value.layout in (torch.sparse_csr, torch.sparse_bsr)
            names = ("crow_indices", "col_indices") if rows else ("ccol_indices", "row_indices")
            parts = [getattr(plain, name)() for name in names]
            parts = self.value([*parts, plain.values(), plain.shape])
            made = tengen.sparse_compressed_tensor(*parts, layout=self.value(value.layout))
        return made.detach().requires_grad_(value.requires_grad)

    def base(self, value: torch.Tensor) -> Any:
        """All the memory of a tensor, copied once."""
        memory = value.untyped_storage()
        key = memory.data_ptr(), memory.nbytes(), value.dtype
        if not memory.nbytes() or key not in self._bases:
            alike = {torch.bfloat16: torch.int16, torch.complex32: torch.int32}.get(value.dtype)
            flat = value.as_strided((memory.nbytes() // value.element_size(),), (1,), 0)
            array = (flat if alike is None else flat.view(alike)).numpy().copy()
            made = tengen.from_numpy(array)
            made = made if alike is None else made.view(dtype(value.dtype))
            self._bases[key] = made, memory  # which is kept, or another got its address
        return self._bases[key][0]


class Namespace:
    """A module of torch, whose attributes are tengen's."""

    def __init__(self, module: Any, path: str, translator: Translator) -> None:
        self._module, self._path, self._translator = module, path, translator

    def __getattr__(self, name: str) -> Any:
        return self._translator.value(getattr(self._module, name), f"{self._path}.{name}".lstrip("."))


class Globals(dict[str, Any]):
    """The globals of a function that is made anew: translated when they are first used."""

    def __init__(self, given: dict[str, Any], translator: Translator, **more: Any) -> None:
        super().__init__(more)
        self._given, self._translator = given, translator

    def __missing__(self, name: str) -> Any:
        self[name] = value = self._translator.value(self._given[name])
        return value


def names(code: types.CodeType) -> Iterator[str]:
    """The global names that a function uses, and the functions in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names(constant)


def dtype(value: torch.dtype) -> Any:
    """tengen's dtype of the same name."""
    name = str(value).removeprefix("torch.")
    if name not in tengen.dtype.registry:
        raise NotComparable(name)
    return getattr(tengen, name)


def outcome(call: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """What a call of tengen gives, or its error; Absent where it uses what tengen does not have."""
    try:
        return call(*arguments, **keywords)
    except AttributeError as error:
        of_tensors = error.obj is tengen.Tensor or isinstance(error.obj, tengen.Tensor)
        if of_tensors and hasattr(torch.Tensor, error.name):
            raise Absent(f"Tensor.{error.name}") from None
        return error
    except (Absent, NotComparable):
        raise
    except Exception as error:
        return error
