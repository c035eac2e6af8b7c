"""A Lightning module: fitted with callbacks, a schedule, clipping and accumulation, and from a checkpoint."""

import logging
import tempfile
import warnings

import lightning as L
import numpy as np
import torch
import torch.nn as nn
from common import initialise, report
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint
from lightning.pytorch.utilities.model_summary import ModelSummary
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics.classification import MulticlassAccuracy

PACKAGES = {"lightning": "2.6.6", "torchmetrics": "1.9.0", "lightning-utilities": "0.15.3"}
NEEDS = ("fsspec", "packaging", "pyyaml", "setuptools", "tqdm", "typing-extensions")
RUNS = (
    "`Trainer`: fit, validate, test, predict on the CPU; EarlyStopping, ModelCheckpoint, schedules, "
    "clipping, accumulated gradients, bf16-mixed, checkpoints, summaries with sizes and operations"
)
LACKS = "strategies of several processes"
SINCE = "0.1.0"
#: Steps in bfloat16 follow the rounding of what is summed in another order.
TOLERANCE = 0.0078125

torch.set_default_dtype(torch.float32)
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class Classifier(L.LightningModule):
    def __init__(self, width=16, lr=0.05):
        super().__init__()
        self.save_hyperparameters()
        self.net = initialise(nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, 3)))
        self.accuracy = MulticlassAccuracy(3)
        self.seen = []

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("loss", loss, on_step=True, on_epoch=True)
        self.seen.append(loss.item())
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        out = self.net(x)
        self.accuracy(out, y)
        self.log_dict({"val_loss": nn.functional.cross_entropy(out, y), "val_accuracy": self.accuracy})

    def test_step(self, batch, index):
        self.log("test_loss", nn.functional.cross_entropy(self.net(batch[0]), batch[1]))

    def predict_step(self, batch, index):
        return self.net(batch[0])

    def configure_optimizers(self):
        optimiser = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 10)
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def trainer(**options):
    shown = dict(logger=False, enable_progress_bar=False, enable_model_summary=False)
    return L.Trainer(accelerator="cpu", devices=1, **shown, **options)


chosen = np.random.default_rng(1)
x = torch.tensor(chosen.standard_normal((64, 6)), dtype=torch.float32)
batches = DataLoader(TensorDataset(x, (x[:, :3] * 2).argmax(dim=1)), batch_size=8)
found = {}
for precision in ("32-true", "bf16-mixed"):
    with tempfile.TemporaryDirectory() as folder:
        model = Classifier()
        kept = ModelCheckpoint(dirpath=folder, monitor="val_loss", save_last=True)
        fitted = trainer(
            max_epochs=4,
            precision=precision,
            gradient_clip_val=0.5,
            accumulate_grad_batches=2,
            callbacks=[EarlyStopping("val_loss", patience=2), kept],
        )
        fitted.fit(model, batches, batches)
        again = Classifier.load_from_checkpoint(kept.best_model_path)
        trainer(max_epochs=6, precision=precision, enable_checkpointing=False).fit(
            again, batches, batches, ckpt_path=kept.last_model_path
        )
        name = precision.partition("-")[0]
        checked = fitted.validate(model, batches, verbose=False)[0]
        found |= {
            f"losses_{name}": model.seen[::4],
            f"more_{name}": again.seen[::4],
            f"validated_{name}": [checked["val_loss"], checked["val_accuracy"]],
            f"tested_{name}": fitted.test(model, batches, verbose=False)[0]["test_loss"],
            f"predicted_{name}": torch.cat(fitted.predict(model, batches)).float().std(),
        }
model = Classifier()
model.example_input_array = x[:5]
summary = ModelSummary(model, max_depth=-1)
report(**found, parameters=summary.total_parameters, operations=summary.total_flops)
