"""What the arguments of a compiled function reach: tensors, and keys, with where they are found.

Tensors in trees; the parameters and buffers of a module; the parameters, options and states of an optimiser;
the ``grad`` of each. All else in trees is static: the function is traced anew for another value.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

from ..autograd.autograd_meta import meta_of
from ..autograd.grad_mode import grad_mode
from ..core.tensor_base import TensorBase
from ..nn.modules.base import ModuleBase
from ..optim.optimizer import Optimizer
from ..random import Generator
from ..utils.pytree import tree_flatten
from .arrays import described, is_tensor
from .random_keys import key_source

#: A place that holds a tensor or None: the dict, or the AutogradMeta, and the name there.
Place = tuple[Any, Any]


class Roots:
    """The tensors and generators that a call's arguments reach, each once, in an order."""

    __slots__ = ("donated", "generators", "modules", "numbers", "optimisers", "signs", "tensors")

    def __init__(self) -> None:
        self.tensors: list[Any] = []
        self.generators: list[Generator] = []
        self.modules: list[Any] = []
        self.optimisers: list[Optimizer] = []
        #: By ``id``, the number of a tensor or generator.
        self.numbers: dict[int, int] = {}
        #: The numbers of the tensors whose memory the function may take.
        self.donated: set[int] = set()
        #: What decides, with the arrays' shapes and dtypes, what the function does.
        self.signs: list[Any] = []

    def add(self, value: Any, argument: str, donate: bool) -> None:
        """Take in an argument, or a tree of them. TypeError for what may be in none, which names it."""
        before = len(self.tensors)
        if isinstance(value, TensorBase):
            self._tensor(value, argument)
        else:
            leaves, spec = tree_flatten(value)
            self.signs.append(spec)
            for leaf in leaves:
                self._leaf(leaf, argument)
        if donate:
            self.donated.update(range(before, len(self.tensors)))

    def _leaf(self, leaf: Any, argument: str) -> None:
        if isinstance(leaf, TensorBase):
            self._tensor(leaf, argument)
        elif isinstance(leaf, ModuleBase):
            self._module(leaf, argument)
        elif isinstance(leaf, Optimizer):
            self._optimiser(leaf, argument)
        elif isinstance(leaf, Generator):
            self.generator(leaf)
        else:
            self.static(leaf, argument)

    def static(self, value: Any, argument: str) -> None:
        """Take in what is no tensor. TypeError unless it is hashable."""
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"jit(): argument {argument!r} has a {described(value)}, which is not hashable: arrays are "
                "given as tensors on jax, all else is hashable, for the function is traced for its value"
            ) from None
        self.signs += (type(value), value)

    def _tensor(self, tensor: Any, argument: str, what: str = "") -> None:
        number = self.numbers.get(id(tensor))
        self.signs.append(number)
        if number is not None:
            return
        if not is_tensor(tensor):
            raise TypeError(f"jit(): argument {argument!r} has {what or described(tensor)}, not on jax")
        if tensor._wraps or grad_mode.transforms:
            raise RuntimeError(
                f"jit(): argument {argument!r} is being transformed by a function of tengen.func: call that "
                "inside of the compiled function"
            )
        if tensor._edge is not None and grad_mode.enabled:
            raise RuntimeError(
                f"jit(): argument {argument!r} has a history, through which no gradient would go, for "
                "results of compiled functions have none: compile what computes it, too, or detach() it"
            )
        self.numbers[id(tensor)] = len(self.tensors)
        self.tensors.append(tensor)
        array = tensor._array
        self.signs += (array.shape, array.dtype, tensor._requires_grad)
        meta = tensor._meta
        if meta is not None and meta.forward_grad is not None:
            raise RuntimeError(f"jit(): argument {argument!r} has a tangent, which results would not have")
        if meta is None or meta.grad is None:
            self.signs.append(None)
        else:
            self._tensor(meta.grad, argument, f"a gradient, {described(meta.grad)}")

    def _module(self, module: Any, argument: str) -> None:
        for part in module.modules():
            self.modules.append(part)
            self.signs += (id(part), part.training)
            for members in (part._parameters, part._buffers):
                for name, tensor in members.items():
                    self.signs.append(name)
                    if tensor is not None:
                        self._tensor(tensor, argument, f"{name!r}, {described(tensor)}")

    def _optimiser(self, optimiser: Optimizer, argument: str) -> None:
        self.optimisers.append(optimiser)
        self.signs.append(id(optimiser))
        for group in optimiser.param_groups:
            for name, option in group.items():
                self.signs.append(name)
                if name == "params":
                    for parameter in option:
                        self._tensor(parameter, argument, f"a parameter, {described(parameter)}")
                        self._states(optimiser, parameter, argument)
                elif isinstance(option, TensorBase):
                    self._tensor(option, argument, f"the option {name!r}, {described(option)}")
                else:
                    self.static(tuple(option) if isinstance(option, list) else option, argument)

    def _states(self, optimiser: Optimizer, parameter: Any, argument: str) -> None:
        for name, state in optimiser.state.get(parameter, {}).items():
            self.signs.append(name)
            if isinstance(state, TensorBase):
                self._tensor(state, argument, state_on(optimiser, name, state))
            else:
                self.static(state, argument)

    def generator(self, generator: Generator) -> None:
        """Take in a generator. TypeError for one that is not on jax."""
        key_source(generator, "jit")
        number = self.numbers.setdefault(id(generator), len(self.generators))
        self.signs.append(number)
        if number == len(self.generators):
            self.generators.append(generator)

    def key(self) -> tuple[Any, ...]:
        """What is equal for calls that one trace serves."""
        return tuple(self.signs)

    def objects(self) -> list[weakref.ref[Any]]:
        """The modules and optimisers, of which the key knows the ``id``."""
        return [weakref.ref(each) for each in (*self.modules, *self.optimisers)]

    # -- arrays

    def arrays(self) -> tuple[list[Any], list[Any]]:
        """The arrays of the tensors that are donated, and of the others with the keys after them."""
        donated = [self.tensors[i]._array for i in sorted(self.donated)]
        kept = [t._array for i, t in enumerate(self.tensors) if i not in self.donated]
        return donated, kept + [g.source.key for g in self.generators]

    def merged(self, donated: list[Any], kept: list[Any]) -> tuple[list[Any], list[Any]]:
        """Of what ``arrays`` gave the arrays by the tensors' numbers, and the keys."""
        first, rest = iter(donated), iter(kept)
        arrays = [next(first if i in self.donated else rest) for i in range(len(self.tensors))]
        return arrays, list(rest)

    # -- places

    def places(self) -> Iterator[tuple[Place, Any]]:
        """The places that hold tensors or None, which the function may fill, and what they hold."""
        for tensor in self.tensors:
            meta = tensor._meta
            yield (tensor, None), None if meta is None else meta.grad
        for module in self.modules:
            for members in (module._parameters, module._buffers):
                for name, tensor in members.items():
                    yield (members, name), tensor
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                for parameter in group["params"]:
                    for name, state in optimiser.state.get(parameter, {}).items():
                        yield (optimiser, (parameter, name)), state


