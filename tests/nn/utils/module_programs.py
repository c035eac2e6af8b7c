"""Programs with the utilities of modules, which run with tengen and with torch alike.

Each takes the library and returns what is compared: tensors, names, texts, in lists and dicts.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

Program = Callable[[Any], Any]
PROGRAMS: dict[str, Program] = {}


def program(*cases: Any) -> Callable[[Any], Any]:
    """Keep a function as a program, or for each case one that is given it."""

    def keep(function: Any) -> Any:
        for case in cases:
            PROGRAMS[f"{function.__name__}{case}"] = lambda lib, case=case: function(lib, *case)
        if not cases:
            PROGRAMS[function.__name__] = function
        return function

    return keep


def values(lib: Any, *shape: int, seed: int = 1) -> Any:
    return lib.from_numpy(np.random.default_rng(seed).standard_normal(shape))


def layer(lib: Any, kind: str) -> tuple[Any, Any]:
    """A module with fixed parameters, and an input."""
    nn = lib.nn
    make, given = {
        "Linear": (lambda: nn.Linear(4, 3), (2, 4)),
        "square": (lambda: nn.Linear(4, 4), (2, 4)),
        "Conv2d": (lambda: nn.Conv2d(2, 4, 3), (1, 2, 5, 5)),
        "ConvTranspose1d": (lambda: nn.ConvTranspose1d(2, 4, 3), (1, 2, 5)),
    }[kind]
    module = make().to(lib.float64)
    with lib.no_grad():
        for seed, parameter in enumerate(module.parameters()):
            parameter.copy_(values(lib, *parameter.shape, seed=seed))
    return module, values(lib, *given).requires_grad_()


def used(module: Any, given: Any) -> list[Any]:
    """What is to be seen of a module, of a call of it, and of the gradients."""
    out = module(given)
    (out * out).sum().backward()
    grads = [(name, parameter.grad) for name, parameter in module.named_parameters()]
    state = module.state_dict()
    return [out, given.grad, grads, dict(state), list(state._metadata.items()), repr(module)]


def raised(function: Callable[[], Any]) -> Any:
    """What a call returns, or the type and text of its error."""
    try:
        return function()
    except Exception as error:
        return [type(error).__name__, str(error)]


KINDS = ("Linear", "square", "Conv2d", "ConvTranspose1d")

# -- weight norm, spectral norm, orthogonal


@program(*[(kind, dim) for kind in KINDS for dim in (0, 1, None, -1, 7)])
def older_weight_norm(lib: Any, kind: str, dim: Any) -> Any:
    module, given = layer(lib, kind)
    utils = lib.nn.utils
    found = [used(utils.weight_norm(module, dim=dim), given), raised(lambda: utils.weight_norm(module))]
    utils.remove_weight_norm(module)
    return [*found, dict(module.state_dict()), raised(lambda: utils.remove_weight_norm(module))]


@program(*[(kind, dim) for kind in KINDS for dim in (0, 1, None, -1, 7)])
def newer_weight_norm(lib: Any, kind: str, dim: Any) -> Any:
    module, given = layer(lib, kind)
    utils = lib.nn.utils
    found = used(utils.parametrizations.weight_norm(module, dim=dim), given)
    older = utils.weight_norm(layer(lib, kind)[0], dim=dim)
    module.load_state_dict(older.state_dict())
    return [found, module.weight, utils.parametrize.remove_parametrizations(module, "weight").state_dict()]


def set_vectors(lib: Any, module: Any) -> None:
    """Fix the vectors of the power method, which begin at random."""
    for seed, (_, buffer) in enumerate(sorted(module.named_buffers())):
        buffer.copy_(lib.nn.functional.normalize(values(lib, *buffer.shape, seed=seed), dim=0))


@program(*[(kind, training, dim) for kind in KINDS for training in (True, False) for dim in (None, 1)])
def older_spectral_norm(lib: Any, kind: str, training: bool, dim: Any) -> Any:
    module, given = layer(lib, kind)
    utils = lib.nn.utils
    utils.spectral_norm(module, n_power_iterations=2, dim=dim)
    set_vectors(lib, module)
    found = [used(module.train(training), given), raised(lambda: utils.spectral_norm(module))]
    older = {k: v.clone() for k, v in module.state_dict().items() if k != "weight_v"}
    older["weight"] = module.weight.detach().clone()  # as it was saved before version 1
    module.load_state_dict(older)
    found.append(dict(module.state_dict()))
    utils.remove_spectral_norm(module)
    return [*found, dict(module.state_dict()), len(module._forward_pre_hooks), len(module._state_dict_hooks)]


@program(*[(kind, training, dim) for kind in KINDS for training in (True, False) for dim in (None, 1, 7)])
def newer_spectral_norm(lib: Any, kind: str, training: bool, dim: Any) -> Any:
    module, given = layer(lib, kind)
    utils = lib.nn.utils
    utils.parametrizations.spectral_norm(module, n_power_iterations=2, dim=dim)
    set_vectors(lib, module)
    found = used(module.train(training), given)
    copied = copy.deepcopy(module)
    found += [copied.state_dict(), repr(copied), copied.eval()(given)]
    utils.parametrize.remove_parametrizations(module, "weight")
    return [found, module.state_dict(), repr(module)]


@program()
def spectral_norm_of_a_vector(lib: Any) -> Any:
    module, given = layer(lib, "Linear")
    return used(lib.nn.utils.parametrizations.spectral_norm(module, "bias"), given)


MAPS = (None, "matrix_exp", "cayley", "householder", "other")


@program(*[(kind, name, keep) for kind in KINDS for name in MAPS for keep in (True, False)])
def orthogonal(lib: Any, kind: str, name: Any, keep: bool) -> Any:
    module, given = layer(lib, kind)
    parametrizations = lib.nn.utils.parametrizations
    parametrizations.orthogonal(module, orthogonal_map=name, use_trivialization=keep)
    kept = module.parametrizations.weight
    if keep:  # where it is not square, it was completed at random
        kept[0].base = lib.linalg.qr(values(lib, *kept[0].base.shape))[0]
    with lib.no_grad():
        kept.original.add_(0.1 * values(lib, *kept.original.shape))
        kept.original.diagonal(dim1=-2, dim2=-1).copy_(lib.ones(()))
    assigned = raised(lambda: setattr(module, "weight", lib.linalg.qr(values(lib, 4, 4, seed=7))[0]))
    return [used(module, given), assigned, module.weight if kind == "square" else None]


@program()
def unitary(lib: Any) -> Any:
    module = lib.nn.Module()
    module.weight = lib.nn.Parameter(lib.complex(values(lib, 3, 3), values(lib, 3, 3, seed=2)))
    make = lib.nn.utils.parametrizations.orthogonal
    found = [raised(lambda: make(module, orthogonal_map="householder")), make(module).weight]
    with lib.no_grad():
        module.parametrizations.weight.original.add_(lib.complex(values(lib, 3, 3), values(lib, 3, 3)))
    return [*found, module.weight, raised(lambda: make(lib.nn.Linear(2, 3), "bias"))]


@program()
def errors_of_parametrizations(lib: Any) -> Any:
    made = lib.nn.utils.parametrizations
    linear = lib.nn.Linear(2, 2)
    return [
        raised(lambda: made.spectral_norm(linear, "other")),
        raised(lambda: made.orthogonal(linear, "other")),
        raised(lambda: made.weight_norm(linear, "other")),
        raised(lambda: made.spectral_norm(linear, n_power_iterations=0)),
        raised(lambda: made.spectral_norm(linear, dim=2)),
        raised(lambda: lib.nn.utils.spectral_norm(linear, n_power_iterations=0)),
        raised(lambda: lib.nn.utils.remove_spectral_norm(linear)),
        repr(linear),
    ]


# -- parametrize


def parametrizations(lib: Any) -> dict[str, Any]:
    """Modules to parametrize with."""
    Module = lib.nn.Module

    class Symmetric(Module):  # type: ignore[misc, valid-type]
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, x: Any) -> Any:
            return x.triu()

    class Double(Module):  # type: ignore[misc, valid-type]
        def forward(self, x: Any) -> Any:
            return 2 * x

        def right_inverse(self, x: Any) -> Any:
            return 0.5 * x

    class Sine(Module):  # type: ignore[misc, valid-type]
        def forward(self, x: Any) -> Any:
            return x.sin()

    class RankOne(Module):  # type: ignore[misc, valid-type]
        def forward(self, x: Any, y: Any) -> Any:
            return x.unsqueeze(-1) @ y.unsqueeze(-2)

        def right_inverse(self, z: Any) -> Any:
            return z[:, 0], z[0] / z[0, 0]

    class Cut(Module):  # type: ignore[misc, valid-type]
        def forward(self, x: Any) -> Any:
            return x[1:]

    class Single(Module):  # type: ignore[misc, valid-type]
        def forward(self, x: Any) -> Any:
            return x.float()

    class Shrinking(Double):  # type: ignore[misc, valid-type]
        def right_inverse(self, x: Any) -> Any:
            return x[1:]

    class Casting(Double):  # type: ignore[misc, valid-type]
        def right_inverse(self, x: Any) -> Any:
            return x.float()

    class Numbers(Double):  # type: ignore[misc, valid-type]
        def right_inverse(self, x: Any) -> Any:
            return 3

    class Unsure(Double):  # type: ignore[misc, valid-type]
        def right_inverse(self, x: Any) -> Any:
            raise NotImplementedError

    class Pair(Module):  # type: ignore[misc, valid-type]
        def forward(self, x: Any) -> Any:
            return x, x

    class Odd(Double):  # type: ignore[misc, valid-type]
        def right_inverse(self, x: Any) -> Any:
            return x, 3

    return {name: found for name, found in locals().items() if inspect.isclass(found) and name != "Module"}


@program(
    *[
        (name, leave)
        for name in ("Symmetric", "Double", "Sine", "RankOne", "Unsure")
        for leave in (True, False)
    ]
)
def one_parametrization(lib: Any, name: str, leave: bool) -> Any:
    module, given = layer(lib, "square")
    P = lib.nn.utils.parametrize
    before = module.weight
    P.register_parametrization(module, "weight", parametrizations(lib)[name]())
    kept = module.parametrizations.weight
    found = [used(module, given), getattr(kept, "original", None) is before, type(module).__name__]
    found += [P.is_parametrized(module), P.is_parametrized(module, "bias"), "weight" in dir(module)]
    found += [P.type_before_parametrizations(module).__name__, kept.is_tensor, kept.ntensors, kept.unsafe]
    found.append(raised(lambda: setattr(module, "weight", values(lib, 4, 4, seed=5))))
    copied = copy.deepcopy(module)
    found += [
        copied.weight,
        dict(copied.state_dict()),
        repr(copied),
        module.weight,
        dict(module.state_dict()),
    ]
    done = raised(lambda: P.remove_parametrizations(module, "weight", leave))
    found += [done if isinstance(done, list) else done is module, dict(module.state_dict())]
    return [*found, type(module).__name__, [n for n, _ in module.named_parameters()], repr(module)]


@program()
def several_parametrizations(lib: Any) -> Any:
    module, given = layer(lib, "square")
    P, of = lib.nn.utils.parametrize, parametrizations(lib)
    for name in ("Symmetric", "Double"):
        P.register_parametrization(module, "weight", of[name]())
    P.register_parametrization(module, "bias", of["Sine"]())
    module.register_buffer("count", values(lib, 2))
    P.register_parametrization(module, "count", of["Double"]())
    found = [used(module, given), module.count, [n for n, _ in module.named_buffers()]]
    module.weight = values(lib, 4, 4, seed=5)
    other, _ = layer(lib, "square")
    for name in ("Symmetric", "Double"):
        P.register_parametrization(other, "weight", of[name]())
    P.register_parametrization(other, "bias", of["Sine"]())
    other.register_buffer("count", values(lib, 2))
    P.register_parametrization(other, "count", of["Double"]())
    found += [str(other.load_state_dict(module.state_dict())), other.weight, other(given)]
    for name in ("count", "weight", "bias"):
        P.remove_parametrizations(module, name)
        found += [type(module).__name__, list(module.state_dict()), repr(module)]
    return [*found, raised(lambda: P.remove_parametrizations(module, "weight"))]


@program()
def reading_inside_cached(lib: Any) -> Any:
    module, given = layer(lib, "square")
    P = lib.nn.utils.parametrize
    P.register_parametrization(module, "weight", parametrizations(lib)["Double"]())
    with P.cached():
        with P.cached():
            first = module.weight
        found = [module.weight is first]
        module(given).sum().backward()
    return [*found, module.weight is first, module.weight is module.weight]


@program()
def transfer(lib: Any) -> Any:
    module, given = layer(lib, "square")
    P, of = lib.nn.utils.parametrize, parametrizations(lib)
    P.register_parametrization(module, "weight", of["RankOne"]())
    P.register_parametrization(module, "bias", of["Double"]())
    one, all_ = lib.nn.Linear(4, 4).double(), lib.nn.Linear(4, 4).double()
    P.transfer_parametrizations_and_params(module, one, "bias")
    P.transfer_parametrizations_and_params(module, all_)
    return [repr(one), one.bias, repr(all_), all_(given), list(all_.state_dict())]


@program(*[(name, unsafe) for unsafe in (False, True) for name in ("Cut", "Single", "Pair")])
def changing_parametrizations(lib: Any, name: str, unsafe: bool) -> Any:
    P, of = lib.nn.utils.parametrize, parametrizations(lib)
    found = []
    for first in (None, "Double"):
        module, _ = layer(lib, "square")
        if first:
            P.register_parametrization(module, "weight", of[first]())
        found.append(
            raised(lambda m=module: P.register_parametrization(m, "weight", of[name](), unsafe=unsafe))
        )
        found += [repr(module), raised(lambda m=module: m.weight)]
    return [x if not hasattr(x, "parameters") else "module" for x in found]


@program(
    *[(name, first) for name in ("Shrinking", "Casting", "Numbers", "Odd") for first in (None, "Double")]
)
def wrong_inverses(lib: Any, name: str, first: Any) -> Any:
    module, _ = layer(lib, "square")
    P, of = lib.nn.utils.parametrize, parametrizations(lib)
    if first:
        P.register_parametrization(module, "weight", of[first]())
    found = raised(lambda: P.register_parametrization(module, "weight", of[name]()))
    return [found, repr(module), raised(lambda: P.register_parametrization(module, "none", of["Double"]()))]


# -- prune


def pruning(lib: Any) -> Any:
    """The module, which PyTorch's package has only when somebody has imported it."""
    return import_module(f"{lib.__name__}.nn.utils.prune")


