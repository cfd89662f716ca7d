use super::tokenizers_made::word_level_with_bos;
use super::*;

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
    let written = written(SHARE_GPT);
    let made = word_level_with_bos();
    let mut spec = file(Api::Completions, &written.path);
    spec.tokenizer = Some(made.path.clone());
    let all = sessions(&spec, 3);
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
    // The file is repeated without end.
    assert_eq!(ready_text(&all[2]), ready_text(&all[0]));
}

#[test]
fn share_gpt_gives_conversations() {
    let written = written(SHARE_GPT);
    let mut spec = file(Api::Chat, &written.path);
    let think = Duration::from_secs(2);
    spec.conversation = Some(ConversationSpec { turns: 8, think, tool_tokens: None });
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
    spec.conversation.as_mut().unwrap().turns = 1;
    check_skipping(&spec, 9);
    assert_eq!(sessions(&spec, 1)[0].turns.len(), 1);
}

#[test]
fn chats_are_sent_until_their_last_reply() {
    let written = written(
        r#"{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}], "max_tokens": 4}

{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": [{"type": "text", "text": "c"}]}, {"role": "assistant", "content": "d"}]}
"#,
    );
    let spec = file(Api::Chat, &written.path);
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
    let plain = sessions(&file(Api::Completions, &written.path), 9);
    assert_eq!(ready(&plain[1])["prompt"], "a\nb\nc");
}

#[test]
fn prompts_bring_their_lengths_adapters_and_images() {
    let written = written(
        r#"{"prompt": "see", "output_tokens": 5, "lora": "tiny", "image": "data:image/gif;base64,AA=="}
{"prompt": "hear", "model": "other", "images": ["https://host/a.png", "http://host/b.png"]}"#,
    );
    let all = sessions(&file(Api::Chat, &written.path), 9);
    let body = ready(&all[0]);
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("tiny"), &json!(5)));
    assert_eq!(body["messages"][0]["content"][1]["image_url"]["url"], "data:image/gif;base64,AA==");
    assert_eq!(all[0].lora.as_deref(), Some("tiny"));
    assert_eq!(ready(&all[1])["messages"][0]["content"].as_array().unwrap().len(), 3);
    assert!(error(&file(Api::Completions, &written.path)).contains("/v1/completions"));
}

#[test]
fn images_are_found_beside_the_file() {
    let written = written(r#"{"prompt": "see", "image": "a.gif"}"#);
    let spec = file(Api::Chat, &written.path);
    assert!(error(&spec).contains(":1: cannot read"), "{}", error(&spec));
    std::fs::write(written.path.with_file_name("a.gif"), b"GIF89a").unwrap();
    let body = ready(&sessions(&spec, 1)[0]);
    assert_eq!(body["messages"][0]["content"][1]["image_url"]["url"], "data:image/gif;base64,R0lGODlh");
}

#[test]
fn token_ids_texts_and_documents_are_read() {
    let ids = written(r#"{"prompt": [1, 2, 3]}"#);
    assert_eq!(ready(&sessions(&file(Api::Completions, &ids.path), 1)[0])["prompt"], json!([1, 2, 3]));
    assert!(error(&file(Api::Chat, &ids.path)).contains("cannot be sent"));
    let text = written("\u{feff}one two\r\n\nthree\n");
    let all = sessions(&file(Api::Embeddings, &text.path), 9);
    let inputs: Vec<Value> = all.iter().take(2).map(|session| ready(session)["input"].clone()).collect();
    assert_eq!(inputs, ["one two", "three"]);
    let documents = written(r#"[{"query": "q", "documents": ["a", "b"]}]"#);
    let body = ready(&sessions(&file(Api::Rerank, &documents.path), 1)[0]);
    assert_eq!(body, json!({"model": "m", "query": "q", "documents": ["a", "b"]}));
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
        let written = written(&bytes);
        let error = error(&file(Api::Completions, &written.path));
        let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        assert!(error.contains(reason), "{begin}: {error}");
    }
    assert!(error(&file(Api::Chat, "/nonexistent")).contains("cannot read"));
    assert!(error(&file(Api::Chat, "/")).contains("cannot read"));
}
