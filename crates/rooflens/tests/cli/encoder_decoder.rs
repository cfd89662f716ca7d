//! `cost` of encoder-decoder models. Numbers of the small model are derived by hand.

use super::cost::{SLOW, TINY, cost};
use super::*;

/// One layer that encodes and two that decode, two heads of width 3, 32 words.
const TINY_T5: &[u8] = br#"{"model_type": "t5", "vocab_size": 32, "d_model": 8, "d_kv": 3, "num_heads": 2,
    "d_ff": 16, "num_layers": 1, "num_decoder_layers": 2, "relative_attention_num_buckets": 4,
    "architectures": ["T5ForConditionalGeneration"], "torch_dtype": "bfloat16"}"#;

/// Whisper with 20 positions of sound and 16 of text.
const TINY_WHISPER: &[u8] = br#"{"model_type": "whisper", "vocab_size": 32, "d_model": 8, "num_mel_bins": 5,
    "encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_layers": 1,
    "decoder_attention_heads": 2, "decoder_ffn_dim": 16, "max_source_positions": 20,
    "max_target_positions": 16, "architectures": ["WhisperForConditionalGeneration"]}"#;

fn models() -> Folder {
    let folder = Folder::new();
    folder.write("t5.json", TINY_T5);
    folder.write("whisper.json", TINY_WHISPER);
    folder.write("hardware/slow.toml", SLOW);
    folder
}

fn flat(screen: &str) -> String {
    screen.split_whitespace().collect::<Vec<&str>>().join(" ")
}

#[test]
fn parity_156_the_words_of_an_encoder_decoder() {
    let folder = models();
    let text = cost(&folder, "t5.json --hardware slow --prefill 5 --context 4 --operators").fine();
    for words in [
        "The encoder over 5 tokens of t5 takes at least",
        "Prefill of the decoder's start token (cross-attention to 5 positions) takes",
        "One decode step (context 4, 5 encoder positions)",
        "encoder layers 1",
        "decoder layers 2",
        "per encoder position 48.00 B",
        "Encoder operators",
        "cross_kv_proj",
        "encoder input",
        "the encoder processes the prompt of 5 tokens; the decoder starts with one token",
    ] {
        assert!(flat(&text).contains(words), "{words}\n{text}");
    }
    let heard = cost(&folder, "whisper.json --hardware slow").fine();
    for words in [
        "The encoder over 20 positions of audio of whisper",
        "Prefill of 4 decoder tokens (cross-attention to 20 positions)",
        "One decode step (context 8, 20 encoder positions)",
        "positions/s ≤",
        "audio.conv",
    ] {
        assert!(flat(&heard).contains(words), "{words}\n{heard}");
    }
}

#[test]
fn parity_156_faults_of_encoder_decoders_say_what_to_do() {
    let folder = models();
    folder.write("alone.json", br#"{"model_type": "t5", "architectures": ["T5EncoderModel"]}"#);
    folder.write("odd.json", br#"{"model_type": "t5", "num_layers": 3, "num_hidden_layers": 4}"#);
    folder.write("llama.json", TINY);
    for (args, code, message, hint) in [
        ("whisper.json --context 16", 2, "17 tokens of the decoder, more than its 16 positions", "--context"),
        ("whisper.json --encoder-tokens 9", 2, "it always has 20 positions, not 9", "--encoder-tokens"),
        ("llama.json --encoder-tokens 9", 2, "encoder: LlamaForCausalLM has none", "encoder-decoder models"),
        ("t5.json --prefill 9 --chunk 3", 2, "it processes the prompt in one step", "--prefill"),
        ("t5.json --set d_mdel=9", 2, "t5 does not use d_mdel", "did you mean d_model?"),
        ("alone.json", 5, "expected a class with a decoder", "--set"),
        ("odd.json", 5, "num_layers and num_hidden_layers are two names of one number", "--set num_layers="),
    ] {
        let answer = cost(&folder, args);
        assert_eq!(answer.code, code, "{args}: {}", answer.stderr);
        assert!(answer.stderr.contains(message) && answer.stderr.contains(hint), "{args}: {}", answer.stderr);
    }
}

#[test]
fn parity_156_sweeps_targets_and_comparisons_of_encoder_decoders() {
    let folder = models();
    let swept = cost(&folder, "whisper.json --hardware slow --context 4,8,64").fine();
    assert!(flat(&swept).contains("1 more are impossible: encoder: 65 tokens of the decoder"), "{swept}");
    let prompts = cost(&folder, "t5.json --hardware slow --prefill 8,16").fine();
    assert!(flat(&prompts).contains("Encoder with prefill takes at least"), "{prompts}");
    let json = cost(&folder, "t5.json --hardware slow --prefill 5 --ttft 1s --tpot 1s --format json").json();
    let seconds = |phase: usize| json["phases"][phase]["time"]["seconds"].as_f64().unwrap();
    // Before the first token come the encoder and the decoder's first pass.
    let first = json["needs"][0]["now_s"].as_f64().unwrap();
    assert!((first - seconds(0) - seconds(1)).abs() < 1e-12, "{json}");
    // The step after them attends to the same 5 positions, and to the start token.
    let step = cost(&folder, "t5.json --hardware slow --context 1 --encoder-tokens 5 --format json").json();
    assert_eq!(json["needs"][1]["now_s"], step["totals"]["seconds"]);
    let changed = cost(&folder, "t5.json --hardware slow --set num_layers=2").fine();
    assert!(changed.contains("encoder"), "{changed}");
    let listed = Answer::of(rooflens(&["list", "families"]).output().unwrap()).fine();
    for family in ["t5", "mt5", "umt5", "bart", "mbart", "whisper"] {
        assert!(listed.split_whitespace().any(|word| word == family), "{family}\n{listed}");
    }
}
