"""Makes a tiny llama in GGUF with random weights and a byte-level BPE vocabulary, for llama.cpp. Nothing is
downloaded. Needs the packages gguf and numpy.

    python oracles/serving/make_gguf.py FILE
"""

import sys

import gguf
import numpy

LAYERS, HIDDEN, HEADS, KV_HEADS, FEED_FORWARD, CONTEXT = 2, 64, 4, 2, 128, 2048


def byte_letters():
    """The letter that stands for each byte in byte-level BPE, as in GPT-2."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in plain]
    letters = dict(zip(plain, map(chr, plain)))
    return letters | {byte: chr(256 + place) for place, byte in enumerate(others)}


def vocabulary():
    """Tokens and merges: all bytes, then syllables of a consonant and a vowel, alone and after a space."""
    letters = byte_letters()
    tokens = ["<|bos|>", "<|eos|>", *(letters[byte] for byte in range(256))]
    merges = []
    space = letters[ord(" ")]
    for consonant in "bcdfghjklmnprstvwz":
        merges.append(f"{space} {consonant}")
        tokens.append(space + consonant)
        for vowel in "aeiou":
            merges.append(f"{consonant} {vowel}")
            tokens.append(consonant + vowel)
            merges.append(f"{space}{consonant} {vowel}")
            tokens.append(space + consonant + vowel)
    return tokens, merges


def main(path):
    tokens, merges = vocabulary()
    random = numpy.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(HIDDEN // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    control, normal = gguf.TokenType.CONTROL, gguf.TokenType.NORMAL
    writer.add_token_types([control, control, *[normal] * (len(tokens) - 2)])
    writer.add_token_merges(merges)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)

    def tensor(name, *shape):
        writer.add_tensor(name, (random.standard_normal(shape) * 0.05).astype(numpy.float32))

    keys = HIDDEN // HEADS * KV_HEADS
    tensor("token_embd.weight", len(tokens), HIDDEN)
    tensor("output.weight", len(tokens), HIDDEN)
    writer.add_tensor("output_norm.weight", numpy.ones(HIDDEN, numpy.float32))
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        writer.add_tensor(f"{block}.attn_norm.weight", numpy.ones(HIDDEN, numpy.float32))
        writer.add_tensor(f"{block}.ffn_norm.weight", numpy.ones(HIDDEN, numpy.float32))
        tensor(f"{block}.attn_q.weight", HIDDEN, HIDDEN)
        tensor(f"{block}.attn_k.weight", keys, HIDDEN)
        tensor(f"{block}.attn_v.weight", keys, HIDDEN)
        tensor(f"{block}.attn_output.weight", HIDDEN, HIDDEN)
        tensor(f"{block}.ffn_gate.weight", FEED_FORWARD, HIDDEN)
        tensor(f"{block}.ffn_up.weight", FEED_FORWARD, HIDDEN)
        tensor(f"{block}.ffn_down.weight", HIDDEN, FEED_FORWARD)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main(sys.argv[1])
