"""The operators' samples on another backend, compared with the CPU.

``python -m tengen.testing.backends jax`` says how many run on a device; ``--library strictlib`` imports
the library that declares it. An operator runs there if all its samples do, with the same dtypes, shapes,
values and gradients. What does not run raises NotImplementedError, which names operator and backend, before
anything is computed.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np

import tengen
from tengen.codegen.model.operators import Operator

from ..dispatch.operator import operator as operator_named
from . import declared
from .closeness import close, tolerance
from .failure import Mismatch
from .samples import Call, CallMaker

#: In the first of these that a sample takes it is tried.
DTYPES = ("float64", "int64", "bool", "complex128", "float32")
RAN, LACKS, SKIPPED = "ran", "lacks", "skipped"


def tried() -> dict[str, Operator]:
    """The operators that have samples and are not in place, by name."""
    found = declared.declarations().operators
    return {str(o.name): o for o in found if o.samples and not str(o.name).partition(".")[0].endswith("_")}


def run_on(device: str, operator: Operator) -> str:
    """Run the samples of an operator on a device.

    Returns "ran", "lacks" where the backend has not the operator, "skipped" where no sample is for one of
    ``DTYPES``. Mismatch, or the backend's error, where it does not do as on the CPU.
    """
    maker = CallMaker(declared.declarations().scalar_types)
    outcome = SKIPPED
    for sample in operator.samples:
        call = maker.call(operator, sample)
        kind, expected = _on_default(call)
        if kind is None:
            continue
        try:
            results, gradients = _compute(call, kind, device, bool(expected[1]))
        except NotImplementedError:
            return LACKS
        _compare(call, kind, results, expected[0], "results")
        if "nondeterministic_seeded" not in operator.tags and not operator.determined:
            _compare(call, kind, gradients, expected[1], "gradients")
        outcome = RAN
    return outcome


def _on_default(call: Call) -> tuple[Any, Any]:
    """The first dtype that the sample takes, and what it gives there."""
    for name in DTYPES:
        kind = getattr(tengen, name)
        if call.takes(kind):
            try:
                return kind, _compute(call, kind, None, True)
            except (NotImplementedError, RuntimeError, TypeError, ValueError, IndexError):
                continue
    return None, None


def _compute(call: Call, kind: Any, device: str | None, gradients: bool) -> tuple[list[Any], list[Any]]:
    """The results as a flat list, and the gradients of the sum of those that have some, if there are."""
    leaves: list[Any] = []

    def make(array: Any) -> Any:
        made = tengen.from_numpy(np.array(array))
        made = made if device is None else made.to(device)
        if made.is_floating_point() or made.is_complex():
            made.requires_grad_()
            leaves.append(made)
        return made

    tengen.manual_seed(0)
    values = call.tensors(kind, make)
    for number, argument in enumerate(call.arguments):
        if str(argument.type.required) == "Device" and device is not None:
            values[number] = tengen.device(device)
    results = list(_flat(operator_named(str(call.operator.name))(*values)))
    differentiable = [r for r in results if getattr(r, "requires_grad", False)]
    if not gradients or not differentiable or "nondeterministic_seeded" in call.operator.tags:
        return results, []
    total = sum([(r.real if r.is_complex() else r).sum() for r in differentiable])
    try:
        return results, list(tengen.autograd.grad(total, leaves, allow_unused=True))
    except NotImplementedError:
        if device is None:
            return results, []
        raise


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _flat(each)
    else:
        yield value


def _compare(call: Call, kind: Any, found: Sequence[Any], expected: Sequence[Any], what: str) -> None:
    if len(found) != len(expected):
        raise Mismatch(f"{call.text}: {len(found)} {what}, not {len(expected)}")
    for ours, theirs in zip(found, expected, strict=True):
        if not isinstance(theirs, tengen.Tensor):
            if ours is not theirs and ours != theirs and theirs == theirs:
                raise Mismatch(f"{call.text}: {what} {ours} is not {theirs}")
            continue
        if ours.dtype is not theirs.dtype:
            raise Mismatch(f"{call.text}: {what} of {ours.dtype}, not {theirs.dtype}")
        if "empty" in call.operator.name.base or call.operator.determined:
            if ours.shape != theirs.shape:
                raise Mismatch(f"{call.text}: {what} of shape {ours.shape}, not {theirs.shape}")
            continue
        mine, its = (t.detach().cpu().numpy() for t in (ours, theirs))
        close(mine, its, tolerance(call.operator, kind, ours.dtype), f"{call.text}: {what}")


def backend_tests(device: str) -> Callable[..., None]:
    """A test for pytest of every operator, that it does on a device as on the CPU.

    In a module of the tests of a library that declares the device::

        test_operators = backend_tests("mine")

    Operators that the backend lacks are skipped, and named.
    """
    import pytest

    operators = tried()

    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize("name", sorted(operators))
    def test(name: str) -> None:
        if run_on(device, operators[name]) == LACKS:
            pytest.skip(f"{name} is not on {device}")

    return test


def main(arguments: Sequence[str]) -> int:
    """Print how many operators run on a device, and what is with the others."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(prog="python -m tengen.testing.backends")
    parser.add_argument("device", help="where the operators run: jax")
    parser.add_argument("names", nargs="*", help="of operators, in place of all")
    parser.add_argument("--library", metavar="PACKAGE", help="the library that declares the device")
    options = parser.parse_args(arguments)
    if options.library is not None:
        import_module(options.library)
    device, names = options.device, options.names
    outcomes: Counter[str] = Counter()
    for name, operator in tried().items():
        if names and name not in names:
            continue
        try:
            outcome = run_on(device, operator)
        except Exception as error:
            outcome = "differs"
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}")
        if outcome == LACKS:
            print(f"{name}: not on {device}")
        outcomes[outcome] += 1
    count = sum(outcomes.values()) - outcomes[SKIPPED]
    print(f"{device}: {outcomes[RAN]} of {count} operators run, {outcomes[LACKS]} are lacking")
    return 1 if outcomes["differs"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
