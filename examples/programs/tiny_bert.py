"""A tiny BERT of Hugging Face: trained by its Trainer, then by LoRA, which is saved, loaded and merged."""

import contextlib
import io
import tempfile
import warnings

import numpy as np
import torch
import transformers
from common import initialise, report
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

PACKAGES = {"transformers": "5.24.0", "accelerate": "1.15.0", "peft": "0.21.2"}
NEEDS = (
    "huggingface-hub",
    "packaging",
    "psutil",
    "pyyaml",
    "regex",
    "safetensors",
    "tokenizers",
    "tqdm",
    "typer",
)
RUNS = (
    "`Trainer` (accumulation, clipping, warm-up, checkpoints, evaluation, prediction), by `Accelerator`; "
    "LoRA: training, save_pretrained, from_pretrained, merge_and_unload"
)
LACKS = "several processes; quantised weights (bitsandbytes)"
SINCE = "0.1.0"
TOLERANCE = 0.0001  # float32

torch.set_default_dtype(torch.float32)
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
warnings.filterwarnings("ignore")
chosen = np.random.default_rng(5)
words, kinds = torch.tensor(chosen.integers(3, 40, (16, 8))), torch.tensor(chosen.integers(0, 2, 16))
sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, vocab_size=40)
without = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


def bert():
    config = BertConfig(**sizes, **without, max_position_embeddings=32, num_labels=2)
    return initialise(BertForSequenceClassification(config))


class InOrder(Trainer):
    def _get_train_sampler(self, *arguments):
        return torch.utils.data.SequentialSampler(self.train_dataset)


examples = [{"input_ids": w, "labels": int(k)} for w, k in zip(words, kinds, strict=True)]
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
    settings = TrainingArguments(
        folder,
        use_cpu=True,
        num_train_epochs=4,
        per_device_train_batch_size=4,
        gradient_accumulation_steps=2,
        learning_rate=1e-2,
        warmup_steps=1,
        max_grad_norm=0.5,
        logging_steps=1,
        save_steps=4,
        report_to=[],
        disable_tqdm=True,
    )
    trainer = InOrder(bert(), settings, train_dataset=examples, eval_dataset=examples)
    trainer.train()
    evaluated = trainer.evaluate()["eval_loss"]
    predicted = trainer.predict(examples).predictions
history = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]

lora = LoraConfig(r=4, lora_alpha=8, target_modules=["query", "value"], task_type="SEQ_CLS")
model = get_peft_model(bert(), lora)
trained = [p for p in model.parameters() if p.requires_grad]
with torch.no_grad():
    for p in trained:
        p.copy_(torch.tensor(chosen.standard_normal(tuple(p.shape)) * 0.2))
optimiser = torch.optim.AdamW(trained, lr=0.02)
adapted = []
for _ in range(6):
    loss = model(input_ids=words, labels=kinds).loss
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    adapted.append(loss.item())
model.eval()
with tempfile.TemporaryDirectory() as folder, torch.no_grad():
    model.save_pretrained(folder)
    loaded = PeftModel.from_pretrained(bert(), folder).eval()
    logits = [m(input_ids=words).logits for m in (model, loaded, loaded.merge_and_unload())]
report(
    losses=history,
    evaluated=evaluated,
    predicted=torch.tensor(predicted).softmax(1),
    adapted=adapted,
    chances=logits[0].softmax(1),
    same_again=torch.allclose(logits[0], logits[1], atol=1e-5),
    same_merged=torch.allclose(logits[0], logits[2], atol=1e-5),
)
