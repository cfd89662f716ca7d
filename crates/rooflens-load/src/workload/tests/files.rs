use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use super::tokenizers_made::word_level_with_bos;
use super::*;
use crate::plan::Api;

struct Written {
    path: PathBuf,
    _folder: TempDir,
}

fn written(text: impl AsRef<[u8]>) -> Written {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("samples");
    std::fs::write(&path, text).unwrap();
    Written { path, _folder: folder }
}

const SHARE_GPT: &str = r#"[
  {"id": "x1", "conversations": [
    {"from": "human", "value": "alpha beta"}, {"from": "gpt", "value": "gamma delta eta"},
    {"from": "human", "value": "zeta"}, {"from": "gpt", "value": "theta"}]},
  {"id": "x2", "conversations": [{"from": "gpt", "value": "alone"}]},
  {"id": "x3", "conversations": [
    {"from": "system", "value": "rules"}, {"from": "gpt", "value": "hello"}, {"from": "human", "value": "eta"}]}
]"#;

#[test]
fn share_gpt_gives_first_messages_and_the_length_of_their_replies() {
    let file = written(SHARE_GPT);
    let made = word_level_with_bos();
    let mut spec = WorkloadSpec::file(Api::Completions, "m", &file.path);
    spec.tokenizer = Some(made.path.clone());
    let opened = open(&spec).unwrap();
    assert_eq!((opened.facts.sessions, opened.facts.skipped), (Some(2), 1));
    let all = sessions(&spec, 9);
    assert_eq!(
        ready(&all[0]),
        json!({"model": "m", "prompt": "alpha beta", "max_tokens": 3, "stream": true,
            "stream_options": {"include_usage": true}})
    );
    // With <s>.
    assert_eq!((all[0].turns[0].prompt_tokens, all[0].turns[0].max_output_tokens), (Some(3), Some(3)));
    assert_eq!(all[0].turns[0].sample.as_deref(), Some("x1"));
    assert_eq!(ready(&all[1])["prompt"], "rules\nhello\neta");
    assert_eq!(all[1].turns[0].max_output_tokens, None);
    assert_eq!(all.len(), 2);
}

#[test]
fn share_gpt_gives_conversations() {
    let file = written(SHARE_GPT);
    let mut spec = WorkloadSpec::file(Api::Chat, "m", &file.path);
    let (turns, think) = (length("8"), DelaySpec::Fixed(2.0));
    spec.conversation = Some(ConversationSpec { turns, turn_tokens: None, think, tools: None });
    let bodies = bodies(sessions(&spec, 1).remove(0), &["my own"]);
    assert_eq!(bodies.len(), 2);
    assert_eq!(
        bodies[1]["messages"],
        json!([
            {"role": "user", "content": "alpha beta"},
            {"role": "assistant", "content": "my own"},
            {"role": "user", "content": "zeta"},
        ])
    );
    check_skipping(&spec, 9);
    spec.conversation.as_mut().unwrap().turns = length("1");
    check_skipping(&spec, 9);
    assert_eq!(sessions(&spec, 1)[0].turns.len(), 1);
}

#[test]
fn chats_are_sent_until_their_last_reply() {
    let file = written(
        r#"{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}], "max_tokens": 4}

{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": [{"type": "text", "text": "c"}]}, {"role": "assistant", "content": "d"}]}
"#,
    );
    let spec = WorkloadSpec::file(Api::Chat, "m", &file.path);
    let all = sessions(&spec, 9);
    assert_eq!(
        ready(&all[0])["messages"],
        json!([{"role": "system", "content": "s"}, {"role": "user", "content": "u"}])
    );
    assert_eq!(all[0].turns[0].max_output_tokens, Some(4));
    assert_eq!(
        ready(&all[1])["messages"],
        json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
            {"role": "user", "content": [{"type": "text", "text": "c"}]}])
    );
    assert_eq!(all[1].turns[0].sample.as_deref(), Some("3"));
    let plain = sessions(&WorkloadSpec::file(Api::Completions, "m", &file.path), 9);
    assert_eq!(ready(&plain[1])["prompt"], "a\nb\nc");
}

#[test]
fn prompts_bring_their_lengths_adapters_and_images() {
    let file = written(
        r#"{"prompt": "see", "output_tokens": 5, "lora": "tiny", "image": "data:image/gif;base64,AA=="}
{"prompt": "hear", "model": "other", "images": ["https://host/a.png", "http://host/b.png"]}"#,
    );
    let all = sessions(&WorkloadSpec::file(Api::Chat, "m", &file.path), 9);
    let body = ready(&all[0]);
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("tiny"), &json!(5)));
    assert_eq!(body["messages"][0]["content"][1]["image_url"]["url"], "data:image/gif;base64,AA==");
    assert_eq!(all[0].lora.as_deref(), Some("tiny"));
    assert_eq!(ready(&all[1])["messages"][0]["content"].as_array().unwrap().len(), 3);
    assert!(error(&WorkloadSpec::file(Api::Completions, "m", &file.path)).contains("/v1/completions"));
}

