"""Small config.json files of the project's own, a few for every family, with odd dimensions.

Real configs share habits (powers of two, head_dim = hidden / heads, every key present) that let
a wrong formula pass. These break them on purpose: no two dimensions of a config are equal where
that would hide a swap, keys are left out to meet the family's default, counts are odd.
"""

import encoder_decoder_configs

DROP = object()  # as a value: the key is left out


def made() -> dict[str, dict]:
    """Every made config by its name, `<family>-<variant>`."""
    odd = {
        f"{family}-{variant}": {"model_type": family, **merged(base, change)}
        for family, (base, variants) in FAMILIES.items()
        for variant, change in variants.items()
    }
    bare = {
        f"{family}-bare": {"model_type": family, **BARE, **rest} for family, rest in BARELY.items()
    }
    return odd | bare | encoder_decoder_configs.made()


def merged(base: dict, change: dict) -> dict:
    out = dict(base)
    for key, value in change.items():
        if value is DROP:
            out.pop(key, None)
        elif isinstance(value, dict) and isinstance(out.get(key), dict):
            out[key] = merged(out[key], value)
        else:
            out[key] = value
    return out


def without(base: dict, *keys: str) -> dict:
    return {key: value for key, value in base.items() if key not in keys}


DENSE = {
    "vocab_size": 211, "hidden_size": 48, "intermediate_size": 76, "num_hidden_layers": 3,
    "num_attention_heads": 6, "num_key_value_heads": 2, "max_position_embeddings": 512,
}

# Nothing but a size: every other number is the family's own default.
BARE = {"vocab_size": 211, "hidden_size": 384, "num_hidden_layers": 7, "pad_token_id": 0}
BARELY = {
    **dict.fromkeys((
        "llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "qwen3_next",
        "qwen3_5_text", "qwen3_5_moe_text", "deepseek_v3", "kimi_k2", "deepseek_v32",
        "glm_moe_dsa", "deepseek_v4", "gpt_oss", "phi3", "olmo2", "olmo3", "glm4", "glm4_moe",
        "minimax", "minimax_m2", "mimo_v2_flash", "glm", "kimi_linear", "nemotron_h", "lfm2", "llama4_text", "gemma2",
        "gemma3_text", "gemma4_text"), {}),
    "deepseek_v2": {"num_experts_per_tok": 3},  # has no default
    "mamba2": {"hidden_size": 4096, "num_hidden_layers": 2},  # tied to the default heads
}

# What the Llama-like families have in common.
PLAIN = {
    "plain": {},
    "tied": {"tie_word_embeddings": True},
    "mqa": {"num_key_value_heads": 1},
    "all_heads": {"num_key_value_heads": 6, "num_hidden_layers": 1},
}
KV_NULL = {"kv_null": {"num_key_value_heads": None}}
HEAD_DIM = {"head_dim": {"head_dim": 14}, "head_dim_null": {"head_dim": None}}
WINDOW = {"window": {"sliding_window": 24}, "window_null": {"sliding_window": None}}
QWEN_WINDOW = {
    "window_off": {"use_sliding_window": False, "sliding_window": 16, "max_window_layers": 1},
    "window_on": {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 1},
    "layer_types": {
        "use_sliding_window": True, "sliding_window": 20,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
    },
}
BIAS = {"attention_bias": {"attention_bias": True}, "no_attention_bias": {"attention_bias": False}}

EXPERTS = {"moe_intermediate_size": 20, "num_experts": 6, "num_experts_per_tok": 2}
QWEN_MOE = {
    "sparse_step": {"decoder_sparse_step": 2, "num_hidden_layers": 5},
    "dense_layers": {"mlp_only_layers": [0, 2], "num_hidden_layers": 4},
    "both": {"mlp_only_layers": [1], "decoder_sparse_step": 2, "num_hidden_layers": 5},
    "one_expert_of_many": {"num_experts": 13, "num_experts_per_tok": 1},
    "no_dense_width": {"intermediate_size": DROP},
}

