"""PyTorch's database of operators: which of its samples are run. Import it only where torch is installed."""

from __future__ import annotations

import functools
import itertools
import os
import unittest
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.testing._internal import common_utils
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo import core
from yaml_files import read_yaml

from tengen.testing.declared import declared_operators

#: Whether all of it is run, as by ``dev.py oracle --all``, or the part that is run by CI.
ALL = os.environ.get("OPINFO") == "all"
#: Of each operator and dtype this many samples are the part that is run by CI.
FIRST = 4
DTYPES = tuple(
    getattr(torch, name)
    for name in ("float64", "float32", "complex128", "complex64", "float16", "bfloat16", "int64", "bool")
)
EXPECTED = Path(__file__).resolve().with_name("expected.yaml")


# For each list of samples PyTorch searches the stack for a test of unittest; below pytest there is none, and
# reading the sources of fifty frames takes longer than the comparisons.
common_utils.extract_test_fn = core.extract_test_fn = lambda: None
# And it notes each seed, with a traceback, for devices that might be asked for later.
for _devices in (torch.cuda, torch.xpu):
    if not _devices.is_available():
        _devices.manual_seed_all = lambda seed: None


class Case(NamedTuple):
    """A sample of an operator."""

    op: Any
    dtype: Any
    index: int
    sample: Any

    def __str__(self) -> str:
        kind = str(self.dtype).removeprefix("torch.")
        try:
            shown = self.sample.summary()
        except RuntimeError:  # it asks sparse tensors of some layouts for their strides
            shown = repr(self.sample).replace("\n", " ")
        return f"{kind} sample {self.index} {shown[12:260]}"


#: The layouts besides strided memory of which the database has samples.
LAYOUTS = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


def title(op: Any) -> str:
    """The name of an OpInfo: several may be of one operator."""
    return f"{op.name}:{op.variant_test_name}" if op.variant_test_name else str(op.name)


OPERATORS = {title(op): op for op in op_db}
#: By operators, the layouts that they have samples of.
SPARSE = {
    name: found
    for name, op in OPERATORS.items()
    if (found := tuple(layout for layout in LAYOUTS if op.supports_sparse_layout(layout)))
}


def dtypes(op: Any, supported: Any) -> list[Any]:
    """The dtypes in which an operator is run: of CI's part float64 and another one, or the first two."""
    found = [d for d in DTYPES if d in supported]
    if ALL or len(found) <= 2:
        return found
    others = found[1:]
    return [found[0], others[zlib.crc32(title(op).encode()) % len(others)]]


def cases(op: Any, supported: Any, requires_grad: bool = False) -> Iterator[Case]:
    """The samples of an operator that are run."""
    for dtype in dtypes(op, supported):
        needs = requires_grad and (dtype.is_floating_point or dtype.is_complex)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            samples = enumerate(op.sample_inputs("cpu", dtype, requires_grad=needs))
            for index, sample in samples if ALL else itertools.islice(samples, FIRST):
                yield Case(op, dtype, index, sample)


def sparse_cases(op: Any, layout: Any, supported: Any, requires_grad: bool = False) -> Iterator[Case]:
    """The samples of an operator in a layout that are run."""
    for dtype in dtypes(op, supported):
        needs = requires_grad and (dtype.is_floating_point or dtype.is_complex)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            samples = enumerate(_sparse_samples(op, layout, dtype, needs))
            for index, sample in samples if ALL else itertools.islice(samples, FIRST):
                yield Case(op, dtype, index, sample)


def _sparse_samples(op: Any, layout: Any, dtype: Any, requires_grad: bool) -> Iterator[Any]:
    """The database's own samples, or, where it has none, its strided ones in this layout."""
    try:
        yield from op.sample_inputs_sparse(layout, "cpu", dtype, requires_grad=requires_grad)
    except unittest.SkipTest:
        return
    except NotImplementedError:
        yield from _converted(op, layout, dtype, requires_grad)


def _converted(op: Any, layout: Any, dtype: Any, requires_grad: bool) -> Iterator[Any]:
    """The strided samples in a layout: all of them in coordinates, in others the matrices."""
    block = {"blocksize": (1, 1)} if layout in (torch.sparse_bsr, torch.sparse_bsc) else {}
    for sample in op.sample_inputs("cpu", dtype):
        if isinstance(sample.input, torch.Tensor) and (layout is LAYOUTS[0] or sample.input.dim() == 2):
            made = sample.input.detach().to_sparse(layout=layout, **block)
            sample.input = made.requires_grad_(requires_grad)
            yield sample


@functools.cache
def declared_differences() -> dict[str, dict[str, str]]:
    """By operators' base names, how they differ by their declarations."""
    found: dict[str, dict[str, str]] = {}
    for operator in declared_operators().values():
        found.setdefault(operator.name.base, {}).update(operator.differs)
    return found


def is_declared(op: Any, aspect: str, dtype: Any) -> bool:
    """Whether the declaration of an operator says that it differs."""
    names = {str(op.aten_name), op.name.replace(".", "_"), op.name.rpartition(".")[2]}
    differs = {key for name in names for key in declared_differences().get(name, {})}
    derivatives = {"backward", "second", "tangents", "batched_gradient"}
    meant = {"gradient"} if aspect in derivatives else {aspect}
    return bool(differs & (meant | {str(dtype).removeprefix("torch.")}))


#: The aspect of operators that tengen has not.
ABSENT = "absent"


class Expected(NamedTuple):
    """A difference that is expected, of operators in an aspect."""

    aspects: frozenset[str]
    dtypes: frozenset[str]
    sometimes: bool
    reason: str


@functools.cache
def expected() -> dict[str, list[Expected]]:
    """The expected differences by OpInfos; no dtypes stand for all."""
    found: dict[str, list[Expected]] = {}
    for entry in read_yaml(EXPECTED) or ():
        aspects, kinds = frozenset(entry["aspects"]), frozenset(entry.get("dtypes", ()))
        one = Expected(aspects, kinds, entry.get("sometimes", False), entry["reason"])
        for name in entry["operators"]:
            found.setdefault(name, []).append(one)
    return found


#: What differs in one aspect may, and need not, do so in those that ask for the same in other ways.
SHOWN_BY = {"layout": "forward", "batched": "forward", "variants": "forward", "batched_gradient": "backward"}


def expectation(op: Any, aspect: str, dtype: str) -> Expected | None:
    """What expected.yaml says of an aspect."""
    known = expected().get(title(op), ())
    shown = (e._replace(sometimes=True) for e in known if SHOWN_BY.get(aspect) in e.aspects)
    found = (*(e for e in known if aspect in e.aspects), *shown)
    return next((e for e in found if not e.dtypes or dtype in e.dtypes), None)
