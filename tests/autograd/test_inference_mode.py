"""Inference mode within other modes, and views made in it; in torch too."""

from __future__ import annotations

from typing import Any

import pytest


def test_recording_stays_off_in_it(m: Any) -> None:
    x = m.ones(2, requires_grad=True)
    with m.inference_mode(), m.enable_grad():
        assert not (x * 2).requires_grad


def test_suspended(m: Any) -> None:
    x = m.ones(2, requires_grad=True)
    with m.inference_mode():
        with m.inference_mode(False):
            assert m.is_grad_enabled() and not m.is_inference_mode_enabled()
            y = x * 2
        assert m.is_inference_mode_enabled() and not m.is_grad_enabled()
    assert y.requires_grad and not y.is_inference()
    assert m.is_grad_enabled()


def test_a_tensor_made_in_it_has_no_version(m: Any) -> None:
    with m.inference_mode():
        x = m.ones(2)
        x.add_(1)
        with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
            x._version  # noqa: B018
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        x._version  # noqa: B018
    with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside"):
        x.requires_grad_()


def test_writing_through_a_view_made_in_it(m: Any) -> None:
    y = m.ones(2, requires_grad=True) * 2
    with m.inference_mode():
        v = y.view(2)
        v.add_(1)
    assert not v.is_inference() and v._is_view()
    with pytest.raises(
        RuntimeError, match="A view was created in inference mode and is being modified inplace"
    ):
        v.mul_(2)


def test_a_view_made_in_it_whose_base_is_written_to(m: Any) -> None:
    y = m.ones(2, requires_grad=True) * 2
    with m.inference_mode():
        v = y.view(2)
    y.mul_(2)
    with pytest.raises(
        RuntimeError, match="created in inference mode and its base or another view of its base"
    ):
        v.grad_fn  # noqa: B018
