"""Modules called with other parameters, stacked, and without running statistics."""

import pytest

import tengen
from tengen import nn
from tengen.func import functional_call, grad, replace_all_batch_norm_modules_, stack_module_state, vmap


def test_a_call_with_other_parameters_leaves_the_module_as_it_was() -> None:
    layer, x = nn.Linear(2, 1), tengen.ones(3, 2)
    own = layer.weight
    given = {"weight": tengen.full((1, 2), 2.0), "bias": tengen.zeros(1)}
    assert functional_call(layer, given, x).tolist() == [[4.0]] * 3
    assert (
        functional_call(layer, ({"bias": given["bias"]}, {"weight": given["weight"]}), (x,)).sum().item()
        == 12
    )
    assert layer.weight is own
    slopes = grad(lambda p: functional_call(layer, p, (x,)).sum())(given)
    assert slopes["weight"].tolist() == [[3.0, 3.0]] and slopes["bias"].tolist() == [3.0]


def test_tied_parameters_are_given_once() -> None:
    net = nn.Sequential(nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False))
    net[1].weight = net[0].weight
    two = tengen.full((1, 1), 2.0)
    assert functional_call(net, {"0.weight": two}, tengen.ones(1, 1)).item() == 4
    with pytest.raises(ValueError, match="multiple values for keys"):
        functional_call(net, {"0.weight": two, "1.weight": two + 1}, tengen.ones(1, 1))


def test_names_that_do_not_fit() -> None:
    layer, x = nn.Linear(2, 1), tengen.ones(3, 2)
    with pytest.raises(
        RuntimeError, match=r"Unexpected key\(s\): 'scale'. Missing key\(s\): 'bias', 'weight'."
    ):
        functional_call(layer, {"scale": x}, x, strict=True)
    with pytest.raises(TypeError, match="to be a dict"):
        functional_call(layer, 3, x)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="weight appears in multiple"):
        functional_call(layer, [{"weight": x}, {"weight": x}], x)


def test_an_ensemble_is_one_call() -> None:
    models = [nn.Linear(2, 3) for _ in range(4)]
    x = tengen.randn(5, 2)
    params, buffers = stack_module_state(models)
    assert {name: tuple(p.shape) for name, p in params.items()} == {"weight": (4, 3, 2), "bias": (4, 3)}
    assert all(p.requires_grad for p in params.values())
    out = vmap(lambda p, b: functional_call(models[0], (p, b), (x,)))(params, buffers)
    tengen.testing.assert_close(out, tengen.stack([model(x) for model in models]))
    with pytest.raises(RuntimeError, match="at least one model"):
        stack_module_state([])


def test_statistics_are_forgotten() -> None:
    net = replace_all_batch_norm_modules_(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))
    assert list(net[1].state_dict()) == ["weight", "bias"]
    assert abs(net.eval()(tengen.randn(8, 2)).mean().item()) < 1e-5


def test_fused_maps_do_as_both() -> None:
    for pair, given in (
        ((nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)), (1, 2, 5, 5)),
        ((nn.Linear(2, 3, bias=False), nn.BatchNorm1d(3)), (4, 2)),
    ):
        net, x = nn.Sequential(*pair), tengen.randn(given)
        net(x + 1)
        fuse = nn.utils.fuse_conv_bn_eval if len(given) == 4 else nn.utils.fuse_linear_bn_eval
        with pytest.raises(AssertionError, match="only for eval"):
            fuse(*pair)
        net.eval()
        tengen.testing.assert_close(fuse(*pair)(x), net(x), rtol=1e-4, atol=1e-5)
