"""Modules as functions of their parameters: called with others, and several of them as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tengen.generated.functions import stack

from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]

_ABSENT = object()


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """What the module returns with other parameters and buffers, by name; afterwards it has its own again.

    ``args`` are the arguments, or the only one. With ``tie_weights`` what is given for one name of a
    parameter that has several is there by all. ValueError for names in several dicts and for different
    tensors by tied names, TypeError for no dict, for what is no tensor, and for names of what is none;
    KeyError for an empty name; with ``strict`` RuntimeError for names that are missing or nobody's.
    """
    given = _merged(parameter_and_buffer_dicts)
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with reparametrized(module, given, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


@contextmanager
def reparametrized(
    module: Any, given: Mapping[str, Tensor], tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """``with reparametrized(module, given):`` the module has these parameters and buffers.

    ValueError for different tensors by tied names; with ``strict`` RuntimeError for names that do not fit.
    """
    tensors = _tied(module, given) if tie_weights else dict(given)
    if strict:
        _check_names(module, tensors)
    for name, tensor in tensors.items():
        _check_place(module, name, tensor)
    before: dict[str, Any] = {}
    try:
        for name, tensor in tensors.items():
            before[name] = _swap(module, name, tensor)
        yield
    finally:
        for name, tensor in reversed(before.items()):
            found = _swap(module, name, tensor)
            if name in given and found is not tensors[name]:
                given[name] = found  # type: ignore[index]  # what the call replaced, as a buffer


def _merged(given: Any) -> dict[str, Tensor]:
    if isinstance(given, dict):
        return given
    if not isinstance(given, Sequence) or not all(isinstance(each, dict) for each in given):
        raise TypeError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(given)}"
        )
    names = [name for each in given for name in each]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(
                f"{name} appears in multiple dictionaries; behavior of functional call is ambiguous"
            )
    return {name: tensor for each in given for name, tensor in each.items()}


def _own_names(module: Any) -> list[tuple[str, Tensor]]:
    """All names of parameters and buffers, those of tied ones too."""
    parameters = module.named_parameters(remove_duplicate=False)
    return [*parameters, *module.named_buffers(remove_duplicate=False)]


def _tied(module: Any, given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What is given, by all names of each tensor."""
    groups: dict[int, list[str]] = {}
    for name, tensor in _own_names(module):
        groups.setdefault(id(tensor), []).append(name)
    found = dict(given)
    for names in groups.values():
        mine = [name for name in names if name in given]
        if len({id(given[name]) for name in mine}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(mine)}, which are tied. "
                "Consider using tie_weights=False"
            )
        found.update({name: given[mine[0]] for name in names if mine})
    return found


def _check_names(module: Any, given: Mapping[str, Tensor]) -> None:
    own = {name for name, _ in _own_names(module)}
    unexpected, missing = sorted(set(given) - own), sorted(own - set(given))
    said = [
        f"{what} key(s): {', '.join(repr(name) for name in names)}."
        for what, names in (("Unexpected", unexpected), ("Missing", missing))
        if names
    ]
    if said:
        raise RuntimeError("Error(s) in reparametrizing module: " + " ".join(said))


def _check_place(module: Any, name: str, tensor: Any) -> None:
    """Raise unless a tensor, or None, may stand in a name's place: in that of one, or of nothing."""
    path, _, last = name.rpartition(".")
    if not last:
        raise KeyError(f'tensor name can\'t be empty string "" (of {name!r})')
    if tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{name}: {tensor!r} is not an instance of tengen.Tensor")
    found = getattr(module.get_submodule(path), last, None)
    if found is not None and not isinstance(found, Tensor):
        raise TypeError(f"attribute `{name}`: {found!r} is not an instance of tengen.Tensor")


def _swap(module: Any, name: str, tensor: Any) -> Any:
    """Put a tensor in a name's place, and return what was there; that which nobody had is taken away."""
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path)
    for place in (owner._parameters, owner._buffers):
        if last in place and tensor is not _ABSENT:
            before, place[last] = place[last], tensor
            return before
    before = getattr(owner, last, _ABSENT)
    if tensor is _ABSENT:
        if before is not _ABSENT:
            delattr(owner, last)
    else:
        setattr(owner, last, tensor)
    return before


def swap_tensor(module: Any, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put a tensor into the place of one of a module's own, and return that.

    KeyError for the name of another module's; TypeError for what is no tensor, or stands in no tensor's
    place; AttributeError where there is nothing of the name, unless ``allow_missing``: what is returned then
    takes the tensor away again.
    """
    if "." in name:
        raise KeyError(f'tensor name can\'t contain "." (got {name!r})')
    _check_place(module, name, None if tensor is _ABSENT else tensor)
    if not (allow_missing or hasattr(module, name)):
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`", name=name, obj=module)
    return _swap(module, name, tensor)


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of modules of one class, stacked: each has a new first dimension.

    RuntimeError for no modules, modules of several classes, some in training, and parameters of which some
    only require gradients.
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    both = []
    for members in ("named_parameters", "named_buffers"):
        each = [dict(getattr(model, members)()) for model in models]
        both.append({name: _stacked([one[name] for one in each], name) for name in each[0]})
    return both[0], both[1]


def _stacked(tensors: list[Tensor], name: str) -> Tensor:
    required = {tensor.requires_grad for tensor in tensors}
    if len(required) > 1:
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    made = stack(tensors).detach()
    return made.requires_grad_() if required == {True} and isinstance(tensors[0], Parameter) else made


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """The module, of which the batch normalisations forget their running statistics, in place: none moves.

    They normalise by each batch from then on, in training or not.
    """
    for module in root.modules():
        forget = getattr(module, "drop_running_stats", None)
        if forget is not None:
            forget()
    return root
