"""A GPT that learns the text of Python's module ``this`` by characters, and writes some."""

import contextlib
import io

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import initialise, report

with contextlib.redirect_stdout(io.StringIO()) as said:
    import this  # noqa: F401
TEXT = said.getvalue()
WORDS = sorted(set(TEXT))
WIDTH, HEADS, CONTEXT = 32, 4, 32


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attend, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        batch, length, _ = x.shape
        parts = self.attend(self.first(x)).split(WIDTH, dim=2)
        q, k, v = (p.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for p in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mlp(self.second(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(len(WORDS), WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(WORDS), bias=False)

    def forward(self, index):
        x = self.words(index) + self.places(torch.arange(index.shape[1]))
        return self.head(self.norm(self.blocks(x)))


data = torch.tensor([WORDS.index(c) for c in TEXT])
model = initialise(GPT())
optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
chosen = np.random.default_rng(1)
losses = []
for _ in range(40):
    starts = chosen.integers(0, len(data) - CONTEXT - 1, 8)
    x = torch.stack([data[i : i + CONTEXT] for i in starts])
    y = torch.stack([data[i + 1 : i + CONTEXT + 1] for i in starts])
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    losses.append(loss.item())

index = data[:8][None]
model.eval()
with torch.no_grad():
    for _ in range(40):
        logits = model(index[:, -CONTEXT:])[:, -1] / 0.8
        best = torch.topk(logits, 10).values[:, -1:]
        chances = F.softmax(logits.masked_fill(logits < best, float("-inf")), dim=-1)
        drawn = torch.searchsorted(chances.cumsum(-1), torch.tensor([[chosen.random()]]))
        index = torch.cat([index, drawn.clamp(max=len(WORDS) - 1)], dim=1)
report(losses=losses[::8], written=index[0])
