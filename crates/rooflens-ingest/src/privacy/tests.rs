use rooflens_schema::Notes;

use super::*;
use crate::{Artefact, read, read_as_it_is};

fn cleaned(text: &str) -> String {
    public(text, &|_| (), false).unwrap_or_else(|| text.to_owned())
}

#[test]
fn folders_go_and_packages_stay() {
    for (text, kept) in [
        ("/home/alice/exp/model.py(12): forward", "model.py(12): forward"),
        ("/Users/Alice Doe/my work/run.py(3): <module>", "run.py(3): <module>"),
        (
            "/opt/env/lib/python3.11/site-packages/torch/nn/modules/module.py(1501): _call_impl",
            "torch/nn/modules/module.py(1501): _call_impl",
        ),
        ("/usr/lib/python3.10/threading.py(973): _bootstrap", "threading.py(973): _bootstrap"),
        (
            "vllm/model_executor/models/llama.py(120): forward",
            "vllm/model_executor/models/llama.py(120): forward",
        ),
        ("load from /data/alice/weights/a.safetensors now", "load from a.safetensors now"),
        ("cd /home/alice", "cd <home>"),
        (r"C:\Users\alice\x.py(1): f", "x.py(1): f"),
        ("~/secret project", "secret project"),
        ("work/home/alice/x.cu", "x.cu"),
    ] {
        assert_eq!(cleaned(text), kept);
    }
}

#[test]
fn names_of_code_stay() {
    for name in [
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>>(int)",
        "aten::mm",
        "c10::detail::fade::beef",
        "operator/(float, float)",
        "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0",
        "## Call CompiledFxGraph fdz3d2q6a7 ##",
        "execute_context_1(888_788544)_generation_0(0)",
        "step[DECODE bs=32]",
        "kernel<BLOCK_M=128, DTYPE=bf16>",
        "nccl:all_reduce 1/2",
        "nn.Module: Linear_12",
        "range@domain",
        "a / b",
        "sk-learn pipelines of some length",
    ] {
        assert_eq!(cleaned(name), name);
    }
}

#[test]
fn values_accounts_and_addresses_go() {
    for (text, kept) in [
        ("HF_TOKEN=hf_abcdefghij0123456789 x", "HF_TOKEN=<removed> x"),
        ("AWS_REGION=eu-west-1;BATCH=32", "AWS_REGION=<removed>;BATCH=32"),
        ("serve --api-key abc --port 80", "serve --api-key <removed> --port 80"),
        ("PATH=/usr/bin\0HOME=/home/alice\0", "<environment>"),
        ("use hf_abcdefghij0123456789!", "use <key>!"),
        ("alice@node7.cluster.local said", "<account> said"),
        ("alice@node7:/scratch", "<account>:/scratch"),
        ("get https://user:pw@example.com/a?b=c ok", "get <link> ok"),
        ("rank 0 at 10.12.0.7:29500", "rank 0 at <address>:29500"),
        ("at fe80:0:0:0:1ff:fe23:4567:890a", "at <address>"),
        ("at 127.0.0.1", "at 127.0.0.1"),
    ] {
        assert_eq!(cleaned(text), kept);
    }
}

#[test]
fn secrets_go_by_their_name() {
    for name in
        ["HF_TOKEN", "DB_PASSWORD", "passwd", "CLIENT_SECRET", "openai_api_key", "APIKEY", "AWS_CREDENTIALS"]
    {
        assert_eq!(cleaned(&format!("{name}=abc")), format!("{name}=<removed>"));
        let option = format!("--{}", name.to_lowercase().replace('_', "-"));
        assert_eq!(cleaned(&format!("serve {option} abc")), format!("serve {option} <removed>"));
        assert_eq!(cleaned(&format!("serve {option}=abc")), format!("serve {option}=<removed>"));
    }
}

const TRACE: &[u8] = br#"{"traceEvents": [
  {"ph": "X", "cat": "python_function", "name": "/home/alice/a/x.py(1): f", "pid": 1, "tid": 1, "ts": 1, "dur": 9},
  {"ph": "X", "cat": "python_function", "name": "/home/bob/b/x.py(1): f", "pid": 1, "tid": 1, "ts": 20, "dur": 9},
  {"ph": "X", "cat": "user_annotation", "name": "at 10.0.0.9", "pid": 1, "tid": 1, "ts": 30, "dur": 9}]}"#;

#[test]
fn a_trace_comes_in_without_them_and_a_note_says_so() {
    let notes = Notes::default();
    let tables = read(Artefact::from_bytes("t.json", TRACE).expect("readable"), &notes).expect("a trace");
    let texts: Vec<&str> = tables.names.iter().map(|(_, name)| name).collect();
    assert!(texts.contains(&"x.py(1): f") && texts.contains(&"at <address>"), "{texts:?}");
    assert!(!texts.iter().any(|text| text.contains("alice") || text.contains("10.0.0.9")), "{texts:?}");
    // Two frames that are the same without their folders are one name.
    assert_eq!(tables.frames.name_id[0], tables.frames.name_id[1]);
    let note = notes.rows().into_iter().find(|note| note.code == "private").expect("a note");
    assert_eq!(note.count, 3);
    assert_eq!(note.message, "removed: 1 address, 2 paths; --keep-private keeps them");
}

#[test]
fn whoever_asks_keeps_them() {
    let notes = Notes::default();
    let tables =
        read_as_it_is(Artefact::from_bytes("t.json", TRACE).expect("readable"), &notes).expect("a trace");
    assert!(tables.names.iter().any(|(_, name)| name.contains("alice")));
    assert!(notes.rows().iter().all(|note| note.code != "private"));
}

#[test]
fn parity_135_nodes_of_an_engine_keep_their_names() {
    let of_engine = |text: &str| public(text, &|_| (), true).unwrap_or_else(|| text.to_owned());
    for node in [
        "/model/layers.0/attn/MatMul + /model/layers.0/attn/Add",
        "{ForeignNode[/blocks.0/attn/MatMul.../blocks.1/mlp/Add]}",
        "Reformatting CopyNode for Input Tensor 0 to /conv1/Conv",
    ] {
        assert_eq!(of_engine(node), node);
    }
    for (path, kept) in [
        ("/home/alice/net/Conv + /relu/Relu", "Conv + Relu"),
        ("/root/nets/net.onnx", "net.onnx"),
        ("read ~/nets/net.onnx", "read net.onnx"),
        ("/data/home/bob/x", "x"),
        ("at 10.12.0.7", "at <address>"),
    ] {
        assert_eq!(of_engine(path), kept);
    }
    // Elsewhere a name that looks like a path is one.
    assert_eq!(cleaned("/model/layers.0/attn/MatMul"), "MatMul");
}

#[test]
fn operators_have_no_signs() {
    let signs = Signs::of("aten::mul, seq = 4, op_id = 12, sizes = [[1, 4096], []]");
    assert_eq!(signs, Signs { longest_word: 5, ..Signs::default() });
    assert!(Signs::of("10.0.0.1").numbers_apart && Signs::of("fe80:0:0:1").numbers_apart);
    assert!(!Signs::of("c10::BFloat16").numbers_apart);
}
