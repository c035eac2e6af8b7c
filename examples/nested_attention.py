"""Attention over sentences of several lengths, in one nested tensor, without padding.

    python examples/nested_attention.py --sentences 64 --longest 60

A jagged batch goes through self-attention and a classifier, with gradients. The numbers are those of a loop
over the sentences, with which they are compared; beside it stand the times of both, and of a padded batch.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import tengen
import tengen.nn.functional as F
from tengen import Tensor, nested, nn


class Classifier(nn.Module):
    """Self-attention of several heads, and a linear layer on the mean of a sentence."""

    def __init__(self, width: int, heads: int, classes: int) -> None:
        super().__init__()
        self.heads = heads
        self.inside = nn.Linear(width, 3 * width)
        self.norm = nn.LayerNorm(width)
        self.outside = nn.Linear(width, classes)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """The scores, (sentences, classes), of ``tokens``, (sentences, length, width), nested or not.

        ``mask``, (sentences, length), is True at the tokens of a padded batch.
        """
        parts = self.inside(tokens).chunk(3, -1)
        query, key, value = [part.unflatten(-1, [self.heads, -1]).transpose(1, 2) for part in parts]
        among = None if mask is None else mask[:, None, None, :]
        found = F.scaled_dot_product_attention(query, key, value, attn_mask=among)
        state = self.norm(tokens + found.transpose(1, 2).flatten(2))
        if mask is None:
            return self.outside(state.mean(1))
        return self.outside((state * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))


def sentences(count: int, longest: int, width: int, seed: int = 0) -> tuple[list[Tensor], Tensor]:
    """Sentences of 1 to ``longest`` tokens, each (length, width), and the class of each, 0 or 1."""
    tengen.manual_seed(seed)
    lengths = tengen.randint(1, longest + 1, (count,)).tolist()
    made = [tengen.randn(length, width, dtype=tengen.float64) for length in lengths]
    return made, tengen.stack([(one[:, 0].mean() > 0).long() for one in made])


def derivatives(model: Classifier, scores: Tensor, labels: Tensor) -> tuple[Tensor, ...]:
    """The loss, and its gradients to the model's parameters."""
    loss = F.cross_entropy(scores, labels)
    return (loss, *tengen.autograd.grad(loss, list(model.parameters())))


def jagged(model: Classifier, batch: Sequence[Tensor]) -> Tensor:
    """The scores of one nested tensor of all sentences."""
    scores: Tensor = model(nested.nested_tensor(list(batch), layout=tengen.jagged))
    return scores


def looped(model: Classifier, batch: Sequence[Tensor]) -> Tensor:
    """The scores of one sentence after the other."""
    return tengen.cat([model(one[None]) for one in batch])


def padded(model: Classifier, batch: Sequence[Tensor]) -> Tensor:
    """The scores of a strided tensor in which zeros follow the shorter sentences."""
    lengths = tengen.tensor([one.shape[0] for one in batch])
    tokens = nn.utils.rnn.pad_sequence(list(batch), batch_first=True)
    scores: Tensor = model(tokens, tengen.arange(tokens.shape[1]) < lengths[:, None])
    return scores


def difference(model: Classifier, batch: Sequence[Tensor], labels: Tensor) -> float:
    """How far loss and gradients of the nested tensor are from those of the loop, at most."""
    there = derivatives(model, jagged(model, batch), labels)
    here = derivatives(model, looped(model, batch), labels)
    return max((a - b).abs().max().item() for a, b in zip(there, here, strict=True))


def train(model: Classifier, batch: Sequence[Tensor], labels: Tensor, steps: int) -> list[float]:
    """The losses of some steps of Adam."""
    optimiser = tengen.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        optimiser.zero_grad()
        loss = F.cross_entropy(jagged(model, batch), labels)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def seconds(scores: Callable[[Classifier, Sequence[Tensor]], Tensor], *given: object) -> float:
    """The shortest of three times of forward and backward."""
    model, batch, labels = given
    assert isinstance(model, Classifier) and isinstance(batch, list) and isinstance(labels, Tensor)
    times = []
    for _ in range(3):
        began = time.perf_counter()
        derivatives(model, scores(model, batch), labels)
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description="Classify sentences of several lengths.")
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--longest", type=int, default=60, help="sentence, in tokens")
    parser.add_argument("--steps", type=int, default=20, help="of Adam")
    given = parser.parse_args()
    batch, labels = sentences(given.sentences, given.longest, 32)
    model = Classifier(32, 4, 2).double()
    print(f"loss and gradients differ from a loop's by {difference(model, batch, labels):.1e} at most")
    losses = train(model, batch, labels, given.steps)
    print(f"loss {losses[0]:.4f}, after {given.steps} steps {losses[-1]:.4f}")
    for scores in (jagged, looped, padded):
        print(f"{scores.__name__}: {seconds(scores, model, batch, labels) * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
