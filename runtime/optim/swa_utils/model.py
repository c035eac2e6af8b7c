"""AveragedModel, and the statistics of a model's batch normalisation made anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from itertools import chain, groupby
from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.scalar_type import int64
from ...nn.modules.module import Module
from ...tensors.creation import tensor as make_tensor
from ...tensors.tensor import Tensor
from .averages import Average, MultiAverage, get_swa_avg_fn

__all__ = ["AveragedModel", "update_bn"]


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's over training.

    ``module`` is the copy, on ``device`` if that is given, and ``n_averaged``, a buffer, the number of models
    in it. ``avg_fn(average, parameter, n_averaged)`` returns the average anew; ``multi_avg_fn(averages,
    parameters, n_averaged)`` changes lists of one device and dtype. Without either all models count alike.
    With ``use_buffers`` buffers are averaged too, otherwise copied.

    AssertionError for both functions.
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Average | None = None,
        multi_avg_fn: MultiAverage | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", make_tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model makes of the arguments."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the model's parameters as they are now into the average; the first time they are copied."""
        averages = [p.detach() for p in self._averaged(self.module)]
        params = [p.detach().to(a.device) for a, p in zip(averages, self._averaged(model), strict=False)]
        if self.n_averaged == 0:
            for average, param in zip(averages, params, strict=False):
                average.copy_(param)
        elif self.multi_avg_fn is not None:
            self._move_lists(self.multi_avg_fn, averages, params)
        else:
            function = get_swa_avg_fn() if self.avg_fn is None else self.avg_fn
            for average, param in zip(averages, params, strict=True):
                average.copy_(function(average, param, self.n_averaged.to(average.device)))
        if not self.use_buffers:
            for own, buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(buffer.detach().to(own.device))
        self.n_averaged += 1

    def _averaged(self, model: Module) -> Iterator[Tensor]:
        """What is averaged of a model."""
        return chain(model.parameters(), model.buffers() if self.use_buffers else ())

    def _move_lists(self, function: MultiAverage, averages: list[Tensor], params: list[Tensor]) -> None:
        """Call the function once for each device and dtype."""

        def kind(pair: tuple[Tensor, Tensor]) -> tuple[str, str]:
            return str(pair[0].device), str(pair[0].dtype)

        pairs = sorted(zip(averages, params, strict=True), key=kind)
        for _, found in groupby(pairs, kind):
            one, other = zip(*found, strict=True)
            function(list(one), list(other), self.n_averaged.to(one[0].device))


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Make the statistics of a model's batch normalisation anew, by one pass over data.

    ``loader`` gives batches, each a tensor or a list or tuple of which the first is one; it is moved to
    ``device`` if that is given. All batches count alike. A model without batch normalisation is not called.
    """
    norms: dict[Any, Any] = {m: m.momentum for m in model.modules() if _normalises_batches(m)}
    if not norms:
        return
    training = model.training
    model.train()
    for module in norms:
        module.reset_running_stats()
        module.momentum = None
    try:
        with no_grad():
            for batch in loader:
                first = batch[0] if isinstance(batch, (list, tuple)) else batch
                model(first if device is None else first.to(device))
    finally:
        for module, momentum in norms.items():
            module.momentum = momentum
        model.train(training)


def _normalises_batches(module: Any) -> bool:
    """Whether a module is a batch normalisation, of this library or of a program's own, as its bases say."""
    return any([c.__name__ == "_BatchNorm" for c in type(module).__mro__])
