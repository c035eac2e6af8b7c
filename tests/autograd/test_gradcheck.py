"""gradcheck and gradgradcheck: what they let pass, what they find, and what they say of it."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tengen

Function = Callable[..., Any]


@pytest.fixture(params=[False, True], ids=["slow", "fast"])
def fast(request: pytest.FixtureRequest) -> bool:
    """Both modes."""
    return bool(request.param)


def error(m: ModuleType) -> type[Exception]:
    """The library's GradcheckError."""
    found: type[Exception] = importlib.import_module(f"{m.__name__}.autograd.gradcheck").GradcheckError
    return found


def real(m: ModuleType, *shape: int, seed: int = 0) -> Any:
    """A float64 leaf of random numbers between 0.5 and 2."""
    values = np.random.default_rng(seed).uniform(0.5, 2.0, shape)
    return m.from_numpy(np.asarray(values)).requires_grad_()


def complex_(m: ModuleType, *shape: int, seed: int = 0) -> Any:
    """A complex128 leaf."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.5, 2.0, shape) + 1j * rng.uniform(0.5, 2.0, shape)
    return m.from_numpy(np.asarray(values)).requires_grad_()


def custom(m: ModuleType, forward: Function, backward: Function, jvp: Function | None = None) -> Function:
    """A Function of one tensor: ``backward`` is given the input and the gradient(s), ``jvp`` the tangent."""

    def kept_forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return forward(x)

    def kept_backward(ctx: Any, *grads: Any) -> Any:
        return backward(ctx.saved_tensors[0], *grads)

    methods = {"forward": staticmethod(kept_forward), "backward": staticmethod(kept_backward)}
    if jvp is not None:
        methods["jvp"] = staticmethod(lambda ctx, tangent: jvp(tangent))
    apply: Function = type("Custom", (m.autograd.Function,), methods).apply  # type: ignore[attr-defined]
    return apply


# -- what is right ---------------------------------------------------------------------------

RIGHT: dict[str, tuple[Function, Function]] = {
    "a product": (lambda x, y: x * y.sin(), lambda m: (real(m, 2, 3), real(m, 3, seed=1))),
    "0-d": (lambda x: x.exp(), lambda m: (real(m),)),
    "no elements": (lambda x: x * 2, lambda m: (m.zeros(0, 3, dtype=m.float64, requires_grad=True),)),
    "a result without elements": (lambda x: x[:0], lambda m: (real(m, 3),)),
    "two results": (lambda x: (x.sin(), x.sum()), lambda m: (real(m, 2, 2),)),
    "a list of results": (lambda x: [x.sin(), x.cos()], lambda m: (real(m, 2),)),
    "an unused input": (lambda x, y: x.sin(), lambda m: (real(m, 2), real(m, 3))),
    "an input twice": (lambda x: (x * x).sum(), lambda m: (real(m, 2),)),
    "an input that is a constant": (lambda x, y: x * y, lambda m: (real(m, 2), real(m, 2).detach())),
    "an input that is no tensor": (lambda x, n, s: x**n, lambda m: (real(m, 2), 3, "s")),
    "a result of integers": (lambda x: (x.sin(), x.argmax()), lambda m: (real(m, 3),)),
    "a matrix product": (lambda x, y: x @ y, lambda m: (real(m, 2, 3), real(m, 3, 2))),
    "a result that is the input": (lambda x: x, lambda m: (real(m, 2),)),
    "a view": (lambda x: x.t()[0], lambda m: (real(m, 2, 3),)),
    "C to C": (lambda z: z * z, lambda m: (complex_(m, 3),)),
    "C to C, not holomorphic": (lambda z: z.conj() * 2 + z.abs(), lambda m: (complex_(m, 2),)),
    "C to R": (lambda z: z.abs(), lambda m: (complex_(m, 2, 2),)),
    "R to C": (lambda x: x * (2 + 3j), lambda m: (real(m, 2),)),
    "R and C to both": (lambda x, z: (x * z, x * z.real), lambda m: (real(m, 2), complex_(m, 2))),
    "C, 0-d": (lambda z: z.exp(), lambda m: (complex_(m),)),
}


@pytest.mark.parametrize("what", RIGHT)
def test_right(m: ModuleType, what: str, fast: bool) -> None:
    function, make = RIGHT[what]
    assert m.autograd.gradcheck(function, make(m), fast_mode=fast) is True
    assert m.autograd.gradcheck(function, list(make(m)), fast_mode=fast, check_grad_dtypes=True) is True


@pytest.mark.parametrize("what", RIGHT)
def test_right_twice(m: ModuleType, what: str, fast: bool) -> None:
    function, make = RIGHT[what]
    assert m.autograd.gradgradcheck(function, make(m), fast_mode=fast) is True
    assert m.autograd.gradgradcheck(function, make(m), gen_non_contig_grad_outputs=True, fast_mode=fast)


@pytest.mark.parametrize("what", RIGHT)
def test_right_forward(m: ModuleType, what: str, fast: bool) -> None:
    function, make = RIGHT[what]
    assert m.autograd.gradcheck(function, make(m), fast_mode=fast, check_forward_ad=True)
    assert m.autograd.gradcheck(
        function, make(m), fast_mode=fast, check_forward_ad=True, check_backward_ad=False
    )


@pytest.mark.parametrize("what", ["a product", "two results", "C to C", "C to R", "R to C", "0-d"])
def test_right_forward_over_reverse(m: ModuleType, what: str, fast: bool) -> None:
    function, make = RIGHT[what]
    assert m.autograd.gradgradcheck(function, make(m), fast_mode=fast, check_fwd_over_rev=True)
    only = {"check_fwd_over_rev": True, "check_rev_over_rev": False, "check_undefined_grad": False}
    assert m.autograd.gradgradcheck(function, make(m), fast_mode=fast, **only)


@pytest.mark.parametrize("what", ["a product", "two results", "an unused input", "C to C", "C to R", "0-d"])
def test_right_batched(m: ModuleType, what: str, fast: bool) -> None:
    function, make = RIGHT[what]
    assert m.autograd.gradcheck(function, make(m), fast_mode=fast, check_batched_grad=True)
    assert m.autograd.gradgradcheck(function, make(m), fast_mode=fast, check_batched_grad=True)
    forward = {"check_forward_ad": True, "check_batched_forward_grad": True}
    assert m.autograd.gradcheck(function, make(m), fast_mode=fast, **forward)


def test_a_single_input(m: ModuleType, fast: bool) -> None:
    assert m.autograd.gradcheck(lambda x: x.sin(), real(m, 2), fast_mode=fast)
    assert m.autograd.gradgradcheck(lambda x: x.sin(), real(m, 2), fast_mode=fast)


def test_inputs_that_are_not_contiguous(m: ModuleType, fast: bool) -> None:
    x = m.from_numpy(np.linspace(1.0, 2.0, 24).reshape(4, 6).T[::2]).requires_grad_()
    assert not x.is_contiguous()
    assert m.autograd.gradcheck(lambda x: x.sin() * x, x, fast_mode=fast)


def test_an_input_that_is_no_leaf(m: ModuleType, fast: bool) -> None:
    x = real(m, 3) * 2
    assert m.autograd.gradcheck(lambda x: x.sin(), x, fast_mode=fast)


def test_given_gradients(m: ModuleType, fast: bool) -> None:
    x, seed = real(m, 3), real(m, 3, seed=1)
    assert m.autograd.gradgradcheck(lambda x: x**3, x, seed, fast_mode=fast)
    assert m.autograd.gradgradcheck(lambda x: x**3, x, (seed.detach(),), fast_mode=fast)


def test_coarse_numbers_with_a_coarse_step(m: ModuleType, fast: bool) -> None:
    x = m.ones(3, requires_grad=True)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        assert m.autograd.gradcheck(lambda x: x * 2, x, eps=1e-2, fast_mode=fast)


def test_nothing_depends_on_the_inputs(m: ModuleType, fast: bool) -> None:
    assert m.autograd.gradcheck(lambda x: x.detach() * 0, real(m, 2), fast_mode=fast)
    with pytest.raises(error(m), match="expected to be zero"):
        m.autograd.gradcheck(lambda x: x.detach(), real(m, 2), fast_mode=fast)
    with pytest.raises(error(m), match="expected to be zero"):
        m.autograd.gradcheck(lambda z: z.detach() * 1j, complex_(m, 2), fast_mode=fast)


def test_without_recording_nothing_has_a_gradient(m: ModuleType, fast: bool) -> None:
    with m.no_grad(), pytest.raises(error(m), match="expected to be zero"):
        m.autograd.gradcheck(lambda x: x * 2, real(m, 2), fast_mode=fast)


def test_what_other_results_there_are_does_not_matter(fast: bool) -> None:
    """In torch those without gradients must stand behind the others."""
    check = tengen.autograd.gradcheck
    assert check(lambda x: (x.argmax(), x.sin()), real(tengen, 3), fast_mode=fast)
    assert check(lambda x: (x.detach(), x.sin()), real(tengen, 3), fast_mode=fast)
    assert check(lambda z: (z.detach(), z * 2, z.abs()), complex_(tengen, 3), fast_mode=fast)


# -- what is wrong ---------------------------------------------------------------------------


def test_a_wrong_value(m: ModuleType, fast: bool) -> None:
    wrong = custom(m, lambda x: x * 2, lambda x, g: g * 3)
    with pytest.raises(error(m)) as caught:
        m.autograd.gradcheck(wrong, real(m, 2), fast_mode=fast)
    text = str(caught.value)
    assert text.startswith("Jacobian mismatch for output 0 with respect to input 0,\nnumerical:")
    assert "\nanalytical:" in text and "[0., 3.]]" in text
    assert ("slow mode" in text) is fast
    assert ("The max per-element difference (slow mode) is: 1.0" in text or "is: 0.99" in text) is fast
    assert m.autograd.gradcheck(wrong, real(m, 2), fast_mode=fast, raise_exception=False) is False


def test_the_message_names_output_and_input(m: ModuleType, fast: bool) -> None:
    wrong = custom(m, lambda x: x * 2, lambda x, g: g * 3)
    with pytest.raises(error(m), match="output 1 with respect to input 2"):
        m.autograd.gradcheck(
            lambda x, y, z: (x * y * 2, x * wrong(z)), (real(m, 2), real(m, 2), real(m, 2)), fast_mode=fast
        )


def test_fast_mode_says_when_slow_mode_would_pass(m: ModuleType) -> None:
    nearly = custom(m, lambda x: x * 1e3, lambda x, g: g * 1e3 + g.sum() * 1e-5)
    check = m.autograd.gradcheck
    x = real(m, 100)
    options = {"atol": 2e-5, "rtol": 1e-12, "check_undefined_grad": False}
    try:
        check(nearly, x, fast_mode=True, **options)
    except error(m) as found:
        assert "passed in slow_mode" in str(found)


def test_wrong_between_elements(m: ModuleType, fast: bool) -> None:
    """Each element for itself is right."""
    wrong = custom(m, lambda x: x * 2, lambda x, g: g.sum() * m.full_like(g, 2.0))
    with pytest.raises(error(m), match="Jacobian mismatch"):
        m.autograd.gradcheck(wrong, real(m, 3), fast_mode=fast)


def test_a_gradient_that_is_not_a_number(m: ModuleType, fast: bool) -> None:
    wrong = custom(m, lambda x: x * 2, lambda x, g: g * float("nan"))
    with pytest.raises(error(m), match=r"Jacobian mismatch|not reentrant"):
        m.autograd.gradcheck(wrong, real(m, 3), fast_mode=fast)


def test_a_wrong_shape(m: ModuleType, fast: bool) -> None:
    """The engine finds that, and it is no GradcheckError."""
    wrong = custom(m, lambda x: x * 2, lambda x, g: (g * 2)[:2])
    with pytest.raises(RuntimeError, match="returned an invalid gradient at index 0") as caught:
        m.autograd.gradcheck(wrong, real(m, 3), fast_mode=fast, raise_exception=False)
    assert not isinstance(caught.value, error(m))


def test_a_wrong_dtype_is_cast(m: ModuleType, fast: bool) -> None:
    """By the engine: it never arrives."""
    coarse = custom(m, lambda x: x * 2, lambda x, g: (g * 2).to(m.float32))
    assert m.autograd.gradcheck(coarse, real(m, 3), fast_mode=fast, check_grad_dtypes=True)


def test_nondeterministic(m: ModuleType, fast: bool) -> None:
    calls = iter(range(10**6))
    drifting = custom(m, lambda x: x * 2, lambda x, g: g * (2 + next(calls) * 1e-9))
    with pytest.raises(error(m), match=r"(?s)not reentrant.*nondeterminism was 0.0.*nondet_tol"):
        m.autograd.gradcheck(drifting, real(m, 3), fast_mode=fast)
    assert m.autograd.gradcheck(drifting, real(m, 3), fast_mode=fast, nondet_tol=1e-6)


def test_a_gradient_that_is_not_multiplied(m: ModuleType, fast: bool) -> None:
    """For outputs of one element the Jacobian alone is right."""
    wrong = custom(m, lambda x: x.sum(), lambda x, g: m.ones_like(x))
    with pytest.raises(error(m), match="backward not multiplied by grad_output"):
        m.autograd.gradcheck(lambda x: wrong(x), real(m, 1), fast_mode=False)
    with pytest.raises(error(m)):
        m.autograd.gradcheck(lambda x: wrong(x), real(m, 1), fast_mode=True)


def test_masked_lets_nearly_zero_pass(m: ModuleType) -> None:
    nearly = custom(m, lambda x: x * 2, lambda x, g: g * 2 + 1e-9)
    with pytest.raises(error(m), match="not multiplied by grad_output"):
        m.autograd.gradcheck(nearly, real(m, 2))
    assert m.autograd.gradcheck(nearly, real(m, 2), masked=True, check_undefined_grad=False)


@pytest.mark.parametrize("wrong", ["holomorphic", "transposed"])
def test_a_wrong_conjugate(m: ModuleType, wrong: str, fast: bool) -> None:
    factor = 2 + 1j if wrong == "holomorphic" else 1 + 2j
    function = custom(m, lambda z: z * (2 + 1j), lambda z, g: g * factor)
    with pytest.raises(
        error(m), match="While considering the imaginary part of complex outputs only, Jacobian"
    ):
        m.autograd.gradcheck(function, complex_(m, 2), fast_mode=fast)


def test_wrong_in_the_real_part_only(m: ModuleType, fast: bool) -> None:
    function = custom(m, lambda x: x * (2 + 3j), lambda x, g: g.real * 4 + g.imag * 3)
    with pytest.raises(error(m), match="While considering the real part of complex outputs only, Jacobian"):
        m.autograd.gradcheck(function, real(m, 2), fast_mode=fast)


def test_a_wrong_gradient_of_a_real_result(m: ModuleType, fast: bool) -> None:
    """Its conjugate."""
    function = custom(m, lambda z: (z * z.conj()).real, lambda z, g: 2 * g * z.conj())
    with pytest.raises(error(m)) as caught:
        m.autograd.gradcheck(function, complex_(m, 2), fast_mode=fast)
    assert str(caught.value).startswith("Jacobian mismatch for output 0 with respect to input 0,")


def test_a_wrong_second_gradient(m: ModuleType, fast: bool) -> None:
    once = custom(m, lambda x: x**3, lambda x, g: g * 3 * x.detach() ** 2)
    assert m.autograd.gradcheck(once, real(m, 2), fast_mode=fast)
    with pytest.raises(error(m), match="Jacobian mismatch"):
        m.autograd.gradgradcheck(once, real(m, 2), fast_mode=fast)
    assert m.autograd.gradgradcheck(once, real(m, 2), fast_mode=fast, raise_exception=False) is False


# -- gradients that are not there ------------------------------------------------------------


def unready(m: ModuleType, raised: type[Exception]) -> Function:
    """A Function whose backward does not cope with None."""

    class Unready(m.autograd.Function):  # type: ignore[name-defined, misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            if g is None and h is None:
                raise raised("there is no gradient")
            return (0 if g is None else g * 2) + (0 if h is None else h * 3)

    apply: Function = Unready.apply
    return apply


def test_backward_that_does_not_cope_with_none(m: ModuleType, fast: bool) -> None:
    check, function = m.autograd.gradcheck, unready(m, RuntimeError)
    with (
        pytest.warns(UserWarning, match="check_undefined_grad=False"),
        pytest.raises(error(m), match="Expected backward function to handle undefined output grads"),
    ):
        check(function, real(m, 2), fast_mode=fast)
    assert check(function, real(m, 2), fast_mode=fast, check_undefined_grad=False)
    with pytest.raises(TypeError, match="there is no gradient"):
        check(unready(m, TypeError), real(m, 2), fast_mode=fast)


def test_backward_that_makes_something_of_none(m: ModuleType, fast: bool) -> None:
    class Inventive(m.autograd.Function):  # type: ignore[name-defined, misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            ctx.size = x.shape
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return m.ones(ctx.size, dtype=m.float64) if g is None else g * 2

    with (
        pytest.warns(UserWarning, match="check_undefined_grad=False"),
        pytest.raises(error(m), match="Expected all input grads to be undefined or zero"),
    ):
        m.autograd.gradcheck(Inventive.apply, real(m, 2), fast_mode=fast)


def test_one_gradient_of_several_is_not_there(m: ModuleType, fast: bool) -> None:
    class Half(m.autograd.Function):  # type: ignore[name-defined, misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            if (g is None) is not (h is None) and bool(((h if g is None else g) == 0).all()):
                raise RuntimeError("one of them is missing")
            if g is None and h is None:
                return None
            return (0 if g is None else g * 2) + (0 if h is None else h * 3)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(error(m), match="Expected backward function to handle undefined output grads"):
            m.autograd.gradcheck(Half.apply, real(m, 2), fast_mode=fast)


# -- forward mode ----------------------------------------------------------------------------


def test_a_wrong_tangent(m: ModuleType, fast: bool) -> None:
    function = custom(m, lambda x: x * 2, lambda x, g: g * 2, lambda t: t * 3)
    assert m.autograd.gradcheck(function, real(m, 2), fast_mode=fast)
    with pytest.raises(error(m)) as caught:
        m.autograd.gradcheck(function, real(m, 2), fast_mode=fast, check_forward_ad=True)
    text = str(caught.value)
    assert text.startswith(
        "Jacobian computed with forward mode mismatch for output 0 with respect to input 0,\nnumerical:"
    )
    assert ("slow mode" in text) is fast


def test_a_wrong_tangent_of_a_complex_input(m: ModuleType, fast: bool) -> None:
    function = custom(m, lambda z: z * (2 + 1j), lambda z, g: g * (2 - 1j), lambda t: t.conj() * (2 + 1j))
    options = {"check_forward_ad": True, "fast_mode": fast}
    with pytest.raises(
        error(m), match="considering the imaginary part of complex inputs only, Jacobian computed"
    ):
        m.autograd.gradcheck(function, complex_(m, 2), **options)


def test_a_tangent_of_the_wrong_kind(m: ModuleType, fast: bool) -> None:
    function = custom(m, lambda x: x * 2, lambda x, g: g * 2, lambda t: t * (2 + 0j))
    options = {"check_forward_ad": True, "check_grad_dtypes": True, "fast_mode": fast}
    with pytest.raises(error(m), match="Forward AD gradient has dtype mismatch"):
        m.autograd.gradcheck(function, real(m, 2), **options)


def test_a_function_without_tangent(m: ModuleType, fast: bool) -> None:
    function = custom(m, lambda x: x * 2, lambda x, g: g * 2)
    with pytest.raises(NotImplementedError, match="must implement the jvp function"):
        m.autograd.gradcheck(function, real(m, 2), fast_mode=fast, check_forward_ad=True)


def test_only_forward_mode(m: ModuleType, fast: bool) -> None:
    """What is wrong backwards does not matter then."""
    function = custom(m, lambda x: x * 2, lambda x, g: g * 3, lambda t: t * 2)
    options = {"check_forward_ad": True, "check_backward_ad": False, "fast_mode": fast}
    assert m.autograd.gradcheck(function, real(m, 2), **options)


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize("inputs", ["none", "detached", "a number"])
def test_no_input_requires_gradients(m: ModuleType, inputs: str) -> None:
    given = {"none": (), "detached": real(m, 2).detach(), "a number": 3}[inputs]
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        m.autograd.gradcheck(lambda *x: x[0] * 2, given)


def test_overlapping_memory(m: ModuleType, fast: bool) -> None:
    x = m.ones(1, dtype=m.float64).expand(3).requires_grad_()
    with pytest.raises(RuntimeError, match="The 1th input has a dimension with stride 0"):
        m.autograd.gradcheck(lambda x, y: x * y, (real(m, 3), x), fast_mode=fast)
    assert m.autograd.gradcheck(lambda x: x * 2, m.ones(1, dtype=m.float64).expand(1, 1).requires_grad_())


@pytest.mark.parametrize(
    "options",
    [
        {"check_backward_ad": False},
        {"check_batched_grad": True, "check_backward_ad": False, "check_forward_ad": True},
        {"check_batched_forward_grad": True},
    ],
    ids=["nothing to do", "batched without backward", "batched forward without forward"],
)
def test_options_that_contradict_each_other(m: ModuleType, options: dict[str, bool]) -> None:
    with pytest.raises(AssertionError, match=r"Expected at least one of|requires"):
        m.autograd.gradcheck(lambda x: x * 2, real(m, 2), **options)


@pytest.mark.parametrize(
    "options",
    [
        {"check_rev_over_rev": False},
        {"check_rev_over_rev": False, "check_fwd_over_rev": True},
        {
            "check_rev_over_rev": False,
            "check_fwd_over_rev": True,
            "check_undefined_grad": False,
            "check_batched_grad": True,
        },
    ],
    ids=["nothing to do", "undefined without reverse", "batched without reverse"],
)
def test_options_of_gradgradcheck_that_contradict_each_other(m: ModuleType, options: dict[str, bool]) -> None:
    with pytest.raises(AssertionError, match=r"Expected at least one of|requires"):
        m.autograd.gradgradcheck(lambda x: x * 2, real(m, 2), **options)


def test_results_that_are_no_tensors(fast: bool) -> None:
    """An AttributeError in torch."""
    check = tengen.autograd.gradcheck
    with pytest.raises(TypeError, match=r"func must return .* its result 1 is of type NoneType"):
        check(lambda x: (x * 2, None), real(tengen, 2), fast_mode=fast)
    with pytest.raises(TypeError, match="its result 0 is of type float"):
        check(lambda x: 2.0, real(tengen, 2), fast_mode=fast)


def test_no_result_to_differentiate_twice() -> None:
    """A TypeError of the function in torch, which is called without arguments."""
    with pytest.raises(ValueError, match="at least one result of func to require gradient"):
        tengen.autograd.gradgradcheck(lambda x: x.detach(), real(tengen, 2))


def test_results_that_change_nearby(m: ModuleType, fast: bool) -> None:
    """Their dtype; of a changing shape torch says something else."""

    def moody(x: Any) -> Any:
        return x * 2 if bool((x.detach() <= 1).all()) else (x * 2).to(m.float32)

    x = m.ones(2, dtype=m.float64, requires_grad=True)
    with pytest.raises(AssertionError, match=r"same dtype when inputs are perturbed .*by 1e-06"):
        m.autograd.gradcheck(moody, x, fast_mode=fast)


def test_a_shape_that_changes_nearby(fast: bool) -> None:
    x = tengen.ones(2, dtype=tengen.float64, requires_grad=True)
    for function in (lambda x: x[x.detach() <= 1], lambda x: (x,) * int((x.detach() <= 1).sum())):
        with pytest.raises(AssertionError, match=r"as many outputs|same shape"):
            tengen.autograd.gradcheck(function, x, fast_mode=fast)


# -- what is left behind ---------------------------------------------------------------------


def test_nothing_is_changed(m: ModuleType, fast: bool) -> None:
    x, y = real(m, 3), complex_(m, 3)
    before = x.detach().numpy().copy(), y.detach().numpy().copy()
    versions = x._version, y._version
    m.manual_seed(3)
    expected = m.rand(2)
    m.manual_seed(3)
    m.autograd.gradcheck(lambda x, y: x * y, (x, y), fast_mode=fast)
    assert (m.rand(2) == expected).all()
    assert (x.detach().numpy() == before[0]).all() and (y.detach().numpy() == before[1]).all()
    assert x.grad is None and y.grad is None
    assert (x._version, y._version) == versions


def test_the_inputs_are_put_back_after_an_error(fast: bool) -> None:
    x = real(tengen, 3)
    before = x.detach().numpy().copy()
    calls = iter(range(100))

    def failing(x: Any) -> Any:
        if next(calls) == 2:
            raise KeyError("in the middle")
        return x * 2

    with pytest.raises(KeyError, match="in the middle"):
        tengen.autograd.gradcheck(failing, x, fast_mode=fast)
    assert (x.detach().numpy() == before).all()


def test_how_often_the_function_is_called(m: ModuleType) -> None:
    """In fast mode not for each element."""
    counts = {}
    for fast_mode in (False, True):
        calls: list[int] = []

        def function(x: Any, calls: list[int] = calls) -> Any:
            calls.append(1)
            return x.sin()

        m.autograd.gradcheck(function, real(m, 50), fast_mode=fast_mode)
        counts[fast_mode] = len(calls)
    assert counts[False] > 100 and counts[True] < 10


def test_the_error_is_a_runtime_error(m: ModuleType) -> None:
    assert issubclass(error(m), RuntimeError)
    assert callable(m.autograd.gradcheck) and callable(m.autograd.gradgradcheck)
