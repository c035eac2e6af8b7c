"""Whether torch and tengen answer alike, aspect by aspect."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
import translation
from asking import Side, sides
from database import Case
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo
from torch.utils._python_dispatch import TorchDispatchMode
from torch_side import described, failed, to_array
from translation import NotComparable

import tengen
from tengen.testing.closeness import TOLERANCE, close


class Question(NamedTuple):
    """What is asked of both libraries about a sample."""

    case: Case
    ask: Callable[[Side], Any]
    what: str = ""
    #: Whether torch must fail, or must not, for the answers to be compared. None: they are in both cases.
    must_fail: bool | None = False
    #: Whether what is not unique may be compared as far as it is.
    is_result: bool = False
    #: What is expected of tengen's side and torch's; by default what torch answers.
    expect: Callable[[Side, Side], Any] | None = None
    #: Whether tengen may refuse what torch refuses to answer, though something else is expected.
    may_refuse: bool = False
    #: Whether results lie in memory alike.
    strides: bool = False

    def expected(self, ours: Side, theirs: Side) -> Any:
        """What is expected of tengen."""
        return self.expect(ours, theirs) if self.expect else self.ask(theirs)


def differing(question: Question) -> str | None:
    """How the answers differ, "" where they do not; None if torch has none to compare with."""
    ours, theirs = sides(question.case)
    expected = outcome(question.expected, ours, theirs)
    if failed(expected) != question.must_fail and question.must_fail is not None:
        return None
    found = outcome(question.ask, ours)
    if failed(expected):
        return (
            ""
            if failed(found) and related(found, expected)
            else f"{said(found)}, but torch: {said(expected)}"
        )
    if failed(found):
        refused = question.may_refuse and failed(outcome(question.ask, sides(question.case)[1]))
        return None if refused else said(found)
    wrong = unlike(question.case, found, expected)
    if not wrong and question.strides:
        return unlike_in_memory(found, expected)
    if not wrong or unlike(question.case, found, expected, values=False):
        return wrong
    excused = question.case.op.has_nondeterministic_output or is_random(question)
    excused = excused or is_nearer(question, found, expected)
    if question.is_result and not excused:
        excused = is_tied(question.case, found, expected)
        unique = outcome(ours.process, found), outcome(theirs.process, expected)
        if unique[1] is not expected and not excused:
            return unlike(question.case, *unique)
    return "" if excused else wrong


def outcome(call: Callable[..., Any], *arguments: Any) -> Any:
    """A result, or the error that was raised instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return translation.outcome(call, *arguments)


def said(result: Any) -> str:
    """An outcome in short."""
    return str(described(result)) if failed(result) else "no error"


def related(ours: Exception, theirs: Exception) -> bool:
    """Whether one error may stand for the other: their classes are the same, or one is the other's base."""
    a, b = (next(c for c in type(e).__mro__ if c.__module__ == "builtins") for e in (ours, theirs))
    return issubclass(a, b) or issubclass(b, a)


class Drawing(TorchDispatchMode):  # type: ignore[misc]
    """Notes whether an operator of torch draws random numbers."""

    drawn = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.drawn = self.drawn or torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


def is_random(question: Question) -> bool:
    """Whether torch draws random numbers for its answer."""
    with Drawing() as mode:
        outcome(question.ask, sides(question.case)[1])
    return mode.drawn


WIDER = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


