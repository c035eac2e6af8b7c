"""The modules of ``tengen.nn``. Each is imported when it is asked for."""
# ruff: noqa: F403

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tengen.generated.module_homes import HOMES

from .module import Module as Module

#: Where the classes are that are written by hand: by class, the module of this package.
_WRITTEN = {
    "AdaptiveLogSoftmaxWithLoss": "adaptive",
    "BatchNorm1d": "batchnorm",
    "BatchNorm2d": "batchnorm",
    "BatchNorm3d": "batchnorm",
    "Bilinear": "linear",
    "Container": "container",
    "Conv1d": "conv",
    "Conv2d": "conv",
    "Conv3d": "conv",
    "ConvTranspose1d": "conv",
    "ConvTranspose2d": "conv",
    "ConvTranspose3d": "conv",
    "CrossMapLRN2d": "normalization",
    "Embedding": "sparse",
    "EmbeddingBag": "sparse",
    "GRU": "rnn",
    "GRUCell": "rnn",
    "GroupNorm": "normalization",
    "Identity": "linear",
    "InstanceNorm1d": "instancenorm",
    "InstanceNorm2d": "instancenorm",
    "InstanceNorm3d": "instancenorm",
    "LSTM": "rnn",
    "LSTMCell": "rnn",
    "LayerNorm": "normalization",
    "LazyBatchNorm1d": "batchnorm",
    "LazyBatchNorm2d": "batchnorm",
    "LazyBatchNorm3d": "batchnorm",
    "LazyConv1d": "conv",
    "LazyConv2d": "conv",
    "LazyConv3d": "conv",
    "LazyConvTranspose1d": "conv",
    "LazyConvTranspose2d": "conv",
    "LazyConvTranspose3d": "conv",
    "LazyInstanceNorm1d": "instancenorm",
    "LazyInstanceNorm2d": "instancenorm",
    "LazyInstanceNorm3d": "instancenorm",
    "LazyLinear": "linear",
    "Linear": "linear",
    "LinearCrossEntropyLoss": "loss",
    "LinearCrossEntropyOptions": "loss",
    "ModuleDict": "container",
    "ModuleList": "container",
    "MultiheadAttention": "activation",
    "PReLU": "activation",
    "ParameterDict": "container",
    "ParameterList": "container",
    "RMSNorm": "normalization",
    "RNN": "rnn",
    "RNNBase": "rnn",
    "RNNCell": "rnn",
    "RNNCellBase": "rnn",
    "Sequential": "container",
    "SyncBatchNorm": "batchnorm",
    "Transformer": "transformer",
    "TransformerDecoder": "transformer",
    "TransformerDecoderLayer": "transformer",
    "TransformerEncoder": "transformer",
    "TransformerEncoderLayer": "transformer",
}
_HOMES = {**HOMES, **_WRITTEN}

if TYPE_CHECKING:
    from .activation import *
    from .adaptive import *
    from .batchnorm import *
    from .channelshuffle import *
    from .container import *
    from .conv import *
    from .distance import *
    from .dropout import *
    from .flatten import *
    from .fold import *
    from .instancenorm import *
    from .linear import *
    from .loss import *
    from .normalization import *
    from .padding import *
    from .pixelshuffle import *
    from .pooling import *
    from .rnn import *
    from .sparse import *
    from .transformer import *
    from .upsampling import *
else:
    __all__ = sorted(["Module", *_HOMES])

    def __getattr__(name: str) -> Any:
        """A class, from its module; or a module of this package."""
        home = _HOMES.get(name)
        if home is not None:
            found = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
            return found
        if name in _HOMES.values():
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(["Module", *_HOMES])
