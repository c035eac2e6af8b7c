"""Parametrizations, norms of weights and pruning, without torch: what holds, and what errors leave alone."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings
from typing import Any

import pytest
from module_programs import layer, parametrizations, pruning, values

import tengen
from tengen import nn
from tengen.nn.utils import parametrizations as made, parametrize as P, prune


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
@pytest.mark.parametrize("name", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("keep", [True, False])
def test_orthogonal_matrices_stay_so(shape: tuple[int, ...], name: str, keep: bool) -> None:
    tengen.manual_seed(0)
    module: Any = nn.Module()
    module.weight = nn.Parameter(tengen.randn(shape, dtype=tengen.float64))
    made.orthogonal(module, orthogonal_map=name, use_trivialization=keep)
    optimizer = tengen.optim.SGD(module.parameters(), lr=0.1)
    wanted = values(tengen, *shape)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = (module.weight - wanted).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    q = module.weight if shape[-2] >= shape[-1] else module.weight.mT
    identity = tengen.eye(q.shape[-1], dtype=tengen.float64).expand((*q.mT.shape[:-1], q.shape[-1]))
    tengen.testing.assert_close(q.mT @ q, identity)


def test_spectral_norm_is_the_largest_singular_value() -> None:
    module, given = layer(tengen, "Conv2d")
    made.spectral_norm(module, n_power_iterations=200)
    largest = tengen.linalg.matrix_norm(module.weight.flatten(1), 2)
    tengen.testing.assert_close(largest, tengen.ones((), dtype=tengen.float64))
    (module(given).sum() - module(2 * given).sum()).backward()  # two forward passes, then both backward


def test_copies_have_classes_of_their_own() -> None:
    module, given = layer(tengen, "square")
    P.register_parametrization(module, "weight", parametrizations(tengen)["Double"]())
    copied = copy.deepcopy(module)
    P.remove_parametrizations(copied, "weight")
    P.register_parametrization(copied, "bias", parametrizations(tengen)["Sine"]())
    assert type(module).__name__ == type(copied).__name__ == "ParametrizedLinear"
    assert P.is_parametrized(module, "weight") and not P.is_parametrized(module, "bias")
    assert P.is_parametrized(copied, "bias") and not P.is_parametrized(copied, "weight")
    assert tengen.equal(module.weight, copied.weight) and not tengen.equal(module(given), copied(given))


def test_what_fails_leaves_the_module_as_it_was() -> None:
    of = parametrizations(tengen)
    for name in ("Cut", "Single", "Pair", "Casting", "Numbers", "Odd"):
        module, given = layer(tengen, "square")
        before, out = copy.deepcopy(module.state_dict()), module(given)
        with pytest.raises(ValueError):
            P.register_parametrization(module, "weight", of[name]())
        assert type(module) is nn.Linear and not P.is_parametrized(module)
        assert all(tengen.equal(v, before[k]) for k, v in module.state_dict().items())
        assert tengen.equal(module(given), out)


def test_pruning_that_fails_leaves_the_module_as_it_was() -> None:
    module, given = layer(tengen, "Linear")
    prune.l1_unstructured(module, "weight", 2)
    state, out = copy.deepcopy(module.state_dict()), module(given)
    for wrong in (
        lambda: prune.l1_unstructured(module, "weight", 1, values(tengen, 2, 2)),
        lambda: prune.custom_from_mask(module, "weight", tengen.ones(2, 2)),
        lambda: prune.ln_structured(module, "weight", 1, 2, -3),
        lambda: prune.ln_structured(module, "bias", 1, 2, 0),
    ):
        with pytest.raises((AssertionError, IndexError, ValueError)):
            wrong()
        now = module.state_dict()
        assert list(now) == list(state) and all(tengen.equal(now[k], state[k]) for k in state)
        assert tengen.equal(module(given), out) and prune.is_pruned(module)
        assert isinstance(next(iter(module._forward_pre_hooks.values())), prune.L1Unstructured)


def test_random_pruning_counts() -> None:
    tengen.manual_seed(0)
    for amount, zeros in ((5, 5), (0.25, 6)):
        module: Any = prune.random_unstructured(nn.Linear(6, 4), "weight", amount)
        assert (module.weight_mask == 0).sum().item() == zeros
        prune.random_unstructured(module, "weight", 2)
        assert (module.weight_mask == 0).sum().item() == zeros + 2
    for dim in (0, 1, -1):
        module = prune.random_structured(nn.Linear(6, 4), "weight", 2, dim)
        others = module.weight_mask.sum(dim=1 if dim == 0 else 0)
        assert (others == 0).sum().item() == 2
    net = nn.Sequential(nn.Linear(6, 4), nn.Linear(4, 2))
    pairs = [(net[0], "weight"), (net[1], "weight")]
    pruning(tengen).global_unstructured(pairs, prune.RandomUnstructured, amount=7)
    assert sum((m.weight_mask == 0).sum().item() for m in net) == 7


def test_pickles() -> None:
    module, given = layer(tengen, "Linear")
    P.register_parametrization(module, "weight", parametrizations(tengen)["Double"]())
    for dump in (lambda: pickle.dumps(module), lambda: copy.copy(module)):
        with pytest.raises(RuntimeError, match=r"only supported through state_dict\(\)"):
            dump()
    pruned, given = layer(tengen, "Linear")
    prune.l1_unstructured(pruned, "weight", 2)
    again = pickle.loads(pickle.dumps(prune.remove(pruned, "weight")))
    assert tengen.equal(again(given), pruned(given))


def test_the_older_norm_says_what_to_use() -> None:
    with pytest.warns(FutureWarning, match=r"in favor of `tengen\.nn\.utils\.parametrizations\.weight_norm`"):
        nn.utils.weight_norm(nn.Linear(2, 2))
    for norm in (nn.utils.weight_norm, nn.utils.spectral_norm):
        with (
            pytest.raises(ValueError, match="can't have uninitialized parameters"),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            norm(nn.LazyLinear(2))


def test_functions_and_modules_of_the_same_name() -> None:
    """``nn.utils.weight_norm`` is the function, in whichever order both are imported."""
    program = """
import tengen.nn.utils.weight_norm, tengen.nn.utils.spectral_norm
from tengen.nn.utils.weight_norm import WeightNorm
from tengen.nn.utils import weight_norm, spectral_norm
import tengen
assert tengen.nn.utils.weight_norm is weight_norm and weight_norm.__name__ == "weight_norm"
assert tengen.nn.utils.spectral_norm is spectral_norm and callable(spectral_norm)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