@program(
    ("identity", ()),
    ("l1_unstructured", (3,)),
    ("l1_unstructured", (0.4,)),
    ("l1_unstructured", (0,)),
    ("ln_structured", (1, 2, 0)),
    ("ln_structured", (0.5, float("inf"), 1)),
    ("ln_structured", (0.5, 1, -1)),
    ("ln_structured", (2, 2, 5)),
    ("l1_unstructured", (-1,)),
    ("l1_unstructured", (1.5,)),
    ("l1_unstructured", ("a",)),
    ("l1_unstructured", (1000,)),
    ("random_structured", (9, 0)),
    ("random_unstructured", (1000,)),
)
def pruned(lib: Any, name: str, arguments: tuple[Any, ...]) -> Any:
    prune = pruning(lib)
    found: list[Any] = []
    for kind in ("Linear", "Conv2d"):
        module, given = layer(lib, kind)
        done = raised(lambda m=module: getattr(prune, name)(m, "weight", *arguments))
        found += [done if isinstance(done, list) else done is module, prune.is_pruned(module)]
        found += [sorted(module.state_dict()), repr(module)]
        if not isinstance(done, list):
            found += used(module, given)[:4]
            copied = copy.deepcopy(module.eval()) if not module.weight.requires_grad else module
            found += [raised(lambda m=copied: list(prune.remove(m, "weight").state_dict().items()))]
            found += [raised(lambda m=copied: prune.remove(m, "weight"))]
    return found