MLA = {
    "vocab_size": 211, "hidden_size": 40, "intermediate_size": 68, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 4, "q_lora_rank": 18, "kv_lora_rank": 14,
    "qk_nope_head_dim": 10, "qk_rope_head_dim": 6, "v_head_dim": 12, "moe_intermediate_size": 22,
    "n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 3,
    "first_k_dense_replace": 1, "n_group": 4, "topk_group": 2, "max_position_embeddings": 512,
}
MLA_VARIANTS = {
    "plain": {},
    "no_q_lora": {"q_lora_rank": None},
    "two_shared": {"n_shared_experts": 2, "first_k_dense_replace": 2},
    "all_sparse": {"first_k_dense_replace": 0, "n_group": 1, "topk_group": 1},
    "all_dense": {"first_k_dense_replace": 3},
    "attention_bias": {"attention_bias": True},
    "mtp": {"num_nextn_predict_layers": 1},
    "tied": {"tie_word_embeddings": True, "num_hidden_layers": 2},
}
DSA = {**MLA, "index_n_heads": 3, "index_head_dim": 16, "index_topk": 24}
DSA_VARIANTS = {
    **without(MLA_VARIANTS, "no_q_lora"),
    "topk_over_context": {"index_topk": 4096},
    "layer_lists": {"mlp_layer_types": ["sparse", "dense", "sparse"]},
}

GDN = {
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": 12, "linear_value_head_dim": 10,
    "linear_num_key_heads": 2, "linear_num_value_heads": 6,
}
GDN_VARIANTS = {
    "plain": {},
    "interval": {"full_attention_interval": 2},
    "layer_types": {
        "layer_types": ["full_attention", "linear_attention", "linear_attention", "full_attention"]
    },
    "bias": {"attention_bias": True},
    "tied": {"tie_word_embeddings": True},
    "conv_kernel": {"linear_conv_kernel_dim": 3, "linear_num_key_heads": 6},
}
QWEN_HYBRID = {**DENSE, "num_hidden_layers": 4, "head_dim": 16, **GDN}
QWEN_HYBRID_MOE = {**QWEN_HYBRID, **EXPERTS, "shared_expert_intermediate_size": 26}

MAMBA = {
    "vocab_size": 211, "hidden_size": 24, "num_hidden_layers": 2, "num_heads": 6, "head_dim": 8,
    "state_size": 10, "expand": 2, "conv_kernel": 4, "n_groups": 2, "chunk_size": 16,
}
NEMOTRON = {
    "vocab_size": 211, "hidden_size": 40, "intermediate_size": 52, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 12, "mamba_num_heads": 6, "mamba_head_dim": 8,
    "ssm_state_size": 10, "n_groups": 2, "conv_kernel": 4, "chunk_size": 16,
    "hybrid_override_pattern": "M-M*-", "num_hidden_layers": 5, "use_mamba_kernels": False,
    "mlp_hidden_act": "relu2",
}
NEMOTRON_MOE = {
    "hybrid_override_pattern": "MEM*E", "n_routed_experts": 8, "n_shared_experts": 1,
    "num_experts_per_tok": 3, "moe_intermediate_size": 18,
    "moe_shared_expert_intermediate_size": 28,
}

LLAMA4_TEXT = {
    **DENSE, "num_hidden_layers": 4, "head_dim": 10, "intermediate_size": 22,
    "intermediate_size_mlp": 58, "num_local_experts": 4, "num_experts_per_tok": 1,
    "interleave_moe_layer_step": 2, "attention_chunk_size": 32,
}
QWEN_TOWER = {
    "depth": 3, "hidden_size": 24, "intermediate_size": 44, "num_heads": 3, "in_channels": 3,
    "patch_size": 4, "spatial_merge_size": 2, "temporal_patch_size": 2, "out_hidden_size": 48,
}
QWEN3_TOWER = {**QWEN_TOWER, "num_position_embeddings": 64}
QWEN3VL_TOWER = {**QWEN3_TOWER, "deepstack_visual_indexes": [0, 2]}
QWEN3VL_TEXT = {**DENSE, "head_dim": 16, "rope_parameters": {
    "rope_type": "default", "rope_theta": 10000.0, "mrope_section": [3, 3, 2]}}
