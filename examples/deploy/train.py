"""Train the model on digits, and write its parameters: ``python train.py model.pt`` with either library."""

import sys

import torch
from model import Network
from sklearn.datasets import load_digits

digits = load_digits()
images = torch.tensor(digits.data / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
labels = torch.tensor(digits.target)
torch.manual_seed(0)
network = Network()
optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
for _ in range(12):
    for batch in torch.randperm(len(images)).split(64):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(network(images[batch]), labels[batch]).backward()
        optimiser.step()
network.eval()
right = (network(images).argmax(1) == labels).float().mean().item()
torch.save(network.state_dict(), sys.argv[1])
print(f"{right:.1%} of the images; parameters in {sys.argv[1]}")
