"""Parameters and buffers: what they are made of, what functions of them return, copies and files."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import tengen


def test_a_parameter_is_a_leaf_on_the_same_memory(m: Any) -> None:
    x = m.ones(2)
    p = m.nn.Parameter(x)
    x[0] = 5
    assert p.requires_grad and p.is_leaf and p.tolist() == [5.0, 1.0]
    assert isinstance(p, m.Tensor) and type(p) is m.nn.Parameter
    assert m.nn.Parameter().shape == (0,) and not m.nn.Parameter(x, requires_grad=False).requires_grad
    assert type(m.nn.Parameter(p)) is m.nn.Parameter


def test_what_functions_return_is_a_plain_tensor(m: Any) -> None:
    p = m.nn.Parameter(m.ones(2, 2))
    for result in (p + 1, 1 + p, p @ p, p.t(), p[0], p.detach(), m.add(p, p), m.stack([p, p]), p.data):
        assert type(result) is m.Tensor
    assert p.add(1).requires_grad
    with m.no_grad():
        assert p.add_(1) is p


def test_repr(m: Any) -> None:
    assert repr(m.nn.Parameter(m.ones(2))) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"


def test_integers_can_be_parameters_without_gradients_only(m: Any) -> None:
    with pytest.raises(RuntimeError, match="floating point"):
        m.nn.Parameter(m.ones(2, dtype=m.int64))
    assert not m.nn.Parameter(m.ones(2, dtype=m.int64), requires_grad=False).requires_grad


def test_copies(m: Any) -> None:
    p = m.nn.Parameter(m.ones(2), requires_grad=False)
    p.note = "kept"
    shared, own = copy.copy(p), copy.deepcopy([p, p])
    with m.no_grad():
        p[0] = 7
    assert shared.tolist() == [7.0, 1.0] and shared.note == "kept"
    assert own[0] is own[1] and own[0].tolist() == [1.0, 1.0] and not hasattr(own[0], "note")
    assert type(own[0]) is m.nn.Parameter and not own[0].requires_grad


def test_pickles(m: Any) -> None:
    p = m.nn.Parameter(m.ones(2))
    p.note = "kept"
    again = pickle.loads(pickle.dumps(p))
    assert type(again) is m.nn.Parameter and again.requires_grad and again.note == "kept"


def test_files_of_weights_may_have_parameters(m: Any) -> None:
    file = io.BytesIO()
    m.save({"p": m.nn.Parameter(m.ones(2)), "q": m.nn.Parameter(m.ones(1), requires_grad=False)}, file)
    file.seek(0)
    found = m.load(file)
    assert type(found["p"]) is m.nn.Parameter and found["p"].requires_grad and not found["q"].requires_grad


def test_files_cannot_give_a_parameter_what_it_cannot_have() -> None:
    data = tengen.ones(2, dtype=tengen.int64)

    class Forged:
        def __init__(self, *arguments: Any) -> None:
            self.arguments = arguments

        def __reduce__(self) -> Any:
            return tengen.serialization.rebuild_parameter, self.arguments

    for arguments in ((data, True, {}), (data, 1, {}), (data, False, {"shape": 1}), (3, False, {})):
        file = io.BytesIO()
        pickle.dump(Forged(*arguments), file, 4)
        file.seek(0)
        with pytest.raises(pickle.UnpicklingError):
            tengen.load(file)


def test_buffers_are_plain_tensors(m: Any) -> None:
    b = m.nn.Buffer(m.ones(2), persistent=False)
    assert type(b) is m.Tensor and isinstance(b, m.nn.Buffer) and b.persistent is False
    assert not isinstance(m.ones(2), m.nn.Buffer) and not isinstance(m.ones(2), m.nn.Parameter)


def test_a_parameter_of_a_subclass_is_of_the_subclass(m: Any) -> None:
    class Sub(m.Tensor):  # type: ignore[misc,name-defined]
        pass

    p = m.nn.Parameter(m.ones(2).as_subclass(Sub))
    assert type(p) is Sub and isinstance(p, m.nn.Parameter) and p.requires_grad
    assert not isinstance(m.ones(2).as_subclass(Sub), m.nn.Parameter)


@pytest.mark.parametrize("kind", ["UninitializedParameter", "UninitializedBuffer"])
def test_what_has_no_shape_yet(m: Any, kind: str) -> None:
    u = getattr(m.nn, kind)(dtype=m.float64)
    assert repr(u) == f"<{kind}>" and m.nn.parameter.is_lazy(u) and u.dtype is m.float64
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        u.shape  # noqa: B018
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
        u + 1
    assert m.nn.parameter.is_lazy(copy.deepcopy(u)) if kind == "UninitializedParameter" else True
    assert m.nn.parameter.is_lazy(pickle.loads(pickle.dumps(u)))
    u.materialize((2, 3))
    assert type(u) is (m.nn.Parameter if kind == "UninitializedParameter" else m.Tensor)
    assert u.shape == (2, 3) and u.dtype is m.float64 and (u + 1).shape == (2, 3)


def test_optimisers_take_parameters(m: Any) -> None:
    p = m.nn.Parameter(m.ones(2))
    for kind in (m.optim.SGD, m.optim.Adam):
        optimiser = kind([p], lr=0.5)
        (p * p).sum().backward()
        optimiser.step()
        optimiser.zero_grad()
    assert p[0] < 0.5 and type(p) is m.nn.Parameter