SIGLIP = {
    "hidden_size": 24, "intermediate_size": 44, "num_hidden_layers": 2, "num_attention_heads": 4,
    "image_size": 32, "patch_size": 4, "num_channels": 3,
}

GEMMA = {**DENSE, "head_dim": 10, "num_hidden_layers": 4, "sliding_window": 24}
GEMMA_TEXT = {
    "pattern": {"sliding_window_pattern": 2},
    "layer_types": {"layer_types": ["full_attention", "sliding_attention"] * 2},
    "untied": {"tie_word_embeddings": False},
    "bias": {"attention_bias": True},
}
GEMMA4 = {
    **GEMMA, "num_hidden_layers": 6, "global_head_dim": 16, "hidden_size_per_layer_input": 0,
    "vocab_size_per_layer_input": 173,
}
GEMMA4_EXPERTS = {
    "enable_moe_block": True, "num_experts": 6, "top_k_experts": 2, "moe_intermediate_size": 20,
}
GEMMA4_VARIANTS = {
    "plain": {},
    "per_layer_input": {"hidden_size_per_layer_input": 8},
    "kv_shared": {"num_kv_shared_layers": 3, "layer_types": [
        "sliding_attention", "full_attention", "sliding_attention", "sliding_attention",
        "full_attention", "full_attention"]},
    "double_wide": {
        "num_kv_shared_layers": 2, "use_double_wide_mlp": True, "hidden_size_per_layer_input": 8,
        "layer_types": ["sliding_attention", "full_attention"] * 3},
    "moe": GEMMA4_EXPERTS,
    "k_eq_v": {"attention_k_eq_v": True, "num_global_key_value_heads": 1, **GEMMA4_EXPERTS},
    "global_kv_ignored": {"attention_k_eq_v": False, "num_global_key_value_heads": 1},
    "last_layer_forced": {"layer_types": ["sliding_attention"] * 6},
    "untied": {"tie_word_embeddings": False},
}
GEMMA4_TOWER = {
    "hidden_size": 24, "intermediate_size": 44, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 4, "head_dim": 8, "patch_size": 4, "pooling_kernel_size": 3,
    "position_embedding_size": 64,
}

STEP_TEXT = {
    **DENSE, "num_hidden_layers": 5, "head_dim": 10, "moe_intermediate_size": 20,
    "sliding_window": 24,
    "n_routed_experts": 7, "num_experts_per_tok": 3, "share_expert_dim": 26,
}
STEP_TOWER = {
    "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "image_size": 32,
    "patch_size": 4, "mlp_ratio": 2.5, "num_channels": 3,
}
DEEPSEEK_V4 = {
    "vocab_size": 211, "hidden_size": 40, "moe_intermediate_size": 22, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 16, "q_lora_rank": 18,
    "qk_rope_head_dim": 4, "num_experts_per_tok": 3, "n_routed_experts": 8, "n_shared_experts": 1,
    "compress_ratios": [0, 4, 128, 4], "hc_mult": 3, "hc_sinkhorn_iters": 2, "sliding_window": 24,
    "o_groups": 2, "o_lora_rank": 12, "index_n_heads": 3, "index_head_dim": 8, "index_topk": 6,
    "num_hash_layers": 1, "max_position_embeddings": 512,
}

KIMI_LINEAR = {
    "vocab_size": 211, "hidden_size": 40, "intermediate_size": 68, "moe_intermediate_size": 22,
    "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4, "kv_lora_rank": 14,
    "qk_nope_head_dim": 10, "qk_rope_head_dim": 6, "v_head_dim": 12, "num_experts": 8,
    "num_experts_per_token": 3, "num_shared_experts": 1, "pad_token_id": 0,
    "first_k_dense_replace": 1, "linear_attn_config": {
        "head_dim": 8, "num_heads": 3, "short_conv_kernel_size": 4, "full_attn_layers": [4],
        "kda_layers": [1, 2, 3]},
}
MINIMAX_M3 = {
    "vocab_size": 211, "hidden_size": 48, "intermediate_size": 22, "dense_intermediate_size": 76,
    "shared_intermediate_size": 26, "num_hidden_layers": 4, "num_attention_heads": 6,
    "num_key_value_heads": 2, "head_dim": 10, "rotary_dim": 6, "num_local_experts": 7,
    "num_experts_per_tok": 3,
}

