"""Steps of an optimiser on other parameters and states than its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..tensors.tensor import Tensor
from .optimizer import Group, Optimizer

NAME = "swap_in_optimizer_params_and_state"


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Give an optimiser other parameters, states and options within a ``with``.

    ``swapin_parameters`` has the parameters in the order of the optimiser's groups, ``swapin_optim_state`` is
    as from ``state_dict()``. Steps change the tensors given; afterwards the optimiser has its own again.

    Raises RuntimeError, with nothing changed, for an optimiser without state, and for what does not fit it.
    """
    parts = _parts(optimizer, swapin_parameters, swapin_optim_state)
    known = swapin_optim_state["state"]
    own_state, own_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        state: defaultdict[Any, Any] = defaultdict(dict)
        for group, (options, tensors) in zip(optimizer.param_groups, parts, strict=True):
            group.update(options)
            group["params"] = tensors
            # each dict is copied: its tensors are written to, its keys stay the caller's
            state.update({p: dict(known.get(k, {})) for p, k in zip(tensors, options["params"], strict=True)})
        optimizer.state = state
        yield
    finally:
        for group, own in zip(optimizer.param_groups, own_groups, strict=True):
            group.clear()
            group.update(own)
        optimizer.state = own_state


def _parts(
    optimizer: Optimizer, parameters: dict[str, Tensor], saved: Any
) -> list[tuple[Group, list[Tensor]]]:
    """For each group of the optimiser the options and the parameters that it is to have."""
    if not optimizer.state:
        raise RuntimeError(f"{NAME} requires initialized optimizer state.")
    if not isinstance(saved, dict):
        raise RuntimeError(f"{NAME} requires a DCP-style optimizer state_dict.")
    _check_state(saved.get("state"))
    groups = saved.get("param_groups")
    if not isinstance(groups, list):
        raise RuntimeError(
            f"{NAME} requires swapin_optim_state['param_groups'] to be a list of param-group dicts, got "
            f"{type(groups).__name__}."
        )
    if len(groups) != len(optimizer.param_groups):
        raise RuntimeError(
            "swapin_optim_state has a different number of parameter groups than the live optimizer."
        )
    tensors, parts = list(parameters.values()), []
    for number, (group, options) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        count = _check_group(number, group, options)
        if count > len(tensors):
            raise RuntimeError(
                f"{NAME} requires the explicit parameter state to match optimizer.param_groups ordering."
            )
        parts.append((options, tensors[:count]))
        tensors = tensors[count:]
    named = {k for options, _ in parts for k in options["params"]}
    extra = [k for k in saved["state"] if k not in named]
    if extra:
        raise RuntimeError(
            f"{NAME} requires swapin_optim_state['state'] to be keyed only by packed parameter ids from "
            f"param_groups[*]['params']; got extra keys {extra!r}."
        )
    return parts


def _check_state(state: Any) -> None:
    """Raise RuntimeError for states that are not as in a state dict."""
    if not isinstance(state, dict):
        raise RuntimeError(
            f"{NAME} requires swapin_optim_state['state'] to be a dict mapping packed parameter ids to "
            f"per-param state dicts, got {type(state).__name__}."
        )
    if any([isinstance(k, Tensor) for k in state]):
        raise RuntimeError(
            f"{NAME} requires optimizer.state_dict()-style state keyed by packed parameter ids."
        )
    if any([isinstance(k, int) and not isinstance(v, dict) for k, v in state.items()]):
        raise RuntimeError(f"{NAME} requires per-parameter optimizer state entries to be dictionaries.")


def _check_group(number: int, group: Group, options: Any) -> int:
    """The number of parameters of a group; RuntimeError where what is to be swapped in does not fit it."""
    if not isinstance(options, dict):
        raise RuntimeError(f"{NAME} requires each optimizer param group to be a dictionary.")
    keys = options.get("params")
    if not isinstance(keys, list) or not all([isinstance(k, int) for k in keys]):
        raise RuntimeError(
            f"{NAME} requires optimizer.state_dict()-style param_groups[*]['params'] entries keyed by packed "
            "parameter ids."
        )
    if len(keys) != len(group["params"]):
        raise RuntimeError(
            f"swapin_optim_state param group {number} has a different number of params than the live "
            "optimizer param group."
        )
    theirs, ours = [k for k in options if k not in group], [k for k in group if k not in options]
    if theirs or ours:
        raise RuntimeError(
            f"{NAME} requires optimizer.state_dict()-style param group keys to exactly match the live "
            f"optimizer group keys for group {number}. Keys only in swap-in: {theirs}. Keys only in live: "
            f"{ours}."
        )
    return len(keys)
