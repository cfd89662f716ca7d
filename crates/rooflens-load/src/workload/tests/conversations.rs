use super::*;

fn conversation(api: Api, turns: u32) -> WorkloadSpec {
    let conversation = ConversationSpec { turns, think: Duration::from_millis(1_500), tool_tokens: None };
    WorkloadSpec { conversation: Some(conversation), ..WorkloadSpec::synthetic(api, "3", "7") }
}

fn agent(api: Api, turns: u32) -> WorkloadSpec {
    let mut spec = conversation(api, turns);
    spec.conversation.as_mut().unwrap().tool_tokens = Some(length("2"));
    spec
}

fn said(body: &Value, index: usize) -> String {
    body["messages"][index]["content"].as_str().unwrap().to_owned()
}

#[test]
fn each_request_has_the_history_with_the_replies() {
    let mut all = sessions(&conversation(Api::Chat, 3), 1);
    let session = all.remove(0);
    assert_eq!(session.id.as_deref(), Some("session-0"));
    let delays: Vec<Duration> = session.turns.iter().map(|turn| turn.delay).collect();
    assert_eq!(delays, [Duration::ZERO, Duration::from_millis(1_500), Duration::from_millis(1_500)]);
    let bodies = bodies(session, &["first", "second"]);
    let (a, b, c) = (said(&bodies[0], 0), said(&bodies[1], 2), said(&bodies[2], 4));
    assert_eq!([a.split(' ').count(), b.split(' ').count(), c.split(' ').count()], [3, 3, 3]);
    assert_eq!(
        bodies[2],
        json!({
            "model": "m", "stream": true, "stream_options": {"include_usage": true}, "ignore_eos": true,
            "max_tokens": 7,
            "messages": [
                {"role": "user", "content": a},
                {"role": "assistant", "content": "first"},
                {"role": "user", "content": b},
                {"role": "assistant", "content": "second"},
                {"role": "user", "content": c},
            ],
        })
    );
    assert_eq!(bodies[1]["messages"].as_array().unwrap()[..], bodies[2]["messages"].as_array().unwrap()[..3]);
}

#[test]
fn completions_and_responses_have_conversations_too() {
    let chat = bodies(sessions(&conversation(Api::Chat, 2), 1).remove(0), &["reply"]);
    let plain = bodies(sessions(&conversation(Api::Completions, 2), 1).remove(0), &["reply"]);
    assert_eq!(plain[1]["prompt"], format!("{}reply\n{}", said(&chat[1], 0), said(&chat[1], 2)));
    let responses = bodies(sessions(&conversation(Api::Responses, 2), 1).remove(0), &["reply"]);
    assert_eq!(responses[1]["input"], chat[1]["messages"]);
    assert_eq!(responses[1]["max_output_tokens"], 7);
}

#[test]
fn an_agent_answers_each_reply_with_the_result_of_a_tool() {
    let bodies = bodies(sessions(&agent(Api::Chat, 3), 1).remove(0), &["let me see", ""]);
    for body in &bodies {
        assert_eq!(body["tool_choice"], "none");
        assert_eq!(body["tools"].as_array().unwrap().len(), 1);
        assert_eq!(body["tools"][0]["function"]["name"], "lookup_0");
    }
    let messages = bodies[2]["messages"].as_array().unwrap();
    assert_eq!(
        messages[1],
        json!({"role": "assistant", "content": "let me see", "tool_calls": [{
            "id": "call_0", "type": "function",
            "function": {"name": "lookup_0", "arguments": "{\"query\": \"\"}"},
        }]})
    );
    assert_eq!(messages[2]["role"], "tool");
    assert_eq!(messages[2]["tool_call_id"], "call_0");
    assert_eq!(messages[2]["content"].as_str().unwrap().split(' ').count(), 2);
    assert_eq!(messages[3]["tool_calls"][0]["function"]["name"], "lookup_0");
    assert_eq!(messages[4]["tool_call_id"], "call_1");
}

#[test]
fn skipped_conversations_have_their_turns() {
    check_skipping(&conversation(Api::Chat, 3), 9);
}

#[test]
fn replies_that_are_missing_are_empty() {
    let session = sessions(&conversation(Api::Chat, 2), 1).remove(0);
    let Some(Body::FromReplies(write)) = session.turns.into_iter().map(|turn| turn.body).nth(1) else {
        panic!("the second request depends on a reply");
    };
    let body: Value = serde_json::from_slice(&write(&[])).unwrap();
    assert_eq!(body["messages"][1], json!({"role": "assistant", "content": ""}));
}

#[test]
fn images_are_in_the_first_request() {
    let mut spec = conversation(Api::Chat, 2);
    spec.image = Some((2, 2));
    let bodies = bodies(sessions(&spec, 1).remove(0), &["reply"]);
    for body in &bodies {
        let url = body["messages"][0]["content"][1]["image_url"]["url"].as_str().unwrap();
        assert!(url.starts_with("data:image/png;base64,"));
    }
    assert!(bodies[1]["messages"][2]["content"].is_string());
    spec.api = Api::Responses;
    let body = ready(&sessions(&spec, 1)[0]);
    assert_eq!(body["input"][0]["content"][1]["type"], "input_image");
}

#[test]
fn impossible_conversations_are_refused() {
    let mut embeddings = conversation(Api::Embeddings, 2);
    embeddings.output_tokens = None;
    let refused = [
        (agent(Api::Completions, 2), "need chat"),
        (conversation(Api::Chat, 0), "at least 1"),
        (conversation(Api::Chat, 99_999), "at most 10000"),
        (embeddings, "no conversations"),
    ];
    for (spec, reason) in refused {
        assert!(error(&spec).contains(reason), "{}", error(&spec));
    }
}
