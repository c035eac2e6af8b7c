"""Libraries that follow the array API standard, or take tensors: each as a user calls it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.utils.data import DataLoader, TensorDataset


def run(code: str, **environment: str) -> str:
    """What a program prints."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    assert not done.returncode, done.stderr
    return done.stdout


def matrices(count: int) -> list[tengen.Tensor]:
    return [tengen.rand(4, 4, dtype=tengen.float64, requires_grad=True) for _ in range(count)]


def test_array_api_compat() -> None:
    compat = pytest.importorskip("array_api_compat")
    x = tengen.arange(6.0).reshape(2, 3)
    assert compat.is_array_api_obj(x) and compat.is_writeable_array(x) and not compat.is_lazy_array(x)
    assert compat.array_namespace(x, tengen.ones(2)) is tengen.array_api
    assert (compat.size(x), compat.device(x)) == (6, tengen.device("cpu"))
    assert compat.to_device(x, "cpu") is x


def test_einops() -> None:
    einops = pytest.importorskip("einops")
    import tengen.utils.einops

    x = tengen.arange(24.0).reshape(2, 3, 4).requires_grad_()
    array = x.detach().numpy()
    for call in (
        lambda x: einops.rearrange(x, "a b c -> c (a b)"),
        lambda x: einops.rearrange([x, x], "n a b c -> a b n c"),
        lambda x: einops.reduce(x, "a b c -> a c", "max"),
        lambda x: einops.reduce(x, "a b c -> c", "mean"),
        lambda x: einops.reduce(x, "a b (c n) -> a c", "prod", n=2),
        lambda x: einops.repeat(x, "a b c -> a n b (c m)", n=2, m=3),
        lambda x: einops.einsum(x, x, "a b c, a b d -> c d"),
        lambda x: einops.pack([x, x], "a b *")[0],
        lambda x: einops.unpack(x, [[1], [3]], "a b *")[1],
    ):
        found: tengen.Tensor = call(x)
        assert found.requires_grad
        np.testing.assert_allclose(einops.asnumpy(found), call(array), rtol=1e-6)
    assert einops.parse_shape(x, "a _ c") == {"a": 2, "c": 4}
    einops.reduce(x, "a b c -> a b", "sum").pow(2).sum().backward()
    assert tengen.equal(x.grad, 2 * x.detach().sum(2, keepdim=True).expand(2, 3, 4))  # type: ignore[arg-type]


def test_the_layers_of_einops() -> None:
    pytest.importorskip("einops")
    code = """
        import tengen
        tengen.as_torch()
        import torch
        from einops.layers.torch import EinMix, Rearrange, Reduce
        layers = torch.nn.Sequential(
            Rearrange("b c (h n) (w m) -> b (h w) (c n m)", n=2, m=2),
            EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=12, d=5),
            Reduce("b t d -> b d", "mean"),
        )
        y = layers(torch.ones(2, 3, 4, 4))
        y.sum().backward()
        print(tuple(y.shape), [tuple(p.grad.shape) for p in layers.parameters()], type(y) is tengen.Tensor)
    """
    assert run(code).strip() == "(2, 5) [(12, 5), (1, 1, 5)] True"


def test_opt_einsum() -> None:
    contract = pytest.importorskip("opt_einsum")
    import tengen.utils.opt_einsum

    a, b, c = matrices(3)
    for equation in ("ij,jk,kl->il", "ij,jk,kl->li", "ij,ij,kl->k", "ii,jk,kl->"):
        found = contract.contract(equation, a, b, c)
        expected = tengen.einsum(equation, a, b, c)
        tengen.testing.assert_close(found, expected)
        grads = [tengen.autograd.grad(y.sum(), [a, b, c]) for y in (found, expected)]
        tengen.testing.assert_close(*grads)
    expression = contract.contract_expression("ij,jk->ik", (4, 4), (4, 4))
    tengen.testing.assert_close(expression(a, b), a @ b)


def test_scipy_minimises_with_gradients() -> None:
    from scipy.optimize import minimize

    def rosenbrock(array: Any) -> tuple[float, Any]:
        x = tengen.tensor(array, requires_grad=True)
        y = ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()
        y.backward()
        return y.item(), x.grad.numpy()  # type: ignore[union-attr]

    for method in ("BFGS", "L-BFGS-B", "CG"):
        found = minimize(rosenbrock, tengen.zeros(4, dtype=tengen.float64), jac=True, method=method)
        np.testing.assert_allclose(found.x, np.ones(4), atol=1e-3)
        assert found.nfev == found.njev < 200


