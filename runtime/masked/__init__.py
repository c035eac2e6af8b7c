"""Reductions and normalizations of the elements that a mask leaves, as ``torch.masked`` has them.

A mask is a bool tensor that broadcasts to the input; where it is False an element is *masked out*: it has no
part in the result, nor a gradient. A reduction of which all elements are masked out gives its identity (0 for
a sum, ``-inf`` for a largest element), and NaN where it has none (means, medians, variances).

A ``MaskedTensor`` is a tensor and its mask in one.
"""

from .maskedtensor import (
    MaskedTensor as MaskedTensor,
    as_masked_tensor as as_masked_tensor,
    is_masked_tensor as is_masked_tensor,
    masked_tensor as masked_tensor,
)
from .masks import (
    canonical_dim as _canonical_dim,  # noqa: F401
    input_mask as _input_mask,  # noqa: F401
)
from .normalizations import (
    cumprod as cumprod,
    cumsum as cumsum,
    log_softmax as log_softmax,
    logaddexp as logaddexp,
    normalize as normalize,
    softmax as softmax,
    softmin as softmin,
)
from .reductions import (
    amax as amax,
    amin as amin,
    argmax as argmax,
    argmin as argmin,
    logsumexp as logsumexp,
    mean as mean,
    median as median,
    norm as norm,
    output_mask as _output_mask,  # noqa: F401
    prod as prod,
    reduction_identity as _reduction_identity,  # noqa: F401
    std as std,
    sum as sum,
    var as var,
)
from .sparse import where as _where  # noqa: F401


def __dir__() -> list[str]:
    return sorted(name for name, value in globals().items() if callable(value) and not name.startswith("_"))
