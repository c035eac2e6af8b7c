"""Pruning: masks that set elements of parameters to zero, before each call of a module."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from tengen.generated.functions import kthvalue, norm, ones_like, rand, rand_like, topk, zeros_like

from ...core.memory_format import contiguous_format
from ...tensors.tensor import Tensor
from .convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class BasePruningMethod(ABC):
    """The base class of ways to prune: a subclass defines ``compute_mask``, and says its ``PRUNING_TYPE``.

    That is "unstructured" (single elements), "structured" (what has one index of ``self.dim``) or "global".
    An instance is the hook that computes ``<name>`` of ``<name>_orig`` and ``<name>_mask`` before a module's
    forward.
    """

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for a tensor of scores, of the same shape, with what ``default_mask`` prunes already."""

    def apply_mask(self, module: Any) -> Tensor:
        """The module's tensor times its mask."""
        self._check_applied(module, "")
        original = getattr(module, f"{self._tensor_name}_orig")
        mask = getattr(module, f"{self._tensor_name}_mask")
        result: Tensor = mask.to(dtype=original.dtype) * original
        return result

    def _check_applied(self, module: Any, purpose: str) -> None:
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned{purpose}")

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> Any:
        """Prune a parameter of a module, by a method made with the arguments; return the method.

        ``importance_scores`` stand for the parameter when the mask is computed. A parameter that is pruned
        already gets a PruningContainer. AssertionError for scores of another shape. After an error the
        module is as it was.
        """
        number, before = _pruned_by(module, name)
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        if before is not None:
            # A container of its own: this one is the module's only if nothing fails.
            methods = before._pruning_methods if isinstance(before, PruningContainer) else (before,)
            method = _container(name, (*methods, method))
        original = getattr(module, name)
        scores = _scores(original, importance_scores, f"parameter {name} of {module}")
        if before is None:
            default = ones_like(original)
        else:
            default = getattr(module, f"{name}_mask").detach().clone(memory_format=contiguous_format)
        mask = method.compute_mask(scores, default_mask=default)
        if before is None:
            module.register_parameter(f"{name}_orig", original)
            del module._parameters[name]
        else:
            del module._forward_pre_hooks[number]
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """A pruned tensor, by the mask for it or its scores. AssertionError for scores of another shape."""
        scores = _scores(t, importance_scores, "tensor t")
        default = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=default)

    def remove(self, module: Any) -> None:
        """Make the pruned tensor a plain parameter again. It stays pruned."""
        self._check_applied(module, " before pruning can be removed")
        weight = self.apply_mask(module)
        name = self._tensor_name
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _pruned_by(module: Any, name: str) -> tuple[int | None, BasePruningMethod | None]:
    """The hook that prunes a parameter, and its number."""
    hooks = module._forward_pre_hooks.items()
    found = [(k, h) for k, h in hooks if isinstance(h, BasePruningMethod) and h._tensor_name == name]
    if len(found) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a "
            "PruningContainer."
        )
    return found[0] if found else (None, None)


def _scores(t: Tensor, scores: Tensor | None, what: str) -> Tensor:
    if scores is None:
        return t
    if scores.shape != t.shape:
        raise AssertionError(
            f"importance_scores should have the same shape as {what}, got {scores.shape} vs {t.shape}"
        )
    return scores


class PruningContainer(BasePruningMethod):
    """Several methods for one parameter, each of which prunes what those before it have left.

    It is made of methods with one ``_tensor_name``; ValueError for others, TypeError for what are none.
    """

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method, which comes after the others."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                f"PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method, computed of what ``default_mask`` has left, together with that.

        AttributeError for a structured method without ``dim``, IndexError for a ``dim`` that the tensor does
        not have, ValueError for another PRUNING_TYPE.
        """
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype, copy=True)
        part = _part_of(method, t, default_mask)
        mask[part] = method.compute_mask(t[part], default_mask=default_mask[part]).to(dtype=mask.dtype)
        return mask


def _container(name: str, methods: Iterable[Any]) -> PruningContainer:
    made = PruningContainer()
    made._tensor_name = name
    for method in methods:
        made.add_pruning_method(method)
    return made


def _part_of(method: Any, t: Tensor, mask: Tensor) -> Any:
    """The index of what a method may prune: the elements, or all at the indices, that a mask has left."""
    kind = method.PRUNING_TYPE
    if kind == "unstructured":
        return mask == 1
    if kind == "global":
        return (slice(None),) * t.dim()
    if kind != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
    if not hasattr(method, "dim"):
        raise AttributeError(
            'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.'
        )
    dim = method.dim + t.dim() if method.dim < 0 else method.dim
    if dim < 0:
        raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
    return _at(t, dim, mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0)


def _at(t: Tensor, dim: int, index: Any) -> Any:
    found: list[Any] = [slice(None)] * t.dim()
    found[dim] = index
    return tuple(found)


# -- how much


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    integral = isinstance(amount, numbers.Integral)
    if amount < 0 or (not integral and float(amount) > 1.0):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


def _count(amount: Any, size: int) -> int:
    """How many of ``size`` are to be pruned. ValueError for more than there are."""
    if not isinstance(amount, numbers.Integral):
        count: int = round(amount * size)
        return count
    if int(amount) > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return int(amount)


# -- single elements


class Identity(BasePruningMethod):
    """Prunes nothing: the mask is of ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask is ``default_mask`` itself."""
        return default_mask

    @classmethod
    def apply(cls, module: Any, name: str) -> Any:  # type: ignore[override]
        """Give the parameter a mask of ones; return the method."""
        return super().apply(module, name)


class _Unstructured(BasePruningMethod):
    """Prunes ``amount`` elements, by a choice among scores: a number of them, or a part from 0 to 1."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: float) -> None:
        _check_amount(amount)
        self.amount = amount

    def _chosen(self, t: Tensor, count: int) -> Tensor:
        """The positions in ``t``, flat, of ``count`` elements."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without the chosen elements. ValueError for more elements than there are."""
        count = _count(self.amount, t.nelement())
        mask = default_mask.clone(memory_format=contiguous_format)
        if count:
            mask.view(-1)[self._chosen(t, count)] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes ``amount`` elements at random: a number of them, or a part from 0 to 1."""

    def _chosen(self, t: Tensor, count: int) -> Tensor:
        chosen: Tensor = topk(rand_like(t).view(-1), k=count).indices
        return chosen

    @classmethod
    def apply(cls, module: Any, name: str, amount: float) -> Any:  # type: ignore[override]
        """Prune a parameter of a module; return the method."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """Prunes ``amount`` elements of the smallest absolute values: a number of them, or a part from 0 to 1."""

    def _chosen(self, t: Tensor, count: int) -> Tensor:
        chosen: Tensor = topk(t.abs().view(-1), k=count, largest=False).indices
        return chosen

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Any, name: str, amount: float, importance_scores: Tensor | None = None
    ) -> Any:
        """Prune a parameter of a module, by its scores if they are given; return the method."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


