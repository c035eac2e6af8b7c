"""``masked.MaskedTensor``: what counts is computed, what is masked out stays so, in values and gradients."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from near import Near

import tengen
from tengen import masked
from tengen.masked import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

RNG = np.random.default_rng(0)
DATA = RNG.uniform(0.2, 0.8, (3, 4))
MASK = np.array([[True, False, True, True], [False, False, False, False], [True, True, False, True]])
LAYOUTS = ("strided", "sparse_coo", "sparse_csr")


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    """PyTorch warns of a prototype whenever a MaskedTensor is made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def made(lib: Any, layout: str = "strided", data: Any = DATA, mask: Any = MASK, **keywords: Any) -> Any:
    """A MaskedTensor of one library."""
    mt = lib.masked.masked_tensor(lib.tensor(data), lib.tensor(mask))
    if layout != "strided":
        mt = mt.to_sparse() if layout == "sparse_coo" else mt.to_sparse_csr()
    return lib.masked.masked_tensor(mt.get_data(), mt.get_mask(), **keywords)


def ours(value: Any) -> str:
    return str(value).replace("torch", "tengen")


def described(value: Any) -> Any:
    """What two libraries have in common: of a MaskedTensor the mask, and the elements that count."""
    if isinstance(value, (list, tuple)):
        return [described(v) for v in value]
    if isinstance(value, float):
        return Near(value, 1e-9)
    if type(value).__name__ == "MaskedTensor":
        mask, data = value.get_mask().to_dense(), value.get_data().detach().to_dense()
        kept = data.numpy().astype(float)[mask.numpy()]
        return ours(value.dtype), ours(value.layout), mask.tolist(), Near(kept, 1e-9)
    if hasattr(value, "dtype"):
        return ours(value.dtype), Near(value.detach().to_dense().double().numpy(), 1e-9)
    return ours(value) if isinstance(value, str) else value


def outcome(lib: Any, program: Callable[[Any], Any]) -> Any:
    """What a program gives, in a list; or the class and text of its error, in a tuple."""
    try:
        return [described(program(lib))]
    except Exception as error:
        return type(error).__name__, ours(error)


# -- the class itself ---------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_it_has_copies_of_data_and_mask(layout: str) -> None:
    mt = made(tengen, layout)
    assert is_masked_tensor(mt)
    assert isinstance(mt, MaskedTensor)
    assert not is_masked_tensor(mt.get_data())
    np.testing.assert_array_equal(mt.get_data().to_dense().numpy()[MASK], DATA[MASK])
    np.testing.assert_array_equal(mt.get_mask().to_dense().numpy(), MASK)
    assert mt.is_sparse == (layout != "strided")
    assert (mt.is_sparse_coo(), mt.is_sparse_csr()) == (layout == "sparse_coo", layout == "sparse_csr")
    data, mask = tengen.zeros(3), tengen.ones(3, dtype=bool)
    kept = masked_tensor(data, mask)
    data += 1
    mask &= False
    assert tengen.equal(kept.to_tensor(5.0), tengen.zeros(3))


def test_what_stands_where_it_is_masked_out() -> None:
    np.testing.assert_array_equal(made(tengen).to_tensor(7.0).numpy(), np.where(MASK, DATA, 7.0))


def test_copies_and_pickles() -> None:
    mt = made(tengen, requires_grad=True)
    for other in (copy.deepcopy(mt), pickle.loads(pickle.dumps(mt))):
        assert described(other) == described(mt)
        assert other.requires_grad
        assert other.is_leaf
    assert not mt.exp().detach().requires_grad


def test_elements_that_are_masked_out_are_no_numbers() -> None:
    one = masked_tensor(tengen.tensor(2.5), tengen.tensor(True))
    assert (one.item(), float(one), int(one), bool(one)) == (2.5, 2.5, 2, True)
    none = masked_tensor(tengen.tensor(2.5), tengen.tensor(False))
    for conversion in (lambda: none.item(), lambda: float(none), lambda: bool(none)):
        with pytest.raises(ValueError, match="expected a mask tensor"):
            conversion()
    for refused in (lambda: one.numpy(), lambda: one.tolist(), lambda: np.asarray(one)):
        with pytest.raises(TypeError, match="would lose the mask"):
            refused()
    with pytest.raises(TypeError, match="elements cannot be assigned to"):
        made(tengen)[0] = 1.0


