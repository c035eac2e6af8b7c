"""Timm: small models of images, of several families: losses, gradients, steps, and what is around them."""

import warnings

import numpy as np
import torch
from common import initialise, report

# torchvision's operators in C++ are not used, and need not be there: its modules in Python ask for these.
for operator in ("nms", "qnms"):
    torch.library.define(
        f"torchvision::{operator}", "(Tensor dets, Tensor scores, float threshold) -> Tensor"
    )

from timm import create_model, data, loss, optim, scheduler, utils  # noqa: E402  which needs these

PACKAGES = {"timm": "1.0.31", "torchvision": "0.28.0"}
NEEDS = ("numpy", "pyyaml", "huggingface_hub", "safetensors", "pillow")
RUNS = (
    "ViT, ResNet, ConvNeXt, MobileNet, Swin, RegNet, DenseNet: losses, gradients, training; features, "
    "mixup, its optimizers, schedules and averages of weights"
)
LACKS = "torchvision's operators in C++; weights from the network were not tried"
SINCE = "0.1.0"

warnings.filterwarnings("ignore")
SMALL = {
    "vit_tiny_patch16_224": {"img_size": 16, "patch_size": 8, "embed_dim": 16, "depth": 2, "num_heads": 2},
    "resnet10t": {"channels": (8, 8, 16, 16)},
    "convnext_atto": {"depths": (1, 1, 1, 1), "dims": (8, 8, 16, 16)},
    "mobilenetv3_small_050": {},
    "swin_tiny_patch4_window7_224": {
        "img_size": 16, "window_size": 2, "embed_dim": 8, "depths": (2, 2), "num_heads": (1, 2),
        "drop_path_rate": 0.0,
    },
    "regnetx_002": {},
    "densenet121": {"growth_rate": 4, "block_config": (1, 2, 1, 1)},
}  # fmt: skip
chosen = np.random.default_rng(5)
found = {}


def made(name, **options):
    """A small model, with parameters that do not depend on whose generator torch has."""
    return initialise(create_model(name, **SMALL[name], **options))


def drawn(*shape):
    return torch.tensor(chosen.standard_normal(shape))


kinds = torch.tensor([0, 2, 1, 1])
for name, options in SMALL.items():
    images, model = drawn(4, 3, *[options.get("img_size", 32)] * 2), made(name, num_classes=3)
    optimiser = optim.create_optimizer_v2(model, opt="lamb", lr=1e-2, weight_decay=0.05)
    found[f"losses_{name}"] = []
    for step in range(2):
        optimiser.zero_grad()
        error = torch.nn.functional.cross_entropy(model(images), kinds)
        error.backward()
        found[f"losses_{name}"].append(error.item())
        if step == 0:
            found[f"gradients_{name}"] = float(sum(p.grad.abs().sum() for p in model.parameters()))
        optimiser.step()
    found[f"evaluated_{name}"] = model.eval()(images).detach()

# What is around a model: features of all its stages, mixed examples, a schedule, and averages of the weights.
images = drawn(4, 3, 32, 32)
stages = made("resnet10t", features_only=True, out_indices=(0, 2, 4))
found["features"] = [float(stage.abs().sum()) for stage in stages(images)]
np.random.seed(0)
mixed, wanted = data.Mixup(mixup_alpha=0.4, cutmix_alpha=1.0, label_smoothing=0.1, num_classes=3)(
    images, kinds
)
found["mixed"] = [float(mixed.sum()), *wanted.sum(0).tolist()]
model = made("vit_tiny_patch16_224", num_classes=3)
averages = utils.ModelEmaV3(model, decay=0.9)
optimiser = optim.create_optimizer_v2(model, opt="nadamw", lr=1e-2)
schedule = scheduler.CosineLRScheduler(optimiser, t_initial=4, lr_min=1e-4, warmup_t=1, warmup_lr_init=1e-3)
found["rates"] = []
for step in range(4):
    schedule.step(step)
    found["rates"].append(optimiser.param_groups[0]["lr"])
    optimiser.zero_grad()
    loss.SoftTargetCrossEntropy()(model(mixed[..., :16, :16]), wanted).backward()
    optimiser.step()
    averages.update(model, step)
found["averaged"] = float(sum(p.abs().sum() for p in averages.module.parameters()))
report(**found)