def is_nearer(question: Question, found: Any, expected: Any) -> bool:
    """Whether the answer is the one that torch gives in a wider dtype, rounded at its end: then it is right.

    In half precision PyTorch rounds between the steps of an operator; tengen does so at its end alone.
    """
    kind = question.case.dtype
    if kind not in WIDER:
        return False

    def widened(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            wide = value.detach().to(WIDER.get(value.dtype, value.dtype))
            return wide.requires_grad_(value.requires_grad)
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            return type(value)(widened(v) for v in value)
        if isinstance(value, dict):
            return {k: widened(v) for k, v in value.items()}
        return WIDER.get(value, value) if isinstance(value, torch.dtype) else value

    side = Side(torch, question.case, widened, narrow=kind)
    exact = outcome(question.expected, side, side)
    return not failed(exact) and not unlike(question.case, found, narrowed(exact, expected))


def narrowed(value: Any, like: Any) -> Any:
    """A result in the dtypes of another one."""
    if isinstance(value, torch.Tensor) and isinstance(like, torch.Tensor):
        return value.to(like.dtype)
    if isinstance(value, (list, tuple)) and isinstance(like, (list, tuple)):
        return [narrowed(v, e) for v, e in zip(value, like, strict=False)]
    return value


def is_tied(case: Case, found: Any, expected: Any) -> bool:
    """Whether results differ in indices alone, of equal elements of the input: either may be given."""
    if not isinstance(case.sample.input, torch.Tensor):
        return False
    source = to_array(case.sample.input)
    pairs = (
        [(found, expected)] if isinstance(expected, torch.Tensor) else list(zip(found, expected, strict=True))
    )
    for ours, theirs in pairs:
        if unlike(case, ours, theirs) and not (
            theirs.dtype is torch.int64 and selects_alike(source, ours.numpy(), theirs.numpy())
        ):
            return False
    return True


def selects_alike(source: Any, ours: Any, theirs: Any) -> bool:
    """Whether two arrays of indices select the same in some dimension."""
    for dim in range(source.ndim):
        try:
            pairs = [i if i.ndim == source.ndim else np.expand_dims(i, dim) for i in (ours, theirs)]
            first, second = (np.take_along_axis(source, i, dim) for i in pairs)
        except (IndexError, ValueError):
            continue
        if np.array_equal(first, second, equal_nan=source.dtype.kind in "fc"):
            return True
    return False


# -- values ------------------------------------------------------------------------------------


def unlike(case: Case, ours: Any, theirs: Any, values: bool = True) -> str:
    """How two results differ; without ``values`` in dtypes and shapes alone."""
    try:
        compare(case, ours, theirs, values)
    except AssertionError as error:
        return str(error).partition("\n")[0]
    return ""


def compare(case: Case, ours: Any, theirs: Any, values: bool) -> None:
    """Compare results, which may be nested. AssertionError where they differ."""
    if isinstance(theirs, (torch.Tensor, tengen.Tensor)):
        compare_tensors(case, ours, theirs, values)
    elif isinstance(theirs, (list, tuple)):
        assert isinstance(ours, (list, tuple)), f"{type(ours).__name__} is not {type(theirs).__name__}"
        assert len(ours) == len(theirs), f"{len(ours)} results, not {len(theirs)}"
        for t, e in zip(ours, theirs, strict=True):
            compare(case, t, e, values)
    elif isinstance(theirs, (torch.dtype, torch.device)):
        assert name(ours) == name(theirs), f"{ours} is not {theirs}"
    elif isinstance(theirs, (float, complex)):
        near(case, np.asarray(ours), np.asarray(theirs if values else ours), "float64")
    elif values:
        assert ours == theirs, f"{ours} is not {theirs}"


def compare_tensors(case: Case, ours: Any, theirs: Any, values: bool) -> None:
    """Compare dtypes, shapes and numbers. AssertionError where they differ."""
    if name(theirs.dtype) not in tengen.dtype.registry:
        raise NotComparable(f"{theirs.layout}, {theirs.dtype}")
    assert isinstance(ours, tengen.Tensor), f"{type(ours).__name__} is not a tensor"
    assert name(ours.layout) == name(theirs.layout), f"{ours.layout} is not {theirs.layout}"
    if name(theirs.layout) != "strided":
        dims = [(t.sparse_dim(), t.dense_dim()) for t in (ours, theirs)]
        assert dims[0] == dims[1], f"sparse and dense dimensions {dims[0]} are not {dims[1]}"
        ours, theirs = ours.detach().to_dense(), theirs.detach().to_dense()
    assert name(ours.dtype) == name(theirs.dtype), f"{ours.dtype} is not {theirs.dtype}"
    assert tuple(ours.shape) == tuple(theirs.shape), f"shape {tuple(ours.shape)} is not {tuple(theirs.shape)}"
    if values and "meta" not in (theirs.device.type, ours.device.type):
        expected = to_array(theirs) if isinstance(theirs, torch.Tensor) else theirs.detach().numpy()
        near(case, ours.detach().numpy(), expected, name(theirs.dtype))


def unlike_in_memory(ours: Any, theirs: Any) -> str:
    """How the strides of two results differ that are alike otherwise, where they mean anything."""
    if isinstance(theirs, (list, tuple)):
        return next(filter(None, itertools.starmap(unlike_in_memory, zip(ours, theirs, strict=True))), "")
    if not isinstance(theirs, (torch.Tensor, tengen.Tensor)) or not theirs.numel():
        return ""
    if name(theirs.layout) != "strided":
        return ""
    found, expected = ([s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1] for t in (ours, theirs))
    return (
        "" if found == expected else f"strides {ours.stride()} of {tuple(ours.shape)}, not {theirs.stride()}"
    )


def name(value: Any) -> str:
    """The name of a dtype or a device, which both libraries have."""
    return str(value).rpartition(".")[2]


def near(case: Case, found: Any, expected: Any, kind: str) -> None:
    """Compare numbers to the rounding of their dtype or of one of the sample's, whichever is coarsest.

    An elementwise operator rounds each element; the errors of one that combines elements are relative to the
    greatest. AssertionError where they differ.
    """
    allowed = max(TOLERANCE.get(d, 0.0) for d in (kind, name(case.dtype), *kinds(case.sample)))
    size = 1.0
    if not isinstance(case.op, (UnaryUfuncInfo, BinaryUfuncInfo)) and kind in TOLERANCE:
        sizes = np.abs(np.asarray(expected, dtype=np.complex128))
        size = max(size, float(np.max(sizes, where=np.isfinite(sizes), initial=0.0)))
    close(found, expected, allowed, "", allowed * size)


def kinds(sample: Any) -> Iterator[str]:
    """The dtypes of the tensors of a sample."""
    for value in (sample.input, *sample.args, *sample.kwargs.values()):
        if isinstance(value, torch.Tensor):
            yield name(value.dtype)
