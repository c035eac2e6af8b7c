"""A library whose operators are declared as contractions: all that should follow is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Workshop

OPERATORS = """\
- func: rows_by_rows(Tensor self, Tensor other) -> Tensor
  body: out[i, k] = sum(self[i, j] * other[k, j])
  samples: ["[3, 4], [2, 4]", "[3, 0], [2, 0]", "[0, 4], [2, 4]"]
  errors: ["[3, 4], [2, 3]: RuntimeError", "[3], [2, 3]: RuntimeError", "[3, 4], [2, 4, 1]: RuntimeError"]
  reference: np.einsum('ij,kj->ik', self, other)

- func: trace_of_product(Tensor self, Tensor other) -> Tensor
  body: out = sum(self[i, j] * other[j, i])
  samples: ["[3, 4], [4, 3]", "[0, 4], [4, 0]"]
  errors: ["[3, 4], [3, 4]: RuntimeError"]
  reference: np.einsum('ij,ji->', self, other)

- func: adjoint_by(Tensor self, Tensor other) -> Tensor
  body: out[i, k] = sum(conj(self[j, i]) * other[j, k])
  samples: ["[4, 3], [4, 2]"]
  reference: np.einsum('ji,jk->ik', np.conj(self), other)

- func: each_by_vector(Tensor self, Tensor weight) -> Tensor
  body: out[*b, i] = sum(self[*b, i, j] * weight[*b, j])
  samples: ["[3, 4], [4]", "[2, 5, 3, 4], [5, 4]", "[5, 3, 4], [2, 1, 4]", "[0, 3, 4], [4]"]
  errors: ["[2, 3, 4], [3, 4]: RuntimeError", "[4], [4]: RuntimeError"]
  reference: np.einsum('...ij,...j->...i', self, weight)

- func: layer_of(Tensor self, Tensor weight, Tensor? bias=None) -> Tensor
  body: out[*b, j] = sum(self[*b, k] * weight[j, k]) + bias
  samples: ["[3, 4], [2, 4]", "[4], [2, 4], bias=[2]", "[2, 3, 4], [5, 4], bias=[3, 1]"]
  errors: ["[3, 4], [2, 4], bias=[3]: RuntimeError"]
  reference: np.einsum('...k,jk->...j', self, weight) + (0 if bias is None else bias)

- func: mixed_of(Tensor self, Tensor a, Tensor b, Scalar beta=1, *, Scalar alpha=1) -> Tensor
  body: out[k, i] = beta * self + alpha * sum(a[i, j] * b[k, j])
  samples: ["[2, 3], [3, 4], [2, 4]", "[3], [3, 4], [2, 4], 2, alpha=3", "[], [3, 4], [2, 4], 0, alpha=2"]
  errors: ["[3, 2], [3, 4], [2, 4]: RuntimeError"]
  reference: beta * self + alpha * np.einsum('ij,kj->ki', a, b)

- func: crossed_of(Tensor self, Tensor other) -> Tensor
  body: out[k, b, i] = sum(self[i, j, b, l] * other[b, k, l, j])
  samples: ["[2, 3, 4, 5], [4, 3, 5, 3]", "[2, 3, 0, 5], [0, 3, 5, 3]", "[2, 0, 4, 5], [4, 3, 5, 0]"]
  errors: ["[2, 3, 4, 5], [1, 3, 5, 3]: RuntimeError"]
  reference: np.einsum('ijbl,bklj->kbi', self, other)

- func: pairs_of(Tensor self, Tensor other) -> Tensor
  body: out[*a, *c] = sum(self[*a, j] * other[*c, j])
  samples: ["[2, 3, 4], [5, 4]", "[4], [4]", "[4], [2, 3, 4]"]
  reference: np.tensordot(self, other, (-1, -1))

- func: gram_of(Tensor self) -> Tensor
  body: out[*b, i, k] = sum(self[*b, i, j] * conj(self[*b, k, j]))
  samples: ["[3, 4]", "[2, 3, 4]", "[0, 4]", "[3, 0]"]
  reference: np.einsum('...ij,...kj->...ik', self, np.conj(self))

- func: mixed_with_itself_of(Tensor self, Tensor other, Scalar beta, Scalar alpha) -> Tensor
  body: out[i, k] = beta * self + alpha * sum(self[i, j] * other[j, k])
  samples: ["[3, 3], [3, 3], 2, 3"]
  reference: beta * self + alpha * (self @ other)
"""
WITHOUT_NUMPY = """
import tengen, contractlib

ops = tengen.ops.contractlib
for name, arguments in (
    ("rows_by_rows", ((3, 4), (2, 4))), ("trace_of_product", ((3, 4), (4, 3))),
    ("adjoint_by", ((4, 3), (4, 2))), ("each_by_vector", ((5, 3, 4), (2, 1, 4))),
    ("layer_of", ((2, 3, 4), (5, 4), (3, 1))),
    ("mixed_of", ((2, 1), (3, 4), (2, 4))), ("crossed_of", ((2, 3, 4, 5), (4, 3, 5, 3))),
    ("pairs_of", ((2, 3, 4), (5, 4))), ("gram_of", ((2, 3, 4),)),
):
    f = getattr(ops, name)
    given = [tengen.rand(s, dtype=tengen.complex128).requires_grad_() for s in arguments]
    wanted, more = f(*given), {"beta": 2, "alpha": 1.5} if name == "mixed_of" else {}
    found = f(*[x.detach().to("dask") for x in given])
    assert tengen.allclose(found.cpu(), wanted), name
    assert f(*[x.detach().to("meta") for x in given]).shape == wanted.shape
    turned = [x.detach().mT.contiguous().mT if x.ndim > 1 else x for x in given]
    assert tengen.allclose(f(*turned), wanted), name
    batch = tengen.func.vmap(lambda x: f(x, *given[1:], **more))(tengen.stack([given[0], given[0] * 2]))
    assert tengen.allclose(batch[1], f(given[0] * 2, *given[1:], **more)), name
    assert tengen.autograd.gradgradcheck(lambda *x: f(*x, **more), given, check_fwd_over_rev=True), name
    half = [x.detach().real.half() for x in given]
    wide = f(*[x.double() for x in half])
    assert f(*half).dtype == tengen.float16 and tengen.allclose(f(*half).double(), wide, rtol=2e-3), name
    whole = [(x.detach().real * 10).long() for x in given]
    assert tengen.equal(f(*whole), f(*[x.double() for x in whole]).long()), name
"""
BAD = """\
- func: bad_a(Tensor self, Tensor other) -> Tensor
  body: out[i, k] = sum(self[i, j] * other[j])
- func: bad_b(Tensor self, Tensor other, Tensor third) -> Tensor
  body: out[i] = sum(self[i, j] * other[j, k])
- func: bad_c(Tensor self, Tensor other) -> Tensor
  body: |
    over no_shapes(self, other)
    out[i, k] = gamma * sum(self[i, j] * others[j, k])
"""


def test_all_that_follows(workshop: Workshop) -> None:
    workshop.library("contractlib", declarations__native_functions__yaml=OPERATORS)
    workshop.tengen("gen", folder="contractlib")
    names = OPERATORS.split("- func: ")[1:]
    found = workshop.tengen(
        "verify", "--strict", *[f"contractlib::{n.partition('(')[0]}" for n in names], folder="contractlib"
    )
    assert "10 operators verified" in found
    workshop.python(WITHOUT_NUMPY)
