"""Tiny models of ten architectures of Hugging Face: losses, gradients, what they write, saved and loaded."""

import tempfile
import warnings
from collections import defaultdict

import numpy as np
import torch
import transformers
from common import initialise, report

PACKAGES = {"transformers": "5.24.0"}
NEEDS = (
    "huggingface-hub",
    "packaging",
    "pyyaml",
    "regex",
    "safetensors",
    "tokenizers",
    "tqdm",
    "typer",
)
RUNS = (
    "BERT, RoBERTa, GPT-2, Llama, Qwen, Gemma, T5, ViT, Whisper, CLIP: losses and gradients, eager and SDPA "
    "attention; `generate`: greedy, with and without a cache, by beams, sampled; "
    "save_pretrained, from_pretrained"
)
LACKS = "quantised weights (bitsandbytes); kernels of the package flash-attn"
SINCE = "0.1.0"
TOLERANCE = 0.00001  # norms and attention are float32 in some, whatever the weights are

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
warnings.filterwarnings("ignore")

WORDS = 50
sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
text = dict(vocab_size=WORDS, max_position_embeddings=64, bos_token_id=1, eos_token_id=2, pad_token_id=0)
grouped = dict(**sizes, **text, num_key_value_heads=2, head_dim=8)
image = dict(**sizes, image_size=16, patch_size=4)
marks = dict(vocab_size=WORDS, pad_token_id=0, eos_token_id=2)
heads = dict(encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48)


def words(seed, length=9):
    return torch.tensor(np.random.default_rng(seed).integers(3, WORDS, (2, length)))


def normal(*shape):
    return torch.tensor(np.random.default_rng(7).standard_normal(shape))


padding = torch.tensor([[1] * 9, [1] * 5 + [0] * 4])
two_kinds = torch.tensor([0, 1])
causal = dict(input_ids=words(0), attention_mask=padding, labels=words(0).where(padding > 0, -100))
pixels = dict(pixel_values=normal(2, 3, 16, 16))
#: By name: the class of models, that of configurations, what it is made of, and what it is called with.
MODELS = {
    "BERT": (
        "BertForSequenceClassification",
        "BertConfig",
        {**sizes, **text},
        {**causal, "labels": two_kinds},
    ),
    "RoBERTa": (
        "RobertaForMaskedLM",
        "RobertaConfig",
        {**sizes, **text, "pad_token_id": 1},
        {**causal, "labels": words(3)},
    ),
    "GPT-2": ("GPT2LMHeadModel", "GPT2Config", {**sizes, **text}, causal),
    "Llama": ("LlamaForCausalLM", "LlamaConfig", grouped, causal),
    "Qwen": ("Qwen3ForCausalLM", "Qwen3Config", grouped, causal),
    "Gemma": ("Gemma3ForCausalLM", "Gemma3TextConfig", dict(**grouped, sliding_window=6), causal),
    "T5": (
        "T5ForConditionalGeneration",
        "T5Config",
        dict(d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0, **marks),
        {**causal, "labels": words(4, 6)},
    ),
    "ViT": (
        "ViTForImageClassification",
        "ViTConfig",
        {**image, "num_labels": 3},
        {**pixels, "labels": two_kinds},
    ),
    "Whisper": (
        "WhisperForConditionalGeneration",
        "WhisperConfig",
        dict(
            **dict(d_model=32, encoder_layers=2, decoder_layers=2, num_mel_bins=8, decoder_start_token_id=3),
            **dict(max_source_positions=20, max_target_positions=40, begin_suppress_tokens=None),
            **heads,
            **marks,
        ),
        dict(input_features=normal(2, 8, 40), labels=words(4, 6)),
    ),
    "CLIP": (
        "CLIPModel",
        "CLIPConfig",
        dict(
            text_config=dict(**sizes, **text, projection_dim=16),
            vision_config=dict(**image, projection_dim=16),
            projection_dim=16,
        ),
        dict(input_ids=words(0), attention_mask=padding, return_loss=True, **pixels),
    ),
}
WAYS = {
    "greedy": {},
    "greedy without a cache": dict(use_cache=False),
    "by beams": dict(num_beams=3),
}


def made(name):
    """A model that has the same values everywhere, and what it is called with."""
    model, config, options, inputs = MODELS[name]
    found = getattr(transformers, model)(getattr(transformers, config)(**options))
    return initialise(found.double()).eval(), inputs


def learnt(model, inputs, attention):
    """The loss, and the sum of the gradients of each part of a layer."""
    model.set_attn_implementation(attention)
    model.zero_grad()
    loss = model(**inputs).loss
    loss.backward()
    sums = defaultdict(float)
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            sums[name.rsplit(".", 2)[0]] += parameter.grad.abs().sum().item()
    return [loss.item(), *(sums[part] for part in sorted(sums))]


def generated(model, inputs, **options):
    """What a model writes after words that are padded on the left."""
    prompt = {name: value for name, value in inputs.items() if name != "labels"}
    if "attention_mask" in prompt:
        prompt["attention_mask"] = padding.flip(1)
    return model.generate(**prompt, **{"do_sample": False, "max_new_tokens": 8, **options})


def sampled(model, inputs):
    """The chances of the first word, whether words come as often, and whether they do again by the same seed.

    Which word is drawn is each library's own.
    """
    options = dict(
        do_sample=True, top_k=8, top_p=0.9, temperature=0.8, num_return_sequences=200, max_new_tokens=1
    )
    written = []
    for _ in range(2):
        torch.manual_seed(0)
        written.append(generated(model, inputs, **options, output_scores=True, return_dict_in_generate=True))
    words = written[0].sequences[:, -1].reshape(2, -1)
    chances = written[0].scores[0].softmax(1)[:: words.shape[1]]
    times = torch.nn.functional.one_hot(words, WORDS).sum(1)
    expected = words.shape[1] * chances
    far = ((times - expected) ** 2 / expected.where(chances > 0, 1)).sum() > 4 * (chances > 0).sum()
    return (
        chances,
        not far and not times[chances == 0].any(),
        torch.equal(words, written[1].sequences[:, -1].reshape(2, -1)),
    )


def saved(model, inputs):
    """The loss of what is read from what a model has written."""
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        model.save_pretrained(folder)
        return type(model).from_pretrained(folder, dtype=torch.float64).eval()(**inputs).loss


found = {}
for name in MODELS:
    model, inputs = made(name)
    for attention in ("eager", "sdpa"):
        found[f"{name}, {attention}"] = learnt(model, inputs, attention)
    if model.can_generate():
        for way, options in WAYS.items():
            found[f"{name}, {way}"] = generated(model, inputs, **options)
        chances, as_often, again = sampled(model, inputs)
        found |= {f"{name}, chances": chances, f"{name}, sampled": as_often, f"{name}, sampled again": again}
    found[f"{name}, loaded"] = saved(model, inputs)
report(**found)
