"""Modules of nn, compiled: training steps give what they give."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from compared import alike, entries, is_ready, reason, same, same_tensor

import tengen
from tengen import nn


def numbers(*shape: int) -> Any:
    return tengen.sin(tengen.arange(1.0, 1 + tengen.Size(shape).numel()).reshape(shape))


def words(*shape: int) -> Any:
    return tengen.arange(tengen.Size(shape).numel()).reshape(shape) % 5


class Lossy(nn.Module):
    """A loss of what a layer gives."""

    def __init__(self, loss: Any, target: Any) -> None:
        super().__init__()
        self.layer, self.loss = nn.Linear(3, 5), loss
        self.register_buffer("target", target)

    def forward(self, t: Any) -> Any:
        return self.loss(self.layer(t), self.target)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, t: Any) -> Any:
        return self.attention(t, t, t)


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.second.weight = self.first.weight

    def forward(self, t: Any) -> Any:
        return self.second(self.first(t).relu())


Made = Callable[[], tuple[nn.Module, Any]]
MODULES: dict[str, Made] = {
    "linear": lambda: (nn.Linear(3, 4), numbers(2, 3)),
    "bilinear": lambda: (Pairs(nn.Bilinear(3, 3, 2)), numbers(2, 3)),
    "conv1d": lambda: (nn.Conv1d(2, 3, 3, padding=1), numbers(2, 2, 5)),
    "conv2d": lambda: (nn.Conv2d(2, 4, 3, stride=2, groups=2), numbers(2, 2, 6, 5)),
    "conv3d": lambda: (nn.Conv3d(1, 2, 2), numbers(1, 1, 3, 3, 3)),
    "transposed": lambda: (nn.ConvTranspose2d(2, 3, 2, stride=2), numbers(1, 2, 3, 3)),
    "batch norm": lambda: (nn.BatchNorm2d(3), numbers(2, 3, 2, 2)),
    "no statistics": lambda: (nn.BatchNorm1d(3, track_running_stats=False), numbers(4, 3)),
    "group norm": lambda: (nn.GroupNorm(2, 4), numbers(2, 4, 3)),
    "layer norm": lambda: (nn.LayerNorm(3), numbers(2, 3)),
    "instance norm": lambda: (nn.InstanceNorm1d(3, affine=True), numbers(2, 3, 4)),
    "rms norm": lambda: (nn.RMSNorm(3), numbers(2, 3)),
    "dropout": lambda: (nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)), numbers(2, 3)),
    "rnn": lambda: (nn.RNN(3, 4, 2), numbers(4, 2, 3)),
    "lstm": lambda: (nn.LSTM(3, 4, batch_first=True, bidirectional=True), numbers(2, 3, 3)),
    "gru": lambda: (nn.GRU(3, 4), numbers(3, 2, 3)),
    "cell": lambda: (nn.LSTMCell(3, 4), numbers(2, 3)),
    "attention": lambda: (Attention(), numbers(2, 3, 4)),
    "encoder": lambda: (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), numbers(2, 3, 4)),
    "decoder": lambda: (Pairs(nn.TransformerDecoderLayer(4, 2, 8, batch_first=True)), numbers(2, 3, 4)),
    "embedding": lambda: (nn.Embedding(5, 3, padding_idx=0), words(2, 4)),
    "bag": lambda: (nn.EmbeddingBag(5, 3), words(2, 4)),
    "pooling": lambda: (
        nn.Sequential(nn.Conv2d(1, 2, 2), nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1)),
        numbers(1, 1, 6, 6),
    ),
    "upsample": lambda: (
        nn.Sequential(nn.Conv2d(1, 1, 1), nn.Upsample(scale_factor=2, mode="bilinear")),
        numbers(1, 1, 3, 3),
    ),
    "activations": lambda: (
        nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.PReLU(), nn.SiLU(), nn.GLU(), nn.Softmax(-1)),
        numbers(2, 3),
    ),
    "mse": lambda: (Lossy(nn.MSELoss(), numbers(2, 5)), numbers(2, 3)),
    "cross entropy": lambda: (Lossy(nn.CrossEntropyLoss(label_smoothing=0.1), words(2)), numbers(2, 3)),
    "nll": lambda: (Lossy(lambda a, b: nn.functional.nll_loss(a.log_softmax(1), b), words(2)), numbers(2, 3)),
    "bce": lambda: (Lossy(nn.BCEWithLogitsLoss(), numbers(2, 5).abs()), numbers(2, 3)),
    "huber": lambda: (Lossy(nn.SmoothL1Loss(reduction="sum"), numbers(2, 5)), numbers(2, 3)),
    "ctc": lambda: (Sequences(), numbers(4, 2, 3)),
    "tied": lambda: (Tied(), numbers(2, 3)),
    "weight norm": lambda: (nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)), numbers(2, 3)),
    "orthogonal": lambda: (nn.utils.parametrizations.orthogonal(nn.Linear(3, 3)), numbers(2, 3)),
}  # fmt: skip


class Pairs(nn.Module):
    """A module of two arguments, of one."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, t: Any) -> Any:
        return self.inner(t, t.cos())