#[test]
fn images_are_found_beside_the_file() {
    let file = written(r#"{"prompt": "see", "image": "a.gif"}"#);
    let spec = WorkloadSpec::file(Api::Chat, "m", &file.path);
    assert!(error(&spec).contains(":1: cannot read"), "{}", error(&spec));
    std::fs::write(file.path.with_file_name("a.gif"), b"GIF89a").unwrap();
    let body = ready(&sessions(&spec, 1)[0]);
    assert_eq!(body["messages"][0]["content"][1]["image_url"]["url"], "data:image/gif;base64,R0lGODlh");
}

#[test]
fn token_ids_texts_and_documents_are_read() {
    let ids = written(r#"{"prompt": [1, 2, 3]}"#);
    assert_eq!(
        ready(&sessions(&WorkloadSpec::file(Api::Completions, "m", &ids.path), 1)[0])["prompt"],
        json!([1, 2, 3])
    );
    assert!(error(&WorkloadSpec::file(Api::Chat, "m", &ids.path)).contains("cannot be sent"));
    let text = written("\u{feff}one two\r\n\nthree\n");
    let all = sessions(&WorkloadSpec::file(Api::Embeddings, "m", &text.path), 9);
    let inputs: Vec<Value> = all.iter().map(|session| ready(session)["input"].clone()).collect();
    assert_eq!(inputs, ["one two", "three"]);
    let documents = written(r#"[{"query": "q", "documents": ["a", "b"]}]"#);
    let body = ready(&sessions(&WorkloadSpec::file(Api::Rerank, "m", &documents.path), 1)[0]);
    assert_eq!(body, json!({"model": "m", "query": "q", "documents": ["a", "b"]}));
}

#[test]
fn files_are_cut_repeated_and_shuffled() {
    let text: String = (0..50).map(|number| format!("line {number}\n")).collect();
    let file = written(text);
    let spec = |limit, shuffle, repeat| {
        let prompts =
            PromptSource::File { path: file.path.clone(), format: FileFormat::Text, limit, shuffle, repeat };
        WorkloadSpec::of(Api::Completions, "m", prompts)
    };
    let prompts = |spec: &WorkloadSpec| -> Vec<String> {
        sessions(spec, 120)
            .iter()
            .map(|session| ready(session)["prompt"].as_str().unwrap().to_owned())
            .collect()
    };
    let plain = prompts(&spec(None, false, false));
    assert_eq!(prompts(&spec(Some(7), false, false)), plain[..7]);
    let repeated = prompts(&spec(None, false, true));
    assert_eq!((&repeated[50..100], repeated.len()), (&plain[..], 120));
    let mut shuffled = prompts(&spec(None, true, false));
    assert_ne!(shuffled, plain);
    assert_eq!(shuffled, prompts(&spec(None, true, false)));
    shuffled.sort_unstable();
    let mut sorted = plain;
    sorted.sort_unstable();
    assert_eq!(shuffled, sorted);
}

#[test]
fn hostile_files_are_errors_with_line_numbers() {
    let deep = format!("[{}", "[".repeat(100_000));
    let refused: Vec<(Vec<u8>, &str)> = vec![
        (b"".to_vec(), "no sample"),
        (b"\n\n  \n".to_vec(), "no sample"),
        (b"{\"prompt\": \"a\"}\n{\"prompt\": ".to_vec(), ":2: not JSON"),
        (b"{\"prompt\": \"a\"}\n{\"prompt\": 5}".to_vec(), ":2: prompt should be"),
        (b"{\"prompt\": [1, -1]}".to_vec(), ":1: prompt should be"),
        (b"{\"prompt\": [1e99]}".to_vec(), ":1: prompt should be"),
        (b"{\"prompt\": \"a\", \"max_tokens\": -5}".to_vec(), ":1: max_tokens should be"),
        (b"{\"prompt\": \"a\", \"max_tokens\": 1e99}".to_vec(), ":1: max_tokens should be"),
        (b"{\"prompt\": \"a\", \"max_tokens\": NaN}".to_vec(), ":1: not JSON"),
        (b"{\"prompt\": \"a\", \"max_tokens\": \"5\"}".to_vec(), ":1: max_tokens should be"),
        (b"{\"prompt\": \"a\", \"lora\": 5}".to_vec(), ":1: lora should be"),
        (b"{\"prompt\": \"a\", \"image\": 5}".to_vec(), ":1: an image should be"),
        (b"{\"messages\": 5}".to_vec(), ":1: messages should be"),
        (b"{\"messages\": [5]}".to_vec(), ":1: role should be"),
        (b"{\"messages\": [{\"role\": \"user\", \"content\": 5}]}".to_vec(), ":1: content should be"),
        (b"{\"documents\": [5], \"query\": \"q\"}".to_vec(), ":1: documents should be"),
        (b"{\"text\": \"a\"}".to_vec(), ":1: none of"),
        (b"[\n{\"conversations\": [{\"from\": \"human\", \"value\": \"a\"}]},\n5]".to_vec(), ":3: element 2"),
        (b"[\n\n{\"conversations\": [{\"from\": 5}]}]".to_vec(), ":3: element 1: from should be"),
        (b"[{\"conversations\": [{\"from\": \"elf\", \"value\": \"a\"}]}]".to_vec(), "unknown speaker"),
        (b"[{\"conversations\": []}]".to_vec(), "none of its 1 samples"),
        (b"[\n{\"prompt\": \"a\"},\n".to_vec(), "not JSON"),
        (b"[{\"prompt\": \"a\"}] tail".to_vec(), ":1: not JSON"),
        (b"{\"prompt\": \"\xff\xfe\"}".to_vec(), ":1: not UTF-8"),
        (b"text\n\xff\n".to_vec(), ":2: not UTF-8"),
        (deep.into_bytes(), ":1: not JSON"),
        (vec![b'a'; (64 << 20) + 1], ":1: the line is longer"),
    ];
    for (bytes, reason) in refused {
        let file = written(&bytes);
        let error = error(&WorkloadSpec::file(Api::Completions, "m", &file.path));
        let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        assert!(error.contains(reason), "{begin}: {error}");
    }
    assert!(error(&WorkloadSpec::file(Api::Chat, "m", "/nonexistent")).contains("cannot read"));
    assert!(error(&WorkloadSpec::file(Api::Chat, "m", "/")).contains("cannot read"));
}
