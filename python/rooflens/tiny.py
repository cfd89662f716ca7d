"""Tiny checkpoints with random weights and real tokenizers, made offline: for tests and first runs.

    python -m rooflens.tiny llama FOLDER        a dense Llama
    python -m rooflens.tiny qwen3-moe FOLDER    a mixture of experts
    python -m rooflens.tiny qwen2.5-vl FOLDER   one that sees pictures
"""

import random
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

VOCABULARY = 512
SPECIAL = ["<|bos|>", "<|eos|>", "<|pad|>", "<|user|>", "<|assistant|>", "<|system|>"]
PICTURE = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>", "<|im_start|>", "<|im_end|>"]

CHAT = (
    "{{ bos_token }}{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
PICTURE_CHAT = (
    "{{ bos_token }}{% for m in messages %}{{ '<|' + m['role'] + '|>' }}{% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ c['text'] }}{% endif %}"
    "{% endfor %}{{ '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)

# Heads of 32, the least that vLLM has CPU kernels for; all else small enough for a second on a CPU.
TEXT: Dict[str, Any] = {
    "vocab_size": VOCABULARY, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "max_position_embeddings": 2048,
    "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2, "tie_word_embeddings": False,
}


def sentences(seed: int, count: int = 1500) -> Iterator[str]:
    """Made-up text with the statistics of a language: few words often, many seldom."""
    draw = random.Random(seed)
    syllables = [c + v for c in "bcdfghjklmnprstvwz" for v in "aeiou"]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(800)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    for _ in range(count):
        yield " ".join(draw.choices(words, weights, k=draw.randint(6, 24))).capitalize() + "."


def tokenizer(special: List[str], chat_template: str, seed: int) -> Any:
    """A byte-level BPE tokenizer, trained on the spot."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    bpe.train_from_iterator(sentences(seed), trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=bpe, bos_token="<|bos|>", eos_token="<|eos|>", pad_token="<|pad|>",
        model_max_length=2048, clean_up_tokenization_spaces=False, padding_side="left",
    )
    fast.chat_template = chat_template
    return fast


def make_llama(folder: Path, seed: int = 0) -> None:
    from transformers import LlamaConfig

    tokenizer(SPECIAL, CHAT, seed).save_pretrained(folder)
    save(LlamaConfig(**TEXT, architectures=["LlamaForCausalLM"]), folder, seed)


def make_qwen3_moe(folder: Path, seed: int = 0) -> None:
    from transformers import Qwen3MoeConfig

    experts = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 48, "norm_topk_prob": True}
    tokenizer(SPECIAL, CHAT, seed).save_pretrained(folder)
    save(Qwen3MoeConfig(**TEXT, **experts, architectures=["Qwen3MoeForCausalLM"]), folder, seed)


def make_qwen2_5_vl(folder: Path, seed: int = 0) -> None:
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLProcessor, Qwen2VLImageProcessor
    from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor

    words = tokenizer(SPECIAL + PICTURE, PICTURE_CHAT, seed)
    ids = {name: words.convert_tokens_to_ids(name) for name in PICTURE}
    sizes = {"patch_size": 14, "merge_size": 2, "min_pixels": 28 * 28, "max_pixels": 112 * 112}
    pictures, videos = Qwen2VLImageProcessor(**sizes), Qwen2VLVideoProcessor(**sizes)
    Qwen2_5_VLProcessor(pictures, words, videos, chat_template=PICTURE_CHAT).save_pretrained(folder)
    vision = {
        "depth": 2, "hidden_size": 64, "intermediate_size": 128, "num_heads": 2, "out_hidden_size": 128,
        "patch_size": 14, "spatial_merge_size": 2, "fullatt_block_indexes": [1], "window_size": 56,
    }
    # Three kinds of positions share the 16 pairs of a head of 32.
    rope = {"rope_type": "default", "mrope_section": [4, 6, 6], "rope_theta": 10000.0}
    config = Qwen2_5_VLConfig(
        text_config={**TEXT, "rope_scaling": rope}, vision_config=vision,
        image_token_id=ids["<|image_pad|>"], video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"], vision_end_token_id=ids["<|vision_end|>"],
        architectures=["Qwen2_5_VLForConditionalGeneration"],
    )
    save(config, folder, seed)


def save(config: Any, folder: Path, seed: int) -> None:
    import torch

    from rooflens.runtimes.pytorch import weights

    model = weights.make(config, torch.float32, seed, {})
    with torch.no_grad():
        # At the usual 0.02, so small a model nearly repeats its input; wider weights make it say more.
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(4)
    model.generation_config.bos_token_id, model.generation_config.eos_token_id = 0, 1
    model.generation_config.pad_token_id = 2
    model.save_pretrained(folder)


MAKERS: Dict[str, Callable[..., None]] = {
    "llama": make_llama,
    "qwen3-moe": make_qwen3_moe,
    "qwen2.5-vl": make_qwen2_5_vl,
}


def main(arguments: List[str]) -> int:
    if len(arguments) != 2 or arguments[0] not in MAKERS:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(arguments[1])
    folder.mkdir(parents=True, exist_ok=True)
    MAKERS[arguments[0]](folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
