"""What torch and tengen are asked about a sample of PyTorch's database, each in its own words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from database import Case
from sides import cotangent
from torch_side import to_array
from translation import Translator

import tengen


class Side:
    """One of the libraries with the values of a sample: what is asked of it gives tensors, or raises."""

    def __init__(self, library: Any, case: Case, translate: Callable[[Any], Any], narrow: Any = None) -> None:
        self.library, self.case, self.translate, self.narrow = library, case, translate, narrow
        sample = case.sample
        self.op = translate(case.op.op)
        self.process = translate(sample.output_process_fn_grad)
        self.wrapper = translate(case.op.gradcheck_wrapper)
        self.keywords = translate(sample.kwargs)
        self.arguments = [translate(sample.input), *translate(sample.args)]

    def array(self, tensor: Any) -> np.ndarray[Any, Any]:
        """The numbers of a tensor."""
        return to_array(tensor) if self.library is torch else np.asarray(tensor.detach().numpy())

    def tensors(self, value: Any) -> list[Any]:
        """The tensors in a result, or among arguments."""
        if isinstance(value, self.library.Tensor):
            return [value]
        if isinstance(value, dict):
            value = list(value.values())
        return [t for v in value for t in self.tensors(v)] if isinstance(value, (list, tuple)) else []

    def seeds(self, tensors: Sequence[Any], start: int = 0) -> list[Any]:
        """Random numbers like each of the tensors, the same for both libraries."""
        arrays = [np.ascontiguousarray(cotangent(t, start + i)) for i, t in enumerate(tensors)]
        pairs = zip(arrays, tensors, strict=True)
        made = [(self.library.from_numpy(a).reshape(a.shape), t.dtype) for a, t in pairs]
        return [(m if self.narrow is None else m.to(self.narrow)).to(dtype) for m, dtype in made]

    # -- results ------------------------------------------------------------------------------

    def result(self) -> Any:
        """What the function gives."""
        return self.op(*self.arguments, **self.keywords)

    def written(self) -> Any:
        """What the in-place form writes."""
        value = self.arguments[0].clone()
        result = self.translate(self.case.op.inplace_variant)(value, *self.arguments[1:], **self.keywords)
        assert result is value, "the result is another tensor than the one that was written"
        return value

    def put(self, result: Any, empty: bool) -> Any:
        """What is written to ``out=``, of torch's result's shapes or without elements."""
        like = [result] if isinstance(result, torch.Tensor) else list(result)
        if empty:  # memory of its own, or it could not grow
            outs = tuple(self.library.empty([0], dtype=self.translate(t.dtype)) for t in like)
        else:
            outs = tuple(self.translate(torch.empty(t.shape, dtype=t.dtype)) for t in like)
        given = outs[0] if isinstance(result, torch.Tensor) else outs
        returned = self.op(*self.arguments, **self.keywords, out=given)
        assert list(map(id, self.tensors(returned))) == list(map(id, outs)), "out is not what is returned"
        return given

    def meta(self) -> Any:
        """What the function gives of arrays without data, of the same shapes and strides."""

        def without(tensor: Any) -> Any:
            size = tensor.untyped_storage().nbytes() // tensor.element_size()
            memory = self.library.empty([size], dtype=tensor.dtype, device="meta")
            made = memory.as_strided(tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
            return made.detach().requires_grad_(tensor.requires_grad)

        arguments, keywords = (mapped(without, v, self.library) for v in (self.arguments, self.keywords))
        if "device" in keywords:
            keywords["device"] = self.library.device("meta")
        return self.op(*arguments, **keywords)

    # -- batches ------------------------------------------------------------------------------

    def mates(self, which: str) -> list[Any]:
        """Of the tensors among the arguments those that are batched, in the places of the others None."""
        found = self.tensors([self.arguments, self.keywords])
        chosen = {"all": range(len(found)), "first": range(1), "other": range(1, len(found))}[which]
        return [t if i in chosen else None for i, t in enumerate(found)]

    def batch(self, tensor: Any) -> list[Any]:
        """A tensor and another one of its elements: what may be batched."""
        return [tensor.detach(), tensor.detach().flip(list(range(tensor.dim())))]

    def of(self, tensors: Sequence[Any]) -> Any:
        """What the function gives of other tensors in the places of those that are not None."""
        old = self.tensors([self.arguments, self.keywords])
        others = {id(t): new for t, new in zip(old, tensors, strict=True) if new is not None}
        arguments, keywords = (placed(v, others) for v in (self.arguments, self.keywords))
        return self.op(*arguments, **keywords)

    def batched(self, which: str, dim: int) -> Any:
        """What ``vmap`` gives of the function over two values of tensors, in this dimension."""
        mates = self.mates(which)
        given = [None if t is None else self.library.stack(self.batch(t), dim) for t in mates]
        dims = tuple(None if t is None else dim for t in mates)
        values = [self.library.zeros(()) if t is None else t for t in given]

        def called(*tensors: Any) -> Any:
            return self.of([t if d is not None else None for t, d in zip(tensors, dims, strict=True)])

        return self.library.func.vmap(called, in_dims=dims)(*values)

    def looped(self, which: str) -> Any:
        """The same by a loop."""
        rows = [None if t is None else self.batch(t) for t in self.mates(which)]
        assert any(r is not None for r in rows), "nothing to batch"
        results = [self.of([None if r is None else r[i] for r in rows]) for i in range(2)]
        return stacked(results, self.library)

    def batched_gradient(self, loop: bool = False) -> list[Any]:
        """The gradients of two cotangents at once, or of one after the other."""
        inputs, outputs = self.inputs(), self.outputs()
        if not outputs:
            return []
        seeds = [self.seeds(outputs, 20 * i) for i in range(2)]
        if loop:
            rows = [self.gradients(outputs, inputs, s, retain_graph=True) for s in seeds]
            return [self.library.stack(pair) for pair in zip(*rows, strict=True)]
        both = [self.library.stack(pair) for pair in zip(*seeds, strict=True)]
        found = self.library.autograd.grad(outputs, inputs, both, allow_unused=True, is_grads_batched=True)
        zeros = self.library.zeros
        return [
            zeros((2, *t.shape), dtype=t.dtype) if g is None else g
            for g, t in zip(found, inputs, strict=True)
        ]

    # -- derivatives --------------------------------------------------------------------------

    def inputs(self) -> list[Any]:
        """The tensors that are differentiated."""
        return [t for t in self.tensors([self.arguments, self.keywords]) if t.requires_grad]

    def outputs(self, others: dict[int, Any] | None = None) -> list[Any]:
        """The results that have a gradient, as far as they are determined; of other inputs where given."""
        arguments, keywords = (placed(v, others or {}) for v in (self.arguments, self.keywords))
        found = self.process(self.wrapper(self.op, *arguments, **keywords))
        recorded = [t for t in self.tensors(found) if t.requires_grad]
        return [t if t.layout is self.library.strided else t.to_dense() for t in recorded]

    def gradients(
        self, outputs: Sequence[Any], inputs: Sequence[Any], seeds: Sequence[Any], **options: Any
    ) -> list[Any]:
        """Gradients; zeros where there are none."""
        found = self.library.autograd.grad(outputs, inputs, seeds, allow_unused=True, **options)
        zeros = self.library.zeros_like
        return [zeros(t) if g is None else g for g, t in zip(found, inputs, strict=True)]

    def backward(self) -> list[Any]:
        """The gradients of the inputs."""
        inputs, outputs = self.inputs(), self.outputs()
        return self.gradients(outputs, inputs, self.seeds(outputs)) if outputs else []

    def second(self) -> list[Any]:
        """The gradients of gradients, for the inputs and the cotangents."""
        inputs, outputs = self.inputs(), self.outputs()
        if not outputs:
            return []
        seeds = [s.requires_grad_() for s in self.seeds(outputs)]
        found = self.gradients(outputs, inputs, seeds, create_graph=True)
        pairs = [(g, s) for g, s in zip(found, self.seeds(found, 9), strict=True) if g.requires_grad]
        if not pairs:
            return [self.library.zeros_like(t) for t in (*inputs, *seeds)]
        kept, weights = zip(*pairs, strict=True)
        return self.gradients(kept, [*inputs, *seeds], weights)

    def tangents(self) -> list[Any]:
        """The tangents of the results, in these' dtypes, with random tangents of the inputs."""
        ad = self.library.autograd.forward_ad
        inputs = self.inputs()
        with ad.dual_level():
            pairs = zip(inputs, self.seeds(inputs), strict=True)
            duals = [ad.make_dual(t, s) for t, s in pairs]
            outputs = self.outputs({id(t): d for t, d in zip(inputs, duals, strict=True)})
            unpacked = [ad.unpack_dual(t) for t in outputs]
            zeros = self.library.zeros_like
            found = [zeros(u.primal) if u.tangent is None else u.tangent for u in unpacked]
            return [t.detach().to(u.primal.dtype) for t, u in zip(found, unpacked, strict=True)]


def placed(value: Any, others: dict[int, Any]) -> Any:
    """Arguments with other tensors in the places of some, which their identities tell."""
    if isinstance(value, dict):
        return {k: placed(v, others) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(placed(v, others) for v in value)
    return others.get(id(value), value)


def mapped(change: Callable[[Any], Any], value: Any, library: Any) -> Any:
    """Arguments with their tensors changed."""
    if isinstance(value, library.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {k: mapped(change, v, library) for k, v in value.items()}
    return type(value)(mapped(change, v, library) for v in value) if type(value) in (list, tuple) else value


def stacked(results: Sequence[Any], library: Any) -> Any:
    """The results of several calls as one, whose tensors have a batch dimension in front."""
    first = results[0]
    if isinstance(first, library.Tensor):
        return library.stack(list(results))
    assert isinstance(first, (list, tuple)), "no tensors"
    return [stacked(pair, library) for pair in zip(*results, strict=True)]


def sides(case: Case) -> tuple[Side, Side]:
    """tengen's and torch's."""
    return Side(tengen, case, Translator().value), Side(torch, case, lambda value: value)
