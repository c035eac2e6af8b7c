"""Functions of neural networks, with the signatures of ``torch.nn.functional``.

Where a signature is that of the operator's schema the operator is exported as it stands; the
others are written out in the modules imported below: words for reductions, ``inplace=``,
``stride=None``, ``return_indices=``. An operator declared with ``python_module: nn`` that is not
named here is found as it was generated.
"""

import typing as _typing

import tengen.generated.nn_functions as _generated
from tengen.generated.functions import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
    avg_pool1d as avg_pool1d,
    bilinear as bilinear,
    celu_ as celu_,
    channel_shuffle as channel_shuffle,
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    conv_tbc as conv_tbc,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
    conv_transpose3d as conv_transpose3d,
    cosine_similarity as cosine_similarity,
    hardshrink as hardshrink,
    native_channel_shuffle as native_channel_shuffle,
    pairwise_distance as pairwise_distance,
    pdist as pdist,
    pixel_shuffle as pixel_shuffle,
    pixel_unshuffle as pixel_unshuffle,
    prelu as prelu,
    relu_ as relu_,
    rrelu_ as rrelu_,
    selu_ as selu_,
    sigmoid as sigmoid,
    tanh as tanh,
    threshold_ as threshold_,
)
from tengen.generated.nn_functions import (
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    elu_ as elu_,
    gelu as gelu,
    hardtanh_ as hardtanh_,
    leaky_relu_ as leaky_relu_,
    linear as linear,
    log_sigmoid as logsigmoid,  # noqa: F401
    one_hot as one_hot,
    pad as pad,
    scaled_dot_product_attention as scaled_dot_product_attention,
    softplus as softplus,
    softshrink as softshrink,
)

from ..core.function_dispatch import make_overridable as _make_overridable
from . import grad as grad
from .activation import (
    alpha_dropout as alpha_dropout,
    celu as celu,
    dropout as dropout,
    dropout1d as dropout1d,
    dropout2d as dropout2d,
    dropout3d as dropout3d,
    elu as elu,
    feature_alpha_dropout as feature_alpha_dropout,
    glu as glu,
    gumbel_softmax as gumbel_softmax,
    hardsigmoid as hardsigmoid,
    hardswish as hardswish,
    hardtanh as hardtanh,
    leaky_relu as leaky_relu,
    log_softmax as log_softmax,
    mish as mish,
    relu as relu,
    relu6 as relu6,
    rrelu as rrelu,
    selu as selu,
    silu as silu,
    softmax as softmax,
    softmin as softmin,
    softsign as softsign,
    tanhshrink as tanhshrink,
    threshold as threshold,
)
from .loss import (
    binary_cross_entropy as binary_cross_entropy,
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    cosine_embedding_loss as cosine_embedding_loss,
    cross_entropy as cross_entropy,
    ctc_loss as ctc_loss,
    gaussian_nll_loss as gaussian_nll_loss,
    hinge_embedding_loss as hinge_embedding_loss,
    huber_loss as huber_loss,
    kl_div as kl_div,
    l1_loss as l1_loss,
    linear_cross_entropy as linear_cross_entropy,
    margin_ranking_loss as margin_ranking_loss,
    mse_loss as mse_loss,
    multi_margin_loss as multi_margin_loss,
    multilabel_margin_loss as multilabel_margin_loss,
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
    nll_loss as nll_loss,
    poisson_nll_loss as poisson_nll_loss,
    smooth_l1_loss as smooth_l1_loss,
    soft_margin_loss as soft_margin_loss,
    triplet_margin_loss as triplet_margin_loss,
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from .max_pooling import (
    max_pool1d as max_pool1d,
    max_pool1d_with_indices as max_pool1d_with_indices,
    max_pool2d as max_pool2d,
    max_pool2d_with_indices as max_pool2d_with_indices,
    max_pool3d as max_pool3d,
    max_pool3d_with_indices as max_pool3d_with_indices,
)
from .multi_head_attention import multi_head_attention_forward as multi_head_attention_forward
from .normalization import (
    batch_norm as batch_norm,
    embedding as embedding,
    embedding_bag as embedding_bag,
    group_norm as group_norm,
    instance_norm as instance_norm,
    layer_norm as layer_norm,
    normalize as normalize,
    rms_norm as rms_norm,
)
from .pooling import (
    adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_avg_pool3d as adaptive_avg_pool3d,
    adaptive_max_pool1d as adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d as adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d as adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices,
    fractional_max_pool2d as fractional_max_pool2d,
    fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices,
    fractional_max_pool3d as fractional_max_pool3d,
    fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices,
    lp_pool1d as lp_pool1d,
    lp_pool2d as lp_pool2d,
    lp_pool3d as lp_pool3d,
    max_unpool1d as max_unpool1d,
    max_unpool2d as max_unpool2d,
    max_unpool3d as max_unpool3d,
)
from .resampling import (
    affine_grid as affine_grid,
    fold as fold,
    grid_sample as grid_sample,
    interpolate as interpolate,
    local_response_norm as local_response_norm,
    unfold as unfold,
    upsample as upsample,
    upsample_bilinear as upsample_bilinear,
    upsample_nearest as upsample_nearest,
)

_make_overridable(globals())
for _function in list(globals().values()):
    # Those that are wrapped are pickled by their names here; in their modules these are other functions.
    if hasattr(_function, "__wrapped__") and _function.__module__.startswith("tengen.nn."):
        _function.__module__ = __name__

if not _typing.TYPE_CHECKING:  # a checker would believe that every name exists

    def __getattr__(name: str) -> _typing.Any:
        """The operators that are not named above."""
        if name.startswith("_") or not hasattr(_generated, name):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(_generated, name)