def test_gradients_are_zero_where_data_is_masked_out() -> None:
    """And not NaN, as they are of a ``where`` behind the function."""
    data = tengen.tensor([0.0, 4.0], requires_grad=True)
    mask = tengen.tensor([False, True])
    as_masked_tensor(data, mask).sqrt().sum().backward()
    assert tengen.equal(data.grad, tengen.tensor([0.0, 0.25]))
    mt = masked_tensor(data.detach(), mask, requires_grad=True)
    mt.sqrt().sum().backward()
    assert described(mt.grad)[2:] == ([False, True], Near([0.25], 1e-9))


def test_derivatives_of_the_second_order() -> None:
    mask = tengen.tensor(MASK)

    def function(x: tengen.Tensor) -> tengen.Tensor:
        mt = as_masked_tensor(x, mask)
        return (mt.sin() * mt).prod(1).to_tensor(0.0)

    x = tengen.tensor(DATA, requires_grad=True)
    assert tengen.autograd.gradcheck(function, (x,))
    assert tengen.autograd.gradgradcheck(function, (x,))


def test_autograd_grad_gives_masks() -> None:
    mt = made(tengen, requires_grad=True)
    (found,) = tengen.autograd.grad((mt * mt).sum(), mt)
    assert described(found)[2:] == (MASK.tolist(), Near(2 * DATA[MASK], 1e-9))


@pytest.mark.parametrize("name", [n for n in dir(masked) if n not in ("MaskedTensor", "logaddexp")])
def test_masked_functions_take_it(name: str) -> None:
    function = getattr(masked, name)
    if "masked_tensor" in name:
        return
    data, mask = tengen.tensor(DATA), tengen.tensor(MASK)
    args = (2.0, 1) if name in ("norm", "normalize") else (1,)
    found, expected = function(made(tengen), *args), function(data, *args, mask=mask)
    assert not is_masked_tensor(found)
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    less = tengen.tensor([True, True, True, False])
    both = function(made(tengen), *args, mask=less)
    np.testing.assert_array_equal(both.numpy(), function(data, *args, mask=mask & less).numpy())


def test_logaddexp_takes_two() -> None:
    one, two = made(tengen), made(tengen, mask=~MASK)
    data, mask = tengen.tensor(DATA), tengen.tensor(MASK)
    expected = masked.logaddexp(data, data, input_mask=mask, other_mask=~mask)
    np.testing.assert_array_equal(masked.logaddexp(one, two).numpy(), expected.numpy())


def test_operators_with_a_number_on_the_left() -> None:
    for found, expected in (
        (1 - made(tengen), 1 - DATA),
        (2 ** made(tengen), 2**DATA),
        (2 // made(tengen), 2 // DATA),
    ):
        assert described(found)[3] == Near(expected[MASK], 1e-9)


def test_text() -> None:
    mt = masked_tensor(tengen.tensor([[1.5, 2.0], [-3.0, 4.0]]), tengen.tensor([[True, False], [True, True]]))
    text = "MaskedTensor(\n  [\n    [  1.5000,       --],\n    [ -3.0000,   4.0000]\n  ]\n)"
    assert repr(mt) == str(mt) == repr(mt.to_sparse()) == text
    assert repr(mt.sum()) == "MaskedTensor(  2.5000, True)"
    assert repr(masked_tensor(tengen.tensor(1), tengen.tensor(False))) == "MaskedTensor(--, False)"


def test_what_is_not_known_is_refused() -> None:
    mt = made(tengen)
    for call in (lambda: mt.cumsum(0), lambda: mt.any(), lambda: mt.sort(), lambda: tengen.mm(mt, mt.T)):
        with pytest.warns(UserWarning, match="is not implemented for MaskedTensor"), pytest.raises(TypeError):
            call()


# -- beside PyTorch -----------------------------------------------------------------------

#: Where functions are defined that are not between 0 and 1.
ABOVE_ONE = ("acosh", "arccosh")
WHOLE = (
    "bitwise_not",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
)
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "clamp": (0.3, 0.6),
    "clip": (0.3, 0.6),
    "pow": (2,),
    "logit": (0.1,),
}


def data_for(name: str) -> Any:
    """Elements for which a function is defined."""
    plain = name.removesuffix("_")
    if plain in WHOLE:
        return (DATA * 10).astype(np.int64)
    return DATA + 1 if plain in ABOVE_ONE else DATA


def _names(lib: Any, module: str, *lists: str) -> list[str]:
    found = __import__(f"torch.masked.maskedtensor.{module}", fromlist=["_"])
    return sorted({name for each in lists for name in getattr(found, each)})