@program()
def pruned_again(lib: Any) -> Any:
    prune = pruning(lib)
    module, given = layer(lib, "Linear")
    prune.l1_unstructured(module, "weight", 2)
    prune.ln_structured(module, "weight", 1, 2, 0)
    mask = lib.ones(3, 4).double()
    mask[:, 1] = 0
    prune.custom_from_mask(module, "weight", mask)
    prune.l1_unstructured(module, "weight", 1, importance_scores=values(lib, 3, 4, seed=9))
    prune.identity(module, "bias")
    hooks = list(module._forward_pre_hooks.values())
    found = [[type(h).__name__ for h in hooks], [type(m).__name__ for m in hooks[0]], len(hooks[0])]
    found += [type(hooks[0][1]).__name__, used(module, given)]
    prune.remove(module, "weight")
    found += [dict(module.state_dict()), [n for n, _ in module.named_parameters()]]
    found.append(raised(lambda: prune.l1_unstructured(module, "weight", 1, values(lib, 2, 2))))
    found.append(raised(lambda: prune.custom_from_mask(module, "weight", lib.ones(2, 2))))
    found.append(raised(lambda: prune.ln_structured(module, "bias", 1, 2, 0)))
    return [*found, raised(lambda: prune.remove(module, "weight"))]


@program()
def pruned_globally(lib: Any) -> Any:
    prune = pruning(lib)
    net = lib.nn.Sequential(layer(lib, "square")[0], layer(lib, "Linear")[0])
    pairs = [(net[0], "weight"), (net[1], "weight"), (net[1], "bias")]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=9)
    found = [used(net, layer(lib, "Linear")[1])]
    scores = {(net[0], "weight"): values(lib, 4, 4, seed=9)}
    prune.global_unstructured(pairs[:2], prune.L1Unstructured, importance_scores=scores, amount=0.25)
    found.append(dict(net.state_dict()))
    found.append(raised(lambda: prune.global_unstructured(3, prune.L1Unstructured, amount=1)))
    found.append(raised(lambda: prune.global_unstructured(pairs, prune.L1Unstructured, 3, amount=1)))
    wrong = raised(lambda: prune.global_unstructured(pairs, prune.RandomStructured, amount=1))
    return [*found, wrong[0]]


