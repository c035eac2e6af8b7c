"""Memory formats: which strides they ask for, which operators keep them, beside torch and by themselves."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tengen

#: The strides of images of (2, 3, 4, 5) and volumes of (2, 3, 4, 5, 6) whose channels are innermost.
IMAGES, VOLUMES = (60, 1, 15, 3), (360, 1, 90, 18, 3)
SIZES = {4: (2, 3, 4, 5), 5: (2, 3, 4, 5, 6)}


def given(m: Any, ndim: int = 4, size: tuple[int, ...] = ()) -> Any:
    """Images or volumes whose channels are innermost."""
    format = m.channels_last if ndim == 4 else m.channels_last_3d
    return m.ones(size or SIZES[ndim]).contiguous(memory_format=format)


def rows(m: Any, ndim: int = 4) -> Any:
    return m.ones(SIZES[ndim])


# -- what asks for a format --------------------------------------------------------------------

ASKED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "contiguous": lambda m, x, f: x.contiguous(memory_format=f),
    "to": lambda m, x, f: x.to(memory_format=f),
    "to, of another dtype": lambda m, x, f: x.to(m.float64, memory_format=f),
    "double": lambda m, x, f: x.double(memory_format=f),
    "clone": lambda m, x, f: x.clone(memory_format=f),
    "empty": lambda m, x, f: m.empty(x.shape, device=x.device, memory_format=f),
    "empty_like": lambda m, x, f: m.empty_like(x, memory_format=f),
    "zeros_like": lambda m, x, f: m.zeros_like(x, memory_format=f),
    "ones_like": lambda m, x, f: m.ones_like(x, memory_format=f),
    "full_like": lambda m, x, f: m.full_like(x, 2.0, memory_format=f),
    "rand_like": lambda m, x, f: m.rand_like(x, memory_format=f),
    "randint_like": lambda m, x, f: m.randint_like(x, 9, memory_format=f),
    "resize_": lambda m, x, f: m.ones(2).resize_(x.shape, memory_format=f),
}


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("name", ASKED)
def test_formats_are_strides(name: str, device: str) -> None:
    ask = ASKED[name]
    if device == "meta" and name == "resize_":
        pytest.skip("there is no memory that could grow")
    images, volumes = tengen.ones(2, 3, 4, 5, device=device), tengen.ones(2, 3, 4, 5, 6, device=device)
    assert ask(tengen, images, tengen.channels_last).stride() == IMAGES
    assert ask(tengen, volumes, tengen.channels_last_3d).stride() == VOLUMES
    assert ask(tengen, given(tengen).to(device), tengen.contiguous_format).stride() == (60, 20, 5, 1)
    for format, of in ((tengen.channels_last, volumes), (tengen.channels_last_3d, images)):
        with pytest.raises(RuntimeError, match=rf"required rank {4 if of is volumes else 5} tensor"):
            ask(tengen, of, format)


def test_values_stay() -> None:
    x = tengen.arange(120.0).reshape(2, 3, 4, 5)
    for made in (
        x.contiguous(memory_format=tengen.channels_last),
        x.to(tengen.float64, memory_format=tengen.channels_last),
        x.clone(memory_format=tengen.channels_last),
    ):
        assert made.tolist() == x.tolist()


def test_what_stands_so_already_is_no_copy() -> None:
    x = given(tengen)
    assert x.contiguous(memory_format=tengen.channels_last) is x
    assert x.to(memory_format=tengen.channels_last) is x and x.to(memory_format=tengen.preserve_format) is x
    assert x.contiguous() is not x and x.to(memory_format=tengen.contiguous_format) is not x
    y = rows(tengen)
    assert y.contiguous() is y and y.contiguous(memory_format=tengen.preserve_format) is y


def test_gradients_pass_through_formats() -> None:
    x = tengen.rand(2, 3, 4, 5, requires_grad=True)
    weight = tengen.rand(2, 3, 4, 5)
    (x.contiguous(memory_format=tengen.channels_last) * weight).sum().backward()
    assert x.grad is not None and x.grad.tolist() == weight.tolist()


def test_empty_and_single() -> None:
    assert tengen.empty(0, 3, 4, 5, memory_format=tengen.channels_last).shape == (0, 3, 4, 5)
    one = tengen.ones(2, 1, 4, 5)
    assert one.is_contiguous(memory_format=tengen.channels_last) and one.is_contiguous()
    with pytest.raises(RuntimeError, match="empty: preserve_format"):
        tengen.empty(2, memory_format=tengen.preserve_format)


# -- what keeps it -----------------------------------------------------------------------------

#: What makes one element of each channel, whose strides still say that channels are innermost.
TO_ONE: list[Callable[[Any], Any]] = [
    lambda m: m.nn.functional.adaptive_avg_pool2d(given(m), 1),
    lambda m: m.nn.functional.adaptive_avg_pool2d(given(m).half(), 1),
    lambda m: m.nn.functional.adaptive_avg_pool2d(given(m), (1, 2)),
    lambda m: m.nn.functional.adaptive_max_pool2d(given(m), 1),
    lambda m: m.nn.functional.max_pool2d(given(m), (4, 5)),
    lambda m: m.nn.functional.avg_pool2d(given(m), (4, 5)),
    lambda m: m.nn.functional.conv2d(given(m), m.ones(4, 3, 4, 5)),
]
F: dict[str, Callable[[Any], Any]] = {
    "is_contiguous": lambda m: [
        x.is_contiguous(memory_format=f)
        for x in (given(m), rows(m), m.ones(2, 1, 4, 5), m.ones(2, 3, 1, 1), given(m, 5), m.ones(3))
        for f in (m.contiguous_format, m.channels_last, m.channels_last_3d)
    ],
    "dtypes": lambda m: [given(m).double(), given(m).half(), given(m).bool(), given(m).to(m.int32)],
    "clone": lambda m: [given(m).clone(), given(m).clone(memory_format=m.contiguous_format)],
    "likes": lambda m: [m.empty_like(given(m)), m.zeros_like(given(m, 5)), m.randn_like(given(m))],
    "new": lambda m: [given(m).new_empty((2, 3, 4, 5)), given(m).new_zeros((2, 3, 4, 5))],
    "resize_as_": lambda m: [
        m.ones(2).resize_as_(given(m)),
        m.ones(2).resize_as_(given(m), memory_format=m.preserve_format),
        m.ones(2).resize_as_(given(m), memory_format=m.contiguous_format),
    ],
    "binary": lambda m: [
        given(m) + given(m),
        given(m) + rows(m),
        rows(m) + given(m),
        given(m) * m.ones(3, 1, 1),
        m.ones(5) - given(m),
        given(m) > 0,
        given(m).clamp(0, 1),
        m.lerp(given(m), given(m), 0.5),
        m.where(given(m) > 0, given(m), 0.0),
    ],
    "unary": lambda m: [given(m).relu(), given(m, 5).exp(), given(m).exp_(), given(m) * 2, given(m).flip(1)],
    "cat": lambda m: [
        m.cat([given(m), given(m)], 1),
        m.cat([given(m), given(m)]),
        m.cat([given(m), rows(m)]),
        m.cat([given(m, 5), given(m, 5)], 2),
        m.cat([given(m), given(m).double()], 1),
    ],
    "reductions": lambda m: [given(m).mean(0), given(m).argmax(1), *given(m).max(1), given(m).softmax(1)],
    "sort": lambda m: [*given(m).sort(1), given(m).cumsum(1), given(m).roll(1, 1)],
    "pad": lambda m: [
        m.nn.functional.pad(given(m), (1, 1, 1, 1), mode=mode)
        for mode in ("constant", "reflect", "replicate", "circular")
    ],
    "conv": lambda m: [
        m.nn.functional.conv2d(given(m), m.ones(4, 3, 2, 2)),
        m.nn.functional.conv2d(rows(m), given(m, 4, (4, 3, 2, 2))),
        m.nn.functional.conv2d(given(m), m.ones(3, 1, 2, 2), groups=3),
        m.nn.functional.conv3d(given(m, 5), m.ones(4, 3, 2, 2, 2)),
        m.nn.functional.conv_transpose2d(given(m), m.ones(3, 4, 2, 2)),
        m.nn.functional.conv_transpose3d(given(m, 5), m.ones(3, 4, 2, 2, 2)),
    ],
    "pools": lambda m: [
        *m.nn.functional.max_pool2d(given(m), 2, return_indices=True),
        m.nn.functional.max_pool3d(given(m, 5), 2),
        m.nn.functional.avg_pool2d(given(m), 2),
        m.nn.functional.avg_pool3d(given(m, 5), 2),
        m.nn.functional.adaptive_avg_pool2d(given(m), 2),
        m.nn.functional.adaptive_avg_pool3d(given(m, 5), 2),
    ],
    "to one element": lambda m: [
        *(one(m) for one in TO_ONE),
        m.nn.functional.adaptive_avg_pool2d(m.ones(1, 1, 4, 4), 1),
        m.nn.functional.adaptive_avg_pool2d(m.ones(1, 4, 4), 1),
    ],
    "norms": lambda m: [
        m.nn.functional.batch_norm(given(m), m.zeros(3), m.ones(3)),
        m.nn.functional.batch_norm(given(m), None, None, training=True),
        m.nn.functional.batch_norm(given(m, 5), m.zeros(3), m.ones(3)),
        m.nn.functional.group_norm(given(m), 3),
        m.nn.functional.instance_norm(given(m)),
        m.nn.functional.layer_norm(given(m), (5,)),
    ],
    "shuffles": lambda m: [
        m.nn.functional.pixel_shuffle(given(m, 4, (2, 8, 3, 3)), 2),
        m.nn.functional.pixel_unshuffle(given(m, 4, (2, 4, 4, 4)), 2),
    ],
    "activations": lambda m: [
        m.nn.functional.gelu(given(m)),
        m.nn.functional.prelu(given(m), m.ones(3)),
        m.nn.functional.glu(given(m, 4, (2, 4, 3, 3)), 1),
        m.nn.functional.dropout(given(m)),
    ],
    "gradients": lambda m: [
        gradient(m, lambda x: x.sin()),
        gradient(m, lambda x: m.nn.functional.max_pool2d(x, 2)),
        gradient(m, lambda x: m.nn.functional.conv2d(x, m.ones(4, 3, 2, 2))),
        gradient(m, lambda x: m.nn.functional.batch_norm(x, None, None, training=True).sin()),
    ],
}


def gradient(m: Any, function: Callable[[Any], Any]) -> Any:
    x = given(m).detach().requires_grad_()
    function(x).sum().backward()
    return x.grad


def geometry(found: list[Any]) -> list[Any]:
    return [x if isinstance(x, bool) else (tuple(x.shape), x.stride()) for x in found]


@pytest.mark.oracle
@pytest.mark.parametrize("name", F)
def test_kept_as_in_torch(name: str) -> None:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert geometry(F[name](tengen)) == geometry(F[name](torch))


# -- sizes of 1 and 0, where several orders are possible ---------------------------------------------

AMBIGUOUS = [
    (2, 1, 3, 3), (1, 3, 1, 1), (1, 1, 1, 1), (2, 3, 1, 1), (2, 1, 1, 5), (2, 1, 4, 1), (2, 3, 1, 5),
    (2, 0, 4, 5), (2, 1, 3, 3, 3), (2, 3, 1, 1, 1), (1, 1, 1, 1, 1), (2, 3, 1, 5, 1), (2, 0, 2, 3, 4),
]  # fmt: skip
FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
WAYS: dict[str, Callable[[Any, tuple[int, ...]], Any]] = {
    "rows": lambda m, size: m.zeros(size),
    "format": lambda m, size: given(m, len(size), size),
    "permuted": lambda m, size: m.zeros((size[0], *size[2:], size[1])).movedim(-1, 1),
    "reversed": lambda m, size: m.zeros(size[::-1]).permute(*reversed(range(len(size)))),
    "cut": lambda m, size: given(m, len(size), tuple([n + 1 for n in size]))[tuple([slice(n) for n in size])],
    "expanded": lambda m, size: m.zeros((size[0], 1, *size[2:])).expand(size),
}


def asked_formats(m: Any, x: Any) -> list[Any]:
    """The strides, or the name of the error, of all that asks for a format, in each of these."""
    found: list[Any] = []
    for format in [getattr(m, name) for name in FORMATS]:
        found.append(x.is_contiguous(memory_format=format))
        for ask in ASKED.values():
            try:
                found.append(ask(m, x, format).stride())
            except RuntimeError as error:
                found.append(type(error).__name__)
    return found


@pytest.mark.oracle
@pytest.mark.parametrize("way", WAYS)
def test_formats_of_ambiguous_sizes_as_in_torch(way: str) -> None:
    import torch

    for size in AMBIGUOUS:
        ours, theirs = WAYS[way](tengen, size), WAYS[way](torch, size)
        assert ours.stride() == theirs.stride(), size
        assert asked_formats(tengen, ours) == asked_formats(torch, theirs), size


def kept(m: Any, x: Any) -> list[Any]:
    """The results of operators that keep channels innermost, for images."""
    nn, channels = m.nn.functional, x.shape[1]
    return [
        nn.conv2d(x, m.ones(2, channels, 1, 1)),
        nn.conv_transpose2d(x, m.ones(channels, 2, 2, 2)),
        nn.max_pool2d(x, 1),
        nn.avg_pool2d(x, 1),
        nn.interpolate(x, scale_factor=2),
        nn.interpolate(x, scale_factor=2, mode="bilinear"),
        nn.pad(x, (1, 1)),
        nn.pad(x, (1, 1, 1, 1), mode="replicate"),
        nn.group_norm(x, 1),
        nn.batch_norm(x, m.zeros(channels), m.ones(channels)),
        nn.adaptive_avg_pool2d(x, 2),
        m.cat([x, x], 1),
        m.cat([x, m.zeros(x.shape)], 1),
    ]


@pytest.mark.oracle
@pytest.mark.parametrize("way", ["rows", "format", "permuted", "reversed"])
def test_ambiguous_sizes_are_kept_as_in_torch(way: str) -> None:
    import torch

    for size in [size for size in AMBIGUOUS if len(size) == 4 and math.prod(size) > 1]:
        ours, theirs = kept(tengen, WAYS[way](tengen, size)), kept(torch, WAYS[way](torch, size))
        assert geometry(ours) == geometry(theirs), size


def test_one_channel_is_innermost() -> None:
    x = tengen.arange(18.0).reshape(2, 1, 3, 3)
    last = x.to(memory_format=tengen.channels_last)
    for same in (last.clone(), last.double(), tengen.zeros_like(last), tengen.empty_like(last)):
        assert same.stride() == (9, 1, 3, 1)
    joined = tengen.cat([last, last], 1)
    assert joined.stride() == (18, 1, 6, 2) and joined.tolist() == tengen.cat([x, x], 1).tolist()
    assert tengen.nn.functional.max_pool2d(last, 2, 1).stride() == (4, 1, 2, 1)
    assert tengen.nn.functional.max_pool2d(x, 2, 1).stride() == (4, 4, 2, 1)