def _compare(torch: Any, names: list[str], program: Callable[[Any, str, str], Any], layouts: Any) -> None:
    """The programs of all names beside PyTorch; where that fails by its own limits ours must not differ."""
    assert names
    found, expected = {}, {}
    for name in names:
        for layout in layouts:
            found[name, layout] = outcome(tengen, lambda lib, n=name, x=layout: program(lib, n, x))  # type: ignore[misc]
            expected[name, layout] = outcome(torch, lambda lib, n=name, x=layout: program(lib, n, x))  # type: ignore[misc]
    refused = {key for key, value in expected.items() if isinstance(value, tuple)}
    assert len(refused) < len(expected), expected
    assert {k: v for k, v in found.items() if k not in refused} == {
        k: v for k, v in expected.items() if k not in refused
    }


@pytest.mark.oracle
@pytest.mark.parametrize("layout", LAYOUTS)
def test_unary_functions(torch: Any, layout: str) -> None:
    def program(lib: Any, name: str, layout: str) -> Any:
        mt = made(lib, layout, data_for(name))
        found = getattr(mt, name)(*ARGUMENTS.get(name.removesuffix("_"), ()))
        return found, mt

    _compare(torch, _names(torch, "unary", "UNARY_NAMES", "INPLACE_UNARY_NAMES"), program, [layout])