# -- what has one index of a dimension


class _Structured(BasePruningMethod):
    """Prunes all that has one index of ``dim``, for ``amount`` indices: a number, or a part from 0 to 1."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount = amount
        self.dim = dim

    def _kept(self, t: Tensor, count: int) -> Tensor:
        """The indices of ``dim``, or a mask of them, that stay when ``count`` are pruned."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the chosen indices, with ``default_mask``.

        ValueError for a tensor of less than two dimensions and for more indices than there are, IndexError
        for a ``dim`` that it does not have.
        """
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = _count(self.amount, t.shape[self.dim])
        if not count:
            return default_mask
        mask = zeros_like(t)
        mask[_at(t, self.dim, self._kept(t, count))] = 1
        return mask.mul_(default_mask.to(dtype=mask.dtype))


class RandomStructured(_Structured):
    """Prunes at random all that has one index of ``dim``, for ``amount`` indices, or a part from 0 to 1."""

    def _kept(self, t: Tensor, count: int) -> Tensor:
        scores = rand(t.shape[self.dim])
        kept: Tensor = scores > kthvalue(scores, k=count).values
        return kept

    @classmethod
    def apply(cls, module: Any, name: str, amount: float, dim: int = -1) -> Any:  # type: ignore[override]
        """Prune a parameter of a module; return the method."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes what has one index of ``dim`` and the smallest norm, for ``amount`` indices, or a part of them.

    ``n`` says which norm, as ``p`` of ``norm``.
    """

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Tensor, count: int) -> Tensor:
        own = range(t.dim())[self.dim]
        norms = norm(t, p=self.n, dim=[d for d in range(t.dim()) if d != own])
        kept: Tensor = topk(norms, k=t.shape[self.dim] - count, largest=True).indices
        return kept

    @classmethod
    def apply(  # type: ignore[override]
        cls,
        module: Any,
        name: str,
        amount: float,
        n: Any,
        dim: int,
        importance_scores: Tensor | None = None,
    ) -> Any:
        """Prune a parameter of a module, by its scores if they are given; return the method."""
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes what ``mask`` says."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The product of both masks. AssertionError for other shapes."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Any, name: str, mask: Tensor) -> Any:  # type: ignore[override]
        """Prune a parameter of a module; return the method."""
        return super().apply(module, name, mask=mask)


# -- the same as functions


def identity(module: Any, name: str) -> Any:
    """Give a parameter of a module a mask of ones; return the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prune a parameter of a module by ``RandomUnstructured``; return the module."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: float, importance_scores: Tensor | None = None) -> Any:
    """Prune a parameter of a module by ``L1Unstructured``; return the module."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prune a parameter of a module by ``RandomStructured``; return the module."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Any, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Any:
    """Prune a parameter of a module by ``LnStructured``; return the module."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune a parameter of a module by a mask, of its shape; return the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: Callable[..., Any],
    importance_scores: dict[tuple[Any, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune parameters, given as pairs of a module and a name, as if they were one tensor.

    ``pruning_method`` is an unstructured one, made with the other arguments; ``importance_scores`` has scores
    by such pairs. TypeError for another kind of method, and for what is no iterable or no dict.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = [(module, name, getattr(module, name)) for module, name in parameters]
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    of_all = parameters_to_vector([scores.get((module, name), tensor) for module, name, tensor in pairs])
    before = [getattr(module, f"{name}_mask", ones_like(tensor)) for module, name, tensor in pairs]
    mask = _container("temp", [method]).compute_mask(of_all, parameters_to_vector(before))
    for (module, name, tensor), part in zip(pairs, mask.split([t.numel() for *_, t in pairs]), strict=True):
        custom_from_mask(module, name, mask=part.view_as(tensor))


def remove(module: Any, name: str) -> Any:
    """Make a pruned parameter a plain one, which stays pruned; return the module. ValueError if it is not."""
    number, found = _pruned_by(module, name)
    if found is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    found.remove(module)
    del module._forward_pre_hooks[number]
    return module


def is_pruned(module: Any) -> bool:
    """Whether the module, or one that is in it, has a pruned parameter."""
    hooks = [hook for found in module.modules() for hook in found._forward_pre_hooks.values()]
    return any([isinstance(hook, BasePruningMethod) for hook in hooks])
