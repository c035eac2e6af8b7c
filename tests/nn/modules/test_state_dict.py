"""``state_dict`` and ``load_state_dict``: names, prefixes, versions, hooks, extra state, and errors."""

from __future__ import annotations

import io
from collections import OrderedDict
from typing import Any

import pytest


def net(m: Any) -> Any:
    made = m.nn.Sequential(m.nn.Linear(2, 3), m.nn.Sequential(m.nn.Linear(3, 1)))
    made.register_buffer("kept", m.ones(2))
    made.register_buffer("lost", m.ones(2), persistent=False)
    return made


def test_what_is_saved(m: Any) -> None:
    n = net(m)
    n[1]._version = 4
    saved = n.state_dict()
    assert type(saved) is OrderedDict
    assert [*saved] == ["kept", "0.weight", "0.bias", "1.0.weight", "1.0.bias"]
    assert dict(saved._metadata) == {
        "": {"version": 1},
        "0": {"version": 1},
        "1": {"version": 4},
        "1.0": {"version": 1},
    }
    assert not saved["0.bias"].requires_grad and type(saved["0.bias"]) is m.Tensor
    n[0].bias.data[0] = 5
    assert saved["0.bias"][0] == 5
    assert n.state_dict(keep_vars=True)["0.bias"] is n[0].bias
    own: dict[str, Any] = {}
    assert n.state_dict(destination=own, prefix="a.") is own and "a.1.0.bias" in own
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        assert next(iter(n.state_dict({}, "b."))) == "b.kept"


def test_loading_writes_into_the_parameters(m: Any) -> None:
    n, other = net(m), net(m)
    before = n[0].weight
    keys = n.load_state_dict(other.state_dict())
    assert repr(keys) == "<All keys matched successfully>" and n[0].weight is before
    assert m.equal(n[0].weight, other[0].weight) and n[0].weight is not other[0].weight


def test_assign_takes_the_tensors(m: Any) -> None:
    n, other = net(m).requires_grad_(False), net(m)
    saved = other.state_dict()
    n.load_state_dict(saved, assign=True)
    assert n[0].weight.data_ptr() == saved["0.weight"].data_ptr() and not n[0].weight.requires_grad
    assert type(n[0].weight) is m.nn.Parameter and n.kept is saved["kept"]
    saved, empty = net(m).state_dict(), net(m).to("meta")
    with pytest.warns(UserWarning, match="copying from a non-meta parameter in the checkpoint to a meta"):
        empty.load_state_dict(saved)
    empty.load_state_dict(saved, assign=True)
    assert not empty[0].weight.is_meta


def test_files(m: Any) -> None:
    n, file = net(m), io.BytesIO()
    m.save(n.state_dict(), file)
    file.seek(0)
    saved = m.load(file)
    assert saved._metadata["1.0"] == {"version": 1} and net(m).load_state_dict(saved).missing_keys == []


def test_errors_name_all_that_does_not_fit(m: Any) -> None:
    n = net(m)
    saved = n.state_dict()
    del saved["0.bias"], saved["1.0.weight"]
    saved.update(
        {"x": m.ones(1), "0.y.z": m.ones(1), "kept": m.ones(3), "0.weight": 3, "1.0.bias": m.ones(())}
    )
    with pytest.raises(RuntimeError) as raised:
        n.load_state_dict(saved)
    lines = str(raised.value).replace(m.__name__, "tengen").split("\n\t")
    assert lines == [
        "Error(s) in loading state_dict for Sequential:",
        'Missing key(s) in state_dict: "0.bias", "1.0.weight". ',
        'Unexpected key(s) in state_dict: "x", "0.y.z". ',
        "size mismatch for kept: copying a param with shape tengen.Size([3]) from checkpoint, the shape in "
        "current model is tengen.Size([2]).",
        'While copying the parameter named "0.weight", expected tengen.Tensor or Tensor-like object from '
        "checkpoint but received <class 'int'>",
        "size mismatch for 1.0.bias: copying a param with shape tengen.Size([]) from checkpoint, the "
        "shape in current model is tengen.Size([1]).",
    ]
    fitting = {"0.bias": m.zeros(3), "x": m.ones(1)}
    keys = n.load_state_dict(fitting, strict=False)
    assert keys.missing_keys == ["kept", "0.weight", "1.0.weight", "1.0.bias"] and keys.unexpected_keys == [
        "x"
    ]
    assert not n[0].bias.any()
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'list'>"):
        n.load_state_dict([])


