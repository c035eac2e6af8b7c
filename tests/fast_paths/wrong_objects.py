"""Wrong objects where fast paths read: each part runs in a process of its own, and says what went wrong.

The functions of Python's say what is right: the machine gives the same result, or the same error.
"""

# ruff: noqa: B008, B023 -- what is made in a loop is called before the loop goes on

from __future__ import annotations

import faulthandler
import gc
import itertools
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from test_same import described
from test_texts import replaced

import tengen
from tengen import fast_paths
from tengen.core.storage import Storage
from tengen.testing import declared

OF_TENSOR = ("_array", "_type", "_requires_grad", "_edge", "_storage", "_base", "_meta")
DELETED = object()  # the slot is deleted
wrong: list[str] = []


class Metaclass(type):
    """Its classes say that they are any other, and hash as Tensor does."""

    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return hash(tengen.Tensor)


class Liar(metaclass=Metaclass):
    """No Tensor, although its class says so."""

    def __repr__(self) -> str:
        return "Liar()"


class Equal:
    """It is equal to all."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class Subclass(tengen.Tensor):
    """Tensors that are no plain ones."""


class OtherStorage(Storage):
    """Storages of a class that is derived."""

    __slots__ = ()


def recorded() -> Any:
    return tengen.ones(2, 3, requires_grad=True).exp()


#: What makes one of each kind that may stand in a slot, or come as an argument.
KINDS: dict[str, Callable[[], Any]] = {
    "deleted": lambda: DELETED,
    "None": lambda: None,
    "int": lambda: 5,
    "large int": lambda: 2**70,
    "str": lambda: "text",
    "object": lambda: object(),
    "liar": Liar,
    "equal": Equal,
    "bool": lambda: True,
    "float": lambda: 1.5,
    "empty tuple": lambda: (),
    "tuple": lambda: (None,),
    "list": lambda: [tengen.ones(2, 3)],
    "dict": dict,
    "Tensor": lambda: tengen.ones(2, 3),
    "result": recorded,
    "Node": lambda: recorded().grad_fn,
    "subclass": lambda: Subclass(np.ones(2)),
    "array": lambda: np.ones((2, 3), np.float32),
    "objects": lambda: np.ones(2, object),
    "Type": lambda: tengen.ones(2)._type,
    "Storage": Storage,
    "OtherStorage": OtherStorage,
    "class": lambda: tengen.Tensor,
    "empty Tensor": lambda: tengen.Tensor.__new__(tengen.Tensor),
}
turns = itertools.count()


def turn() -> str:
    """The next kind: all come to each place of some operator or other."""
    return list(KINDS)[next(turns) % len(KINDS)]


def given(kind: str) -> Any:
    """The same as an argument, which cannot be deleted."""
    made = KINDS[kind]()
    return None if made is DELETED else made


def outcome(run: Callable[[], Any]) -> str:
    """What a call gives, or its error; random numbers are the same ones each time."""
    tengen.manual_seed(0)
    try:
        found = repr(described(run(), 1))
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    return re.sub(r"0x[0-9a-f]+", "0x", found)


def put(owner: Any, slot: str, value: Any) -> None:
    if value is not DELETED:
        setattr(owner, slot, value)
    elif hasattr(owner, slot):
        delattr(owner, slot)


def slots_of(value: Any) -> list[str]:
    """The names of all slots that instances have."""
    named = [vars(cls).get("__slots__", ()) for cls in type(value).__mro__]
    return [
        name for names in named for name in ([names] if isinstance(names, str) else names) if "__" not in name
    ]


def compare(what: str, prepared: Callable[[], Callable[[], Any]]) -> None:
    """Prepare and call with the machine, and without it."""
    with fast_paths.stopped():
        outcome(prepared())  # after it all that is made once, as Storages of what Nodes have saved, is there
        expected = outcome(prepared())
    found = outcome(prepared())
    if found != expected:
        wrong.append(f"{what}: {found[:400]} in place of {expected[:400]}")


def calls() -> Iterator[tuple[str, Callable[[], list[Any]]]]:
    """Each operator, and what makes complete arguments, floats with gradients."""
    for name in sorted(declared.operators()):
        for call in declared.calls(name)[:1]:
            if call.takes(tengen.float32):
                yield name, lambda call=call: made(call)


def made(call: Any) -> list[Any]:
    tengen.manual_seed(0)
    values = call.tensors(tengen.float32)
    for t in declared.flat(values):
        if t.is_floating_point():
            t.requires_grad_()
    in_place = declared.writes(call.operator)
    return [v * 1 if in_place and isinstance(v, tengen.Tensor) and v.requires_grad else v for v in values]


# -- the parts ---------------------------------------------------------------------------------------


def arguments() -> None:
    """Each argument of each fast path's function."""
    for path, accelerated, _ in replaced():
        print(path, flush=True)
        names = accelerated.__code__.co_varnames[: accelerated.__code__.co_argcount]
        if {"rand", "randn", "randint", "randperm", "empty", "random_"} & {*path.split(".")}:
            continue  # each call draws other numbers
        for place in range(len(names)):

            def prepared(place: int = place, kind: str = turn(), run: Any = accelerated) -> Any:
                x = tengen.ones(2, 3)
                usual: list[Any] = [x._type if name == "T" else x for name in names]
                usual[place] = given(kind)
                return lambda: run(*usual)

            compare(f"{path}, argument {place}", prepared)