FAMILIES: dict[str, tuple[dict, dict[str, dict]]] = {
    "llama": (DENSE, {
        **PLAIN, **HEAD_DIM, "attention_bias": {"attention_bias": True}, **KV_NULL,
        "mlp_bias": {"mlp_bias": True}, "no_kv_key": {"num_key_value_heads": DROP},
    }),
    "mistral": ({**DENSE, "num_attention_heads": 12}, {
        "plain": {}, "head_dim": {"head_dim": 10}, **WINDOW,
        "no_kv_key": {"num_attention_heads": 8, "num_key_value_heads": DROP},
        "bias_keys_ignored": {"attention_bias": True, "mlp_bias": True},
    }),
    "mixtral": ({**DENSE, "num_local_experts": 5, "num_experts_per_tok": 2}, {
        "plain": {}, "head_dim": {"head_dim": 10}, **WINDOW,
        "no_expert_keys": {"num_local_experts": DROP, "num_experts_per_tok": DROP},
        "three_of_seven": {"num_local_experts": 7, "num_experts_per_tok": 3},
    }),
    "qwen2": (DENSE, {
        **PLAIN, **QWEN_WINDOW, **KV_NULL, "head_dim": {"head_dim": 14},
        "bias_key_ignored": {"attention_bias": False},
    }),
    "qwen2_moe": ({**DENSE, **EXPERTS, "shared_expert_intermediate_size": 28}, {
        "plain": {}, **QWEN_MOE, "no_qkv_bias": {"qkv_bias": False}, "head_dim": {"head_dim": 14},
    }),
    "qwen3": ({**DENSE, "head_dim": 14}, {
        **PLAIN, "no_head_dim": {"head_dim": DROP}, **BIAS, **QWEN_WINDOW, **KV_NULL,
    }),
    "qwen3_moe": ({**DENSE, **EXPERTS, "head_dim": 14}, {
        "plain": {}, **QWEN_MOE, "attention_bias": {"attention_bias": True},
        "no_head_dim": {"head_dim": DROP},
    }),
    "qwen3_next": (QWEN_HYBRID_MOE, {
        **GDN_VARIANTS, "dense_layers": {"mlp_only_layers": [0, 3]},
        "sparse_step": {"decoder_sparse_step": 2},
    }),
    "qwen3_5_text": (QWEN_HYBRID, GDN_VARIANTS),
    "qwen3_5_moe_text": (without(QWEN_HYBRID_MOE, "intermediate_size"), GDN_VARIANTS),
    "qwen3_5": ({"text_config": {"model_type": "qwen3_5_text", **QWEN_HYBRID},
                 "vision_config": {"model_type": "qwen3_5", **QWEN3_TOWER}}, {
        "plain": {}, "tied": {"tie_word_embeddings": True},
        "text_tied": {"text_config": {"tie_word_embeddings": True}},
    }),
    "qwen3_5_moe": ({"text_config": {
        "model_type": "qwen3_5_moe_text", **without(QWEN_HYBRID_MOE, "intermediate_size")},
        "vision_config": {"model_type": "qwen3_5_moe", **QWEN3_TOWER}}, {
        "plain": {}, "interval": {"text_config": {"full_attention_interval": 2}},
    }),
    "deepseek_v2": (without({**MLA, "n_group": 1, "topk_group": 1}), {
        **MLA_VARIANTS, "mlp_bias": {"mlp_bias": True},
        "group_limited": {"n_group": 4, "topk_group": 2, "topk_method": "group_limited_greedy"},
    }),
    "deepseek_v3": (MLA, MLA_VARIANTS),
    "kimi_k2": (MLA, {
        "plain": {"n_group": 1, "topk_group": 1}, "two_shared": {"n_shared_experts": 2}}),
    "deepseek_v32": (DSA, {**DSA_VARIANTS, "mlp_bias": {"mlp_bias": True}}),
    "glm_moe_dsa": (DSA, {
        **DSA_VARIANTS, "mlp_bias": {"mlp_bias": True},
        "shared_index": {"num_hidden_layers": 5, "index_topk_freq": 2},
        "shared_index_offset": {
            "num_hidden_layers": 6, "index_topk_freq": 3, "index_skip_topk_offset": 1},
        "shared_index_pattern": {"num_hidden_layers": 4, "index_topk_pattern": "FSFS"},
    }),
    "gpt_oss": ({**DENSE, "head_dim": 10, "num_local_experts": 5, "num_experts_per_tok": 2,
                 "sliding_window": 24}, {
        "plain": {}, "no_attention_bias": {"attention_bias": False},
        "no_head_dim": {"head_dim": DROP},
        "layer_types": {"layer_types": ["full_attention", "full_attention", "sliding_attention"]},
        "tied": {"tie_word_embeddings": True},
    }),
    "phi3": ({**DENSE, "pad_token_id": 0}, {
        **PLAIN, **WINDOW, **KV_NULL, "head_dim": {"head_dim": 14},
        "no_kv_key": {"num_key_value_heads": DROP},
        "partial_rotary": {"partial_rotary_factor": 0.5, "num_attention_heads": 4}}),
    "olmo2": (DENSE, {**PLAIN, "attention_bias": {"attention_bias": True},
                      "head_dim": {"head_dim": 14}, "no_kv_key": {"num_key_value_heads": DROP}}),
    "olmo3": ({**DENSE, "num_hidden_layers": 5, "sliding_window": 24}, {
        **PLAIN, "attention_bias": {"attention_bias": True},
        "layer_types": {"layer_types": ["full_attention", *["sliding_attention"] * 4]},
    }),
    "glm4": ({**DENSE, "head_dim": 14, "pad_token_id": 0}, {
        **PLAIN, **BIAS, "no_kv_key": {"num_key_value_heads": DROP},
        "no_head_dim": {"head_dim": DROP}}),
    "glm4_moe": ({**DENSE, "head_dim": 14, "moe_intermediate_size": 20, "n_routed_experts": 8,
                  "n_shared_experts": 1, "num_experts_per_tok": 3, "first_k_dense_replace": 1}, {
        "plain": {}, "qk_norm": {"use_qk_norm": True}, "attention_bias": {"attention_bias": True},
        "two_shared": {"n_shared_experts": 2, "first_k_dense_replace": 2}, "no_dense_key": {
            "first_k_dense_replace": DROP}, "no_head_dim": {"head_dim": DROP},
    }),
    "minimax": ({**DENSE, "num_hidden_layers": 4, "head_dim": 10, "num_local_experts": 5,
                 "num_experts_per_tok": 2, "block_size": 32}, {
        "plain": {}, "layer_types": {"layer_types": ["linear_attention"] * 3 + ["full_attention"]},
        "no_head_dim": {"head_dim": DROP}, "block": {"block_size": 16},
        "all_full": {"layer_types": ["full_attention"] * 4},
    }),
    "minimax_m2": ({**DENSE, "head_dim": 14, "num_local_experts": 7, "num_experts_per_tok": 3}, {
        "plain": {}, "mqa": {"num_key_value_heads": 1}, "tied": {"tie_word_embeddings": True},
        "rotary_dim": {"rotary_dim": 6},
    }),
    "mimo_v2_flash": ({**DENSE, "num_attention_heads": 8, "num_hidden_layers": 7, "head_dim": 12,
                       "v_head_dim": 8,
                       "moe_intermediate_size": 20, "n_routed_experts": 8, "num_experts_per_tok": 3,
                       "sliding_window": 24}, {
        "plain": {},
        # Not swa_*, hybrid_layer_pattern, moe_layer_freq, add_*_sink_bias: files of the model have them
        # and mean them, but the class of 5.22 reads none.
        "attention_bias": {"attention_bias": True},
        "layer_types": {"layer_types": ["sliding_attention"] * 6 + ["full_attention"]},
        "mlp_layer_types": {"mlp_layer_types": ["dense"] * 3 + ["sparse"] * 4},
    }),
    "mamba2": (MAMBA, {
        "plain": {}, "one_group": {"n_groups": 1}, "bias": {"use_bias": True},
        "no_conv_bias": {"use_conv_bias": False}, "tied": {"tie_word_embeddings": True},
        "odd": {"chunk_size": 7, "conv_kernel": 3, "n_groups": 3, "state_size": 14},
    }),
    "nemotron_h": (NEMOTRON, {
        "plain": {}, "moe": NEMOTRON_MOE,
        "latent_moe": {**NEMOTRON_MOE, "moe_latent_size": 14},
        "two_shared": {**NEMOTRON_MOE, "n_shared_experts": 2},
        "moe_bias": {**NEMOTRON_MOE, "mlp_bias": True},
        "attention_bias": {"attention_bias": True}, "mlp_bias": {"mlp_bias": True},
        "use_bias": {"use_bias": True}, "mamba_proj_bias": {"mamba_proj_bias": True},
        "tied": {"tie_word_embeddings": True}, "window": {"sliding_window": 24},
        "no_conv_bias": {"use_conv_bias": False, "n_groups": 3, "chunk_size": 7},
        "blocks_list": {"hybrid_override_pattern": DROP, "layers_block_type": [
            "linear_attention", "full_attention", "mlp"]},
        "expand_unequal": {"expand": 3, "mamba_num_heads": 4},
    }),
    "lfm2": ({**DENSE, "intermediate_size": 100, "block_multiple_of": 8, "conv_L_cache": 3,
              "layer_types": ["conv", "full_attention", "conv"]}, {
        "plain": {}, "fixed_width": {"block_auto_adjust_ff_dim": False},
        "multiplier": {"block_ffn_dim_multiplier": 1.3},
        "block_ff_dim": {"block_ff_dim": 132}, "conv_bias": {"conv_bias": True, "conv_L_cache": 5},
        "head_dim": {"head_dim": 10},
        "indices": {"layer_types": DROP, "full_attn_idxs": [2]},
        "all_attention": {"layer_types": DROP}, "untied": {"tie_embedding": False},
    }),
    "lfm2_moe": ({**DENSE, "num_hidden_layers": 4, "moe_intermediate_size": 22, "num_experts": 7,
                  "num_experts_per_tok": 3, "num_dense_layers": 1,
                  "layer_types": ["conv", "full_attention", "conv", "conv"]}, {
        "plain": {}, "all_sparse": {"num_dense_layers": 0}}),
    "kimi_linear": (KIMI_LINEAR, {
        "plain": {}, "q_lora": {"q_lora_rank": 18, "num_shared_experts": 2},
        "default_types": {"linear_attn_config": DROP, "num_hidden_layers": 6, "linear_head_dim": 8,
                          "linear_num_heads": 3},
    }),
    "minimax_m3_vl_text": (MINIMAX_M3, {
        "dense": {}, "sparse": {"moe_layer_freq": [0, 1, 1, 1], "sparse_attention_config": {
            "sparse_attention_freq": [0, 0, 1, 1], "sparse_num_index_heads": 2,
            "sparse_index_dim": 8, "sparse_block_size": 16, "sparse_topk_blocks": 2,
            "sparse_local_block": 1}},
    }),
    "glm": ({**DENSE, "head_dim": 14, "pad_token_id": 0}, {
        **PLAIN, "attention_bias": {"attention_bias": True}, "no_head_dim": {"head_dim": DROP}}),
    "llama4_text": (LLAMA4_TEXT, {
        "plain": {}, "all_moe": {"interleave_moe_layer_step": 1},
        "moe_layers": {"moe_layers": [0, 2, 3]}, "attention_bias": {"attention_bias": True},
        "two_per_token": {"num_experts_per_tok": 2},
        "no_rope": {"no_rope_layers": [1, 0, 1, 0], "use_qk_norm": False},
    }),
    "gemma2": (GEMMA, {"plain": {}, **GEMMA_TEXT, "no_head_dim": {"head_dim": DROP}}),
    "gemma3_text": ({**GEMMA, "num_hidden_layers": 4}, {
        "plain": {}, **GEMMA_TEXT, "seven_layers": {"num_hidden_layers": 7}}),
    "gemma4_text": (GEMMA4, GEMMA4_VARIANTS),
    "gemma3": ({"text_config": {"model_type": "gemma3_text", **GEMMA},
                "vision_config": {"model_type": "siglip_vision_model", **SIGLIP},
                "mm_tokens_per_image": 16, "image_token_index": 200, "boi_token_index": 201,
                "eoi_token_index": 202}, {
        "plain": {}, "pattern": {"text_config": {"sliding_window_pattern": 2}},
        "no_vocab": {"text_config": {"vocab_size": DROP, "hidden_size": 12, "num_hidden_layers": 2},
                     "image_token_index": DROP, "boi_token_index": DROP, "eoi_token_index": DROP},
    }),
    "gemma4": ({"text_config": {"model_type": "gemma4_text", **GEMMA4},
                "vision_config": {"model_type": "gemma4_vision", **GEMMA4_TOWER},
                "image_token_id": 200, "audio_token_id": 201, "video_token_id": 202}, {
        "plain": {}, "small": {"text_config": GEMMA4_VARIANTS["double_wide"]},
        "moe": {"text_config": GEMMA4_VARIANTS["k_eq_v"]},
        "clipped": {"vision_config": {"use_clipped_linears": True, "standardize": True}},
        "audio": {"audio_config": {
            "model_type": "gemma4_audio", "hidden_size": 32, "num_hidden_layers": 2,
            "num_attention_heads": 4, "subsampling_conv_channels": [8, 4], "conv_kernel_size": 5,
            "output_proj_dims": 20}},
        "no_vision": {"vision_config": DROP},
    }),
    "llama4": ({"text_config": {"model_type": "llama4_text", **LLAMA4_TEXT},
                "vision_config": {
                    "model_type": "llama4_vision_model", "hidden_size": 24, "intermediate_size": 96,
                    "num_hidden_layers": 2, "num_attention_heads": 3, "image_size": 32,
                    "patch_size": 4, "vision_output_dim": 36, "projector_input_dim": 36,
                    "projector_output_dim": 36, "pixel_shuffle_ratio": 0.5}}, {
        "plain": {}, "all_moe": {"text_config": {"interleave_moe_layer_step": 1}},
    }),
    "mllama": ({"text_config": {"model_type": "mllama_text_model", **DENSE, "num_hidden_layers": 4,
                                "cross_attention_layers": [1, 3], "pad_token_id": 0},
                "vision_config": {
                    "model_type": "mllama_vision_model", "hidden_size": 16, "intermediate_size": 28,
                    "num_hidden_layers": 3, "num_global_layers": 2, "attention_heads": 4,
                    "image_size": 28, "patch_size": 7, "vision_output_dim": 48,
                    "intermediate_layers_indices": [0, 2]}}, {
        "plain": {}, "no_cross_inside": {"text_config": {"cross_attention_layers": []}},
        "tied": {"text_config": {"tie_word_embeddings": True}},
    }),
    "qwen2_5_vl": ({**DENSE, "rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]},
                    "vision_config": {**QWEN_TOWER, "window_size": 16, "fullatt_block_indexes": [1]}}, {
        "plain": {}, "tied": {"tie_word_embeddings": True}, "nested": {
            **{key: DROP for key in DENSE}, "rope_scaling": DROP, "text_config": {
                "model_type": "qwen2_5_vl_text", **DENSE, "rope_scaling": {
                    "type": "mrope", "mrope_section": [1, 1, 2]}}},
    }),
    "qwen3_vl": ({"text_config": {"model_type": "qwen3_vl_text", **QWEN3VL_TEXT},
                  "vision_config": {"model_type": "qwen3_vl", **QWEN3VL_TOWER}}, {
        "plain": {}, "tied": {"tie_word_embeddings": True},
        "bias": {"text_config": {"attention_bias": True}},
    }),
    "qwen3_vl_moe": ({"text_config": {"model_type": "qwen3_vl_moe_text", **QWEN3VL_TEXT, **EXPERTS},
                      "vision_config": {"model_type": "qwen3_vl_moe", **QWEN3VL_TOWER}}, {
        "plain": {}, "dense_layers": {"text_config": {"mlp_only_layers": [1]}},
        "tied": {"tie_word_embeddings": True},
    }),
    "lfm2_vl": ({"text_config": {"model_type": "lfm2", **DENSE, "block_auto_adjust_ff_dim": False,
                                 "layer_types": ["conv", "full_attention", "conv"]},
                 "vision_config": {"model_type": "siglip2_vision_model", **without(SIGLIP, "image_size"),
                                   "num_patches": 64},
                 "projector_hidden_size": 60, "downsample_factor": 2, "image_token_id": 200}, {
        "plain": {}, "no_layernorm": {"projector_use_layernorm": False, "projector_bias": False},
        "no_head": {"vision_config": {"vision_use_head": False}},
        "untied": {"tie_embedding": False},
    }),
    "deepseek_v4": (DEEPSEEK_V4, {
        "plain": {}, "no_ratios": {"compress_ratios": DROP, "num_hidden_layers": 5},
        "small_rates": {"compress_rate_csa": 3, "compress_rate_hca": 10},
        "layer_types": {"compress_ratios": DROP, "layer_types": [
            "sliding_attention", "heavily_compressed_attention", "compressed_sparse_attention",
            "sliding_attention"]},
        "no_hash_key": {"num_hash_layers": DROP}, "two_shared": {"n_shared_experts": 2},
        "streams": {"hc_mult": 4, "o_groups": 4}, "tied": {"tie_word_embeddings": True},
        "long_ratios": {"compress_ratios": [128, 4, 0, 4, 4, 4]},
    }),
    "step3p7": ({"text_config": STEP_TEXT, "vision_config": STEP_TOWER, "image_token_id": 200}, {
        "plain": {},
        "sliding": {"text_config": {
            "num_sliding_attention_heads": 8,
            "layer_types": ["full_attention", *["sliding_attention"] * 3, "full_attention"]}},
        "other_setting": {"text_config": {
            "layer_types": ["sliding_attention", "full_attention"] * 3,
            "num_nextn_predict_layers": 1,
            "attention_other_setting": {"attention_type": "sliding_attention",
                                        "num_attention_heads": 10, "num_attention_groups": 2}}},
        "legacy_keys": {"text_config": {
            **{key: DROP for key in ("n_routed_experts", "num_experts_per_tok", "num_key_value_heads")},
            "moe_num_experts": 9, "moe_top_k": 2, "num_attention_groups": 3,
            "moe_layers_enum": "1,2,4"}},
        "tied": {"text_config": {"tie_word_embeddings": True}},
        "bias": {"text_config": {"attention_bias": True, "mlp_bias": True}, "projector_bias": True},
    }),
    "kimi_k25": ({"text_config": {"model_type": "kimi_k2", **MLA, "tie_word_embeddings": False},
                  "vision_config": {
                      "model_type": "kimi_k25_vision", "hidden_size": 24, "intermediate_size": 44,
                      "num_hidden_layers": 2, "num_attention_heads": 3, "patch_size": 4,
                      "pos_emb_height": 8, "pos_emb_width": 8, "pos_emb_time": 2,
                      "merge_kernel_size": [2, 2]},
                  "projection_hidden_size": 24, "tie_word_embeddings": False}, {
        "plain": {}, "tied": {"tie_word_embeddings": True},
        "tie_key_absent": {"tie_word_embeddings": DROP},
    }),
}