def test_scikit_learn_dispatches() -> None:
    """SciPy reads the environment when it is imported; scikit-learn asks for it."""
    pytest.importorskip("sklearn")
    pytest.importorskip("array_api_compat")
    code = """
        import numpy as np, sklearn, tengen
        from sklearn.datasets import make_classification
        from sklearn.decomposition import PCA
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
        from sklearn.linear_model import Ridge
        from sklearn.metrics import accuracy_score, r2_score
        from sklearn.preprocessing import StandardScaler

        X, y = make_classification(random_state=0)
        x, labels = tengen.from_numpy(X), tengen.from_numpy(y)
        sklearn.set_config(array_api_dispatch=True)
        for model, method in (
            (LinearDiscriminantAnalysis(), "predict"),
            (LinearDiscriminantAnalysis(), "transform"),
            (PCA(3, svd_solver="full"), "transform"),
            (StandardScaler(), "transform"),
            (Ridge(solver="svd"), "predict"),
        ):
            expected = getattr(model.fit(X, y), method)(X)
            found = getattr(model.fit(x, labels), method)(x)
            assert type(found) is tengen.Tensor, model
            np.testing.assert_allclose(found.numpy(), expected, atol=1e-8)
        assert accuracy_score(labels, labels) == 1
        np.testing.assert_allclose(r2_score(x[:, 0], x[:, 1]), r2_score(X[:, 0], X[:, 1]))
        print("done")
    """
    assert run(code, SCIPY_ARRAY_API="1").strip() == "done"


def test_numpy_shares_memory() -> None:
    x = tengen.arange(4.0)
    array = np.from_dlpack(x)  # type: ignore[arg-type]
    array[0] = 5
    back = tengen.from_dlpack(array)
    back[1] = 6
    assert x.tolist() == [5, 6, 2, 3] and back.data_ptr() == x.data_ptr()


@pytest.mark.oracle
def test_torch_shares_memory() -> None:
    torch = pytest.importorskip("torch")
    x = tengen.arange(4.0)
    there = torch.from_dlpack(x)
    there[0] = 5
    back = tengen.from_dlpack(there)
    back[1] = 6
    assert x.tolist() == [5, 6, 2, 3] and back.data_ptr() == x.data_ptr() == there.data_ptr()


def test_jax_shares_memory() -> None:
    """JAX shares what lies at multiples of 64 bytes, and copies the rest."""
    jax = pytest.importorskip("jax")
    room = np.zeros(64, np.float32)
    start = -room.ctypes.data % 64 // 4
    x = tengen.from_numpy(room[start : start + 16])
    there = jax.numpy.from_dlpack(x)
    assert there.unsafe_buffer_pointer() == x.data_ptr()
    back = tengen.from_dlpack(there)
    assert back.data_ptr() == x.data_ptr() and back.shape == (16,)


def test_pandas_takes_tensors() -> None:
    pandas = pytest.importorskip("pandas")
    x = tengen.arange(6.0).reshape(3, 2)
    frame = pandas.DataFrame(x, columns=["a", "b"])
    assert frame["b"].tolist() == [1, 3, 5] and frame["b"].dtype == np.float32
    columns = pandas.DataFrame({"n": tengen.tensor([1, 2]), "x": tengen.tensor([0.5, 1.5])})
    assert [str(d) for d in columns.dtypes] == ["int64", "float32"]
    assert pandas.Series(tengen.tensor([True, False])).sum() == 1
    assert tengen.tensor(frame.to_numpy()).equal(x)
    assert tengen.tensor(columns["n"].to_numpy()).tolist() == [1, 2]


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True")
def test_matplotlib_takes_tensors() -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.subplots()
    x = tengen.linspace(0, 1, 5)
    (line,) = axes.plot(x, x**2)
    assert line.get_xydata().tolist() == tengen.stack([x, x**2], 1).double().tolist()
    axes.scatter(x, x, c=x)
    axes.errorbar(x, x, yerr=x / 10)
    axes.fill_between(x, x, x + 1)
    axes.bar(tengen.arange(3), tengen.tensor([1, 2, 3]))
    counts, _, _ = axes.hist(x, bins=5)
    assert counts.sum() == 5
    image = axes.imshow(tengen.rand(3, 3))
    assert image.get_array().shape == (3, 3)
    figure.canvas.draw()
    with pytest.raises(RuntimeError, match="requires grad"):
        axes.plot(x.clone().requires_grad_())


def test_progress_of_a_loader() -> None:
    tqdm = pytest.importorskip("tqdm")
    loader = DataLoader(TensorDataset(tengen.arange(10)), batch_size=3)
    text = io.StringIO()
    batches = [x for (x,) in tqdm.tqdm(loader, file=text)]
    assert [len(x) for x in batches] == [3, 3, 3, 1]
    assert "4/4" in text.getvalue()  # the length of the loader is the bar's
