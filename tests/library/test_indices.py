"""A library whose operators read and write at indices, as bodies say: all that should follow is right."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Workshop

OPERATORS = """\
- func: picked_of(Tensor self, int dim, Tensor index) -> Tensor
  body: |
    over self[dim: m], index[dim: n]
    out = self[index]
  samples:
    - "[3, 4], 0, ints([2, 4], 0, 3)"
    - "[3, 4], -1, ints([2, 6], 0, 4)"
    - "[], 0, ints([], 0, 1)"
    - "[3], 0, ints([0], 0, 3)"
  errors:
    - "[3], 0, ints([2], 3, 5): RuntimeError"
    - "[3], 1, ints([2], 0, 3): IndexError"
    - "[3], 0, [2]: RuntimeError"
  reference: >
    np.take_along_axis(self if dim == 0 else self[:2], index, dim) if self.ndim and index.size else
    self.reshape(-1)[index]

- func: rows_of(Tensor table, Tensor index, *, int dim=0) -> Tensor
  body: |
    over table[dim: m], index[n]
    out = table[index]
  samples:
    - "[3, 4], ints([5], 0, 3)"
    - "[3, 4], ints([2], 0, 4), dim=-1"
    - "[], ints([1], 0, 1)"
    - "[3, 2], ints([0], 0, 3)"
  errors: ["[3, 4], ints([2], 3, 5): IndexError", "[3, 4], ints([2, 2], 0, 3): IndexError"]
  reference: np.take(table, index, axis=dim) if table.ndim else table

