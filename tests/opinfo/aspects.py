"""What is asked about an operator of PyTorch's database: an aspect is a function that gives its questions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from asking import Side, sides
from comparison import Question, outcome
from database import ALL, SPARSE, Case, cases, sparse_cases, title
from translation import NotComparable


def forward(op: Any) -> Iterator[Question]:
    """The results of samples."""
    for case in cases(op, op.dtypes):
        yield Question(case, Side.result, is_result=True)


def backward(op: Any) -> Iterator[Question]:
    """The gradients of the inputs."""
    return derivatives(op, Side.backward) if op.supports_autograd else iter(())


def second(op: Any) -> Iterator[Question]:
    """The gradients of gradients."""
    return derivatives(op, Side.second) if op.supports_gradgrad else iter(())


def tangents(op: Any) -> Iterator[Question]:
    """Forward mode."""
    return derivatives(op, Side.tangents) if op.supports_forward_ad else iter(())


def derivatives(op: Any, ask: Callable[[Side], Any]) -> Iterator[Question]:
    """Derivatives of one kind, where torch has them."""
    kinds = [d for d in op.backward_dtypes if d.is_floating_point or d.is_complex]
    for case in cases(op, kinds, requires_grad=True):
        yield Question(case, ask)


def written(op: Any) -> Iterator[Question]:
    """What the in-place form writes, and that it refuses what would have to be broadcast."""
    for case in cases(op, op.dtypes) if op.inplace_variant else ():
        if isinstance(case.sample.input, torch.Tensor):
            yield Question(case, Side.written, must_fail=None)


def out(op: Any) -> Iterator[Question]:
    """``out=`` of the right shape, and without elements: it is written, resized, and returned."""
    for case in cases(op, op.dtypes) if op.supports_out else ():
        try:
            result = outcome(sides(case)[1].result)
        except NotComparable:  # said of the sample by the aspect that asks for its result
            continue
        if isinstance(result, (torch.Tensor, tuple, list)):
            for empty, what in ((False, "out"), (True, "empty out")):
                yield Question(case, lambda side, r=result, e=empty: side.put(r, e), what, is_result=True)


def variants(op: Any) -> Iterator[Question]:
    """The method, Python's operator, and the aliases: what they give."""
    forms = [op.method_variant, op.operator_variant]
    forms += [form for alias in op.aliases for form in (alias.op, alias.method_variant)]
    for form in filter(None, forms):
        for case in cases(op, op.dtypes):
            if isinstance(case.sample.input, torch.Tensor):
                yield Question(case, called(form), getattr(form, "__name__", str(form)), is_result=True)


def called(form: Any) -> Callable[[Side], Any]:
    """Asks for the result of another form of an operator."""
    return lambda side: side.translate(form)(*side.arguments, **side.keywords)


def errors(op: Any) -> Iterator[Question]:
    """Calls that are errors."""
    if op.error_inputs_func is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = list(op.error_inputs("cpu"))
        for index, error in enumerate(found):
            yield Question(Case(op, "error", index, error.sample_input), Side.result, must_fail=True)


def layout(op: Any) -> Iterator[Question]:
    """The strides of results, of samples as they are, and with their dimensions in other orders in memory."""
    for case in cases(op, op.dtypes):
        orders = (
            ("", "reversed", "channels_last")
            if ALL
            else ("", "reversed", "channels_last")[case.index % 3 :][:1]
        )
        for order in orders:
            sample = case.sample.transform(lambda t, o=order: laid_out(t, o)) if order else case.sample
            yield Question(case._replace(sample=sample), Side.result, order, is_result=True, strides=True)


def laid_out(value: Any, order: str) -> Any:
    """A tensor of the same values whose dimensions lie in another order in memory."""
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return value
    if order == "reversed":
        back = list(reversed(range(value.dim())))
        made = value.permute(back).contiguous().permute(back)
    else:
        formats = {4: torch.channels_last, 5: torch.channels_last_3d}
        made = value.contiguous(memory_format=formats[value.dim()]) if value.dim() in formats else value
    return made.detach().requires_grad_(value.requires_grad)


def sparse(op: Any) -> Iterator[Question]:
    """Results of sparse samples, and gradients, in each layout of which there are some."""
    for layout in SPARSE.get(title(op), ()):
        what = str(layout).removeprefix("torch.")
        for case in sparse_cases(op, layout, op.dtypes):
            yield Question(case, Side.result, what, is_result=True)
        if op.supports_autograd:
            kinds = [d for d in op.backward_dtypes if d.is_floating_point or d.is_complex]
            for case in sparse_cases(op, layout, kinds, requires_grad=True):
                yield Question(case, Side.backward, f"gradient, {what}")


def batched(op: Any) -> Iterator[Question]:
    """``vmap`` over all tensors, over one of them, over a last dimension; expected is a loop of torch."""
    for case in cases(op, op.dtypes):
        chosen = BATCHES if ALL else BATCHES[case.index % len(BATCHES) :][:1]
        for which, dim in chosen:
            yield Question(
                case,
                lambda side, w=which, d=dim: side.batched(w, d),
                f"vmap of {which} tensors in {dim}",
                expect=lambda _, torchs, w=which: torchs.looped(w),
                may_refuse=True,
                is_result=True,
            )


BATCHES = (("all", 0), ("first", -1), ("other", 0))


def batched_gradient(op: Any) -> Iterator[Question]:
    """``is_grads_batched``: gradients of two cotangents at once; expected are torch.s, one by one."""
    for question in backward(op) if op.check_batched_grad else ():
        yield question._replace(
            ask=Side.batched_gradient,
            expect=lambda _, torchs: torchs.batched_gradient(loop=True),
            may_refuse=True,
        )


def meta(op: Any) -> Iterator[Question]:
    """Arrays without data: shapes, dtypes and strides are those of the CPU."""
    for case in cases(op, op.dtypes):
        yield Question(
            case,
            Side.meta,
            expect=lambda ours, _: ours.result(),
            may_refuse=True,
            strides=True,
            is_result=True,
        )


ASPECTS = {
    f.__name__: f
    for f in (
        forward,
        backward,
        second,
        tangents,
        written,
        out,
        variants,
        errors,
        layout,
        sparse,
        batched,
        batched_gradient,
        meta,
    )
}
