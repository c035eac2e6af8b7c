"""A neural ODE whose gradients are integrated backwards in time: the adjoint method, as a Function."""

import itertools

import torch
import torch.nn as nn
from common import initialise, report


def runge_kutta(f, y, times):
    for t, after in itertools.pairwise(times):
        h = after - t
        a = f(t, y)
        b = f(t + h / 2, tuple(v + h / 2 * d for v, d in zip(y, a, strict=True)))
        c = f(t + h / 2, tuple(v + h / 2 * d for v, d in zip(y, b, strict=True)))
        e = f(after, tuple(v + h * d for v, d in zip(y, c, strict=True)))
        y = tuple(v + h / 6 * (p + 2 * q + 2 * r + s) for v, p, q, r, s in zip(y, a, b, c, e, strict=True))
    return y


class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, net, times, y, *parameters):
        with torch.no_grad():
            (end,) = runge_kutta(lambda t, s: (net(s[0]),), (y,), times)
        ctx.net, ctx.times = net, times
        ctx.save_for_backward(end, *parameters)
        return end

    @staticmethod
    def backward(ctx, grad):
        end, *parameters = ctx.saved_tensors

        def augmented(t, state):
            with torch.enable_grad():
                y = state[0].detach().requires_grad_()
                slope = ctx.net(y)
                found = torch.autograd.grad(slope, (y, *parameters), -state[1])
            return (slope.detach(), *found)

        state = (end, grad, *(torch.zeros_like(p) for p in parameters))
        with torch.no_grad():
            _, of_y, *of_parameters = runge_kutta(augmented, state, ctx.times.flip(0))
        return None, None, of_y, *of_parameters


net = initialise(nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2)))
times = torch.linspace(0, 1, 9)
angle = torch.linspace(0, 3, 12)
start = torch.stack([angle.cos(), angle.sin()], 1)
wanted = torch.stack([-angle.sin(), angle.cos()], 1)
optimiser = torch.optim.Adam(net.parameters(), lr=3e-2)
losses = []
for _ in range(20):
    loss = (Adjoint.apply(net, times, start, *net.parameters()) - wanted).pow(2).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    losses.append(loss.item())
report(losses=losses[::4])
