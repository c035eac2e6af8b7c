"""A vision transformer on scikit-learn's handwritten digits."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import initialise, report
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

NEEDS = ("scikit-learn",)


class ViT(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.patches = nn.Conv2d(1, width, 2, stride=2)
        self.token, self.places = (
            nn.Parameter(torch.zeros(1, 1, width)),
            nn.Parameter(torch.zeros(1, 17, width)),
        )
        layer = nn.TransformerEncoderLayer(
            width, 4, 2 * width, dropout=0.0, activation=F.gelu, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.encoder(x)[:, 0])


digits = load_digits()
images = torch.tensor(digits.images / 16.0)[:, None]
labels = torch.tensor(digits.target.astype(np.int64))
model = initialise(ViT())
optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3)
losses = []
for x, y in DataLoader(TensorDataset(images[:1280], labels[:1280]), batch_size=64):
    loss = F.cross_entropy(model(x), y)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    losses.append(loss.item())
model.eval()
with torch.no_grad():
    right = (model(images[1280:1536]).argmax(1) == labels[1280:1536]).double().mean()
report(losses=losses[::5], right=right)
