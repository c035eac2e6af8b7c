"""The loop of style transfer: an image is changed until it has the content and style of others."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import initialise, report

chosen = np.random.default_rng(0)
features = initialise(
    nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 12, 3, padding=1), nn.ReLU()
    )
).requires_grad_(False)
content, style = (torch.tensor(chosen.random((1, 3, 16, 16))) for _ in range(2))


def gram(x):
    flat = x.flatten(2)
    return flat @ flat.transpose(1, 2) / flat.shape[-1]


wanted, looks = features(content), gram(features(style))
image = content.clone().requires_grad_()
optimiser = torch.optim.LBFGS([image], lr=0.5, max_iter=4)
losses = []


def closure():
    optimiser.zero_grad()
    found = features(image)
    loss = F.mse_loss(found, wanted) + 100 * F.mse_loss(gram(found), looks)
    loss.backward()
    losses.append(loss.item())
    return loss


for _ in range(5):
    optimiser.step(closure)
    with torch.no_grad():
        image.clamp_(0, 1)
report(losses=losses[::4], mean=image.detach().mean((0, 2, 3)))
