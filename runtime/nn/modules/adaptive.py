"""A softmax over many classes, in clusters of which the rare ones are smaller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tengen.generated.functions import arange, empty, log_softmax

from ...core.device import device as Device
from ...core.scalar_type import dtype as DType
from ...tensors.tensor import Tensor
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


def __dir__() -> list[str]:
    return sorted(__all__)


class ASMoutput(NamedTuple):
    """The log probability of each target, and the loss, the mean of their negatives."""

    output: Tensor
    loss: Tensor


ASMoutput.__name__ = ASMoutput.__qualname__ = "_ASMoutput"


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log softmax of classes by falling frequency: those below the first of ``cutoffs`` are in the head.

    The clusters between the cutoffs have maps of ``in_features / div_value ** k`` values. ValueError for
    cutoffs that are no rising integers between 1 and n_classes - 1.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        ends = list(cutoffs)
        if not ends:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        rising = ends == sorted(set(ends)) and min(ends) > 0 and max(ends) <= n_classes - 1
        if not rising or any(int(end) != end for end in ends):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                "where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*ends, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width, size = int(in_features // div_value ** (i + 1)), self.cutoffs[i + 1] - self.cutoffs[i]
            first = Linear(in_features, width, False, device, dtype)
            self.tail.append(Sequential(first, Linear(width, size, False, device, dtype)))

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> ASMoutput:
        """The log probabilities (N,) of targets (N,) for inputs (N, in_features), and the loss; or without N.

        RuntimeError for other shapes and for targets that are no classes.
        """
        expected = {1: 2, 0: 1}.get(target_.dim())
        if expected is None:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if input_.dim() != expected:
            kind = "1D target tensor expects 2D" if expected == 2 else "0D target tensor expects 1D"
            raise RuntimeError(f"{kind} input tensors, but found inputs with sizes {input_.size()}")
        if expected == 1:
            input_, target_ = input_.unsqueeze(0), target_.unsqueeze(0)
        elif input_.size(0) != target_.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        output = self._of_targets(input_, target_)
        loss = (-output).mean()
        return ASMoutput(output.squeeze(0) if expected == 1 else output, loss)

    def _of_targets(self, input: Tensor, target: Tensor) -> Tensor:
        """The log probability of each target."""
        if target.numel() and not bool(((target >= 0) & (target < self.n_classes)).all()):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        found = input.new_zeros(target.size(0))
        index = target.clone()
        for i, (low, high) in enumerate(zip([0, *self.cutoffs], self.cutoffs, strict=False)):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if i == 0 or rows.numel() == 0:
                continue
            index.index_fill_(0, rows, self.shortlist_size + i - 1)
            logs = log_softmax(self.tail[i - 1](input.index_select(0, rows)), 1)
            inside = (target[rows] - low).unsqueeze(1)
            found = found.index_copy(0, rows, logs.gather(1, inside).squeeze(1))
        head = log_softmax(self.head(input), 1)
        return found + head.gather(1, index.unsqueeze(1)).squeeze(1)

    def _all_log_probs(self, input: Tensor, head_output: Tensor) -> Tensor:
        out = empty((head_output.size(0), self.n_classes), dtype=input.dtype, device=input.device)
        head = log_softmax(head_output, 1)
        out[:, : self.shortlist_size] = head[:, : self.shortlist_size]
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            logs = log_softmax(self.tail[i](input), 1)
            out[:, low:high] = logs + head[:, self.shortlist_size + i].unsqueeze(1)
        return out

    def log_prob(self, input: Tensor) -> Tensor:
        """The log probabilities (N, n_classes) of all classes for inputs (N, in_features)."""
        return self._all_log_probs(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The likeliest class (N,) of inputs (N, in_features)."""
        head_output: Tensor = self.head(input)
        output = head_output.argmax(1)
        elsewhere = output >= self.shortlist_size
        if not bool(elsewhere.any()):
            return output
        if bool(elsewhere.all()):
            return self._all_log_probs(input, head_output).argmax(1)
        rows = arange(output.size(0), device=output.device)[elsewhere]
        best = self._all_log_probs(input[elsewhere], head_output[elsewhere]).argmax(1)
        return output.index_copy(0, rows, best)
