"""An LSTM that adds up sequences of different lengths, which are packed."""

import numpy as np
import torch
import torch.nn as nn
from common import initialise, report
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 12, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(24, 1)

    def forward(self, padded, lengths):
        packed = pack_padded_sequence(padded, lengths, batch_first=True, enforce_sorted=False)
        out, counts = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        mask = torch.arange(out.shape[1])[None] < counts[:, None]
        return self.head((out * mask[..., None]).sum(1) / counts[:, None]).squeeze(-1)


chosen = np.random.default_rng(0)
model = initialise(Adder())
optimiser = torch.optim.RMSprop(model.parameters(), lr=5e-3)
losses = []
for _ in range(25):
    sequences = [torch.tensor(chosen.random((n, 1))) for n in chosen.integers(2, 9, 16)]
    lengths = torch.tensor([len(s) for s in sequences])
    wanted = torch.stack([s.sum() for s in sequences])
    loss = nn.functional.smooth_l1_loss(model(pad_sequence(sequences, batch_first=True), lengths), wanted)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    losses.append(loss.item())
report(losses=losses[::5])
