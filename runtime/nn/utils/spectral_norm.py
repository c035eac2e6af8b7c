"""Weights divided by their largest singular value, before each call of a module (arXiv:1802.05957)."""

from __future__ import annotations

from typing import Any

from tengen.generated.functions import dot, mv, pinverse

from ...autograd.grad_mode import no_grad
from ...core.memory_format import contiguous_format
from ...tensors.tensor import Tensor
from ..functional import normalize
from ..modules.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..parameter import Parameter, UninitializedParameter

__all__ = [
    "SpectralNorm",
    "SpectralNormLoadStateDictPreHook",
    "SpectralNormStateDictHook",
    "remove_spectral_norm",
    "spectral_norm",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def output_dim(module: Any) -> int:
    """The dimension of a module's weight that is of its outputs."""
    return 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0


def check_iterations(count: int) -> None:
    """ValueError unless the number of iterations is positive."""
    if count <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={count}")


class SpectralNorm:
    """The hook that computes ``<name>`` of ``<name>_orig`` before a module's forward.

    ``<name>_u`` and ``<name>_v`` are estimates of the singular vectors, which training improves.
    """

    #: Of what is saved: since 1 with ``v``, and without the weight itself.
    _version: int = 1
    name: str
    dim: int
    n_power_iterations: int
    eps: float

    def __init__(
        self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        check_iterations(n_power_iterations)
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """The weight with ``dim`` first, and all other dimensions as one."""
        if self.dim != 0:
            weight = weight.permute(self.dim, *[d for d in range(weight.dim()) if d != self.dim])
        return weight.reshape(weight.size(0), -1)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """The weight divided by its largest singular value, of which the vectors may be improved before."""
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = self.reshape_weight_to_matrix(weight)
        if do_power_iteration:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v = normalize(mv(matrix.t(), u), dim=0, eps=self.eps, out=v)
                    u = normalize(mv(matrix, v), dim=0, eps=self.eps, out=u)
                # Copies, so that another forward pass may write to the buffers before this one goes backward.
                u, v = (t.clone(memory_format=contiguous_format) for t in (u, v))
        result: Tensor = weight / dot(u, mv(matrix, v))
        return result

    def remove(self, module: Any) -> None:
        """Make the weight a plain parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for end in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + end)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))

    def _solve_v_and_rescale(self, matrix: Tensor, u: Tensor, sigma: Any) -> Tensor:
        """The ``v`` with ``u == normalize(matrix @ v)`` and ``u @ matrix @ v == sigma``."""
        v = (pinverse(matrix.t().mm(matrix)) @ (matrix.t() @ u.unsqueeze(1))).squeeze(1)
        return v.mul_(sigma / dot(u, mv(matrix, v)))

    @staticmethod
    def apply(module: Any, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Give a module the hook, the parameter's other name and the two vectors; see ``spectral_norm``."""
        if _find(module._forward_pre_hooks, lambda hook: hook, name) is not None:
            raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        made = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to run "
                "the dummy forward before applying spectral normalization"
            )
        with no_grad():
            sizes = made.reshape_weight_to_matrix(weight).size()
            u, v = (normalize(weight.new_empty(n).normal_(0, 1), dim=0, eps=eps) for n in sizes)
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)  # no parameter, but there: whoever sets first values looks for it
        module.register_buffer(f"{name}_u", u)
        module.register_buffer(f"{name}_v", v)
        module.register_forward_pre_hook(made)
        module._register_state_dict_hook(SpectralNormStateDictHook(made))
        module._register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(made))
        return made


class SpectralNormLoadStateDictPreHook:
    """Before a module is loaded: of what was saved before version 1, ``v`` is computed."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        fn = self.fn
        version = local_metadata.get("spectral_norm", {}).get(f"{fn.name}.version")
        key = prefix + fn.name
        if version is not None and version >= 1:
            return
        present = all([key + end in state_dict for end in ("_orig", "_u", "_v")])
        if version is None and present and key not in state_dict:
            return  # as it is saved now, by somebody who made the dict
        missing = [key + end for end in ("_orig", "", "_u") if key + end not in state_dict]
        if missing:
            if strict:
                missing_keys.extend(missing)
            return
        with no_grad():
            original, weight = state_dict[f"{key}_orig"], state_dict.pop(key)
            matrix = fn.reshape_weight_to_matrix(original)
            sigma = (original / weight).mean()
            state_dict[f"{key}_v"] = fn._solve_v_and_rescale(matrix, state_dict[f"{key}_u"], sigma)


class SpectralNormStateDictHook:
    """After a module was saved: the version of what was saved goes into its metadata."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Any, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        versions = local_metadata.setdefault("spectral_norm", {})
        key = f"{self.fn.name}.version"
        if key in versions:
            raise RuntimeError(f"Unexpected key in metadata['spectral_norm']: {key}")
        versions[key] = self.fn._version


def _find(hooks: Any, of: Any, name: str) -> Any:
    """The number of the hook for this name, or None; ``of`` gives the SpectralNorm of a hook."""
    for number, hook in hooks.items():
        found = of(hook)
        if isinstance(found, SpectralNorm) and found.name == name:
            return number
    return None


def spectral_norm(
    module: Any,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Any:
    """Divide a parameter by its largest singular value before each ``forward``; return the module.

    The value is estimated by ``n_power_iterations`` steps of the power method, which training goes on with. A
    weight of more than two dimensions is a matrix whose rows are of ``dim``: 0, or 1 for transposed
    convolutions. ``parametrizations.spectral_norm`` is newer. RuntimeError where the parameter has such a
    hook; ValueError for one without a shape, for none, and for no iterations.
    """
    SpectralNorm.apply(module, name, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Undo ``spectral_norm``; return the module. ValueError where there is none."""
    found = _find(module._forward_pre_hooks, lambda hook: hook, name)
    if found is None:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    module._forward_pre_hooks.pop(found).remove(module)
    for hooks in (module._state_dict_hooks, module._load_state_dict_pre_hooks):
        number = _find(hooks, lambda hook: getattr(getattr(hook, "hook", hook), "fn", None), name)
        if number is not None:
            del hooks[number]
    return module