@program()
def own_methods(lib: Any) -> Any:
    prune = pruning(lib)

    class Every(prune.BasePruningMethod):  # type: ignore[misc, name-defined]
        PRUNING_TYPE = "unstructured"

        def __init__(self, step: int = 2) -> None:
            self.step = step

        def compute_mask(self, t: Any, default_mask: Any) -> Any:
            mask = default_mask.clone()
            mask.view(-1)[:: self.step] = 0
            return mask

    class Other(Every):
        PRUNING_TYPE = "other"

    class Rows(Every):
        PRUNING_TYPE = "structured"

    module, given = layer(lib, "Linear")
    Every.apply(module, "weight", 3)
    found = [used(module, given)]
    for cls in (Other, Rows):
        again, _ = layer(lib, "Linear")
        Every.apply(again, "weight", 3)
        found.append(raised(lambda cls=cls, again=again: cls.apply(again, "weight")))
    method = Every()
    found.append(method.prune(values(lib, 2, 3)))
    found.append(method.prune(values(lib, 2, 3), default_mask=lib.zeros(2, 3).double()))
    found.append(raised(lambda: method.prune(values(lib, 2, 3), importance_scores=values(lib, 2))))
    found.append(raised(lambda: prune.BasePruningMethod())[0])
    container = prune.PruningContainer()
    container._tensor_name = "bias"
    found.append(raised(lambda: container.add_pruning_method(3)))
    method._tensor_name = "weight"
    return [*found, raised(lambda: container.add_pruning_method(method))[0]]


# -- vectors, and modules without values


@program()
def vectors(lib: Any) -> Any:
    module, _ = layer(lib, "Linear")
    utils = lib.nn.utils
    vector = utils.parameters_to_vector(module.parameters())
    utils.vector_to_parameters(values(lib, 15, seed=3), module.parameters())
    return [vector, dict(module.state_dict()), raised(lambda: utils.vector_to_parameters(3, []))]


@program()
def without_values(lib: Any) -> Any:
    skip = lib.nn.utils.skip_init
    made = skip(lib.nn.Linear, 3, out_features=2, dtype=lib.float64)
    found = [repr(made), str(made.weight.device), str(made.weight.dtype)[-7:], made.weight.shape]
    return [*found, *[raised(lambda c=c: skip(c)) for c in (int, lib.nn.ReLU)]]
