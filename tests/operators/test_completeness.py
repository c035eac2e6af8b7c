"""That nothing is missing: what every declared operator must have, and which operators there must be."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

import tengen
from tengen.codegen.model.operators import EXPRESSIONS
from tengen.testing import declared
from tengen.testing.declared import calls, declared_operators, flat, operators, run, working_dtypes
from tengen.testing.differentiable import inexact, recorded
from tengen.testing.samples import Random

OPERATORS = declared_operators()
OWN = {n: o for n, o in OPERATORS.items() if not o.is_composite}
DERIVED = declared.derived()
#: Without those of tensors of other layouts, of which there are no samples: tests/sparse_tensors calls each.
STRIDED = {n: o for n, o in OPERATORS.items() if "other_layout" not in o.tags}

#: The operators that tengen promises, by subject, under the names that users call them by.
REQUIRED = {
    "creation": """
        tensor as_tensor from_numpy empty zeros ones full empty_like zeros_like ones_like full_like new_empty
        new_zeros new_ones new_full arange linspace eye rand randn randint randperm rand_like randn_like
        randint_like bernoulli normal Generator manual_seed""",
    "unary": """
        abs neg sign reciprocal sqrt rsqrt square exp expm1 log log2 log10 log1p sin cos tan asin acos atan
        sinh cosh tanh asinh acosh atanh ceil floor round trunc frac sigmoid erf erfc erfinv lgamma digamma i0
        logit conj real imag angle isnan isinf isfinite nan_to_num bitwise_not logical_not""",
    "binary and ternary": """
        add sub rsub mul div floor_divide remainder fmod pow atan2 maximum minimum eq ne lt le gt ge
        logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift
        bitwise_right_shift where lerp addcmul addcdiv clamp xlogy logaddexp hypot""",
    "reductions and scans": """
        sum prod mean var std amax amin max min argmax argmin all any logsumexp norm cumsum cumprod cummax
        median""",
    "shape and view": """
        view reshape flatten transpose t permute movedim squeeze unsqueeze expand repeat cat stack split chunk
        unbind select narrow as_strided diagonal tril triu flip roll contiguous clone to float double half
        bfloat16 int long short bool unfold""",
    "indexing": """
        __getitem__ __setitem__ index_select gather scatter scatter_add index_add index_put masked_fill
        masked_select take_along_dim nonzero sort argsort topk unique""",
    "linear algebra": """
        matmul mm bmm mv dot outer einsum addmm linalg.inv linalg.solve linalg.det linalg.slogdet
        linalg.cholesky linalg.qr linalg.eigh linalg.svd linalg.vector_norm""",
    "nn": """
        relu leaky_relu elu gelu silu softplus hardtanh logsigmoid softmax log_softmax dropout linear
        embedding conv2d max_pool2d avg_pool2d batch_norm layer_norm mse_loss smooth_l1_loss nll_loss
        cross_entropy binary_cross_entropy binary_cross_entropy_with_logits pad
        scaled_dot_product_attention""",
}


def find(name: str) -> bool:
    """Whether users have the function, or the method, of this name."""
    module, _, bare = name.rpartition(".")
    if module:
        return hasattr(getattr(tengen, module), bare)
    homes = (tengen, tengen.Tensor, tengen.nn.functional)
    return any(callable(getattr(home, bare, None)) for home in homes)


@pytest.mark.parametrize("kind", REQUIRED)
def test_the_operators_there_must_be(kind: str) -> None:
    assert not [name for name in REQUIRED[kind].split() if not find(name)]


def missing(names: Iterable[str]) -> None:
    """Fails with the names of the operators that lack something."""
    assert not list(names)


def test_every_operator_has_samples() -> None:
    """Save in-place ones, which are tested with the functional one, backward operators with theirs, those of
    lists, which test_foreach tries beside their operators, and those that can only refuse here.
    """
    bases = {o.name.base for o in operators().values() if not o.name.inplace}
    for n, o in STRIDED.items():
        if "_foreach_" in n:
            continue
        through = o.name.base if o.name.inplace else n.removesuffix("_backward").removesuffix("_forward")
        refuses = bool(o.samples) and all(sample.raises for sample in o.samples)
        assert n in operators() or refuses or (through != n and through in bases), f"{n} has no samples"


def test_every_operator_has_a_doc() -> None:
    missing(n for n, o in OPERATORS.items() if not o.doc)


def test_every_operator_has_dtypes() -> None:
    explicit = {n for n, o in OWN.items() if "CompositeExplicitAutograd" in o.kernels}
    missing(n for n, o in OWN.items() if not o.dtypes and n not in explicit)


def test_every_kernel_has_a_meta_one() -> None:
    """Operators that need data to know their result's shape have none."""
    own = [(n, o) for n, o in OWN.items() if n in STRIDED]
    without = [n for n, o in own if "Meta" not in o.kernels and declared.runs_on_meta(o)]
    missing(n for n in without if "CPU" in OWN[n].kernels and EXPRESSIONS.isdisjoint(OWN[n].tags))


