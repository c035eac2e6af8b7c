"""A DQN that learns to walk along a corridor to its end."""

import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from common import initialise, report

LENGTH = 6


class Corridor:
    """Left or right; a reward at the right end, where it ends."""

    def reset(self):
        self.place, self.steps = 0, 0
        return self.seen()

    def seen(self):
        return F.one_hot(torch.tensor(self.place), LENGTH).to(torch.get_default_dtype())

    def step(self, action):
        self.place = min(max(self.place + 2 * action - 1, 0), LENGTH - 1)
        self.steps += 1
        won = self.place == LENGTH - 1
        return self.seen(), float(won), won or self.steps == 20


chosen = random.Random(0)
values = initialise(nn.Sequential(nn.Linear(LENGTH, 24), nn.ReLU(), nn.Linear(24, 2)))
target = nn.Sequential(nn.Linear(LENGTH, 24), nn.ReLU(), nn.Linear(24, 2))
target.load_state_dict(values.state_dict())
optimiser = torch.optim.Adam(values.parameters(), lr=5e-3)
memory, environment, lengths = deque(maxlen=500), Corridor(), []
for episode in range(25):
    state, done = environment.reset(), False
    while not done:
        if chosen.random() < max(0.1, 1 - episode / 12):
            action = chosen.randrange(2)
        else:
            with torch.no_grad():
                action = values(state).argmax().item()
        after, reward, done = environment.step(action)
        memory.append((state, action, reward, after, done))
        state = after
        if len(memory) < 32:
            continue
        states, actions, rewards, following, ended = zip(*chosen.sample(memory, 32), strict=True)
        with torch.no_grad():
            best = target(torch.stack(following)).max(1).values
            wanted = torch.tensor(rewards) + 0.95 * best * (1 - torch.tensor(np.array(ended, float)))
        found = values(torch.stack(states)).gather(1, torch.tensor(actions)[:, None])[:, 0]
        loss = F.smooth_l1_loss(found, wanted)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    target.load_state_dict(values.state_dict())
    lengths.append(environment.steps)
report(lengths=lengths, loss=loss.item())
