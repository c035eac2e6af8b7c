"""gradcheck: the derivatives of a function against differences of its values.

What a caller sees; the work is in ``derivative_checks``, which is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def __dir__() -> list[str]:
    return sorted(__all__)


class GradcheckError(RuntimeError):
    """A derivative is not what ``gradcheck`` or ``gradgradcheck`` expects of it."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of ``func`` at ``inputs`` agree with central differences of its values.

    ``inputs`` is a Tensor or a tuple or list of what ``func`` takes. Those of them that require gradients
    are moved by ``eps``, element by element and in place, and back again: they should be float64 or
    complex128, and none of their dimensions may have stride 0. Of sparse ones all elements are moved, also
    those that are not stored, in a tensor that stores them all; with ``masked`` the stored ones alone, and
    the derivatives by the others should be zero. ``func`` returns a Tensor or a tuple or
    list of Tensors; looked at are those that require gradients, and when there are none the values may
    not change at all. An analytical value ``a`` and a numerical one ``n`` agree when
    ``|a - n| <= atol + rtol * |n|``. Of complex results first the imaginary, then the real parts are
    differentiated; the gradient of a complex input is the conjugate Wirtinger derivative.

    Also checked is that the gradients are

    - the same when they are computed twice, to ``nondet_tol``;
    - zero where those of the results are (about zero with ``masked``), and, with ``check_undefined_grad``,
      where those of the results, or of one of them, are not there at all;
    - with ``check_grad_dtypes``, of their input's dtype;
    - with ``check_batched_grad``, the same when ``is_grads_batched`` computes several at once.

    ``check_forward_ad`` checks the tangents too, ``check_batched_forward_grad`` also several at once under
    ``vmap``; without ``check_backward_ad`` only these. ``fast_mode`` compares not whole Jacobians but
    what they do to random vectors: it calls ``func`` not for each element but for each input.

    Returns True. Raises GradcheckError when something is wrong, or returns False without
    ``raise_exception``. Raises ValueError when no input requires gradients and for a sparse result,
    RuntimeError for an input of stride 0, TypeError for a result that is no Tensor, AssertionError for
    options that contradict each other and for results whose shape or dtype is another one nearby. Warns of
    inputs that are not of double precision.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True, but got: both False"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    from .derivative_checks import Options, check_derivatives

    options = Options(
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        undefined=check_undefined_grad,
        dtypes=check_grad_dtypes,
        batched=check_batched_grad,
        batched_forward=check_batched_forward_grad,
        forward=check_forward_ad,
        backward=check_backward_ad,
        fast=fast_mode,
        masked=bool(masked),
    )
    try:
        check_derivatives(func, inputs, options)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the derivatives of the gradients of ``func`` agree with differences of these gradients.

    ``gradcheck`` of the function that takes ``inputs`` and ``grad_outputs`` to the gradients of the inputs:
    what it says of inputs, options, results and errors holds here. ``grad_outputs`` has a gradient for each
    result that requires one; by default random ones between -1 and 1, the same ones in every call,
    which ``gen_non_contig_grad_outputs`` makes not contiguous. The second derivative is computed in
    reverse mode (``check_rev_over_rev``), in forward mode (``check_fwd_over_rev``), or both.

    Raises ValueError, too, when no result of ``func`` requires gradients, and AssertionError when
    neither mode is asked for.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True, but got: both "
            "False"
        )
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    from .derivative_checks import gradient_function

    gradients, arguments = gradient_function(func, inputs, grad_outputs, gen_non_contig_grad_outputs)
    return gradcheck(
        gradients,
        arguments,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )
