"""All layers beside PyTorch's, by the samples of its database: results, gradients, states, printing."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import tengen
from tengen import nn

pytestmark = pytest.mark.oracle
torch = pytest.importorskip("torch")

#: How many samples of a layer are run, in training and out of it.
SAMPLES = 6


def converted(x: Any) -> Any:
    """What is PyTorch's as ours."""
    if isinstance(x, torch.nn.utils.rnn.PackedSequence):
        return nn.utils.rnn.PackedSequence(*[converted(part) for part in x])
    if isinstance(x, torch.Tensor):
        made = tengen.from_numpy(x.detach().numpy().copy())
        return made.requires_grad_() if x.requires_grad else made
    if isinstance(x, torch.dtype):
        return getattr(tengen, str(x).partition(".")[2])
    if isinstance(x, torch.device):
        return str(x)
    if isinstance(x, torch.nn.TransformerEncoderLayer):
        sizes = (x.self_attn.embed_dim, x.self_attn.num_heads, x.linear1.out_features, x.dropout.p)
        activation = getattr(nn.functional, x.activation.__name__)
        rest = (x.norm1.eps, x.self_attn.batch_first, x.norm_first, x.linear1.bias is not None)
        return nn.TransformerEncoderLayer(*sizes, activation, *rest)
    if getattr(x, "__module__", "") == "torch.nn.functional":
        return getattr(nn.functional, x.__name__)
    if isinstance(x, (list, tuple)):
        return type(x)(map(converted, x))
    return {k: converted(v) for k, v in x.items()} if isinstance(x, dict) else x


def leaves(x: Any) -> list[Any]:
    if isinstance(x, (torch.Tensor, tengen.Tensor)):
        return [x]
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else ()
    return [leaf for part in parts for leaf in leaves(part)]


def same(ours: Any, theirs: Any) -> None:
    a, b = ours.detach().numpy(), theirs.detach().numpy()
    assert (a.shape, a.dtype) == (b.shape, b.dtype)
    np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9)


def infos() -> list[Any]:
    """The classes of the database, as far as its ``nn`` is here: without quantised ones."""
    from torch.testing._internal.common_modules import module_db

    return [i for i in module_db if i.module_cls.__module__.startswith("torch.nn.modules")]


def compare(cls: Any, ours: Any, sample: Any, training: bool) -> None:
    """One sample: both are made and called with the same state, and then go backward."""
    given = sample.constructor_input
    torch.manual_seed(0)
    tengen.manual_seed(0)
    theirs = cls(*given.args, **given.kwargs).to(torch.float64).train(training)
    made = ours(*converted(given.args), **converted(given.kwargs)).to(tengen.float64).train(training)
    assert repr(made) == repr(theirs)
    state = theirs.state_dict()
    assert list(made.state_dict()) == list(state)
    args, kwargs = sample.forward_input.args, sample.forward_input.kwargs
    if name_is_lazy(cls):
        theirs(*args, **kwargs), made(*converted(args), **converted(kwargs))
        state = theirs.state_dict()
    made.load_state_dict({k: converted(v) for k, v in state.items()})
    own_args, own_kwargs = converted(args), converted(kwargs)
    out, own = theirs(*args, **kwargs), made(*own_args, **own_kwargs)
    for a, b in zip(leaves(own), leaves(out), strict=True):
        assert a.requires_grad == b.requires_grad
        same(a, b)
    if any(leaf.requires_grad for leaf in leaves(out)):
        for found in (out, own):
            sum((t * t).sum() for t in leaves(found) if t.requires_grad).backward()  # type: ignore[union-attr]
        pairs = zip(leaves((own_args, own_kwargs)), leaves((args, kwargs)), strict=True)
        pairs_of_parameters = zip(made.parameters(), theirs.parameters(), strict=True)
        for a, b in [*pairs, *pairs_of_parameters]:
            if b.is_leaf and b.grad is not None:
                same(a.grad, b.grad)
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert repr(other) == repr(made)


def name_is_lazy(cls: Any) -> bool:
    return bool(cls.__name__.startswith("Lazy"))


def comparable(sample: Any) -> bool:
    """Whether the sample is strided, and says nothing of randomness."""
    if sample.forward_input is None:
        return False
    tensors = leaves((sample.forward_input.args, sample.forward_input.kwargs))
    return all(t.layout == torch.strided for t in tensors)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [i.module_cls.__name__ for i in infos()])
def test_beside_torch(name: str) -> None:
    info = next(i for i in infos() if i.module_cls.__name__ == name)
    for training in (True, False):
        wanted = {"device": "cpu", "dtype": torch.float64, "requires_grad": True, "training": training}
        samples = [s for s in info.module_inputs_func(info, **wanted) if comparable(s)]
        step = max(len(samples) // SAMPLES, 1)
        for sample in samples[::step]:
            compare(info.module_cls, getattr(nn, name), sample, training)


def test_signatures() -> None:
    """Each class is made and called with the parameters that PyTorch's has."""
    different = []
    for name in torch.nn.modules.__all__:
        for method in ("__init__", "forward"):
            theirs, ours = (getattr(getattr(m, name), method, None) for m in (torch.nn, nn))
            if theirs is None:  # options are called by nobody
                continue
            texts = [
                [(p.name, p.kind) for p in inspect.signature(f).parameters.values()] for f in (theirs, ours)
            ]
            if texts[0] != texts[1]:
                different.append(f"{name}.{method}")
    assert different == []
