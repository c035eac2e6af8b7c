"""Sentence Transformers: a tiny BERT that embeds sentences, trained by its Trainer with two losses."""

import contextlib
import io
import tempfile
import warnings

import torch
import transformers
from common import initialise, report
from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments as Arguments,
    losses,
    models,
    util,
)
from tokenizers import Tokenizer, models as of_tokens, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

PACKAGES = {"sentence-transformers": "6.2.0", "transformers": "5.24.0", "accelerate": "1.15.0"}
NEEDS = (
    "datasets",
    "huggingface-hub",
    "packaging",
    "psutil",
    "pyyaml",
    "regex",
    "safetensors",
    "scikit-learn",
    "tokenizers",
    "tqdm",
    "typer",
)
RUNS = (
    "pooling, normalising, `encode`, `similarity`, semantic search; `SentenceTransformerTrainer` with "
    "MultipleNegativesRankingLoss and CosineSimilarityLoss; save and load"
)
LACKS = "several processes; ONNX and OpenVINO backends"
SINCE = "0.1.0"
#: float32, in which Adam's first steps divide by gradients that are near 0.
TOLERANCE = 0.001

torch.set_default_dtype(torch.float32)
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
warnings.filterwarnings("ignore")
words = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "a",
    "cat",
    "dog",
    "sees",
    "the",
    "red",
    "blue",
    "ball",
    "house",
    "runs",
    "to",
    "sleeps",
    "in",
]
sentences = [
    "a cat sees the ball",
    "the dog runs to the house",
    "a cat sleeps",
    "the red ball",
    "a blue house",
]


def tokens():
    """A tokenizer of whole words."""
    made = Tokenizer(of_tokens.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = dict(pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]")
    return PreTrainedTokenizerFast(tokenizer_object=made, **names)


def embedder():
    """A model from files, as from the hub."""
    sizes = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24)
    without = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    config = BertConfig(**sizes, **without, vocab_size=len(words), max_position_embeddings=32)
    with tempfile.TemporaryDirectory() as folder:
        initialise(BertModel(config)).save_pretrained(folder)
        tokens().save_pretrained(folder)
        inner = models.Transformer(folder, max_seq_length=16)
    pooled = models.Pooling(inner.get_word_embedding_dimension(), pooling_mode="mean")
    return SentenceTransformer(modules=[inner, pooled, models.Normalize()], device="cpu")


class InOrder(SentenceTransformerTrainer):
    def get_batch_sampler(self, dataset, batch_size, drop_last, *arguments, **keywords):
        ordered = torch.utils.data.SequentialSampler(dataset)
        made = torch.utils.data.BatchSampler(ordered, batch_size, drop_last)
        made.valid_label_columns = None
        return made


def trained(loss, **columns):
    """What the losses are while a model is trained, and the model."""
    model = embedder()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        settings = Arguments(
            folder,
            use_cpu=True,
            num_train_epochs=3,
            per_device_train_batch_size=2,
            learning_rate=0.01,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        trainer = InOrder(model, settings, Dataset.from_dict(columns), loss=loss(model))
        trainer.train()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry], model


model = embedder()
found = model.encode(sentences, convert_to_tensor=True)
hits = util.semantic_search(found[:2], found[2:], top_k=2)
ranked, after = trained(
    losses.MultipleNegativesRankingLoss, anchor=sentences[:4], positive=[*sentences[1:4], sentences[0]]
)
close, _ = trained(
    losses.CosineSimilarityLoss,
    sentence1=sentences[:4],
    sentence2=[*sentences[1:4], sentences[0]],
    label=[0.1, 0.4, 0.7, 0.9],
)
with tempfile.TemporaryDirectory() as folder:
    after.save(folder)
    again = SentenceTransformer(folder, device="cpu")
report(
    embedded=found,
    similar=model.similarity(found, found),
    nearest=[[hit["corpus_id"] for hit in row] for row in hits],
    ranked=ranked,
    close=close,
    trained=torch.as_tensor(again.encode(sentences)),
)
