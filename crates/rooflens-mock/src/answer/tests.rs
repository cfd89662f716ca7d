use clap::Parser as _;
use serde_json::Value;

use super::*;

fn options(flags: &[&str]) -> Arc<MockOptions> {
    Arc::new(MockOptions::try_parse_from([&["mock"][..], flags].concat()).unwrap())
}

fn plan(api: AnswerApi) -> AnswerPlan {
    AnswerPlan {
        api,
        number: 7,
        model: "mock".to_owned(),
        created: 1,
        prompt_tokens: 100,
        output_tokens: 10,
        usage: UsageWish { at_end: true, in_each: false },
        token_ids: false,
        options: options(&[]),
    }
}

fn data(text: &str) -> Vec<Value> {
    let text = text.replace("\r\n", "\n");
    assert!(text.is_empty() || text.ends_with("\n\n"), "{text:?}");
    text.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

fn stream(plan: &AnswerPlan, step: u64) -> String {
    let mut all = plan.prologue();
    let mut from = 0;
    while from < plan.output_tokens {
        let upto = (from + step).min(plan.output_tokens);
        all += &plan.chunk(from, upto);
        from = upto;
    }
    all + &plan.epilogue()
}

#[test]
fn the_text_of_all_chunks_is_that_of_the_document() {
    for flags in [&[][..], &["--split-utf8", "--crlf", "--comments"]] {
        let plan = AnswerPlan { options: options(flags), ..plan(AnswerApi::Completions) };
        let events = data(&stream(&plan, 3));
        let text: String = events.iter().filter_map(|event| event["choices"][0]["text"].as_str()).collect();
        let whole: Value = serde_json::from_str(&plan.whole()).unwrap();
        assert_eq!(whole["choices"][0]["text"], text);
        assert_eq!(text.split_whitespace().count(), 10);
        assert_eq!(whole["usage"]["completion_tokens"], 10);
        assert_eq!(events.len(), 5);
        assert_eq!(events[3]["choices"][0]["finish_reason"], "length");
        assert_eq!(events[4]["usage"]["total_tokens"], 110);
        assert!(events[..4].iter().all(|event| event.get("usage").is_none()));
    }
}

#[test]
fn chats_have_reasoning_then_text_then_a_tool_call() {
    let options = options(&["--reasoning", "4", "--tool-call", "3", "--empty-deltas"]);
    let plan = AnswerPlan { options, ..plan(AnswerApi::Chat) };
    let events = data(&stream(&plan, 5));
    let words = |path: &str| -> usize {
        let texts = events.iter().filter_map(|event| event.pointer(path).and_then(Value::as_str));
        texts.map(|text| text.split_whitespace().count()).sum()
    };
    assert_eq!(words("/choices/0/delta/reasoning_content"), 4);
    assert_eq!(words("/choices/0/delta/content"), 3);
    assert_eq!(words("/choices/0/delta/tool_calls/0/function/arguments"), 3);
    assert_eq!(
        events.iter().filter(|event| event["choices"][0]["delta"] == serde_json::json!({})).count(),
        2
    );
    let usage = &events[events.len() - 1]["usage"];
    assert_eq!(usage["completion_tokens_details"]["reasoning_tokens"], 4);
    let whole: Value = serde_json::from_str(&plan.whole()).unwrap();
    assert_eq!(whole["choices"][0]["finish_reason"], "tool_calls");
    assert_eq!(whole["choices"][0]["message"]["content"], " se no mi");
}

#[test]
fn usage_and_ids_are_given_in_each_chunk_where_asked() {
    let usage = UsageWish { at_end: true, in_each: true };
    let options = options(&["--no-done"]);
    let plan = AnswerPlan { usage, token_ids: true, options, ..plan(AnswerApi::Completions) };
    let text = stream(&plan, 4);
    assert!(!text.contains("[DONE]"));
    let events = data(&text);
    let counts: Vec<_> = events.iter().map(|event| event["usage"]["completion_tokens"].as_u64()).collect();
    assert_eq!(counts, [Some(4), Some(8), Some(10), Some(10)]);
    let ids: usize =
        events.iter().filter_map(|event| Some(event["choices"][0]["token_ids"].as_array()?.len())).sum();
    assert_eq!(ids, 10);
}

#[test]
fn responses_name_their_events() {
    let options = options(&["--reasoning", "2", "--tool-call", "2"]);
    let plan = AnswerPlan { options, ..plan(AnswerApi::Responses) };
    let text = stream(&plan, 1);
    let names: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    let events = data(&text);
    assert_eq!(names, events.iter().map(|event| event["type"].as_str().unwrap()).collect::<Vec<_>>());
    assert_eq!(names.len(), 2 + 10 + 1);
    assert_eq!(names.iter().filter(|name| **name == "response.output_text.delta").count(), 6);
    assert_eq!(events[12]["response"]["usage"]["output_tokens"], 10);
    let without = AnswerPlan { usage: UsageWish::default(), ..plan };
    assert_eq!(data(&without.epilogue())[0]["response"]["usage"], Value::Null);
    let output: Value = serde_json::from_str(&without.whole()).unwrap();
    assert_eq!(output["output"].as_array().unwrap().len(), 3);
}

#[test]
fn errors_are_events() {
    assert_eq!(data(&plan(AnswerApi::Chat).error_event())[0]["error"]["code"], 500);
    assert_eq!(data(&plan(AnswerApi::Responses).error_event())[0]["type"], "error");
}

#[test]
fn words_need_no_escape() {
    for text in PLAIN.iter().chain(&WIDE) {
        assert_eq!(serde_json::to_string(text).unwrap(), format!("\"{text}\""));
    }
    assert!(WIDE.iter().all(|text| text.len() > text.chars().count()));
}
