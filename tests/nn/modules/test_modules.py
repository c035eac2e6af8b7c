"""Module: attributes, traversals, conversions, text and copies; in each case as PyTorch has it."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest
from in_threads import in_threads

import tengen


def net(m: Any) -> Any:
    """A module with a shared module, a shared parameter, buffers of both kinds, and places for nothing."""
    shared = m.nn.Linear(2, 2)
    made = m.nn.Sequential(m.nn.Linear(3, 2), shared, m.nn.Identity(), shared)
    made.register_buffer("kept", m.ones(2))
    made.register_buffer("lost", m.ones(2), persistent=False)
    made.register_buffer("nothing", None)
    made.register_parameter("none", None)
    made.tied = made[0].weight
    made.add_module("empty", None)
    return made


def test_names(m: Any) -> None:
    n = net(m)
    assert [name for name, _ in n.named_parameters()] == ["tied", "0.bias", "1.weight", "1.bias"]
    names = [name for name, _ in n.named_parameters("top", remove_duplicate=False)]
    assert names[:3] == ["top.tied", "top.0.weight", "top.0.bias"] and names[-1] == "top.3.bias"
    assert [name for name, _ in n.named_parameters(recurse=False)] == ["tied"]
    assert [name for name, _ in n.named_buffers()] == ["kept", "lost"]
    assert [name for name, _ in n.named_children()] == ["0", "1", "2"]
    assert [name for name, _ in n.named_modules(prefix="a")] == ["a", "a.0", "a.1", "a.2"]
    assert len([*n.modules(remove_duplicate=False)]) == 5 and len([*n.parameters()]) == 4
    assert len([*n.children()]) == 3 and len([*n.buffers()]) == 2


def test_paths(m: Any) -> None:
    n = m.nn.Sequential(net(m))
    assert n.get_submodule("") is n and n.get_submodule("0.1") is n[0][1]
    assert n.get_parameter("0.1.weight") is n[0][1].weight and n.get_buffer("0.kept") is n[0].kept
    n.set_submodule("0.1", m.nn.Identity())
    assert type(n[0][1]) is m.nn.Identity
    for path, call in (
        ("0.x", n.get_submodule),
        ("0.kept", n.get_submodule),
        ("0.kept", n.get_parameter),
        ("0.tied", n.get_buffer),
    ):
        with pytest.raises(AttributeError, match=r"has no attribute `x`|is not an? (nn\.\w+|buffer)"):
            call(path)
    with pytest.raises(AttributeError, match="Sequential has no attribute `x`"):
        n.set_submodule("0.x", m.nn.Identity(), strict=True)
    with pytest.raises(ValueError, match="without a target name"):
        n.set_submodule("", m.nn.Identity())
    with pytest.raises(ValueError, match=r"`module` is not an nn.Module, found"):
        n.set_submodule("0", 3)


#: What cannot be assigned or registered, the kind of the error, and what it says.
REFUSED: dict[str, tuple[Callable[[Any, Any], Any], type[Exception], str]] = {
    "parameter": (
        lambda m, n: setattr(n, "tied", m.ones(2)),
        TypeError,
        r"cannot assign 'tengen.FloatTensor' as parameter 'tied' \(tengen.nn.Parameter or None expected\)",
    ),
    "module": (
        lambda m, n: setattr(n, "0", 3),
        TypeError,
        r"cannot assign 'int' as child module '0' \(tengen.nn.Module or None expected\)",
    ),
    "buffer": (
        lambda m, n: setattr(n, "kept", 3),
        TypeError,
        r"cannot assign 'int' as buffer 'kept' \(tengen.nn.Buffer, tengen.Tensor or None expected\)",
    ),
    "no parameter": (
        lambda m, n: n.register_parameter("p", m.ones(2)),
        TypeError,
        r"cannot assign 'tengen.FloatTensor' object to parameter 'p' \(tengen.nn.Parameter or None "
        r"required\)",
    ),
    "no buffer": (
        lambda m, n: n.register_buffer("p", 3),
        TypeError,
        r"cannot assign 'int' object to buffer 'p' \(tengen Tensor or None required\)",
    ),
    "no module": (lambda m, n: n.add_module("p", 3), TypeError, "int is not a Module subclass"),
    "taken": (lambda m, n: n.register_buffer("tied", None), KeyError, "attribute 'tied' already exists"),
    "taken by a method": (
        lambda m, n: n.register_parameter("train", None),
        KeyError,
        "attribute 'train' already exists",
    ),
    "dot": (lambda m, n: n.register_parameter("a.b", None), KeyError, "parameter name can.*t contain"),
    "dot in a module": (lambda m, n: n.add_module("a.b", None), KeyError, "module name can.*t contain"),
    "empty": (lambda m, n: n.register_buffer("", None), KeyError, "buffer name can.*t be empty string"),
    "number": (
        lambda m, n: n.register_module(3, None),
        TypeError,
        "module name should be a string. Got int",
    ),
    "absent": (lambda m, n: n.x, AttributeError, "'Sequential' object has no attribute 'x'"),
    "absent to delete": (
        lambda m, n: delattr(n, "x"),
        AttributeError,
        "'Sequential' object has no attribute 'x'",
    ),
    "mode": (lambda m, n: n.train(1), ValueError, "training mode is expected to be boolean"),
    "dtype": (
        lambda m, n: n.to(m.int64),
        TypeError,
        "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=tengen.int64",
    ),
    "copy": (lambda m, n: n.to("cpu", copy=True), RuntimeError, r"\.to\(\) does not accept copy argument"),
    "to": (lambda m, n: n.to("cpu", 3), TypeError, r"to\(\) received an invalid combination of arguments"),
    "words": (
        lambda m, n: m.nn.Module(a=1),
        TypeError,
        r"Module.__init__\(\) got an unexpected keyword argument 'a'",
    ),
    "arguments": (
        lambda m, n: m.nn.Module(1),
        TypeError,
        r"Module.__init__\(\) takes 1 positional argument but 2 were given",
    ),
    "forward": (
        lambda m, n: m.nn.Module()(1),
        NotImplementedError,
        r'Module \[Module\] is missing the required "forward" function',
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_changes_nothing(m: Any, case: str) -> None:
    attempt, kind, text = REFUSED[case]
    n = net(m)
    before = repr(n), sorted(n.__dict__), [name for name, _ in n.named_parameters()]
    with pytest.raises(kind, match=text.replace("tengen", m.__name__)):
        attempt(m, n)
    assert (repr(n), sorted(n.__dict__), [name for name, _ in n.named_parameters()]) == before


def test_a_parameter_must_be_a_leaf(m: Any) -> None:
    n = m.nn.Module()
    p = m.nn.Parameter(m.ones(2))
    computed = (p * 2).as_subclass(m.nn.Parameter) if m is tengen else None
    if computed is not None:
        with pytest.raises(ValueError, match="Cannot assign non-leaf Tensor to parameter 'p'"):
            n.p = computed


def test_before_init(m: Any) -> None:
    class Late(m.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, value: Any) -> None:
            self.value = value

    for value, text in (
        (m.nn.Parameter(m.ones(1)), "cannot assign parameters before Module.__init__"),
        (m.nn.Identity(), "cannot assign module before Module.__init__"),
        (m.nn.Buffer(m.ones(1)), "cannot assign buffer before Module.__init__"),
    ):
        with pytest.raises(AttributeError, match=text):
            Late(value)
    plain = Late(3)
    with pytest.raises(AttributeError, match="'Late' object has no attribute '_"):
        plain(1)


def test_a_name_is_of_one_kind_at_a_time(m: Any) -> None:
    n = m.nn.Module()
    n.x = 3
    n.x = m.nn.Parameter(m.ones(1))
    assert "x" in n._parameters and "x" not in n.__dict__
    del n.x
    n.x = m.nn.Buffer(m.ones(1), persistent=False)
    assert "x" in n._buffers and not n.state_dict()
    n.x = m.zeros(1)  # a buffer stays one, and what it was
    assert isinstance(n.x, m.Tensor) and not n.state_dict()
    n.x = m.nn.Identity()
    assert [*n._modules] == ["x"] and not n._buffers and not n._non_persistent_buffers_set
    n.x = None
    assert n.x is None and [*n.children()] == []
    n.y = m.ones(1)  # a plain tensor is an attribute like any other
    assert "y" in n.__dict__ and "y" in dir(n) and "x" in dir(n)


def test_init_of_the_next_class(m: Any) -> None:
    class Other:
        def __init__(self, number: int) -> None:
            self.number = number

    class Both(m.nn.Module, Other):  # type: ignore[misc,name-defined]
        call_super_init = True

        def __init__(self) -> None:
            super().__init__(7)

    assert Both().number == 7


def test_train_and_eval(m: Any) -> None:
    n = net(m)
    assert n.eval() is n and not any(part.training for part in n.modules())
    assert n.train()[0].training


def test_gradients(m: Any) -> None:
    n = net(m).requires_grad_(False)
    del n.empty
    assert not any(p.requires_grad for p in n.parameters())
    n.requires_grad_()(m.ones(1, 3)).sum().backward()
    n.zero_grad(set_to_none=False)
    assert not n[0].bias.grad.any()
    n.zero_grad()
    assert n[0].bias.grad is None


def test_conversions_keep_the_parameters(m: Any) -> None:
    n = net(m)
    n.register_buffer("count", m.ones(1, dtype=m.int64))
    before = [*n.parameters()]
    n[0].bias.sum().backward()
    assert n.to(m.float64) is n and n.tied.dtype is m.float64 and n.count.dtype is m.int64
    assert all(p is q for p, q in zip(n.parameters(), before, strict=True))
    assert n[0].bias.grad.dtype is m.float64
    assert n.half().kept.dtype is m.float16 and n.float().kept.dtype is m.float32
    assert n.bfloat16().kept.dtype is m.bfloat16 and n.double().kept.dtype is m.float64
    assert n.to(m.ones(1)).kept.dtype is m.float32 and n.to(dtype=m.float64, device="cpu") is n
    assert n.type(m.float32).count.dtype is m.float32 and n.cpu() is n and n.share_memory() is n
    n.to("meta")
    assert n.tied.is_meta and type(n.tied) is m.nn.Parameter and n.tied.requires_grad
    with pytest.raises(NotImplementedError, match=f"Please use {m.__name__}.nn.Module.to_empty"):
        n.to("cpu")
    assert not n.to_empty(device="cpu").tied.is_meta


def test_memory_format(m: Any) -> None:
    n = m.nn.Module()
    n.w, n.v = m.nn.Parameter(m.ones(2, 3, 4, 5)), m.nn.Parameter(m.ones(2, 3))
    n.to(memory_format=m.channels_last)
    assert n.w.is_contiguous(memory_format=m.channels_last) and n.v.is_contiguous()


def test_apply(m: Any) -> None:
    seen: list[str] = []
    n = m.nn.Sequential(m.nn.Linear(1, 1), m.nn.Sequential(m.nn.Identity()))
    assert n.apply(lambda part: seen.append(type(part).__name__)) is n
    assert seen == ["Linear", "Identity", "Sequential", "Sequential"]


def test_text(m: Any) -> None:
    class Two(m.nn.Module):  # type: ignore[misc,name-defined]
        def extra_repr(self) -> str:
            return "a=1\nb=2"

    n = net(m)
    n.two = Two()
    n.add_module("list", m.nn.ModuleList([m.nn.Linear(1, 1), m.nn.Linear(1, 1), n[0]]))
    assert repr(n) == (
        "Sequential(\n"
        "  (0): Linear(in_features=3, out_features=2, bias=True)\n"
        "  (1): Linear(in_features=2, out_features=2, bias=True)\n"
        "  (2): Identity()\n"
        "  (3): Linear(in_features=2, out_features=2, bias=True)\n"
        "  (empty): None\n"
        "  (two): Two(\n    a=1\n    b=2\n  )\n"
        "  (list): ModuleList(\n"
        "    (0-1): 2 x Linear(in_features=1, out_features=1, bias=True)\n"
        "    (2): Linear(in_features=3, out_features=2, bias=True)\n"
        "  )\n)"
    )


def test_copies_and_pickles(m: Any) -> None:
    n = net(m)
    del n.empty
    n(m.ones(1, 3)).sum().backward()
    for again in (copy.deepcopy(n), pickle.loads(pickle.dumps(n))):
        assert again.tied is again[0].weight and again[1] is again[3] and again.tied is not n.tied
        assert m.equal(again(m.ones(1, 3)), n(m.ones(1, 3)))
        assert "lost" in again._non_persistent_buffers_set


def test_deep_nesting(m: Any) -> None:
    n = m.nn.Linear(1, 1)
    for _ in range(60):
        n = m.nn.Sequential(n)
    assert len([*n.modules()]) == 61 and n(m.ones(1, 1)).shape == (1, 1)
    (name,) = [name for name in n.state_dict() if name.endswith("weight")]
    assert name == "0." * 60 + "weight" and re.search(r"\(0\): Linear", repr(n))


def test_a_module_that_has_itself(m: Any) -> None:
    n = m.nn.Sequential(m.nn.Identity())
    n.me = n
    assert len([*n.modules()]) == 2
    with pytest.raises(RecursionError):
        n.train()


def test_threads() -> None:
    """Calls of one module in several threads, some of which are not recorded."""
    n = tengen.nn.Sequential(tengen.nn.Linear(4, 4), tengen.nn.Linear(4, 4))
    seen: list[bool] = []
    handle = n[0].register_full_backward_hook(lambda module, before, after: None)

    def work(recorded: bool) -> None:
        for _ in range(20):
            with tengen.set_grad_enabled(recorded):
                seen.append(n(tengen.ones(2, 4, requires_grad=True)).requires_grad is recorded)

    in_threads(work, [i % 2 == 0 for i in range(4)])
    handle.remove()
    assert seen == [True] * 80


def test_compile_changes_nothing(m: Any) -> None:
    if m is tengen:
        n = m.nn.Linear(2, 2)
        n.compile(fullgraph=True)
        assert n(m.ones(1, 2)).shape == (1, 2)
