"""Anomaly mode; in torch too."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from tengen.core.interception import active

pytestmark = pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled")


@pytest.fixture(autouse=True)
def nothing_stays_on() -> Iterator[None]:
    yield
    assert not active


def leaf(m: Any, *values: float) -> Any:
    return m.tensor(list(values), requires_grad=True)


def failure(run: Any) -> tuple[Exception, str]:
    """What ``run`` raises, and the warnings before."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(Exception) as info:
            run()
    return info.value, "\n".join(str(w.message) for w in seen)


def test_nan_is_found_where_it_arises(m: Any) -> None:
    x = leaf(m, 0.0, 1.0)

    def run() -> None:
        with m.autograd.detect_anomaly():
            y = x.sqrt() * 0  # here
            y.sum().backward()

    error, warned = failure(run)
    assert isinstance(error, RuntimeError)
    assert str(error) == "Function 'SqrtBackward0' returned nan values in its 0th output."
    assert "Error detected in SqrtBackward0. Traceback of forward call that caused the error" in warned
    assert "y = x.sqrt() * 0  # here" in warned
    assert x.grad is None


def test_without_looking_for_nan(m: Any) -> None:
    x = leaf(m, 0.0, 1.0)
    with m.autograd.detect_anomaly(check_nan=False):
        (x.sqrt() * 0).sum().backward()
    assert x.grad[1].item() == 0.0 and x.grad[0].item() != x.grad[0].item()


def test_a_forward_pass_that_was_not_watched(m: Any) -> None:
    x = leaf(m, 0.0, 1.0)
    y = x.sqrt() * 0

    def run() -> None:
        with m.autograd.detect_anomaly():
            y.sum().backward()

    error, warned = failure(run)
    assert "'SqrtBackward0' returned nan values" in str(error)
    assert "No forward pass information available" in warned


def test_an_error_in_backward(m: Any) -> None:
    x = leaf(m, 0.0, 1.0)

    def run() -> None:
        with m.autograd.set_detect_anomaly(True, check_nan=False):
            y = x.exp()
            z = y * y  # saved here
            y.add_(1)
            z.sum().backward()

    error, warned = failure(run)
    assert "modified by an inplace operation" in str(error)
    assert "the backtrace further above shows the operation that failed" in str(error)
    assert "Error detected in MulBackward0" in warned and "z = y * y  # saved here" in warned


def test_a_function(m: Any) -> None:
    class Bad(m.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise ValueError("mine")

    def run() -> None:
        with m.autograd.detect_anomaly():
            Bad.apply(leaf(m, 1.0)).sum().backward()  # called here

    error, warned = failure(run)
    assert isinstance(error, ValueError) and str(error) == "mine"
    assert "Error detected in BadBackward" in warned and "# called here" in warned


def test_nan_in_a_second_derivative_names_both(m: Any) -> None:
    x = leaf(m, 0.0)

    def run() -> None:
        with m.autograd.detect_anomaly():
            y = x.pow(1.5)  # first
            (g,) = m.autograd.grad(y.sum(), x, create_graph=True)
            (g.sum() * 0).backward()

    error, warned = failure(run)
    assert "returned nan values" in str(error)
    assert "Previous calculation was induced by PowBackward0" in warned and "# first" in warned


def fails_twice(m: Any) -> tuple[Any, Any]:
    """Functions: the backward of the first calls the second, whose backward raises."""

    class Second(m.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise ValueError("mine")

    class First(m.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return Second.apply(g)  # second call

    return First.apply, Second.apply


@pytest.mark.parametrize("recorded", [True, False])
def test_an_error_in_a_second_derivative_names_what_led_there(m: Any, recorded: bool) -> None:
    """A warning for the Node that failed, and one for the Node whose backward has made it."""
    first, _ = fails_twice(m)
    x, u = leaf(m, 1.0), leaf(m, 1.0)
    with m.autograd.set_detect_anomaly(recorded):
        y = first(x) * u  # first call
    with m.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        (g,) = m.autograd.grad(y.sum(), x, create_graph=True)
        with pytest.raises(ValueError, match="mine"):
            g.sum().backward()
    texts = [str(w.message) for w in seen]
    assert len(texts) == 2
    assert "Error detected in SecondBackward. Traceback of forward call that caused the error" in texts[0]
    assert "# second call" in texts[0]
    if recorded:
        assert "Previous calculation was induced by FirstBackward. Traceback of forward call" in texts[1]
        assert "# first call" in texts[1]
    else:
        assert "FirstBackward. No forward pass information available" in texts[1]


def test_a_third_derivative_names_all_that_led_there(m: Any) -> None:
    x = leaf(m, 0.0)
    with m.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        y = x.pow(2.5)
        (g,) = m.autograd.grad(y.sum(), x, create_graph=True)
        (h,) = m.autograd.grad(g.sum(), x, create_graph=True)
        with pytest.raises(RuntimeError, match="'PowBackward0' returned nan values"):
            (h.sum() * 0).backward()
    names = [str(w.message).strip().partition(". ")[0] for w in seen if w.category is UserWarning]
    assert names == [
        "Error detected in PowBackward0",
        "Previous calculation was induced by PowBackward0",
        "Previous calculation was induced by PowBackward0",
    ]


@pytest.mark.parametrize("what", ["nan", "an error", "a second derivative"])
def test_where_warnings_are_errors_the_failure_arrives(m: Any, what: str) -> None:
    first, second = fails_twice(m)
    x = leaf(m, 0.0)
    wanted = RuntimeError if what == "nan" else ValueError
    with m.autograd.set_detect_anomaly(True), warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with pytest.raises(wanted) as info:
            if what == "nan":
                (x.sqrt() * 0).sum().backward()
            elif what == "an error":
                second(x).sum().backward()
            else:
                (g,) = m.autograd.grad((first(x) * x).sum(), x, create_graph=True)
                g.sum().backward()
    if m.__name__ == "tengen":  # torch prints them
        notes = info.value.__notes__
        assert len(notes) == (2 if what == "a second derivative" else 1)
        assert all("Traceback of forward call" in note for note in notes)


def test_the_switch(m: Any) -> None:
    # torch has these at its top.
    source = m if hasattr(m, "is_anomaly_enabled") else m.autograd
    assert not source.is_anomaly_enabled()
    m.autograd.set_detect_anomaly(True)
    try:
        assert source.is_anomaly_enabled() and source.is_anomaly_check_nan_enabled()
        metadata = leaf(m, 1.0).exp().grad_fn.metadata
        assert "test_anomaly" in "".join(metadata["traceback_"])
        with m.autograd.set_detect_anomaly(False):
            assert not source.is_anomaly_enabled()
        assert source.is_anomaly_enabled()
    finally:
        m.autograd.set_detect_anomaly(False)
    assert not source.is_anomaly_enabled()
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        m.autograd.detect_anomaly()


def test_gradients_are_the_same(m: Any) -> None:
    x = leaf(m, 1.0, 2.0)
    with m.autograd.detect_anomaly():
        y = (x * x).exp().sum() + x.sum()
        assert m.allclose(m.autograd.grad(y, x)[0], 2 * x * (x * x).exp() + 1)