def state_on(optimiser: Optimizer, name: str, state: Any) -> str:
    """A state of an optimiser that is not on jax, for errors."""
    hint = " (capturable=True has it counted there)" if name == "step" else ""
    return f"the state {name!r} of {type(optimiser).__name__}, {described(state)}{hint}"


def put(place: Place, content: Any) -> None:
    """Put a tensor or None in a place."""
    owner, name = place
    if isinstance(owner, TensorBase):
        meta_of(owner).grad = content
    elif isinstance(owner, Optimizer):
        owner.state[name[0]][name[1]] = content
    else:
        owner[name] = content


class Traced:
    """``with Traced(roots, arrays, keys):`` the tensors hold the tracers; then all is as it was.

    RuntimeError for two tensors that show parts of one memory: a write to one must reach the other.
    """

    __slots__ = ("arrays", "before", "keys", "places", "roots", "saved", "states")

    def __init__(self, roots: Roots, arrays: list[Any], keys: list[Any]) -> None:
        self.roots, self.arrays, self.keys = roots, arrays, keys

    def __enter__(self) -> Traced:
        roots = self.roots
        shared = [m.shared for t in roots.tensors if (m := t._meta) is not None and m.shared is not None]
        if len({id(each) for each in shared}) < len(shared):
            raise RuntimeError(
                "jit(): two arguments are views of the same memory, or one is of the other: give one of "
                "them, and make the other inside, or clone() it"
            )
        #: What is in each place, and of each tensor the slots that tracing may change.
        self.places = list(roots.places())
        self.states = [{p: dict(s) for p, s in o.state.items()} for o in roots.optimisers]
        self.saved = [_slots(t) for t in roots.tensors]
        self.before = [g.source.key for g in roots.generators]
        for tensor, array in zip(roots.tensors, self.arrays, strict=True):
            tensor._array, tensor._edge = array, None
            if tensor._meta is not None:
                tensor._meta.shared = tensor._meta.path = None
        for generator, key in zip(roots.generators, self.keys, strict=True):
            generator.source.key = key
        return self

    def __exit__(self, *error: object) -> None:
        roots = self.roots
        for tensor, (version, array, edge, requires, shared, path, grad) in zip(
            roots.tensors, self.saved, strict=True
        ):
            if tensor._storage is not None:
                tensor._storage.version = version
            tensor._array, tensor._edge, tensor._requires_grad = array, edge, requires
            if tensor._meta is not None:
                meta = tensor._meta
                meta.shared, meta.path, meta.grad = shared, path, grad
        for optimiser, states in zip(roots.optimisers, self.states, strict=True):
            for parameter in list(optimiser.state):
                if parameter in states:
                    optimiser.state[parameter].clear()
                    optimiser.state[parameter].update(states[parameter])
                else:
                    del optimiser.state[parameter]
        for place, content in self.places:
            if isinstance(place[0], dict):
                put(place, content)
        for generator, key in zip(roots.generators, self.before, strict=True):
            generator.source.key = key

    def written(self) -> list[int]:
        """The numbers of the tensors that the function wrote to. RuntimeError where one has another shape."""
        found = []
        for i, (tensor, array) in enumerate(zip(self.roots.tensors, self.arrays, strict=True)):
            if tensor._array is array:
                continue
            if tensor._array.shape != array.shape or tensor._array.dtype != array.dtype:
                raise RuntimeError(
                    f"jit(): the function makes of a tensor of shape {tuple(array.shape)} and dtype "
                    f"{array.dtype} one of shape {tuple(tensor._array.shape)} and dtype {tensor._array.dtype}"
                )
            found.append(i)
        return found

    def filled(self) -> list[tuple[Place, Any]]:
        """The places whose content the function changed, and what is there now."""
        before = {_identity(place): content for place, content in self.places}
        now = [(place, _identity(place), content) for place, content in self.roots.places()]
        return [(p, value) for p, key, value in now if before.get(key) is not value or key not in before]


def _identity(place: Place) -> tuple[Any, ...]:
    owner, name = place
    return (id(owner), *((id(name[0]), name[1]) if isinstance(name, tuple) else (name,)))


def _slots(tensor: Any) -> tuple[Any, ...]:
    meta = tensor._meta
    rest = (None, None, None) if meta is None else (meta.shared, meta.path, meta.grad)
    version = 0 if tensor._storage is None else tensor._storage.version
    return (version, tensor._array, tensor._edge, tensor._requires_grad, *rest)
