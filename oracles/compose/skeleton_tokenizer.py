"""Write the tokenizer of the example model, or check that it is what this script writes.

    python oracles/compose/skeleton_tokenizer.py [--check]

One token a byte: nothing is learnt, so nothing is borrowed, and every text has exactly one
reading. `--check` also reads it with Hugging Face tokenizers and transformers where they are
installed, and holds a model of config.json against it.
"""
import argparse
import json
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "crates/rooflens-project/skeleton/models/tiny-random"
SPECIAL = ["<|bos|>", "<|eos|>", "<|pad|>", "<|user|>", "<|assistant|>", "<|system|>"]
CHAT = (
    "{{ bos_token }}{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def letters():
    """The letter that stands for each byte: itself where it can be seen, else one from 256 on."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    unseen = iter(range(0x100, 0x200))
    return [chr(byte if byte in seen else next(unseen)) for byte in range(256)]


def tokenizer():
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    vocabulary = {token: number for number, token in enumerate(SPECIAL + letters())}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": number, "content": token, **plain} for number, token in enumerate(SPECIAL)],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": vocabulary, "merges": [],
        },
    }


def settings():
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|bos|>",
        "eos_token": "<|eos|>",
        "pad_token": "<|pad|>",
        "model_max_length": 2048,
        "clean_up_tokenization_spaces": False,
        "chat_template": CHAT,
    }


def lines(value, per_line=8):
    """JSON with a line for each key of the first two levels, and the vocabulary in short lines."""
    def inner(key, item):
        if key != "vocab":
            return json.dumps(item, ensure_ascii=False)
        pairs = [f"{json.dumps(k, ensure_ascii=False)}: {v}" for k, v in item.items()]
        rows = [", ".join(pairs[at:at + per_line]) for at in range(0, len(pairs), per_line)]
        return "{\n      " + ",\n      ".join(rows) + "\n    }"

    def outer(key, item):
        if key == "model":
            body = ",\n".join(f'    {json.dumps(k)}: {inner(k, v)}' for k, v in item.items())
            return "{\n" + body + "\n  }"
        if key == "added_tokens":
            return "[\n" + ",\n".join("    " + json.dumps(entry) for entry in item) + "\n  ]"
        return json.dumps(item, ensure_ascii=False)

    return "{\n" + ",\n".join(f"  {json.dumps(k)}: {outer(k, v)}" for k, v in value.items()) + "\n}\n"


def check_reading():
    """What Hugging Face's own libraries make of the folder."""
    try:
        from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
    except ImportError:
        print("transformers is not installed: texts only")
        return
    read = AutoTokenizer.from_pretrained(FOLDER)
    config = AutoConfig.from_pretrained(FOLDER)
    assert len(read) == config.vocab_size == 262, (len(read), config.vocab_size)
    for token, number in zip(["bos", "eos", "pad"], range(3)):
        assert getattr(read, f"{token}_token_id") == getattr(config, f"{token}_token_id") == number
    prompts = sorted((FOLDER.parent.parent / "datasets/starter/source-data").glob("*.txt"))
    for text in [path.read_text() for path in prompts] + ["", "é 日本 \0\t\r\n", "<|user|>"]:
        ids = read(text)["input_ids"]
        assert read.decode(ids) == text, text
        assert len(ids) == (1 if text == "<|user|>" else len(text.encode())), (text, len(ids))
    chat = read.apply_chat_template([{"role": "user", "content": "hi"}], tokenize=False, add_generation_prompt=True)
    assert chat == "<|bos|><|user|>hi\n<|assistant|>", chat
    import torch
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config)
    made = model.generate(**read("Why?", return_tensors="pt"), max_new_tokens=4, do_sample=False)
    print("parameters", sum(p.numel() for p in model.parameters()), "dtype", config.dtype, "made", made.tolist())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    texts = {
        "tokenizer.json": lines(tokenizer()),
        "tokenizer_config.json": json.dumps(settings(), indent=2) + "\n",
    }
    for name, text in texts.items():
        if not check:
            (FOLDER / name).write_text(text)
        elif (FOLDER / name).read_text() != text:
            sys.exit(f"{name} differs: run this script without --check")
    if check:
        check_reading()


if __name__ == "__main__":
    main()