- func: put_along_of(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
  body: |
    over self[dim: m], index[dim: n], src[dim: n]
    out[index] = src
  samples:
    - "[3, 4], 0, values([[0, 1, 2, 0], [1, 2, 0, 1]], dtype=int64), [2, 4]"
    - "[3, 4], 1, values([[0, 3], [2, 1]], dtype=int64), [3, 5]"
    - "[], 0, ints([], 0, 1), []"
  errors: ["[3], 0, ints([2], 3, 5), [2]: RuntimeError", "[3], 0, ints([2], 0, 3), [1]: RuntimeError"]
  reference: scattered_with(self, dim, index, src, None, True)

- func: mark_along_of(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
  body: |
    over self[dim: m], index[dim: n]
    out[index] = value
  samples: ["[3, 4], 0, ints([2, 4], 0, 3), 2.5", "[], 0, ints([], 0, 1), 3"]
  reference: scattered_with(self, dim, index, value, None, True)

- func: add_along_of(Tensor src, int dim, Tensor index, Tensor self) -> Tensor
  body: |
    over self[dim: m], index[dim: n], src[dim: n]
    out[index] = out[index] + src
  samples:
    - "[5, 4], 0, ints([5, 4], 0, 3), [3, 4]"
    - "[3, 7], -1, ints([2, 6], 0, 4), [3, 4]"
    - "[], 0, ints([], 0, 1), []"
  errors: ["[2], 0, ints([2], 3, 5), [3]: RuntimeError"]
  reference: scattered_with(self, dim, index, src, 'sum', True)

- func: add_rows_of(Tensor self, int dim, Tensor index, Tensor source, *, Scalar weight=1) -> Tensor
  body: |
    over self[dim: m], index[n], source[dim: n]
    out[index] = out[index] + source * weight
  samples:
    - "[3, 4], 0, ints([5], 0, 3), [5, 4]"
    - "[3, 4], 1, ints([6], 0, 4), [3, 6], weight=2"
    - "[], 0, ints([1], 0, 1), []"
  errors:
    - "[3, 4], 0, ints([2], 3, 5), [2, 4]: RuntimeError"
    - "[3, 4], 0, ints([2], 0, 3), [2, 3]: RuntimeError"
  reference: slices_added(self, dim, index, source, weight)

- func: put_rows_of(Tensor self, int dim, Tensor index, Tensor source) -> Tensor
  body: |
    over self[dim: m], index[n], source[dim: n]
    out[index] = source
  samples: ["[4, 3], 0, perm(4), [4, 3]", "[2, 4], -1, perm(4), [2, 4]", "[], 0, ints([1], 0, 1), []"]
  reference: slices_replaced(self, dim, index, source)

- func: clear_rows_of(Tensor self, int dim, Tensor index, Tensor value) -> Tensor
  body: |
    over self[dim: m], index[n]
    out[index] = value
  samples: ["[3, 4], 0, ints([2], -3, 3), []", "[3, 4], 1, ints([2], 0, 4), []"]
  errors: ["[3], 0, ints([2], 0, 3), [1]: RuntimeError"]
  reference: slices_replaced(self, dim, index, value)

- func: at_of(Tensor self, Tensor index) -> Tensor
  body: |
    over self[m], index[n]
    out = self[index]
  samples:
    - "[3, 4], ints([2, 3], 0, 12)"
    - "[3, 4], ints([2], -12, 0)"
    - "[], ints([2], 0, 1)"
    - "[3], ints([0], 0, 1)"
  errors: ["[3], ints([2], 3, 5): IndexError", "[3], [2]: RuntimeError"]
  reference: np.ravel(self)[index]

- func: put_at_of(Tensor self, Tensor index, Tensor source, bool add=False) -> Tensor
  body: |
    over self[m], index[n], source[n]
    out[index] = out[index] + source if add else source
  samples:
    - "[3, 4], perm(12), [12]"
    - "[3, 4], ints([5], 0, 12), [5], True"
    - "[3, 4], ints([2, 2], -12, 0), [4], True"
  errors: ["[3], ints([2], 3, 5), [2]: IndexError", "[3], ints([2], 0, 3), [3]: IndexError"]
  reference: put_flat(self, index, source, add)

- func: zeros_and_of(Tensor source, SymInt[] sizes, Tensor index, int dim) -> Tensor
  body: |
    over zeros(sizes)[dim: m], index[n], source[dim: n]
    out[index] = out[index] + source
  samples: ["[5, 4], (3, 4), ints([5], 0, 3), 0", "[2, 3], (2, 4), ints([3], 0, 4), 1"]
  reference: slices_back(source, sizes, dim, index)

- func: found_of(Tensor self, int dim, Tensor index, bool keepdim=False) -> Tensor
  body: |
    over self[dim: m], index[dim: n if keepdim else 1]
    out = self[index]
  samples: ["[3, 4], 1, ints([3], 0, 4)", "[3, 4], 0, ints([2, 4], 0, 3), True", "[], 0, ints([], 0, 1)"]
  errors: ["[3, 4], 1, ints([3], 4, 5): RuntimeError", "[3, 4], 1, ints([3, 1], 0, 4): RuntimeError"]
  reference: gathered(self, dim, index) if keepdim else gathered_without(self, dim, index)

- func: class_of(Tensor self, Tensor target, int dim=1) -> Tensor
  body: |
    over self[dim: m], target[dim: 1]
    out = self[target]
  samples: ["[3, 4], ints([3], 0, 4)", "[2, 3, 4], ints([2, 4], 0, 3)", "[3], ints([], 0, 3), 0"]
  reference: gathered_without(self, dim, target)

- func: mark_one_of(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
  body: |
    over self[dim: m], index[dim: 1], src[dim: 1]
    out[index] = src
  samples: ["[3, 4], 1, ints([3], 0, 4), [3]", "[3, 4], -2, ints([4], 0, 3), [4]"]
  reference: >
    scattered_with(self, dim, np.expand_dims(index, dim), np.expand_dims(src, dim), None, True)

- func: shown_of(Tensor rows, int dim, Tensor index, SymInt[] sizes, bool keepdim) -> Tensor
  body: |
    over zeros(sizes)[dim: m], index[dim: n if keepdim else 1], rows[dim: n if keepdim else 1]
    out[index] = out[index] + rows
  samples: ["[3], 1, ints([3], 0, 4), (3, 4), False", "[3, 2], 1, ints([3, 2], 0, 4), (3, 4), True"]
  reference: >
    scattered_with(np.zeros(sizes, rows.dtype), dim, index if keepdim else np.expand_dims(index, dim),
    rows if keepdim else np.expand_dims(rows, dim), 'sum', True)

- func: table_of(Tensor table, Tensor index) -> Tensor
  body: |
    over table[0: m], index[*n]
    out = table[index]
  samples: ["[3, 4], ints([2, 5], 0, 3)", "[3, 4, 2], ints([], 0, 3)", "[3], ints([0, 2], 0, 3)"]
  errors:
    - "[3, 4], ints([2], 3, 5): IndexError"
    - "[3, 4], [2]: RuntimeError"
    - "[], ints([2], 0, 1): RuntimeError"
  reference: table[index]

- func: add_to_table_of(Tensor self, Tensor index, Tensor source, int dim=0) -> Tensor
  body: |
    over self[dim: m], index[*n], source[*n]
    out[index] = out[index] + source
  samples:
    - "[3, 4], ints([2, 5], 0, 3), [2, 5, 4]"
    - "[2, 4], ints([3], 0, 4), [2, 3], 1"
    - "[3, 2], ints([], 0, 3), [2]"
  errors: ["[3, 4], ints([2, 5], 0, 3), [2, 4]: RuntimeError"]
  reference: >
    slices_added(self, dim, index.reshape(-1), source.reshape(-1, *self.shape[1:]) if dim == 0 else source, 1)

- func: used_rows_of(Tensor src, Tensor index, int rows, int left_out, bool by_count) -> Tensor
  body: |
    over zeros(rows, src.shape[-1])[0: m], index[*n], src[*n]
    out[index] = out[index] + (src / count(index) if by_count else src) if index != left_out else out[index]
  dtypes: floating
  refuse: {src.ndim == 0: "there are no rows"}
  samples:
    - "[2, 3, 4], values([[0, 1, 1], [3, 1, 0]], dtype=int64), 5, 3, True"
    - "[2, 4], ints([2], 0, 3), 3, -1, False"
  reference: rows_back(src, index, rows, left_out, by_count)

- func: most_of(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
  body: |
    over self[dim: m], index[dim: n], src[dim: n]
    out[index] = max(out[index], src)
  dtypes: floating, integral
  samples: ["[3, 4], 0, ints([5, 4], 0, 3), [5, 4]"]
  reference: scattered_with(self, dim, index, src, 'amax', True)

- func: brought_together_of(Tensor self, int dim, Tensor index, Tensor src, str how, bool with_self) -> Tensor
  body: |
    over self[dim: m], index[n], src[dim: n]
    out[index] = reduced(out[index], src, how, with_self)
  dtypes: floating
  samples:
    - "[3, 4], 0, ints([5], 0, 3), [5, 4], 'mean', True"
    - "[3, 4], 1, ints([6], 0, 4), [3, 6], 'prod', False"
  reference: slices_reduced(self, dim, index, src, how, with_self)
"""
REFERENCES = Path(__file__).parent.parent / "references" / "indexing.py"
NAMES = [line.split("(")[0].split()[-1] for line in OPERATORS.splitlines() if line.startswith("- func")]

ON_ALL_BACKENDS = """
import io
import numpy as np
import tengen, indexlib

ops, F = tengen.ops.indexlib, tengen.float64
along, row = tengen.tensor([[0, 1, 2, 0], [2, 2, 1, 0]]), tengen.tensor([2, 0, 2])
x, s, r = tengen.rand(3, 4, dtype=F), tengen.rand(2, 4, dtype=F), tengen.rand(3, 4, dtype=F)
calls = {
    "picked_of": (x, 0, along), "rows_of": (x, row), "put_along_of": (x, 0, along[:1], s[:1]),
    "mark_along_of": (x, 0, along, 2.0), "add_along_of": (s, 0, along, x), "add_rows_of": (x, 0, row, r),
    "put_rows_of": (x, 0, row[1:], r[1:]), "clear_rows_of": (x, 1, row, tengen.tensor(0.5, dtype=F)),
    "at_of": (x, along - 5), "put_at_of": (x, row, r[0, :3], True), "zeros_and_of": (r, (3, 4), row, 0),
    "found_of": (x, 1, row), "class_of": (x, row), "mark_one_of": (x, 1, row, r[:, 0]),
    "shown_of": (r[:, 0], 1, row, (3, 4), False),
    "table_of": (x, along % 3), "add_to_table_of": (x, along % 3, tengen.rand(2, 4, 4, dtype=F)),
}
#: tengen's operators of which these are twins, whose derivatives are declared.
twins = {
    "picked_of": tengen.gather, "rows_of": lambda x, index: x.index_select(0, index),
    "put_along_of": tengen.scatter, "mark_along_of": tengen.scatter,
    "add_along_of": lambda s, dim, index, x: x.scatter_add(dim, index, s),
    "add_rows_of": tengen.index_add, "put_rows_of": tengen.index_copy, "clear_rows_of": tengen.index_fill,
    "at_of": tengen.take, "put_at_of": lambda x, index, s, add: x.put(index, s, add),
    "zeros_and_of": lambda s, sizes, index, dim: s.new_zeros(sizes).index_add(dim, index, s),
    "table_of": lambda x, index: x[index],
    "add_to_table_of": lambda x, index, s: x.index_add(0, index.flatten(), s.reshape(8, 4)),
    "found_of": lambda x, dim, index: x.gather(dim, index.unsqueeze(dim)).squeeze(dim),
    "class_of": lambda x, target: x.gather(1, target.unsqueeze(1)).squeeze(1),
    "mark_one_of": lambda x, dim, index, s: x.scatter(dim, index.unsqueeze(dim), s.unsqueeze(dim)),
    "shown_of": lambda g, dim, index, sizes, keepdim: (
        g.new_zeros(sizes).scatter_add(dim, index.unsqueeze(dim), g.unsqueeze(dim))
    ),
}
for name, given in calls.items():
    f = getattr(ops, name)
    floats = [i for i, a in enumerate(given) if isinstance(a, tengen.Tensor) and a.dtype is F]
    leaves = [given[i].clone().requires_grad_() for i in floats]

    def called(*tensors):
        return f(*[tensors[floats.index(i)] if i in floats else a for i, a in enumerate(given)])

    wanted = called(*leaves)
    grad = tengen.rand(*wanted.shape, dtype=F)
    wanted.backward(grad)
    others = [a.detach().clone().requires_grad_() for a in leaves]
    twins[name](*[others[floats.index(i)] if i in floats else a for i, a in enumerate(given)]).backward(grad)
    assert all([tengen.equal(a.grad, b.grad) for a, b in zip(leaves, others)]), name
    away = [
        a if not isinstance(a, tengen.Tensor) else a.to("dask") if i not in floats
        else a.detach().to("dask").requires_grad_() for i, a in enumerate(given)
    ]
    found = f(*away)
    assert tengen.allclose(found.detach().cpu(), wanted.detach()), name
    found.backward(grad.to("dask"))
    for i, leaf in zip(floats, leaves):
        assert tengen.allclose(away[i].grad.cpu(), leaf.grad), (name, i)
    meta = f(*[a.to("meta") if isinstance(a, tengen.Tensor) else a for a in given])
    assert (meta.shape, meta.dtype) == (wanted.shape, wanted.dtype), name
    assert tengen.autograd.gradcheck(called, leaves, check_forward_ad=True), name
    assert tengen.autograd.gradgradcheck(lambda *t: called(*t) ** 2, leaves), name
    batched = [tengen.stack([a, a.flip(0)]) if isinstance(a, tengen.Tensor) else a for a in given]
    dims = tuple([0 if isinstance(a, tengen.Tensor) else None for a in given])
    both = tengen.func.vmap(f, in_dims=dims)(*batched)
    for k in range(2):
        one = f(*[a[k] if isinstance(a, tengen.Tensor) else a for a in batched])
        assert tengen.allclose(both[k], one), (name, k)
    for i in floats:
        only = tuple([0 if k == i else None for k in range(len(given))])
        first = tengen.func.vmap(f, in_dims=only)(*[batched[k] if k == i else a for k, a in enumerate(given)])
        assert tengen.allclose(first[0], wanted.detach()), (name, i)
    half = [a.half() if i in floats else a for i, a in enumerate(given)]
    assert f(*half).dtype is tengen.float16, name
    assert tengen.allclose(f(*half).double(), wanted.detach(), atol=1e-2), name
    turned = [a.T.contiguous().T if isinstance(a, tengen.Tensor) and a.ndim == 2 else a for a in given]
    assert tengen.equal(f(*turned), wanted.detach()), name
"""


def test_all_that_follows(workshop: Workshop) -> None:
    root = workshop.library("indexlib", declarations__native_functions__yaml=OPERATORS)
    (root / "tests").mkdir()
    shutil.copy(REFERENCES, root / "tests" / "references.py")
    workshop.tengen("gen", folder="indexlib")
    found = workshop.tengen("verify", "--strict", *[f"indexlib::{n}" for n in NAMES], folder="indexlib")
    assert f"{len(NAMES)} operators verified" in found
    workshop.python(ON_ALL_BACKENDS)
