"""Layers with parameters, without torch: what is printed and saved, shapes, numbers, packed sequences."""

import copy
import pickle
from typing import Any

import pytest

import tengen
from tengen import nn
from tengen.nn.utils.rnn import pack_sequence, pad_packed_sequence, unpack_sequence

#: What each prints, the names of its state, an input's shape and the result's.
LAYERS: list[tuple[Any, str, list[str], tuple[int, ...], tuple[int, ...]]] = [
    (
        lambda: nn.Conv2d(2, 4, 3, padding=1, groups=2, bias=False),
        "Conv2d(2, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=2, bias=False)",
        ["weight"],
        (1, 2, 5, 5),
        (1, 4, 5, 5),
    ),
    (
        lambda: nn.ConvTranspose1d(2, 3, 4, stride=2, output_padding=1),
        "ConvTranspose1d(2, 3, kernel_size=(4,), stride=(2,), output_padding=(1,))",
        ["weight", "bias"],
        (1, 2, 5),
        (1, 3, 13),
    ),
    (
        lambda: nn.Conv1d(1, 1, 3, padding="same", padding_mode="circular"),
        "Conv1d(1, 1, kernel_size=(3,), stride=(1,), padding=same, padding_mode=circular)",
        ["weight", "bias"],
        (1, 1, 4),
        (1, 1, 4),
    ),
    (
        lambda: nn.BatchNorm1d(3),
        "BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
        ["weight", "bias", "running_mean", "running_var", "num_batches_tracked"],
        (4, 3),
        (4, 3),
    ),
    (
        lambda: nn.LayerNorm((2, 3), bias=False),
        "LayerNorm((2, 3), eps=1e-05, elementwise_affine=True, bias=False)",
        ["weight"],
        (4, 2, 3),
        (4, 2, 3),
    ),
    (
        lambda: nn.GroupNorm(2, 4),
        "GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)",
        ["weight", "bias"],
        (2, 4, 3),
        (2, 4, 3),
    ),
    (
        lambda: nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2),
        "LSTM(3, 4, proj_size=2, num_layers=2, bidirectional=True)",
        [
            f"{name}_l{layer}{way}"
            for layer in range(2)
            for way in ("", "_reverse")
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
        ],
        (5, 2, 3),
        (5, 2, 4),
    ),
    (
        lambda: nn.RNN(3, 4, nonlinearity="relu", batch_first=True),
        "RNN(3, 4, batch_first=True)",
        ["weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"],
        (2, 5, 3),
        (2, 5, 4),
    ),
    (
        lambda: nn.PReLU(),
        "PReLU(num_parameters=1)",
        ["weight"],
        (2, 3),
        (2, 3),
    ),
    (
        lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True),
        "",
        [
            "self_attn.in_proj_weight",
            "self_attn.in_proj_bias",
            "self_attn.out_proj.weight",
            "self_attn.out_proj.bias",
            *[f"{n}.{kind}" for n in ("linear1", "linear2", "norm1", "norm2") for kind in ("weight", "bias")],
        ],
        (2, 3, 4),
        (2, 3, 4),
    ),
]


@pytest.mark.parametrize("case", range(len(LAYERS)))
def test_layers(case: int) -> None:
    make, printed, names, given, wanted = LAYERS[case]
    layer = make()
    assert printed in ("", repr(layer))
    assert list(layer.state_dict()) == names
    out = layer(tengen.randn(given))
    out = out[0] if isinstance(out, tuple) else out
    assert tuple(out.shape) == wanted
    out.sum().backward()
    assert all(p.grad is not None for p in layer.parameters())
    for other in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)):
        assert repr(other) == repr(layer)
        assert all(tengen.equal(a, b) for a, b in zip(other.parameters(), layer.parameters(), strict=True))


def test_packed_sequences_do_as_each_alone() -> None:
    tengen.manual_seed(0)
    sequences = [tengen.randn(length, 3) for length in (2, 4, 1)]
    packed = pack_sequence(sequences, enforce_sorted=False)
    assert all(tengen.equal(a, b) for a, b in zip(unpack_sequence(packed), sequences, strict=True))
    for layer in (nn.LSTM(3, 2, bidirectional=True), nn.GRU(3, 2, 2)):
        padded, lengths = pad_packed_sequence(layer(packed)[0])
        assert lengths.tolist() == [2, 4, 1]
        for i, one in enumerate(sequences):
            tengen.testing.assert_close(padded[: len(one), i], layer(one)[0])


def test_batch_statistics_move() -> None:
    norm = nn.BatchNorm1d(2, momentum=None)
    x = tengen.tensor([[1.0, 2.0], [3.0, 6.0]])
    norm(x)
    norm(x + 2)
    assert norm.running_mean.tolist() == [3.0, 5.0] and norm.num_batches_tracked.item() == 2
    assert norm.eval()(tengen.tensor([[3.0, 5.0]])).tolist() == [[0.0, 0.0]]


def test_padding_rows_have_no_gradient() -> None:
    rows = nn.Embedding(4, 2, padding_idx=-1)
    assert rows.weight[3].tolist() == [0.0, 0.0]
    rows(tengen.tensor([1, 3])).sum().backward()
    assert rows.weight.grad.sum(1).tolist() == [0.0, 2.0, 0.0, 0.0]


def test_lazy_layers_become_what_they_are_for() -> None:
    conv, norm = nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d()
    out = norm(conv(tengen.ones(1, 2, 5, 5)))
    assert type(conv) is nn.Conv2d and conv.in_channels == 2 and tuple(out.shape) == (1, 4, 3, 3)
    assert type(norm) is nn.BatchNorm2d and norm.num_features == 4


def test_masks_of_attention() -> None:
    tengen.manual_seed(0)
    attention = nn.MultiheadAttention(4, 2, batch_first=True)
    x = tengen.randn(1, 3, 4)
    later = tengen.ones(3, 3, dtype=tengen.bool).triu(1)
    out, weights = attention(x, x, x, attn_mask=later)
    assert weights.triu(1).sum().item() == 0
    tengen.testing.assert_close(out[:, :1], attention(x[:, :1], x[:, :1], x[:, :1])[0])
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 1).eval()
    padding = tengen.tensor([[False, False, True]])
    with tengen.no_grad():
        short, long = encoder(x[:, :2]), encoder(x, src_key_padding_mask=padding)
    tengen.testing.assert_close(long[:, :2], short)
    assert long[:, 2].abs().sum().item() == 0


def test_bad_arguments() -> None:
    for make, error, text in (
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "in_channels must be divisible by groups"),
        (lambda: nn.Conv1d(2, 2, 3, padding="some"), ValueError, "Invalid padding string 'some'"),
        (lambda: nn.GroupNorm(3, 4), ValueError, r"num_channels \(4\) must be divisible by num_groups"),
        (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, "proj_size has to be smaller"),
        (lambda: nn.RNN(3, 4, nonlinearity="sin"), ValueError, "Unknown nonlinearity 'sin'"),
        (lambda: nn.MultiheadAttention(4, 3), AssertionError, "embed_dim must be divisible"),
        (lambda: nn.Embedding(3, 2, padding_idx=3), AssertionError, "Padding_idx must be within"),
        (lambda: nn.BatchNorm2d(2)(tengen.ones(2, 2)), ValueError, r"expected 4D input \(got 2D input\)"),
        (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 5, [3, 2]), ValueError, "cutoffs should be"),
        (lambda: nn.GRU(2, 2)(tengen.ones(3, 1, 3)), RuntimeError, "must be equal to input_size"),
    ):
        with pytest.raises(error, match=text):
            make()
