"""Modules that follow from declarations: what is printed, computed, saved and copied, without torch."""

import copy
import pickle
import subprocess
import sys
from typing import Any

import pytest

import tengen
from tengen import nn
from tengen.generated.module_homes import HOMES

#: What each prints.
PRINTED = {
    "ReLU6(inplace=True)": lambda: nn.ReLU6(True),
    "ReLU6()": lambda: nn.ReLU6(),
    "Hardtanh(min_val=-2, max_val=1.0)": lambda: nn.Hardtanh(-2),
    "GELU(approximate='tanh')": lambda: nn.GELU("tanh"),
    "Softshrink(0.5)": lambda: nn.Softshrink(),
    "Threshold(threshold=0.1, value=20, inplace=True)": lambda: nn.Threshold(0.1, 20, True),
    "AvgPool1d(kernel_size=(3,), stride=(3,), padding=(0,))": lambda: nn.AvgPool1d(3),
    "LPPool2d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)": lambda: nn.LPPool2d(2, 3),
    "ZeroPad2d((1, 1, 1, 1))": lambda: nn.ZeroPad2d(1),
    "ConstantPad1d(padding=(1, 2), value=3.5)": lambda: nn.ConstantPad1d((1, 2), 3.5),
    "Dropout(p=0.25, inplace=False)": lambda: nn.Dropout(0.25),
    "Upsample(scale_factor=2.0, mode='nearest')": lambda: nn.Upsample(scale_factor=2),
    "UpsamplingBilinear2d(size=4, mode='bilinear')": lambda: nn.UpsamplingBilinear2d(4),
    "LocalResponseNorm(2, alpha=0.0001, beta=0.75, k=1.0)": lambda: nn.LocalResponseNorm(2),
    "CrossEntropyLoss()": lambda: nn.CrossEntropyLoss(label_smoothing=0.1),
    "PairwiseDistance()": lambda: nn.PairwiseDistance(),
}

#: Bad arguments, and what is said of them.
BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda: nn.Dropout(2), ValueError, "between 0 and 1, but got 2"),
    (lambda: nn.Hardtanh(2, 1), AssertionError, r"max_val \(1\) must be larger than min_val \(2\)"),
    (lambda: nn.FractionalMaxPool2d(2), ValueError, "either an output size, or a pooling ratio"),
    (lambda: nn.MultiMarginLoss(3), ValueError, "only p == 1 and p == 2"),
    (lambda: nn.Unflatten(1, 3), TypeError, "must be a tuple of ints, but found type int"),
    (lambda: nn.CircularPad1d(1)(tengen.ones(3)), ValueError, "expected 2D or 3D input"),
    (lambda: nn.TripletMarginLoss(margin=0), ValueError, "expected margin to be greater than 0"),
]


def test_what_is_printed() -> None:
    assert [repr(make()) for make in PRINTED.values()] == [*PRINTED]


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_arguments(case: int) -> None:
    make, error, text = BAD[case]
    with pytest.raises(error, match=text):
        make()


def test_each_is_found_pickled_and_copied() -> None:
    for make in PRINTED.values():
        made = make()
        home = type(made).__module__
        assert getattr(sys.modules[home], type(made).__name__) is type(made)
        for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
            assert repr(other) == repr(made)
            assert list(other.state_dict()) == list(made.state_dict())
    assert set(HOMES) <= set(dir(nn)) and all(isinstance(getattr(nn, name), type) for name in HOMES)


def test_weights_are_buffers() -> None:
    loss = nn.BCEWithLogitsLoss(weight=tengen.ones(3), pos_weight=tengen.full((3,), 2.0))
    assert list(loss.state_dict()) == ["weight", "pos_weight"]
    x = tengen.tensor([[1.0, -1.0, 0.0]], requires_grad=True)
    loss(x, tengen.tensor([[1.0, 0.0, 1.0]])).backward()
    assert x.grad is not None
    wanted = nn.functional.binary_cross_entropy_with_logits(
        x, tengen.tensor([[1.0, 0.0, 1.0]]), pos_weight=tengen.full((3,), 2.0)
    )
    assert loss(x, tengen.tensor([[1.0, 0.0, 1.0]])).item() == wanted.item()


def test_older_words_for_reduction() -> None:
    with pytest.warns(UserWarning, match="please use reduction='sum'"):
        assert nn.MSELoss(size_average=False).reduction == "sum"


def test_training_and_calls() -> None:
    dropout, x = nn.Dropout(1.0), tengen.ones(4)
    assert dropout(x).sum().item() == 0 and dropout.eval()(x).sum().item() == 4
    best, places = nn.MaxPool1d(2, return_indices=True)(tengen.tensor([[[1.0, 3.0, 2.0, 5.0]]]))
    assert nn.MaxUnpool1d(2)(best, places).tolist() == [[[0.0, 3.0, 0.0, 5.0]]]


def test_only_what_is_asked_for_is_imported() -> None:
    script = (
        "import sys, tengen.nn; tengen.nn.ReLU; names = [n for n in sys.modules if n.endswith('_modules')];"
        "assert names == ['tengen.generated.activation_modules'], names"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
