"""vmap: for every operator and sample, a rule for the whole batch gives what a loop over the batch gives."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import tengen
from tengen.codegen.model.operators import Operator

from ..core.operands import tensors_in
from ..dispatch.operator import operator as find_operator
from . import declared
from .aspects import Aspect, Case, in_first_dtype, in_working_dtypes
from .closeness import TOLERANCE, close
from .declared import determined, flat, good_samples, kind_of, run, variants, variants_of
from .failure import Mismatch, Part, blamed, failure
from .samples import Buffer, Call, Fixed, Random

#: Where a tensor stands among the arguments: its number, and that in a list.
Slot = tuple[int, int | None]

#: Errors of operators that cannot be batched.
REFUSALS = (
    "dynamic shape",
    "differently shaped",
    "data-dependent",
    ".item()",
    "access data pointer",
    "number of classes",
    "leaves the memory",
)

#: The dtypes of tensors of indices, classes, pivots.
INTEGERS = (tengen.int32, tengen.int64)
EXAMPLES = 3
#: How often is drawn before what is always alike counts as not drawn.
DRAWS = 8
RULE = Part("batching")
CALLED = ("vmap", "one by one")


def slices(tensor: Any) -> list[Any]:
    """Three slices of the same kind: what is sorted, unique or a good index stays so, turned around."""
    other = tensor.flip(tuple(range(tensor.ndim))) if tensor.ndim else tensor
    if not tensor.ndim and tensor.is_floating_point():
        other = tensor * 0.5
    return [tensor.clone(), other.clone(), tensor.clone()]


def slots_of(values: Sequence[Any]) -> list[Slot]:
    """Where there are tensors."""
    found: list[Slot] = []
    for i, value in enumerate(values):
        if isinstance(value, tengen.Tensor):
            found.append((i, None))
        elif isinstance(value, (list, tuple)):
            found += [(i, j) for j, part in enumerate(value) if isinstance(part, tengen.Tensor)]
    return found


def choices(values: Sequence[Any]) -> Iterator[tuple[Slot, ...]]:
    """Which tensors are batched: each alone, each pair, all."""
    slots = slots_of(values)
    yield from [(s,) for s in slots]
    yield from itertools.combinations(slots, 2)
    if len(slots) > 2:
        yield tuple(slots)


def placed(values: Sequence[Any], slots: Sequence[Slot], tensors: Sequence[Any]) -> list[Any]:
    """The arguments with tensors in these slots."""
    given = [list(v) if isinstance(v, (list, tuple)) else v for v in values]
    for (i, j), tensor in zip(slots, tensors, strict=True):
        if j is None:
            given[i] = tensor
        else:
            given[i][j] = tensor
    return given


def at(values: Sequence[Any], slots: Sequence[Slot]) -> list[Any]:
    """The tensors in the slots."""
    return [values[i] if j is None else values[i][j] for i, j in slots]


def one_by_one(function: Callable[..., list[Any]], columns: Sequence[list[Any]]) -> list[Any] | None:
    """The stacked results of each slice; None where a slice alone is an error, or none is a tensor."""
    try:
        found = [function(*row) for row in zip(*columns, strict=True)]
    except Exception:
        return None
    if not found[0]:
        return []
    if any(a.shape != b.shape for a, b in zip(found[0], found[1], strict=True)):
        return []
    return [tengen.stack(list(parts)) for parts in zip(*found, strict=True)]


def agree(got: Sequence[Any], wanted: Sequence[Any], what: str) -> None:
    """The same results, in shapes, dtypes and values."""
    if len(got) != len(wanted):
        raise Mismatch(f"{what}: {len(got)} results are not {len(wanted)}")
    for a, b in zip(got, wanted, strict=True):
        found, expected = (f"shape {tuple(t.shape)}, {t.dtype}" for t in (a, b))
        if found != expected:
            raise Mismatch(f"{what}: {found} is not {expected}", got=found, expected=expected)
        allowed, atol = _tolerance(a.dtype.name)
        close(a.detach().numpy(), b.detach().numpy(), allowed, what, atol)


def _tolerance(dtype: str) -> tuple[float, float]:
    """The relative and the absolute tolerance: sums come in another order, in the dtype's precision."""
    coarse = TOLERANCE.get(dtype, 0.0)
    return (coarse, coarse) if coarse > 1e-6 else (1e-6, 1e-8)


