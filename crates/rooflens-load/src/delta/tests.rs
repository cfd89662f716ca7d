use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::record::ChunkKind::{Reasoning, Text, ToolCall};

fn read(events: &[&str]) -> StreamedAnswer {
    let mut answer = StreamedAnswer { reply: Some(String::new()), ..StreamedAnswer::default() };
    for (ts, data) in events.iter().enumerate() {
        answer.event(SseEvent { name: b"", data: data.as_bytes() }, ts as i64).unwrap();
    }
    answer
}

fn chunks(answer: &StreamedAnswer) -> Vec<(i64, u32, ChunkKind)> {
    answer.chunks.iter().map(|chunk| (chunk.ts_ns, chunk.tokens, chunk.kind)).collect()
}

fn chat(delta: &str) -> String {
    format!(r#"{{"id":"c","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}],"usage":null}}"#)
}

#[test]
fn completions_bring_text_and_their_last_event_the_usage() {
    let answer = read(&[
        r#"{"id":"cmpl-1","choices":[{"index":0,"text":"Hel","finish_reason":null}]}"#,
        r#"{"id":"cmpl-1","choices":[{"index":0,"text":"lo","finish_reason":null}]}"#,
        r#"{"id":"cmpl-1","choices":[{"index":0,"text":"","finish_reason":"length"}]}"#,
        r#"{"id":"cmpl-1","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":8,"prompt_tokens_details":{"cached_tokens":4}}}"#,
        "[DONE]",
    ]);
    assert_eq!(chunks(&answer), [(0, 0, Text), (1, 0, Text)]);
    assert_eq!((answer.text.as_str(), answer.finish.as_deref()), ("Hello", Some("length")));
    assert_eq!(answer.id.as_deref(), Some("cmpl-1"));
    assert_eq!(
        answer.usage,
        Some(Usage { prompt: Some(5), output: Some(8), cached: Some(4), reasoning: None })
    );
    assert!(answer.is_done && answer.is_complete());
}

#[test]
fn empty_deltas_bring_nothing() {
    let answer = read(&[
        &chat(r#"{"role":"assistant","content":""}"#),
        &chat(r#"{"role":"assistant"}"#),
        &chat(r#"{"content":null}"#),
        &chat("{}"),
        &chat(r#"{"content":"x"}"#),
        &chat(r#"{"content":""}"#),
        &chat(r#"{"tool_calls":[{"index":0,"function":{"arguments":""}}]}"#),
    ]);
    assert_eq!(chunks(&answer), [(4, 0, Text)]);
    assert!(!answer.is_complete());
}

#[test]
fn reasoning_and_tool_calls_are_output_of_their_own_kinds() {
    let answer = read(&[
        &chat(r#"{"reasoning_content":"hm"}"#),
        &chat(r#"{"reasoning":"hm"}"#),
        &chat(r#"{"reasoning_content":"both","reasoning":"both"}"#),
        &chat(r#"{"content":"so"}"#),
        &chat(r#"{"tool_calls":[{"index":0,"id":"t","function":{"name":"find","arguments":""}}]}"#),
        &chat(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}"#),
        &chat(r#"{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}"#),
    ]);
    let kinds: Vec<ChunkKind> = answer.chunks.iter().map(|chunk| chunk.kind).collect();
    assert_eq!(kinds, [Reasoning, Reasoning, Reasoning, Text, ToolCall, ToolCall, ToolCall]);
    assert_eq!(answer.text, r#"hmhmbothsofind{"a":1}"#);
    assert_eq!(answer.reply.as_deref(), Some("so"));
}

#[test]
fn cumulative_usage_gives_the_tokens_of_each_chunk() {
    let event = |text: &str, total: u64| {
        format!(
            r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}],"usage":{{"prompt_tokens":1,"completion_tokens":{total}}}}}"#
        )
    };
    let answer = read(&[&event("", 0), &event("abc", 3), &event("", 4), &event("d", 5), &event("ef", 7)]);
    assert_eq!(chunks(&answer), [(1, 3, Text), (3, 2, Text), (4, 2, Text)]);
    assert!(!answer.is_complete(), "usage in every event is no end");
    let last_only = read(&[&chat(r#"{"content":"a"}"#), &event("b", 2)]);
    assert_eq!(
        chunks(&last_only),
        [(0, 0, Text), (1, 0, Text)],
        "a total at the end is not the last chunk's"
    );
}

#[test]
fn token_ids_are_counted_with_those_of_events_without_text() {
    let event = |text: &str, ids: &str| {
        format!(r#"{{"choices":[{{"index":0,"text":"{text}","token_ids":{ids},"finish_reason":null}}]}}"#)
    };
    let answer = read(&[&event("ab", "[1,2]"), &event("", "[3]"), &event("é", "[4]"), &event("x", "[]")]);
    assert_eq!(chunks(&answer), [(0, 2, Text), (2, 2, Text), (3, 0, Text)]);
}

#[test]
fn several_choices_in_one_event_are_one_chunk() {
    let answer = read(&[
        r#"{"choices":[{"index":0,"text":"a"},{"index":1,"text":"b"}]}"#,
        r#"{"choices":[{"index":1,"text":"c","finish_reason":"stop"},{"index":0,"text":""}]}"#,
    ]);
    assert_eq!(chunks(&answer), [(0, 0, Text), (1, 0, Text)]);
    assert_eq!(answer.text, "abc");
}

#[test]
fn events_of_responses() {
    let answer = read(&[
        r#"{"type":"response.created","response":{"id":"resp_1","status":"in_progress","usage":null}}"#,
        r#"{"type":"response.reasoning_text.delta","sequence_number":1,"delta":"hm"}"#,
        r#"{"type":"response.reasoning_summary_text.delta","sequence_number":2,"delta":"m"}"#,
        r#"{"type":"response.output_text.delta","sequence_number":3,"delta":"Hi"}"#,
        r#"{"type":"response.output_text.delta","sequence_number":4,"delta":""}"#,
        r#"{"type":"response.function_call_arguments.delta","delta":"{}"}"#,
        r#"{"type":"response.output_text.done","text":"Hi"}"#,
        r#"{"type":"response.completed","response":{"id":"resp_1","status":"completed","usage":{"input_tokens":9,"output_tokens":6,"input_tokens_details":{"cached_tokens":8},"output_tokens_details":{"reasoning_tokens":3}}}}"#,
    ]);
    assert_eq!(chunks(&answer), [(1, 0, Reasoning), (2, 0, Reasoning), (3, 0, Text), (5, 0, ToolCall)]);
    let usage = Usage { prompt: Some(9), output: Some(6), cached: Some(8), reasoning: Some(3) };
    assert_eq!((answer.usage, answer.id.as_deref()), (Some(usage), Some("resp_1")));
    assert_eq!(answer.finish.as_deref(), Some("completed"));
    assert!(answer.is_done);
    let cut = read(&[
        r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}"#,
    ]);
    assert_eq!(cut.finish.as_deref(), Some("max_output_tokens"));
}

#[test]
fn errors_have_their_message_in_every_form() {
    for (event, message) in [
        (r#"{"error":{"message":"bad","code":500}}"#, "bad"),
        (r#"{"error":"bad"}"#, "bad"),
        (r#"{"error":{"code":7}}"#, r#"{"code":7}"#),
        (r#"{"object":"error","message":"bad"}"#, "bad"),
        (r#"{"type":"error","message":"bad"}"#, "bad"),
        (r#"{"type":"response.failed","response":{"error":{"message":"bad"}}}"#, "bad"),
    ] {
        assert_eq!(read(&[event]).error.as_deref(), Some(message), "{event}");
    }
    let mut named = StreamedAnswer::default();
    named.event(SseEvent { name: b"error", data: b"it broke" }, 0).unwrap();
    assert_eq!(named.error.as_deref(), Some("it broke"));
    assert_eq!(read(&[r#"{"error":null,"choices":[]}"#]).error, None);
}

#[test]
fn what_is_no_json_is_an_error() {
    for data in ["{", "nonsense", "\u{0}", r#"{"choices":7}"#, r#"{"choices":[{"index":0,"text":"\ud83d"}]}"#]
    {
        let event = SseEvent { name: b"", data: data.as_bytes() };
        assert!(StreamedAnswer::default().event(event, 0).is_err(), "{data}");
    }
    let broken = SseEvent { name: b"", data: b"{\"choices\":[{\"text\":\"\xff\"}]}" };
    assert!(StreamedAnswer::default().event(broken, 0).is_err());
}

#[test]
fn unexpected_types_of_what_does_not_matter_are_no_error() {
    let answer = read(&[
        r#"{"id":5,"choices":[{"index":"0","text":"a","finish_reason":false}],"usage":{"prompt_tokens":-1,"completion_tokens":1.5}}"#,
        r#"{"choices":[{"delta":{"content":[{"type":"text"}]}}]}"#,
    ]);
    assert_eq!(answer.text, "a");
    assert_eq!(answer.usage, Some(Usage::default()));
}

#[test]
fn whole_answers_are_one_chunk() {
    let whole = |body: &str| {
        let mut answer = StreamedAnswer::default();
        answer.whole(body.as_bytes(), 9).unwrap();
        answer
    };
    let chat = whole(
        r#"{"id":"x","choices":[{"message":{"content":"Hi","reasoning_content":"hm"},"finish_reason":"stop"}],"usage":{"prompt_tokens":2,"completion_tokens":4}}"#,
    );
    assert_eq!(chunks(&chat), [(9, 4, Text)]);
    assert_eq!(chat.text, "hmHi");
    let embeddings =
        whole(r#"{"data":[{"embedding":[0.1,0.2]}],"usage":{"prompt_tokens":6,"total_tokens":6}}"#);
    assert!(embeddings.chunks.is_empty() && embeddings.is_complete());
    assert_eq!(embeddings.usage.unwrap().prompt, Some(6));
    let rerank = whole(r#"{"id":"r","results":[{"index":0,"relevance_score":0.5}]}"#);
    assert!(rerank.chunks.is_empty() && rerank.is_complete());
    let response = whole(
        r#"{"object":"response","status":"completed","output":[{"type":"reasoning","content":[{"text":"hm"}]},{"type":"message","content":[{"type":"output_text","text":"Hi"}]}],"usage":{"input_tokens":1,"output_tokens":3}}"#,
    );
    assert_eq!((chunks(&response), response.text.as_str()), (vec![(9, 3, Text)], "hmHi"));
    assert_eq!(whole(r#"{"error":{"message":"no"}}"#).error.as_deref(), Some("no"));
}

fn facts(answer: &StreamedAnswer) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        answer.chunks.clone(),
        (answer.usage, answer.finish.clone(), answer.id.clone(), answer.error.clone()),
        (answer.text.clone(), answer.reply.clone(), answer.is_done, answer.is_complete()),
    )
}

const TEXTS: &[&str] = &[
    "",
    "a",
    " the",
    "é",
    "漢字",
    "\\n",
    "\\\"",
    "\\\\",
    "a\\tb",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\",
    "\"",
    "x\",\"y\":\"",
    "\\x",
    "🦀",
    "\u{1}",
    "\\/",
    "\",\"finish_reason\":\"stop",
    "}}",
];

fn random_event(random: &mut ChaCha8Rng) -> Vec<u8> {
    let text = TEXTS[random.random_range(0..TEXTS.len())];
    let field =
        ["content", "reasoning_content", "reasoning", "refusal"][random.random_range(0..16usize).min(3)];
    let mut event = match random.random_range(0..20) {
        0 => format!(r#"{{"id":"a","choices":[{{"index":0,"text":"{text}","finish_reason":"stop"}}]}}"#),
        1 => format!(r#"{{"choices":[{{"index":0,"text":"{text}","token_ids":[1,2]}}]}}"#),
        2 => {
            format!(r#"{{"choices":[{{"delta":{{"content":"{text}"}}}}],"usage":{{"completion_tokens":5}}}}"#)
        }
        3 => format!(
            r#"{{"choices":[{{"delta":{{"tool_calls":[{{"function":{{"arguments":"{text}"}}}}]}}}}]}}"#
        ),
        4 => "[DONE]".to_owned(),
        5 => r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":9}}"#.to_owned(),
        6..12 => format!(r#"{{"id":"c","choices":[{{"index":0,"text":"{text}","finish_reason":null}}]}}"#),
        _ => format!(
            r#"{{"id":"c","choices":[{{"index":0,"delta":{{"{field}":"{text}"}},"logprobs":null}}]}}"#
        ),
    }
    .into_bytes();
    if random.random_range(0..10) == 0 && !event.is_empty() {
        let at = random.random_range(0..event.len());
        match random.random_range(0..3) {
            0 => event[at] = (random.next_u32() & 0xff) as u8,
            1 => drop(event.remove(at)),
            _ => event.insert(at, b"\"\\{}[],: a"[random.random_range(0..10)]),
        }
    }
    event
}

#[test]
fn the_shortcut_gives_what_parsing_gives() {
    let mut random = ChaCha8Rng::seed_from_u64(15);
    let mut taken = 0;
    for _ in 0..2000 {
        let mut quick = StreamedAnswer { reply: Some(String::new()), ..StreamedAnswer::default() };
        let mut slow = StreamedAnswer { reply: Some(String::new()), ..StreamedAnswer::without_shortcut() };
        for ts in 0..20 {
            let data = random_event(&mut random);
            let event = SseEvent { name: b"", data: &data };
            taken += usize::from(quick.template.matching(&data, &mut String::new(), &mut None).is_some());
            let (quick_result, slow_result) = (quick.event(event, ts), slow.event(event, ts));
            assert_eq!(quick_result, slow_result, "{}", String::from_utf8_lossy(&data));
            assert_eq!(facts(&quick), facts(&slow), "{}", String::from_utf8_lossy(&data));
        }
    }
    assert!(taken > 2000, "the shortcut was hardly tested: {taken}");
}
