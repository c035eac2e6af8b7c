"""pyro: inference with a guide, by enumeration, and by Hamiltonian steps."""

import numpy as np
import pyro
import pyro.distributions as dist
import torch
from common import report
from pyro.infer import HMC, MCMC, NUTS, SVI, Trace_ELBO, TraceEnum_ELBO, config_enumerate, infer_discrete
from pyro.infer.autoguide import AutoDelta, AutoDiagonalNormal
from pyro.infer.mcmc.util import initialize_model
from pyro.ops.integrator import velocity_verlet
from pyro.optim import Adam

PACKAGES = {"pyro-ppl": "1.9.2", "pyro-api": "0.1.2"}
NEEDS = ("opt_einsum", "tqdm", "typing-extensions")
RUNS = (
    "SVI with guides and autoguides, enumeration, infer_discrete, velocity Verlet; near the moments HMC, NUTS"
)
SINCE = "0.1.0"

numbers = np.random.default_rng(0)
x = torch.from_numpy(numbers.standard_normal((20, 3)))
weights = torch.tensor([1.0, -2.0, 0.5])
y = x @ weights + 0.1 * torch.from_numpy(numbers.standard_normal(20))
found = {}


class Given(dist.Normal):
    """A normal distribution whose noise is NumPy's."""

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.loc + self.scale * torch.from_numpy(numbers.standard_normal(tuple(shape)))

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, _instance or self._get_checked_instance(Given))


def model(x, y):
    scale = pyro.sample("scale", dist.LogNormal(0.0, 1.0))
    w = pyro.sample("w", dist.Normal(torch.zeros(3), torch.ones(3)).to_event(1))
    with pyro.plate("data", len(x)):
        pyro.sample("y", dist.Normal(x @ w, scale), obs=y)


def guide(x, y):
    loc = pyro.param("loc", torch.zeros(3))
    width = pyro.param("width", torch.full((3,), 0.1), constraint=dist.constraints.positive)
    scale = pyro.param("s", torch.tensor(0.5), constraint=dist.constraints.positive)
    pyro.sample("scale", dist.Delta(scale))
    pyro.sample("w", Given(loc, width).to_event(1))


@config_enumerate
def mixture(data):
    share = pyro.sample("share", dist.Dirichlet(0.5 * torch.ones(2)))
    scale = pyro.sample("scale", dist.LogNormal(0.0, 2.0))
    with pyro.plate("components", 2):
        locs = pyro.sample("locs", dist.Normal(0.0, 10.0))
    with pyro.plate("data", len(data)):
        which = pyro.sample("which", dist.Categorical(share))
        pyro.sample("seen", dist.Normal(locs[which], scale), obs=data)


@config_enumerate
def chain(seen):
    loc = pyro.param("chain", torch.tensor([-1.0, 0.0, 2.0]))
    transition = torch.tensor([[0.7, 0.2, 0.1], [0.3, 0.5, 0.2], [0.1, 0.1, 0.8]])
    state = 0
    for t in pyro.markov(range(len(seen))):
        state = pyro.sample(f"state {t}", dist.Categorical(transition[state]))
        pyro.sample(f"seen {t}", dist.Normal(loc[state], 1.0), obs=seen[t])


def conjugate():
    mu = pyro.sample("mu", dist.Normal(0.0, 1.0))
    with pyro.plate("n", 3):
        pyro.sample("seen", dist.Normal(mu, 1.0), obs=torch.tensor([0.5, 1.0, 1.5]))


svi = SVI(model, guide, Adam({"lr": 0.05}), Trace_ELBO(num_particles=2))
found["losses"] = [svi.step(x, y) for _ in range(60)][::20]
found["loc"], found["scale"] = pyro.param("loc").detach(), pyro.param("s").item()

pyro.clear_param_store()
data = torch.tensor([0.0, 1.0, 10.0, 11.0, 12.0])
first = {"share": torch.tensor([0.4, 0.6]), "scale": torch.tensor(2.0), "locs": torch.tensor([1.0, 9.0])}
hidden = pyro.poutine.block(mixture, expose=list(first))
chosen = AutoDelta(hidden, init_loc_fn=lambda site: first[site["name"]])
svi = SVI(mixture, chosen, Adam({"lr": 0.1}), TraceEnum_ELBO(max_plate_nesting=1))
found["mixture"] = [svi.step(data) for _ in range(40)][::10]
trained = pyro.poutine.replay(mixture, trace=pyro.poutine.trace(chosen).get_trace(data))
best = infer_discrete(trained, temperature=0, first_available_dim=-2)
found["which"] = pyro.poutine.trace(best).get_trace(data).nodes["which"]["value"]
marginals = TraceEnum_ELBO(max_plate_nesting=1).compute_marginals(mixture, chosen, data)
found["marginals"] = marginals["which"].log_prob(torch.tensor(0)).detach()

loss = TraceEnum_ELBO(max_plate_nesting=0).differentiable_loss(chain, lambda seen: None, y[:8])
loss.backward()
found["chain"], found["chain by"] = loss.item(), pyro.param("chain").unconstrained().grad

_, potential, _, _ = initialize_model(model, (x, y))
place = {"w": torch.tensor([0.8, -1.5, 0.2]), "scale": torch.tensor(-0.5)}
momentum = {"w": torch.tensor([0.1, 0.2, -0.3]), "scale": torch.tensor(0.05)}
place, _, _, energy = velocity_verlet(place, momentum, potential, lambda r: r, 0.01, num_steps=5)
found["energy"], found["place"] = energy.item(), place["w"]

for kernel in (NUTS(conjugate), HMC(conjugate, step_size=0.3, num_steps=4)):
    pyro.set_rng_seed(1)
    draws = MCMC(kernel, num_samples=400, warmup_steps=100, disable_progbar=True)
    draws.run()
    mu = draws.get_samples()["mu"]
    found[type(kernel).__name__] = [abs(mu.mean().item() - 0.75) < 0.1, abs(mu.std().item() - 0.5) < 0.1]

pyro.clear_param_store()
pyro.set_rng_seed(0)
made = AutoDiagonalNormal(model)
svi = SVI(model, made, Adam({"lr": 0.03}), Trace_ELBO())
for _ in range(200):
    svi.step(x, y)
found["normal"] = bool((made.median()["w"] - weights).abs().max() < 0.2)
report(**found)