def tensors() -> None:
    """Each slot of each Tensor that operators are given."""
    for name, arguments in calls():
        print(name, flush=True)
        for place in range(min(3, len(declared.flat(arguments())))):
            for slot in OF_TENSOR:
                kind = turn()

                def prepared(place: int = place, slot: str = slot, kind: str = kind) -> Any:
                    values = arguments()
                    put(declared.flat(values)[place], slot, KINDS[kind]())
                    return lambda: declared.run(name, values)

                compare(f"{name}, tensor {place}, {slot}: {kind}", prepared)


def nodes() -> None:
    """Each slot of each Node that operators make, and what its methods are given."""
    for name, arguments in calls():
        try:
            out = [t for t in declared.flat(declared.run(name, arguments())) if t.grad_fn is not None]
        except Exception:
            continue
        for t in out[:1]:
            print(name, type(t.grad_fn).__name__, flush=True)
            of_node(t.grad_fn, t.detach().numpy())


def of_node(node: Any, grad: Any) -> None:
    cls = type(node)
    for kind in (turn(), turn()):
        compare(f"{cls.__name__}.apply of {kind}", lambda kind=kind: lambda v=given(kind): cls.apply(v, grad))
        compare(f"{cls.__name__}.apply to {kind}", lambda kind=kind: lambda v=given(kind): cls.apply(node, v))
        compare(f"{cls.__name__}.release of {kind}", lambda kind=kind: lambda v=given(kind): cls.release(v))
    for slot in slots_of(node):
        if hasattr(node, slot):
            before, kind = getattr(node, slot), turn()

            def prepared(kind: str = kind, slot: str = slot) -> Any:
                put(node, slot, KINDS[kind]())
                return lambda: cls.apply(node, grad)

            compare(f"{cls.__name__}, {slot}: {kind}", prepared)
            setattr(node, slot, before)


def uses(x: Any, y: Any) -> dict[str, Callable[[], Any]]:
    """What reads the slots of the other classes: ``x`` is a leaf, ``y`` a view of another tensor."""
    return {
        "writes": lambda: (y.mul_(2), y.zero_(), y.add_(x.detach()), y.fill_(3), y._version),
        "views": lambda: (y.view(-1), x.T, y.split(1), y[0], x[0:1], y.unsqueeze(0)),
        "numbers": lambda: (x + 1, y * 2.5, y - 0, 1 / x, y.clamp(0, 1)),
        "results": lambda: (x * y, x.exp(), y < x, x.sum(), tengen.cat([x, y]), x.softmax(1)),
        "backward": lambda: ((x * y).tanh().sum().backward(), (x * 2).sum().backward(), x.grad),
        "saved": lambda: (x * y, y.mul_(2), (x.exp() * y).sum().backward(), x.grad),
    }