def test_a_number_may_have_been_saved_with_one_dimension(m: Any) -> None:
    n = m.nn.Module()
    n.p = m.nn.Parameter(m.ones(()))
    n.load_state_dict({"p": m.zeros(1)})
    assert n.p == 0 and n.p.shape == ()


def test_hooks(m: Any) -> None:
    n = net(m)
    log: list[str] = []
    n.register_state_dict_pre_hook(lambda module, prefix, keep: log.append(f"pre {prefix}{keep}"))
    n.register_state_dict_post_hook(lambda module, saved, prefix, local: saved.update(more=local["version"]))
    replaced = n[0]._register_state_dict_hook(lambda module, saved, prefix, local: log.append(prefix))
    saved = n.state_dict()
    assert saved.pop("more") == 1 and log == ["pre False", "0."]
    replaced.remove()

    def rename(module: Any, found: Any, prefix: str, *rest: Any) -> None:
        assert module is n[0] and prefix == "0." and len(rest) == 5
        found[f"{prefix}bias"] = found.pop(f"{prefix}old")

    def forgive(module: Any, keys: Any) -> None:
        keys.missing_keys.clear()

    n[0].register_load_state_dict_pre_hook(rename)
    n.register_load_state_dict_post_hook(forgive)
    saved["0.old"] = saved.pop("0.bias")
    del saved["kept"]
    n.load_state_dict(saved)
    assert "0.old" in saved  # the dict that was given is as it was
    n.register_load_state_dict_post_hook(lambda module, keys: 3)
    with pytest.raises(AssertionError, match="are not expected to return new values"):
        n.load_state_dict(saved)


def test_hooks_that_are_refused(m: Any) -> None:
    n = m.nn.Linear(1, 1)

    def hook(*given: Any) -> Any:
        return {}

    n.register_state_dict_post_hook(hook)
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        n.state_dict()
    with pytest.raises(RuntimeError, match="Cannot register the same function as the state dict post hook"):
        n._register_state_dict_hook(hook)


def test_extra_state(m: Any) -> None:
    class Extra(m.nn.Module):  # type: ignore[misc,name-defined]
        state: Any = 3

        def get_extra_state(self) -> Any:
            return self.state

        def set_extra_state(self, state: Any) -> None:
            self.state = state

    n = m.nn.Sequential(Extra())
    saved = n.state_dict()
    assert dict(saved) == {"0._extra_state": 3}
    n.load_state_dict({"0._extra_state": 8})
    assert n[0].state == 8
    with pytest.raises(RuntimeError, match=r'Missing key.s. in state_dict: "0._extra_state"'):
        n.load_state_dict({})
    with pytest.raises(RuntimeError, match=r'Unexpected key.s. in state_dict: "0._extra_state"'):
        m.nn.Sequential(m.nn.Identity()).load_state_dict(saved)
    with pytest.raises(RuntimeError, match="should never be called"):
        m.nn.Identity().get_extra_state()


def test_a_module_that_loads_itself(m: Any) -> None:
    """``_load_from_state_dict`` sees the version that was saved, and may change the names."""

    class Newer(m.nn.Linear):  # type: ignore[misc,name-defined]
        _version = 2

        def _load_from_state_dict(self, found: Any, prefix: str, local: Any, *rest: Any) -> None:
            if local.get("version", 1) < 2:
                found[f"{prefix}weight"] = found.pop(f"{prefix}old")
            super()._load_from_state_dict(found, prefix, local, *rest)

    n = m.nn.Sequential(Newer(2, 2))
    saved = n.state_dict()
    assert saved._metadata["0"] == {"version": 2}
    n.load_state_dict(saved)
    n.load_state_dict({"0.old": m.zeros(2, 2), "0.bias": m.zeros(2)})
    assert not n[0].weight.any()