class Sequences(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.loss = nn.Linear(3, 5), nn.CTCLoss()

    def forward(self, t: Any) -> Any:
        lengths = tengen.tensor([4, 3]), tengen.tensor([2, 1])
        return self.loss(self.layer(t).log_softmax(-1), tengen.tensor([[1, 2], [3, 0]]), *lengths)


def loss_of(result: Any) -> Any:
    if isinstance(result, tengen.Tensor):
        return (result * numbers(*result.shape)).sum() if result.requires_grad else 0
    return sum(loss_of(r) for r in result)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", MODULES)
def test_steps(name: str, training: bool) -> None:
    tengen.manual_seed(0)
    model, given = MODULES[name]()
    model.train(training)
    other = copy.deepcopy(model)
    compiled = tengen.compile(other)
    optimizers = [tengen.optim.SGD(m.parameters(), lr=0.05, momentum=0.5) for m in (model, compiled)]
    for step in range(4):
        for m, optimizer in zip((model, compiled), optimizers, strict=True):
            tengen.manual_seed(step)
            optimizer.zero_grad()
            loss_of(m(given)).backward()
            optimizer.step()
        for (key, a), b in zip(model.state_dict().items(), other.state_dict().values(), strict=True):
            same_tensor(b, a, f"gradient of {key}")
    with tengen.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(3):
            alike(compiled, other.eval(), given)


@pytest.mark.parametrize("kind", [tengen.float64, tengen.bfloat16])
def test_other_dtypes(kind: Any) -> None:
    for name in ("linear", "layer norm", "lstm", "attention", "batch norm"):
        tengen.manual_seed(0)
        model, given = MODULES[name]()
        model = model.to(kind).eval()
        compiled = tengen.compile(model)
        for _ in range(3):
            alike(compiled, model, given.to(kind))


def net() -> Any:
    tengen.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))


def test_it_is_the_module() -> None:
    model = net()
    compiled = tengen.compile(model)
    assert isinstance(compiled, nn.Module) and compiled._orig_mod is model
    assert [*compiled.parameters()] == [*model.parameters()] or all(
        a is b for a, b in zip(compiled.parameters(), model.parameters(), strict=True)
    )
    assert len(compiled) == 3 and compiled[0] is model[0]
    compiled.eval()
    assert not model.training and not compiled.training
    assert compiled.train() is compiled and model.training
    compiled.extra = 5
    assert model.extra == 5
    del compiled.extra
    assert not hasattr(model, "extra")


def test_hooks_of_the_compiled_module() -> None:
    compiled = tengen.compile(net().eval())
    for _ in range(3):
        expected = compiled(numbers(2, 3))
    handle = compiled.register_forward_hook(lambda m, args, out: out * 2)
    for _ in range(3):
        same(compiled(numbers(2, 3)), expected * 2)
    handle.remove()
    same(compiled(numbers(2, 3)), expected)


def test_states_go_both_ways() -> None:
    model, other = net().eval(), net().eval()
    compiled = tengen.compile(model)
    for _ in range(3):
        compiled(numbers(2, 3))
    with tengen.no_grad():
        other[0].weight.fill_(0.5)
    compiled.load_state_dict(tengen.compile(other).state_dict())
    same(compiled(numbers(2, 3)), other(numbers(2, 3)))
    same(model(numbers(2, 3)), other(numbers(2, 3)))


@pytest.mark.parametrize("way", ["copy", "pickle", "save"])
def test_copies(way: str) -> None:
    compiled = tengen.compile(net().eval())
    for _ in range(3):
        expected = compiled(numbers(2, 3))
    if way == "copy":
        made = copy.deepcopy(compiled)
    elif way == "pickle":
        made = pickle.loads(pickle.dumps(compiled))
    else:
        file = io.BytesIO()
        tengen.save(compiled, file)
        file.seek(0)
        made = tengen.load(file, weights_only=False)
    for _ in range(3):
        same(made(numbers(2, 3)), expected)
    with tengen.no_grad():
        made[0].weight.zero_()
    same(compiled(numbers(2, 3)), expected)


def test_in_place() -> None:
    model, other = net().eval(), net().eval()
    model.compile()
    for _ in range(4):
        same(model(numbers(2, 3)), other(numbers(2, 3)))
    model.train()
    tengen.manual_seed(0)
    found = model(numbers(2, 3))
    tengen.manual_seed(0)
    same(found, other.train()(numbers(2, 3)))


def test_a_compiled_part() -> None:
    model, other = net().eval(), net().eval()
    model[0] = tengen.compile(model[0])
    whole = tengen.compile(model)
    for _ in range(4):
        same(model(numbers(2, 3)), other(numbers(2, 3)))
        same(whole(numbers(2, 3)), other(numbers(2, 3)))


def test_methods() -> None:
    class Coder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)

        @tengen.compile
        def encode(self, t: Any) -> Any:
            return self.layer(t).relu()

        def forward(self, t: Any) -> Any:
            return self.encode(t) * 2

    tengen.manual_seed(0)
    first, second = Coder(), Coder()
    for model in (first, second, first):
        for _ in range(3):
            same(model(numbers(2, 3)), model.layer(numbers(2, 3)).relu() * 2)


def test_batch_sizes() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
    compiled = tengen.compile(model)
    for size in (1, 2, 3, 1, 0, 2, 4, 5, 6, 7, 8, 9, 10, 1):
        for _ in range(2):
            alike(compiled, model, numbers(size, 3).reshape(size, 3))
    assert len([*entries(compiled)]) == 8


def test_programs_are_made() -> None:
    for name in ("linear", "layer norm", "lstm", "attention", "embedding", "cross entropy", "conv2d"):
        model, given = MODULES[name]()
        compiled = tengen.compile(model)
        for _ in range(3):
            compiled(given)
        assert is_ready(compiled), f"{name}: {reason(compiled)}"