def others() -> None:
    """Each slot of the other classes whose slots fast paths read."""
    x = tengen.ones(2, 3, requires_grad=True)
    (x * 1).sum().backward()
    owners: dict[str, Callable[[Any, Any], Any]] = {
        "Storage": lambda x, y: y._storage,
        "ViewList": lambda x, y: y._storage.views,
        "AutogradMeta": lambda x, y: y._meta,
        "AutogradMeta of a leaf": lambda x, y: x._meta,
        "AccumulateGrad": lambda x, y: x._meta.accumulator,
        "gradient": lambda x, y: x.grad,
        "base": lambda x, y: y._base,
        "Type": lambda x, y: x._type,
        "Numbers": lambda x, y: x._type.numbers,
    }
    for owner, found in owners.items():
        for slot in slots_of(found(*leaf_and_view())):
            print(owner, slot, flush=True)
            for use, kind in ((use, turn()) for use in uses(x, x) for _ in range(3)):
                restored: list[Any] = []

                def prepared(found: Any = found, slot: str = slot, use: str = use, kind: str = kind) -> Any:
                    x, y = leaf_and_view()
                    place = found(x, y)
                    restored[:] = [place, getattr(place, slot, DELETED)]

                    def run() -> Any:
                        try:
                            put(place, slot, KINDS[kind]())
                            return uses(x, y)[use]()
                        finally:
                            put(place, slot, restored[1])

                    return run

                if hasattr(found(*leaf_and_view()), slot):
                    compare(f"{use}, {owner}.{slot}: {kind}", prepared)


def leaf_and_view() -> tuple[Any, Any]:
    """A leaf that has an accumulator and a gradient, and a view that was made where nothing is recorded."""
    x = tengen.arange(6.0).view(2, 3).clone().requires_grad_()
    (x * 1).sum().backward()
    accumulator = (x * 1).grad_fn.next_functions[0][0]
    x._meta.accumulator = accumulator
    with tengen.no_grad():
        y = tengen.ones(2, 3)[:]
    y.add_(1)
    return x, y


def meanwhile() -> None:
    """What fast paths have read is changed while they run: by whatever the collector calls."""
    before = gc.get_threshold()
    combinations = list(
        itertools.product((1, 3, 6, 9), ("_array", "_storage", "_meta", "_type", "_base", "list"))
    )
    for name, arguments in calls():
        print(name, flush=True)
        for after, slot in [combinations[next(turns) % len(combinations)] for _ in range(3)]:
            values = arguments()
            taken = declared.flat(values)
            lists = [v for v in values if isinstance(v, list)]
            left = [after]

            def change(phase: str, _: Any, slot: str = slot, left: list[int] = left) -> None:
                left[0] -= 1
                if left[0] == 0:
                    for t in taken if slot != "list" else ():
                        put(t, slot, DELETED)
                    for found in lists if slot == "list" else ():
                        found.clear()

            gc.callbacks.append(change)
            gc.set_threshold(1)
            try:
                declared.find_operator(name)(*values)
            except Exception:
                pass
            finally:
                gc.set_threshold(*before)
                gc.callbacks.remove(change)


PARTS = {f.__name__: f for f in (arguments, tensors, nodes, others, meanwhile)}

if __name__ == "__main__":
    faulthandler.enable()
    warnings.simplefilter("ignore")
    assert fast_paths.status().used
    PARTS[sys.argv[1]]()
    print("wrong:", len(wrong), *wrong[:40], sep="\n", flush=True)
