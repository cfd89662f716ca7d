"""Config files of encoder-decoder models: small ones with odd dimensions, and the published sizes."""

T5 = {
    "vocab_size": 211, "d_model": 48, "d_kv": 10, "d_ff": 76, "num_layers": 3, "num_heads": 6,
    "relative_attention_num_buckets": 14, "pad_token_id": 0, "decoder_start_token_id": 0,
}
T5_VARIANTS = {
    "plain": {}, "relu": {"feed_forward_proj": "relu"}, "gated": {"feed_forward_proj": "gated-gelu"},
    "untied": {"tie_word_embeddings": False, "feed_forward_proj": "gated-silu"},
    "deep_encoder": {"num_layers": 5, "num_decoder_layers": 2},
    "deep_decoder": {"num_layers": 1, "num_decoder_layers": 4, "d_kv": 9},
    "derived_keys": {"feed_forward_proj": "gated-gelu", "is_gated_act": True,
                     "dense_act_fn": "gelu_new", "num_decoder_layers": None},
    "aliases": {"hidden_size": 48, "num_hidden_layers": 3, "num_heads": 5},
}
BART = {
    "vocab_size": 211, "d_model": 48, "max_position_embeddings": 384, "encoder_layers": 3,
    "encoder_attention_heads": 6, "encoder_ffn_dim": 76, "decoder_layers": 2,
    "decoder_attention_heads": 4, "decoder_ffn_dim": 58, "pad_token_id": 1,
}
BART_VARIANTS = {
    "plain": {}, "untied": {"tie_word_embeddings": False},
    "scaled": {"scale_embedding": True, "decoder_layers": 4},
    "one_head": {"encoder_attention_heads": 1, "decoder_attention_heads": 12},
    "aliases": {"num_hidden_layers": 3, "decoder_ffn_dim": 91},
}
WHISPER = {
    "vocab_size": 211, "d_model": 48, "num_mel_bins": 13, "max_source_positions": 37,
    "max_target_positions": 129, "encoder_layers": 3, "encoder_attention_heads": 6,
    "encoder_ffn_dim": 76, "decoder_layers": 2, "decoder_attention_heads": 4,
    "decoder_ffn_dim": 58, "pad_token_id": 0,
}
WHISPER_VARIANTS = {
    "plain": {}, "untied": {"tie_word_embeddings": False}, "mels": {"num_mel_bins": 22},
    "positions": {"max_source_positions": 50, "max_target_positions": 101},
    "deep_encoder": {"encoder_layers": 5, "decoder_layers": 1},
}
FAMILIES = {
    "t5": (T5, T5_VARIANTS), "mt5": (T5, T5_VARIANTS), "umt5": (T5, T5_VARIANTS),
    "bart": (BART, BART_VARIANTS), "mbart": (BART, BART_VARIANTS),
    "whisper": (WHISPER, WHISPER_VARIANTS),
}
# Nothing but a size: every other number is the family's own default.
BARE = {
    **dict.fromkeys(("t5", "mt5", "umt5"), {"vocab_size": 211, "num_layers": 7}),
    **dict.fromkeys(("bart", "mbart", "whisper"), {"vocab_size": 211, "pad_token_id": 0}),
}

T5_SIZES = {
    "small": {"d_ff": 2048, "d_kv": 64, "d_model": 512, "num_heads": 8, "num_layers": 6,
              "num_decoder_layers": 6},
    "11b": {"d_ff": 65536, "d_kv": 128, "d_model": 1024, "num_heads": 128, "num_layers": 24,
            "num_decoder_layers": 24},
    "flan_xl": {"d_ff": 5120, "d_kv": 64, "d_model": 2048, "num_heads": 32, "num_layers": 24,
                "num_decoder_layers": 24, "feed_forward_proj": "gated-gelu",
                "tie_word_embeddings": False},
}
WHISPER_SIZES = {
    "tiny": {"d_model": 384, "layers": 4, "heads": 6, "num_mel_bins": 80, "vocab_size": 51865},
    "large_v3": {"d_model": 1280, "layers": 32, "heads": 20, "num_mel_bins": 128,
                 "vocab_size": 51866},
}


def both(layers: int, heads: int, d_model: int) -> dict:
    """BART's and Whisper's keys, for an encoder and a decoder of the same size."""
    return {
        "d_model": d_model, "num_hidden_layers": layers, "is_encoder_decoder": True,
        **{f"{side}_{key}": value for side in ("encoder", "decoder") for key, value in (
            ("layers", layers), ("attention_heads", heads), ("ffn_dim", 4 * d_model))},
    }


def published() -> dict[str, dict]:
    """The sizes that users ask about."""
    t5 = {
        f"t5-{name}": {
            "model_type": "t5", "vocab_size": 32128, "relative_attention_num_buckets": 32,
            "is_encoder_decoder": True, "pad_token_id": 0, "decoder_start_token_id": 0, **sizes}
        for name, sizes in T5_SIZES.items()
    }
    whisper = {
        f"whisper-{name}": {
            "model_type": "whisper", "max_source_positions": 1500, "max_target_positions": 448,
            "num_mel_bins": sizes["num_mel_bins"], "vocab_size": sizes["vocab_size"],
            **both(sizes["layers"], sizes["heads"], sizes["d_model"])}
        for name, sizes in WHISPER_SIZES.items()
    }
    bart = {"model_type": "bart", "vocab_size": 50265, "max_position_embeddings": 1024,
            "pad_token_id": 1, **both(12, 16, 1024)}
    return {**t5, **whisper, "bart-large": bart}


def made() -> dict[str, dict]:
    """Every config by its name, `<family>-<variant>`."""
    odd = {
        f"{family}-{variant}": {"model_type": family, **base, **change}
        for family, (base, variants) in FAMILIES.items()
        for variant, change in variants.items()
    }
    bare = {f"{family}-bare": {"model_type": family, **sizes} for family, sizes in BARE.items()}
    return odd | bare | published()