def batched(names: Sequence[str], in_dim: int) -> str:
    """Which arguments were batched, in words."""
    return f"where {' and '.join(names)} {'is' if len(names) == 1 else 'are'} batched in dimension {in_dim}"


def compare(
    case: Case,
    aspect: str,
    function: Callable[..., list[Any]],
    columns: Sequence[list[Any]],
    in_dim: int,
    what: str,
) -> None:
    """All at once against one by one; a refusal must say why, and is none where nothing stands in the way."""
    wanted = one_by_one(function, columns)
    if wanted is None:
        return
    given = [tengen.stack(column, in_dim) for column in columns]
    name = case.variant or case.name
    with blamed(case, aspect, RULE, f"vmap of {name} fails {what}"):
        got = unless_refused(lambda: tengen.vmap(function, in_dims=in_dim)(*given))
    if got is not None:
        message = f"vmap of {name} is not {name} in a loop over the batch {what}"
        with blamed(case, aspect, RULE, message, called=CALLED):
            agree(got, wanted, str(case))


def unless_refused(function: Callable[[], Any]) -> Any:
    """The result of a function; None where it raises that it cannot be batched."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of operators without a rule, which run in a loop
        try:
            return function()
        except RuntimeError as error:
            if any(text in str(error) for text in REFUSALS):
                return None
            raise


def unbatched(operator: Operator) -> str:
    """Why an operator is not tried under vmap."""
    if not declared.deterministic(operator):
        return "its results are random"
    if not declared.has_values(operator):
        return "its results have no values"
    return "it writes to an argument" if declared.writes(operator) else ""


def names_of(case: Case, slots: Sequence[Slot]) -> list[str]:
    """The arguments that the slots are in."""
    return list(dict.fromkeys(case.call.arguments[i].name for i, _ in slots))


def check_batched(case: Case) -> None:
    """For every choice of tensors that are batched, in front and at the end."""
    operator, values = case.operator, case.values
    strided = "needs_exact_strides" in operator.tags
    for slots in choices(values):
        columns = [slices(t) for t in at(values, slots)]

        def function(*tensors: Any, slots: Any = slots) -> list[Any]:
            return list(determined(operator, run(case.name, placed(values, slots, tensors))))

        for in_dim in (0,) if strided else (0, -1):
            compare(case, "batching", function, columns, in_dim, batched(names_of(case, slots), in_dim))


def first_case(name: str) -> list[Case]:
    """The first sample of an operator, in one dtype."""
    return list(in_first_dtype(name))[:1]


def check_nested(case: Case) -> None:
    """The first tensor is batched at one level, the last at another."""
    operator, values = case.operator, case.values
    slots = slots_of(values)
    if len(slots) < 2:
        return
    ends = (slots[0], slots[-1])
    outer, inner = [slices(t)[:2] for t in at(values, ends)]

    def function(a: Any, b: Any) -> list[Any]:
        return list(determined(operator, run(case.name, placed(values, ends, (a, b)))))

    rows = [one_by_one(function, ([a, a], inner)) for a in outer]
    if any(not r for r in rows):
        return
    wanted = [tengen.stack(list(parts)) for parts in zip(*[r for r in rows if r], strict=True)]
    nested = tengen.vmap(tengen.vmap(function, in_dims=(None, 0)), in_dims=(0, None))
    message = f"vmap of vmap of {case.name} is not {case.name} in a loop over the batch"
    with blamed(case, "nested batching", RULE, message, called=CALLED):
        got = unless_refused(lambda: nested(tengen.stack(outer), tengen.stack(inner)))
        if got is not None:
            agree(got, wanted, str(case))


def written(name: str) -> list[str]:
    """The in-place variants of an operator."""
    return [n for n in variants_of(name) if kind_of(variants()[n]) == "inplace"]


def no_writes(operator: Operator) -> str:
    """Why there is nothing in place to try."""
    return unbatched(operator) or ("" if written(str(operator.name)) else "it has no in-place variant")


def in_place(name: str) -> list[Case]:
    """The calls of an operator, for each of its in-place variants."""
    return [Case(c.call, c.kind, v) for v in written(name) for c in in_first_dtype(name)]


def check_written(case: Case) -> None:
    """It does what the functional operator does, to the very memory that was given."""
    values = case.values
    for others in ((), tuple(slots_of(values)[1:])):
        slots: tuple[Slot, ...] = ((0, None), *others)
        columns = [slices(t) for t in at(values, slots)]

        def function(*tensors: Any, slots: Any = slots) -> list[Any]:
            given = placed(values, slots, [tensors[0].clone(), *tensors[1:]])
            if run(case.variant, given) is not given[0]:
                raise Mismatch(f"{case.variant} does not return its first argument")
            return [given[0]]

        for in_dim in (0, -1):
            what = batched(names_of(case, slots), in_dim)
            compare(case, "batching in place", function, columns, in_dim, what)


def no_draws(operator: Operator) -> str:
    """Why an operator is not asked for random numbers."""
    if declared.deterministic(operator):
        return "its results are not random"
    return "" if declared.has_values(operator) else "its results have no values"


def check_draws(case: Case) -> None:
    """For "same" slices are alike, for "different" they are not; "error" is one, if anything is drawn.

    Shapes are a loop's, whether each slice has an argument of its own or all have one.
    """
    values = case.values
    slots = slots_of(values)[:1]

    def function(_: Any, *tensors: Any) -> list[Any]:
        given = placed(values, slots, [t.clone() for t in tensors])
        return flat(find_operator(case.name)(*given))

    shared = at(values, slots)
    stacked = [tengen.stack([t] * EXAMPLES) for t in shared]
    marker = tengen.zeros(EXAMPLES)
    alone = function(None, *shared)
    random = any(
        not alike(pair) for _ in range(DRAWS) for pair in zip(alone, function(None, *shared), strict=True)
    )
    own_only = declared.writes(declared.operators()[case.name])  # what all have cannot become different
    for randomness, own in itertools.product(("same", "different"), (True,) if own_only else (True, False)):
        with blamed(case, "random batching", RULE, f"vmap of {case.name} draws otherwise than one by one"):
            mapped = tengen.vmap(function, (0, *[0 if own else None] * len(slots)), randomness=randomness)
            drawn = [mapped(marker, *(stacked if own else shared)) for _ in range(DRAWS)]
            for whole, single in zip(drawn[0], alone, strict=True):
                if (whole.shape, whole.dtype) != ((EXAMPLES, *single.shape), single.dtype):
                    raise Mismatch(f"shape {tuple(whole.shape)}, {whole.dtype}")
            same = all(alike(whole) for found in drawn for whole in found)
            if randomness == "same" and not same:
                raise Mismatch('slices differ where randomness="same"')
            if randomness == "different" and random and same:
                raise Mismatch('slices are alike where randomness="different"')
    if random:
        with blamed(case, "random batching", RULE, f"vmap of {case.name} draws where randomness is an error"):
            try:
                tengen.vmap(function)(marker, *stacked)
            except RuntimeError as error:
                if "randomness error mode" not in str(error):
                    raise
            else:
                raise Mismatch("there was no error")


def alike(tensors: Any) -> bool:
    """Whether all have the elements of the first."""
    return all(np.array_equal(t.numpy(), tensors[0].numpy(), equal_nan=True) for t in tensors)


# -- indices that are wrong in one slice -----------------------------------------------------


def integer_slots(values: Sequence[Any]) -> list[Slot]:
    """Where there are tensors of integers, in any dtype of the test: indices, classes, pivots."""
    return [
        s
        for s, t in zip(slots_of(values), at(values, slots_of(values)), strict=True)
        if t.dtype in INTEGERS and t.numel()
    ]


def only_shapes(operator: Operator) -> bool:
    """Whether samples are written without any helper, and are of floats: most are, and need not be made."""
    texts, claimed = [str(s.source.value) for s in good_samples(operator)], declared.dtypes_of(operator)
    return bool(texts) and not any("(" in t for t in texts) and (not claimed or declared.REAL in claimed)


def has_integers(call: Call, kind: Any) -> bool:
    """Whether ``integer_slots`` finds any of a call: what follows the dtype of the test need not be made."""
    parts = [p for v in call.values for p in (v if isinstance(v, list) else [v])]
    kinds = (Fixed, Buffer, Random) if kind in INTEGERS else (Fixed, Buffer)
    made = [p for p in parts if isinstance(p, kinds)]
    return bool(integer_slots([tengen.from_numpy(p.array(kind).copy()) for p in made]))


def no_integers(operator: Operator) -> str:
    """Why no integers of one slice are changed."""
    if unbatched(operator):
        return unbatched(operator)
    if operator.name.inplace:
        return "its functional variant is checked"
    cases = () if only_shapes(operator) else in_first_dtype(str(operator.name))
    found = any(has_integers(c.call, c.kind) for c in cases)
    return "" if found else "no sample has a tensor of integers"


def check_integers(case: Case) -> None:
    """Other integers in one slice: its result, or its error, and none of the elements of other slices."""
    values = case.values
    sizes = {n for s in slots_of(values) for n in at(values, [s])[0].shape}
    for slot in integer_slots(values):
        (index,) = at(values, [slot])
        others = [s for s in slots_of(values) if s != slot]
        for number in (-1, *sorted(sizes), 100, -100):
            changed = index.flatten()
            changed[-1] = number
            column = [index, changed.reshape(index.shape), index]
            for beside in ([], others):
                slots = (slot, *beside)
                columns = [column, *(slices(t) for t in at(values, beside))]
                what = f"where {names_of(case, [slot])[0]} has {number} in a slice"
                compare_errors(case, "batched indices", slots, columns, what)


def compare_errors(
    case: Case, aspect: str, slots: Sequence[Slot], columns: Sequence[list[Any]], what: str
) -> None:
    """All at once against one by one, which may be an error: then it is the same one."""

    def function(*tensors: Any) -> list[Any]:
        return list(determined(case.operator, run(case.name, placed(case.values, slots, tensors))))

    try:
        for row in zip(*columns, strict=True):
            function(*row)
    except Exception as error:
        wanted = error
    else:
        compare(case, aspect, function, columns, 0, what)
        return
    message = f"vmap of {case.name} raises another error than {case.name} of one slice {what}"
    with blamed(case, aspect, RULE, message, called=CALLED):
        try:
            got = unless_refused(lambda: tengen.vmap(function)(*[tengen.stack(c) for c in columns]))
        except Exception as error:
            found, expected = (f"{type(e).__name__}: {e}" for e in (error, wanted))
            if found != expected and not (aspect == "batched dimensions" and type(error) is type(wanted)):
                raise Mismatch(f"{found} is not {expected}", got=found, expected=expected) from None
        else:
            if got is not None:
                raise Mismatch("there was no error", expected=f"{type(wanted).__name__}: {wanted}")


# -- slices of too few dimensions ------------------------------------------------------------


def given_by_formulas(operator: Operator) -> str:
    """Why no tensor of an operator is given a dimension less."""
    if operator.name.base.startswith("_"):
        return "it is private: what calls it sees to the shapes"
    if any(a.name.startswith("grad") for a in operator.schema.arguments):
        return "formulas of derivatives call it, with gradients of the right shapes"
    return unbatched(operator)


def check_dimensions(case: Case) -> None:
    """Of one tensor, or of all, a dimension less: the result of one slice, or its error.

    The batch dimension stands where the one that was taken away stood.
    """
    slots = [s for s in slots_of(case.values) for t in at(case.values, [s]) if t.ndim and t.shape[0]]
    for chosen in dict.fromkeys([*((s,) for s in slots), tuple(slots)] if slots else ()):
        tensors = [t[0] for t in at(case.values, chosen)]
        what = f"where {' and '.join(names_of(case, chosen))} has a dimension less"
        compare_errors(case, "batched dimensions", chosen, [slices(t) for t in tensors], what)


# -- gradients of many -----------------------------------------------------------------------


def two_samples(name: str) -> list[Case]:
    """The first two samples of an operator, in two dtypes."""
    first = declared.calls(name)[:2]
    return [c for c in in_working_dtypes(name) if c.call in first]


def check_gradients(case: Case) -> None:
    """``is_grads_batched``: what backward formulas call has rules too."""
    values = case.values
    inputs = [t.requires_grad_() for t in tensors_in(values) if t.is_floating_point() or t.is_complex()]
    try:
        found = determined(case.operator, run(case.name, values))
    except Exception:
        return  # it has no such derivative
    outputs = [t for t in found if t.requires_grad]
    if not inputs or not outputs:
        return
    each = [random_like(t, seed) for seed, t in enumerate(outputs)]

    def gradients(grads: Any, many: bool) -> Any:
        return tengen.autograd.grad(
            outputs, inputs, grads, retain_graph=True, allow_unused=True, is_grads_batched=many
        )

    try:
        wanted = [gradients([g[i].clone() for g in each], False) for i in range(EXAMPLES)]
    except Exception:
        return
    part, message = Part("gradient"), f"the derivative of {case.name} for many gradients at once"
    try:
        got = gradients(each, True)
    except Exception as error:
        text = f"{type(error).__name__}: {error}".split("\n")[0]
        raise failure(case, "batched gradient", part, f"{message} fails: {text}") from error
    names = [a.name for a in case.call.arguments if a.is_tensor_like]
    for number, (g, parts) in enumerate(zip(got, zip(*wanted, strict=True), strict=True)):
        name = names[number] if len(names) == len(inputs) else ""
        with blamed(case, "batched gradient", Part("gradient", name), f"{message} is wrong", called=CALLED):
            if (g is None) != (parts[0] is None):
                raise Mismatch("a gradient is missing, or is one too many")
            if g is not None:
                agree([g], [tengen.stack(list(parts))], str(case))


def random_like(tensor: Any, seed: int) -> Any:
    """Gradients for a tensor, one for each slice."""
    generator = tengen.Generator().manual_seed(seed)
    return tengen.randn(EXAMPLES, *tensor.shape, dtype=tensor.dtype, generator=generator)


ASPECTS = (
    Aspect(
        "batching",
        "vmap against a loop",
        check_batched,
        in_working_dtypes,
        unbatched,
        after=(
            "value",
            "without data",
            "views",
        ),
    ),
    Aspect(
        "nested batching",
        "vmap of vmap",
        check_nested,
        first_case,
        unbatched,
        after=(
            "batching",
            "without data",
        ),
    ),
    Aspect(
        "batching in place",
        "vmap of in-place variants",
        check_written,
        in_place,
        no_writes,
        written,
        after=(
            "batching",
            "in place",
            "without data",
        ),
    ),
    Aspect(
        "batched indices",
        "vmap of indices that are wrong in one slice",
        check_integers,
        in_first_dtype,
        no_integers,
        after=("batching", "without data"),
    ),
    Aspect(
        "batched dimensions",
        "vmap of slices with too few dimensions",
        check_dimensions,
        in_first_dtype,
        given_by_formulas,
        after=("batching", "without data"),
    ),
    Aspect(
        "random batching",
        "vmap of random operators",
        check_draws,
        first_case,
        no_draws,
        after=("without data",),
    ),
    Aspect(
        "batched gradient",
        "gradients of many",
        check_gradients,
        two_samples,
        unbatched,
        after=(
            "gradient",
            "batching",
            "without data",
        ),
    ),
)