def test_every_operator_has_a_reference() -> None:
    """Save where there is nothing to compare, or results are compared by what they are made into."""
    excused = {"uninitialized", "nondeterministic_seeded", "factorization"}
    without = {n: o for n, o in OWN.items() if o.reference is None and n in operators()}
    compared = {n for n, o in without.items() if o.determined or declared.made_beside(o)}
    missing(n for n, o in without.items() if not o.tags & excused and n not in compared)


def floating_results(name: str) -> bool:
    """Whether floating inputs give floating results: an operator that could have a derivative."""
    call = calls(name)[0]
    values = call.tensors(working_dtypes(call)[0])
    results = flat(run(name, values))
    return any(map(inexact, declared.tensors_in(values))) and any(map(inexact, results))


@pytest.mark.filterwarnings("ignore:tengen.range is deprecated")
def test_every_operator_has_a_derivative() -> None:
    """Declared, or by its body; or says that it has none."""
    entries = {str(d.name) for d in declared.declarations().derivatives} | {*DERIVED.nodes}
    without = [n for n in OWN if n not in entries and n in operators() and not OWN[n].name.inplace]
    missing(n for n in without if floating_results(n))


def test_every_derivative_has_a_forward_formula() -> None:
    without = [n for n in DERIVED.nodes if n in STRIDED and n not in DERIVED.jvps]
    missing(n for n in without if declared.implemented(DERIVED.nodes[n]))


def made_of_elements(name: str) -> bool:
    """Whether an operator takes tensors of numbers alone, element by element, and users call it."""
    operator = OPERATORS[name]
    tensors = [a for a in operator.schema.arguments if a.is_tensor_like]
    only_numbers = any(
        all(isinstance(v, Random) for a, v in zip(c.arguments, c.values, strict=True) if a in tensors)
        for c in calls(name)
    )
    own = not (name.startswith("_") or name.endswith("_backward") or operator.name.inplace)
    return own and only_numbers and "pointwise" in operator.tags


def test_every_elementwise_derivative_is_declared_at_nan_and_infinity() -> None:
    """There, and at ties and corners, differences of the values do not tell what it is."""
    differentiable = [n for n in OWN if n in operators() and n in DERIVED.nodes and recorded(n)]
    missing(n for n in differentiable if made_of_elements(n) and not OWN[n].expected)


#: Arguments of which there can be no other sample, and why.
NEVER_VARIED = {
    "embedding.sparse": "there are no sparse gradients",
    "embedding_bag.sparse": "as that of embedding",
    "linalg_pinv.atol_rtol_tensor.atol": "it is of a real dtype where the matrix is complex",
    "linalg_pinv.atol_rtol_tensor.hermitian": "as atol",
    "linalg_pinv.rcond_tensor.hermitian": "as atol",
    "scaled_dot_product_attention.dropout_p": "its results are random then",
    "svd.compute_uv": "there is no gradient without the vectors",
    "topk.sorted": "the order is anyone's then",
    "unique.return_counts": "there are several results then, which have tests of their own",
    "unique.return_inverse": "as return_counts",
    "unique.sorted": "the order is anyone's then",
    "unique_consecutive.flags.return_counts": "as that of unique",
    "unique_consecutive.flags.return_inverse": "as that of unique",
}
#: What says where and how a result is made; of a dtype there is an aspect.
OPTIONS = ("ScalarType", "Layout", "Device", "MemoryFormat", "Generator", "bool?")


def never_varied(name: str) -> list[str]:
    """The arguments that every call of an operator, the bad ones too, leaves at the default."""
    operator = OPERATORS[name]
    every = [*calls(name), *(call for call, _ in declared.bad_calls(operator))]
    found = []
    for place, argument in enumerate(operator.schema.arguments):
        if argument.default is None or str(argument.type).startswith(OPTIONS):
            continue
        default = declared.default(argument)
        if not any(differs(call.values[place], default) for call in every):
            found.append(f"{name}.{argument.name}")
    return found


def differs(value: object, default: object) -> bool:
    """Whether a value is another than the default: True is not 1."""
    return type(value) is not type(default) or value != default


def test_every_argument_is_varied() -> None:
    """Some sample gives each argument that has a default another value, or a bad call does."""
    public = [n for n in operators() if not n.startswith("_") and not declared.made_beside(OPERATORS[n])]
    assert sorted(a for n in public for a in never_varied(n)) == sorted(NEVER_VARIED)


def test_every_dtype_is_used() -> None:
    """Each scalar type is claimed by some operator: a misspelt category would claim none."""
    claimed = {kind for o in OWN.values() for kind in declared.dtypes_of(o)}
    assert len(claimed) == len(declared.scalar_types())
