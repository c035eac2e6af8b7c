"""Functions of neural networks, with the signatures of ``torch.nn.functional``.

Where a signature is that of the operator's schema the operator is exported as it stands; the
others are written out in the modules imported below: words for reductions, ``inplace=``,
``stride=None``, ``return_indices=``. An operator declared with ``python_module: nn`` that is not
named here is found as it was generated.
"""

import typing as _typing

import tengen.generated.nn_functions as _generated
from tengen.generated.functions import adaptive_avg_pool1d as adaptive_avg_pool1d
from tengen.generated.functions import avg_pool1d as avg_pool1d
from tengen.generated.functions import bilinear as bilinear
from tengen.generated.functions import celu_ as celu_
from tengen.generated.functions import channel_shuffle as channel_shuffle
from tengen.generated.functions import conv1d as conv1d
from tengen.generated.functions import conv2d as conv2d
from tengen.generated.functions import conv3d as conv3d
from tengen.generated.functions import conv_tbc as conv_tbc
from tengen.generated.functions import conv_transpose1d as conv_transpose1d
from tengen.generated.functions import conv_transpose2d as conv_transpose2d
from tengen.generated.functions import conv_transpose3d as conv_transpose3d
from tengen.generated.functions import cosine_similarity as cosine_similarity
from tengen.generated.functions import hardshrink as hardshrink
from tengen.generated.functions import native_channel_shuffle as native_channel_shuffle
from tengen.generated.functions import pairwise_distance as pairwise_distance
from tengen.generated.functions import pdist as pdist
from tengen.generated.functions import pixel_shuffle as pixel_shuffle
from tengen.generated.functions import pixel_unshuffle as pixel_unshuffle
from tengen.generated.functions import prelu as prelu
from tengen.generated.functions import relu_ as relu_
from tengen.generated.functions import rrelu_ as rrelu_
from tengen.generated.functions import selu_ as selu_
from tengen.generated.functions import sigmoid as sigmoid
from tengen.generated.functions import tanh as tanh
from tengen.generated.functions import threshold_ as threshold_
from tengen.generated.nn_functions import avg_pool2d as avg_pool2d
from tengen.generated.nn_functions import avg_pool3d as avg_pool3d
from tengen.generated.nn_functions import elu_ as elu_
from tengen.generated.nn_functions import gelu as gelu
from tengen.generated.nn_functions import hardtanh_ as hardtanh_
from tengen.generated.nn_functions import leaky_relu_ as leaky_relu_
from tengen.generated.nn_functions import linear as linear
from tengen.generated.nn_functions import log_sigmoid as logsigmoid  # noqa: F401
from tengen.generated.nn_functions import one_hot as one_hot
from tengen.generated.nn_functions import pad as pad
from tengen.generated.nn_functions import scaled_dot_product_attention as scaled_dot_product_attention
from tengen.generated.nn_functions import softplus as softplus
from tengen.generated.nn_functions import softshrink as softshrink

from ..core.function_dispatch import make_overridable as _make_overridable
from .activation import alpha_dropout as alpha_dropout
from .activation import celu as celu
from .activation import dropout as dropout
from .activation import dropout1d as dropout1d
from .activation import dropout2d as dropout2d
from .activation import dropout3d as dropout3d
from .activation import elu as elu
from .activation import feature_alpha_dropout as feature_alpha_dropout
from .activation import glu as glu
from .activation import gumbel_softmax as gumbel_softmax
from .activation import hardsigmoid as hardsigmoid
from .activation import hardswish as hardswish
from .activation import hardtanh as hardtanh
from .activation import leaky_relu as leaky_relu
from .activation import log_softmax as log_softmax
from .activation import mish as mish
from .activation import relu as relu
from .activation import relu6 as relu6
from .activation import rrelu as rrelu
from .activation import selu as selu
from .activation import silu as silu
from .activation import softmax as softmax
from .activation import softmin as softmin
from .activation import softsign as softsign
from .activation import tanhshrink as tanhshrink
from .activation import threshold as threshold
from .loss import binary_cross_entropy as binary_cross_entropy
from .loss import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from .loss import cosine_embedding_loss as cosine_embedding_loss
from .loss import cross_entropy as cross_entropy
from .loss import ctc_loss as ctc_loss
from .loss import gaussian_nll_loss as gaussian_nll_loss
from .loss import hinge_embedding_loss as hinge_embedding_loss
from .loss import huber_loss as huber_loss
from .loss import kl_div as kl_div
from .loss import l1_loss as l1_loss
from .loss import linear_cross_entropy as linear_cross_entropy
from .loss import margin_ranking_loss as margin_ranking_loss
from .loss import mse_loss as mse_loss
from .loss import multi_margin_loss as multi_margin_loss
from .loss import multilabel_margin_loss as multilabel_margin_loss
from .loss import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from .loss import nll_loss as nll_loss
from .loss import poisson_nll_loss as poisson_nll_loss
from .loss import smooth_l1_loss as smooth_l1_loss
from .loss import soft_margin_loss as soft_margin_loss
from .loss import triplet_margin_loss as triplet_margin_loss
from .loss import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss
from .multi_head_attention import multi_head_attention_forward as multi_head_attention_forward
from .normalization import batch_norm as batch_norm
from .normalization import embedding as embedding
from .normalization import embedding_bag as embedding_bag
from .normalization import group_norm as group_norm
from .normalization import instance_norm as instance_norm
from .normalization import layer_norm as layer_norm
from .normalization import normalize as normalize
from .normalization import rms_norm as rms_norm
from .pooling import adaptive_max_pool1d as adaptive_max_pool1d
from .pooling import adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices
from .pooling import adaptive_max_pool2d as adaptive_max_pool2d
from .pooling import adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices
from .pooling import adaptive_max_pool3d as adaptive_max_pool3d
from .pooling import adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices
from .pooling import fractional_max_pool2d as fractional_max_pool2d
from .pooling import fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices
from .pooling import fractional_max_pool3d as fractional_max_pool3d
from .pooling import fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices
from .pooling import lp_pool1d as lp_pool1d
from .pooling import lp_pool2d as lp_pool2d
from .pooling import lp_pool3d as lp_pool3d
from .pooling import max_unpool1d as max_unpool1d
from .pooling import max_unpool2d as max_unpool2d
from .pooling import max_unpool3d as max_unpool3d
from .resampling import affine_grid as affine_grid
from .resampling import fold as fold
from .resampling import grid_sample as grid_sample
from .resampling import interpolate as interpolate
from .resampling import local_response_norm as local_response_norm
from .resampling import unfold as unfold
from .resampling import upsample as upsample
from .resampling import upsample_bilinear as upsample_bilinear
from .resampling import upsample_nearest as upsample_nearest
from .spatial import adaptive_avg_pool2d as adaptive_avg_pool2d
from .spatial import adaptive_avg_pool3d as adaptive_avg_pool3d
from .spatial import max_pool1d as max_pool1d
from .spatial import max_pool1d_with_indices as max_pool1d_with_indices
from .spatial import max_pool2d as max_pool2d
from .spatial import max_pool2d_with_indices as max_pool2d_with_indices
from .spatial import max_pool3d as max_pool3d
from .spatial import max_pool3d_with_indices as max_pool3d_with_indices

_make_overridable(globals())

if not _typing.TYPE_CHECKING:  # a checker would believe that every name exists

    def __getattr__(name: str) -> _typing.Any:
        """The operators that are not named above."""
        if name.startswith("_") or not hasattr(_generated, name):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(_generated, name)