@pytest.mark.oracle
@pytest.mark.parametrize("other", ["masked", "plain", "number", "row"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_binary_functions(torch: Any, layout: str, other: str) -> None:
    def program(lib: Any, name: str, layout: str) -> Any:
        data = data_for(name)
        mt = made(lib, layout, data)
        second = {
            "masked": lambda: made(lib, layout, data[::-1].copy() if layout == "strided" else data * 2),
            "plain": lambda: lib.tensor(data[::-1].copy()),
            "number": lambda: 2,
            "row": lambda: lib.tensor(data[0]),
        }[other]()
        return getattr(mt, name)(second), mt

    if layout != "strided" and other in ("plain", "row"):
        pytest.skip("sparse tensors broadcast to nothing")
    names = _names(torch, "binary", "BINARY_NAMES", "INPLACE_BINARY_NAMES")
    if other == "number":  # of which PyTorch's functions of two tensors know nothing
        names = [n for n in names if not hasattr(torch, n) or _takes_number(torch, n)]
    _compare(torch, names, program, [layout])


def _takes_number(torch: Any, name: str) -> bool:
    try:
        getattr(torch, name)(torch.tensor(data_for(name)), 2)
    except TypeError:
        return False
    return True


@pytest.mark.oracle
def test_gradients_of_unary_and_binary_functions(torch: Any) -> None:
    unary = _names(torch, "unary", "UNARY_NAMES")
    binary = _names(torch, "binary", "BINARY_NAMES")

    def program(lib: Any, name: str, layout: str) -> Any:
        mt = made(lib, layout, data_for(name), requires_grad=True)
        if name in unary:
            getattr(mt, name)(*ARGUMENTS.get(name, ())).sum().backward()
            return mt.grad
        other = made(lib, layout, data_for(name) * 1.5, requires_grad=True)
        getattr(mt, name)(other).sum().backward()
        return mt.grad, other.grad

    smooth = [n for n in unary + binary if n not in WHOLE and _has_gradient(torch, n)]
    assert len(smooth) > 60
    found = {n: outcome(tengen, lambda lib, n=n: program(lib, n, "strided")) for n in smooth}  # type: ignore[misc]
    expected = {n: outcome(torch, lambda lib, n=n: program(lib, n, "strided")) for n in smooth}  # type: ignore[misc]
    assert not [n for n, value in found.items() if isinstance(value, tuple)]
    known = {n for n, value in expected.items() if not isinstance(value, tuple)}
    assert len(known) > 40  # PyTorch has no rule for what some formulas call
    assert {n: found[n] for n in known} == {n: expected[n] for n in known}


def _has_gradient(torch: Any, name: str) -> bool:
    x = torch.tensor(data_for(name), requires_grad=True)
    function = getattr(torch, name)
    try:
        y = function(x, *ARGUMENTS.get(name, ()))
    except TypeError:
        y = function(x, x.detach() * 1.5)
    try:
        y.sum().backward()
    except RuntimeError:
        return False
    return True


@pytest.mark.oracle
@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_reductions(torch: Any, layout: str, requires_grad: bool) -> None:
    calls = {
        "all": lambda f: f(),
        "dim": lambda f: f(1),
        "keepdim": lambda f: f(0, keepdim=True),
        "dims": lambda f: f(dim=(0, 1)),
    }

    def program(lib: Any, name: str, layout: str) -> Any:
        name, how = name.split()
        data = DATA > 0.5 if name == "all" else DATA
        mt = made(lib, layout, data, requires_grad=requires_grad and name not in ("all", "argmin", "argmax"))
        found = calls[how](getattr(mt, name))
        if mt.requires_grad:
            found.sum().backward()
        return found, mt.grad

    single = ("argmin", "argmax", "all")
    names = [
        f"{name} {how}"
        for name in _names(torch, "reductions", "REDUCE_NAMES")
        for how in (calls if layout == "strided" else ["all"])
        if not (how == "dims" and name in single)
    ]
    _compare(torch, names, program, [layout])


PASSED: dict[str, Callable[[Any, Any], Any]] = {
    "select": lambda lib, mt: mt.select(1, 2),
    "transpose": lambda lib, mt: mt.transpose(0, 1),
    "split": lambda lib, mt: mt.split(2, 1),
    "t": lambda lib, mt: mt.t(),
    "slice": lambda lib, mt: mt[1:, ::2],
    "index": lambda lib, mt: mt[lib.tensor([0, 2])],
    "index by mask": lambda lib, mt: mt[mt.get_mask()],
    "expand": lambda lib, mt: mt.expand(2, 3, 4),
    "view": lambda lib, mt: mt.view(4, 3),
    "reshape": lambda lib, mt: mt.reshape(2, 6),
    "flatten": lambda lib, mt: mt.flatten(),
    "cat": lambda lib, mt: lib.cat([mt, mt], 1),
    "stack": lambda lib, mt: lib.stack([mt, mt]),
    "unsqueeze": lambda lib, mt: mt.unsqueeze(1),
    "unfold": lambda lib, mt: mt.unfold(1, 2, 1),
    "im2col": lambda lib, mt: lib.nn.functional.unfold(mt[None, None], (2, 2)),
    "chunk": lambda lib, mt: mt.chunk(2, 1),
    "clone": lambda lib, mt: mt.clone(),
    "contiguous": lambda lib, mt: (mt.t().contiguous(), mt.t().contiguous().is_contiguous()),
    "is contiguous": lambda lib, mt: mt.contiguous() is not None and mt.is_contiguous(),
    "float": lambda lib, mt: mt.float(),
    "to": lambda lib, mt: mt.to(lib.float16),
    "to int": lambda lib, mt: mt.detach().to(lib.int8),
    "ones_like": lambda lib, mt: lib.ones_like(mt),
    "softmax": lambda lib, mt: lib.softmax(mt, 1),
    "where": lambda lib, mt: lib.where(lib.tensor(DATA > 0.5), mt, made(lib, data=DATA * 2, mask=~MASK)),
    "where plain": lambda lib, mt: lib.where(lib.tensor(DATA > 0.5), mt, lib.zeros(3, 4).double()),
    "to_dense": lambda lib, mt: mt.to_dense(),
    "to_sparse": lambda lib, mt: mt.to_sparse(),
    "to_sparse and back": lambda lib, mt: mt.to_sparse().to_dense(),
    "to_sparse_csr": lambda lib, mt: mt.to_sparse_csr(),
    "to_sparse_csr and back": lambda lib, mt: mt.to_sparse_csr().to_dense(),
    "data": lambda lib, mt: mt.get_data(),
    "to_tensor": lambda lib, mt: mt.to_tensor(3.0),
    "properties": lambda lib, mt: (
        *mt.shape,
        mt.ndim,
        mt.numel(),
        mt.requires_grad,
        mt.is_leaf,
        len(mt),
        str(mt.layout),
        str(mt.dtype),
    ),
    "operators": lambda lib, mt: [mt + 1, 1 + mt, mt - 1, 2 / mt, mt**2, -mt, abs(mt), mt > 0.5, mt < mt],
    "comparison": lambda lib, mt: [mt == 0.5, mt != 0.5, mt <= 0.5, ~(mt >= 0.5)],
    "less": lambda lib, mt: mt < made(lib, mask=~MASK),
}


@pytest.mark.oracle
def test_functions_that_move_elements(torch: Any) -> None:
    def program(lib: Any, name: str, layout: str) -> Any:
        return PASSED[name](lib, made(lib, requires_grad=True))

    for name in PASSED:
        expected = outcome(torch, lambda lib, n=name: program(lib, n, "strided"))  # type: ignore[misc]
        assert not isinstance(expected, tuple), (name, expected)
    _compare(torch, list(PASSED), program, ["strided"])


@pytest.mark.oracle
@pytest.mark.parametrize(
    "name",
    [
        "select",
        "transpose",
        "reshape",
        "cat",
        "unfold",
        "where",
        "softmax",
        "to_tensor",
        "data",
        "clone",
        "contiguous",
        "to_sparse and back",
    ],
)
def test_gradients_of_functions_that_move_elements(torch: Any, name: str) -> None:
    """At the elements that count both here and there: PyTorch masks out also what was not used."""

    def gradient(lib: Any) -> Any:
        mt = made(lib, requires_grad=True)
        found = PASSED[name](lib, mt)
        found = found[0] if isinstance(found, tuple) else found
        (found * found).sum().backward()
        return mt.grad

    ours, theirs = gradient(tengen), gradient(torch)
    kept = theirs.get_mask().numpy()
    assert kept.any()
    np.testing.assert_array_equal(ours.get_mask().numpy(), MASK)
    assert not (kept & ~MASK).any()
    np.testing.assert_allclose(ours.get_data().numpy()[kept], theirs.get_data().numpy()[kept], rtol=1e-12)
    np.testing.assert_array_equal(ours.get_data().numpy()[MASK & ~kept], 0.0)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "data": lambda lib: lib.masked.masked_tensor([1.0], lib.tensor([True])),
    "mask": lambda lib: lib.masked.masked_tensor(lib.ones(1), [True]),
    "masked data": lambda lib: lib.masked.masked_tensor(made(lib), lib.tensor(MASK)),
    "masked mask": lambda lib: lib.masked.masked_tensor(lib.tensor(DATA), made(lib)),
    "mask's dtype": lambda lib: lib.masked.masked_tensor(lib.ones(2), lib.ones(2)),
    "dtype": lambda lib: lib.masked.masked_tensor(lib.ones(2).to(lib.bfloat16), lib.tensor([True, True])),
    "uint8": lambda lib: lib.masked.masked_tensor(lib.ones(2).to(lib.uint8), lib.tensor([True, True])),
    "complex": lambda lib: lib.masked.masked_tensor(lib.ones(2) + 0j, lib.tensor([True, True])),
    "dimensions": lambda lib: lib.masked.masked_tensor(lib.ones(2), lib.tensor(True)),
    "sizes": lambda lib: lib.masked.masked_tensor(lib.ones(2), lib.tensor([True])),
    "layouts": lambda lib: lib.masked.masked_tensor(lib.ones(2), lib.tensor([True, False]).to_sparse()),
    "layout": lambda lib: lib.masked.masked_tensor(
        lib.eye(2).to_sparse_csc(), lib.eye(2).bool().to_sparse_csc()
    ),
    "indices": lambda lib: lib.masked.masked_tensor(
        lib.tensor([1.0, 0.0]).to_sparse(), lib.tensor([False, True]).to_sparse()
    ),
    "rows": lambda lib: lib.masked.masked_tensor(
        lib.eye(2).to_sparse_csr(), lib.eye(2).flip(0).bool().to_sparse_csr()
    ),
    "masks": lambda lib: made(lib) + made(lib, mask=~MASK),
    "masks in place": lambda lib: made(lib).add_(made(lib, mask=~MASK)),
    "to_sparse_csr": lambda lib: made(lib)[0].to_sparse_csr(),
    "contiguous": lambda lib: made(lib, "sparse_coo").contiguous(),
}


@pytest.mark.oracle
@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_pytorchs(torch: Any, name: str) -> None:
    found, expected = outcome(tengen, REFUSED[name]), outcome(torch, REFUSED[name])
    assert isinstance(expected, tuple), expected
    assert found == expected


@pytest.mark.oracle
@pytest.mark.parametrize("layout", LAYOUTS)
def test_text_is_pytorchs(torch: Any, layout: str) -> None:
    for data in (DATA, (DATA * 100).astype(np.int64), DATA > 0.5):
        for key in (slice(None), 0, (0, 0), (0, 1)):
            one, two = (made(lib, layout, data) for lib in (tengen, torch))
            if layout == "strided":
                one, two = one[key], two[key]
            assert repr(one) == repr(two)


def test_identities_of_what_nothing_is_left_of() -> None:
    """The reduction of a row that is masked out is masked out."""
    mt = made(tengen)
    assert mt.sum(1).get_mask().tolist() == [True, False, True]
    assert mt.amax(1).get_data()[1].item() == -math.inf
    assert mt.prod(1).get_data()[1].item() == 1.0
