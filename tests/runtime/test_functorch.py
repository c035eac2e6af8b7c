"""The package ``functorch`` under ``as_torch``: modules as functions, and older names of ``torch.func``."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tengen

PROGRAM = """
import pickle, warnings
import functorch, torch
from torch import nn

warnings.simplefilter("ignore", FutureWarning)

def filled(module):
    with torch.no_grad():
        for number, parameter in enumerate(module.parameters()):
            parameter.copy_((torch.arange(parameter.numel()).view(parameter.shape) + number) / 8)
    return module

x = torch.arange(6.0).view(3, 2)
tied = filled(nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2)))
tied[2].weight = tied[0].weight
f, params = functorch.make_functional(tied)
assert isinstance(f, functorch.FunctionalModule) and isinstance(f, nn.Module)
print(f.param_names, [p.requires_grad for p in params])
assert all(p is not q for p, q in zip(params, tied.parameters()))
f2, untracked = functorch.make_functional(tied, disable_autograd_tracking=True)
print([p.requires_grad for p in untracked], type(f).__module__)
print(functorch.grad(lambda p: f(p, x).sum())(params)[0].mul(1024).round().tolist())
print((f([p * 2 for p in params], x) == f(params, x)).any().item(), (f(params, x) == tied(x)).all().item())

normed = filled(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))
g, params, buffers = functorch.make_functional_with_buffers(normed)
print(g.param_names, g.buffer_names, isinstance(g, functorch.FunctionalModuleWithBuffers))
print(g(params, buffers, x).mul(1024).round().tolist(), buffers[2], normed[1].num_batches_tracked)
several = [filled(nn.Linear(2, 3)).eval() for _ in range(4)]
h, params, buffers = functorch.combine_state_for_ensemble(several)
print([p.shape for p in params], [p.requires_grad for p in params], buffers)
print(functorch.vmap(h, (0, None, None))(params, buffers, x).tolist())
print(pickle.loads(pickle.dumps(f)).param_names)

def says(call, *args):
    try:
        call(*args)
    except RuntimeError as error:
        print(str(error).partition(":")[0])

says(functorch.make_functional, normed)
says(functorch.combine_state_for_ensemble, [])
says(functorch.combine_state_for_ensemble, [nn.Linear(2, 2), nn.Linear(2, 2).eval()])
says(functorch.combine_state_for_ensemble, [nn.Linear(2, 2), nn.Tanh()])
for name in ("vmap", "grad", "jvp", "vjp", "jacrev", "jacfwd", "hessian", "grad_and_value", "functionalize"):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(functorch, name)(lambda x: x.sum(), *{"jvp": ((x,), (x,)), "vjp": (x,)}.get(name, ()))
    print(name, [w.category.__name__ for w in caught if w.category is FutureWarning])
print(functorch.hessian(lambda x: (x ** 3).sum())(x[1]).tolist())
"""


def said(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.oracle
def test_it_does_what_pytorchs_does(torch: object) -> None:
    assert said(f"import tengen\ntengen.as_torch()\n{PROGRAM}") == said(PROGRAM)


def test_what_is_not_there_is_told_by_name() -> None:
    code = """
import sys, tengen
with tengen.as_torch():
    import functorch
    try:
        from functorch import dim
    except ImportError as error:
        print(error.name)
    try:
        import functorch.compile
    except ModuleNotFoundError as error:
        print(error)
    try:
        functorch.make_fx(len)
    except RuntimeError as error:
        print(error)
print("functorch" in sys.modules)
"""
    lines = said(code).splitlines()
    assert lines[0] == "functorch" and lines[3] == "False"
    assert lines[1].startswith("tengen, which stands in for torch, has no functorch.compile: ")
    assert lines[2].startswith("functorch.make_fx")


def test_too_few_parameters_are_an_error() -> None:
    from tengen import torch_functorch

    with pytest.warns(FutureWarning, match=r"functorch\.make_functional is deprecated; use torch\.func"):
        function, params = torch_functorch.make_functional(tengen.nn.Linear(2, 3))
    with pytest.raises(ValueError, match="params has 1 tensors, and the module takes 2"):
        function(params[:1], tengen.ones(2))
