use std::collections::HashSet;

use super::tokenizers_made::{
    Made, byte_level_bpe, letters, metaspace_bpe, tiny_random, word_level_with_bos,
};
use super::*;

fn completions(input: &str, made: Option<&Made>) -> WorkloadSpec {
    let mut spec = WorkloadSpec::synthetic(Api::Completions, input, "16");
    spec.tokenizer = made.map(|made| made.path.clone());
    spec
}

fn prompt(session: &LoadSession) -> String {
    ready(session)["prompt"].as_str().unwrap().to_owned()
}

#[test]
fn prompts_have_exactly_as_many_tokens_as_they_should() {
    for made in [word_level_with_bos(), byte_level_bpe()] {
        for input in ["2", "3", "17", "512", "100-200", "4096"] {
            for session in sessions(&completions(input, Some(&made)), 6) {
                let encoded = made.tokenizer.encode(prompt(&session), true).unwrap();
                assert_eq!(session.turns[0].prompt_tokens, Some(encoded.len() as u32));
                let (min, max) = length(input).limits();
                assert!((min..=max).contains(&(encoded.len() as u32)), "{input}: {}", encoded.len());
            }
        }
    }
}

#[test]
fn a_prompt_of_100_000_tokens_is_made_without_encoding_it() {
    let made = byte_level_bpe();
    let mut opened = open(&completions("100000", Some(&made))).unwrap();
    let tokens = opened.tokens.clone().unwrap();
    let before = tokens.encoded_bytes();
    let session = opened.source.next().unwrap();
    assert_eq!(tokens.encoded_bytes(), before);
    assert_eq!(made.tokenizer.encode(prompt(&session), true).unwrap().len(), 100_000);
    assert!(opened.description.contains("prompts of 100000"), "not about 100000");
}

#[test]
fn embeddings_count_special_tokens_and_chats_do_not() {
    let made = word_level_with_bos();
    let mut spec = WorkloadSpec::synthetic(Api::Embeddings, "10", "1");
    spec.tokenizer = Some(made.path.clone());
    let embedding = &sessions(&spec, 1)[0];
    assert_eq!(ready(embedding)["input"].as_str().unwrap().split(' ').count(), 9);
    assert_eq!(embedding.turns[0].prompt_tokens, Some(10));
    spec = WorkloadSpec { api: Api::Chat, output_tokens: Some(length("5")), ..spec };
    let chat = &sessions(&spec, 1)[0];
    assert_eq!(ready(chat)["messages"][0]["content"].as_str().unwrap().split(' ').count(), 10);
    assert_eq!(chat.turns[0].prompt_tokens, None);
}

#[test]
fn token_ids_are_those_of_words_and_exact() {
    let made = word_level_with_bos();
    let mut spec = completions("7", Some(&made));
    spec.token_ids = true;
    for session in sessions(&spec, 50) {
        let ids: Vec<u64> =
            ready(&session)["prompt"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
        assert_eq!(ids.len(), 7);
        assert!(ids.iter().all(|id| (2..10).contains(id)), "{ids:?}");
        assert_eq!(session.turns[0].prompt_tokens, Some(7));
    }
}

#[test]
fn a_tokenizer_of_letters_is_met_exactly_with_few_encodings() {
    for made in [letters(), tiny_random()] {
        let mut opened = open(&completions("20-3000", Some(&made))).unwrap();
        assert!(opened.description.contains("prompts of 20-3000"));
        let counter = opened.tokens.clone().unwrap();
        for _ in 0..20 {
            let before = counter.encoded_bytes();
            let session = opened.source.next().unwrap();
            let tokens = session.turns[0].prompt_tokens.unwrap();
            assert_eq!(made.tokenizer.encode(prompt(&session), true).unwrap().len() as u32, tokens);
            assert!((20..=3_000).contains(&tokens));
            // The first guess is at worst as many words as tokens.
            assert!(counter.encoded_bytes() - before < 20 * u64::from(tokens));
        }
    }
}

#[test]
fn spaces_may_be_parts_of_words() {
    let made = metaspace_bpe();
    let mut opened = open(&completions("100-200", Some(&made))).unwrap();
    assert!(opened.description.contains("prompts of 100-200"));
    let session = opened.source.next().unwrap();
    let counted = made.tokenizer.encode(prompt(&session), true).unwrap().len() as u32;
    assert_eq!(session.turns[0].prompt_tokens, Some(counted));
}

#[test]
fn without_a_tokenizer_there_is_a_word_per_token() {
    let session = &sessions(&completions("250", None), 1)[0];
    assert_eq!(prompt(session).split(' ').count(), 250);
    assert_eq!(session.turns[0].prompt_tokens, None);
}

#[test]
fn no_two_prompts_begin_alike() {
    let made = byte_level_bpe();
    for spec in [completions("40", None), completions("40", Some(&made))] {
        let prompts: Vec<String> = sessions(&spec, 3_000).iter().map(prompt).collect();
        let beginning = |prompt: &String| prompt.split(' ').take(3).collect::<Vec<_>>().join(" ");
        assert_eq!(prompts.iter().map(beginning).collect::<HashSet<_>>().len(), 3_000);
        let first = |prompt: &String| prompt.split(' ').next().unwrap().to_owned();
        assert_eq!(prompts.iter().take(16).map(first).collect::<HashSet<_>>().len(), 16);
    }
}

#[test]
fn the_stated_share_of_prompts_begins_with_a_shared_prefix() {
    let made = byte_level_bpe();
    let mut spec = completions("32", Some(&made));
    let prefix = SharedPrefixSpec { tokens: 64, groups: 3, hit_rate: 0.3 };
    spec.prompts = PromptSource::Synthetic { input_tokens: length("32"), shared_prefix: Some(prefix) };
    let prompts: Vec<Vec<u32>> = sessions(&spec, 1_000)
        .iter()
        .map(|session| made.tokenizer.encode(prompt(session), true).unwrap().get_ids().to_vec())
        .collect();
    assert!(prompts.iter().all(|ids| ids.len() == 96));
    let mut by_prefix = std::collections::HashMap::<&[u32], usize>::new();
    for ids in &prompts {
        *by_prefix.entry(&ids[..64]).or_default() += 1;
    }
    let mut shared: Vec<usize> = by_prefix.values().copied().filter(|count| *count > 1).collect();
    shared.sort_unstable();
    assert_eq!(shared, [100, 100, 100]);
    let whole: HashSet<&Vec<u32>> = prompts.iter().collect();
    assert_eq!(whole.len(), 1_000);
}

#[test]
fn sessions_depend_on_their_number_and_the_seed_alone() {
    let spec = completions("lognormal:50,0.5", None);
    let texts: Vec<String> = sessions(&spec, 10).iter().map(ready_text).collect();
    assert_eq!(sessions(&spec, 10).iter().map(ready_text).collect::<Vec<_>>(), texts);
    let mut opened = open(&spec).unwrap();
    for (number, text) in texts.iter().enumerate() {
        if number % 3 == 1 {
            assert_eq!(&ready_text(&opened.source.next().unwrap()), text);
        } else {
            assert_eq!(opened.source.skip().map(|shape| shape.turns), Some(1));
        }
    }
    let other = sessions(&WorkloadSpec { seed: 1, ..spec }, 10);
    assert!(other.iter().map(ready_text).zip(&texts).all(|(other, text)| other != *text));
}

#[test]
fn adapters_take_turns() {
    let spec = WorkloadSpec { loras: vec!["a".to_owned(), "b".to_owned()], ..completions("5", None) };
    let all = sessions(&spec, 4);
    let models: Vec<Value> = all.iter().map(|session| ready(session)["model"].clone()).collect();
    assert_eq!(models, ["a", "b", "a", "b"]);
    assert_eq!(all[1].lora.as_deref(), Some("b"));
}

#[test]
fn a_rerank_has_a_query_and_documents() {
    let session = &sessions(&WorkloadSpec::synthetic(Api::Rerank, "3", "1"), 1)[0];
    let body = ready(session);
    assert_eq!(body["documents"].as_array().unwrap().len(), 8);
    assert_ne!(body["documents"][0], body["documents"][1]);
    assert_eq!(body["query"].as_str().unwrap().split(' ').count(), 3);
    assert_eq!(session.turns[0].max_output_tokens, None);
}

#[test]
fn a_workload_survives_json_and_is_described() {
    let prefix = Some("10:2:0.5".parse().unwrap());
    let spec = WorkloadSpec {
        prompts: PromptSource::Synthetic { input_tokens: length("100"), shared_prefix: prefix },
        conversation: Some(ConversationSpec { turns: 2, think: Duration::ZERO, tool_tokens: None }),
        image: Some((4, 4)),
        extra_body: json!({"x": 1}).as_object().unwrap().clone(),
        ..WorkloadSpec::synthetic(Api::Chat, "1", "normal:64,8")
    };
    let text = serde_json::to_string(&spec).unwrap();
    assert_eq!(serde_json::from_str::<WorkloadSpec>(&text).unwrap(), spec);
    assert_eq!(
        open(&spec).unwrap().description,
        "synthetic prompts of about 100 tokens, up to normal:64,8 output tokens, \
         50% begin with one of 2 shared prefixes of 10 tokens, 2 turns per session, images"
    );
}

#[test]
fn what_cannot_be_made_is_refused() {
    let good = || completions("5", None);
    let tokenizer = word_level_with_bos();
    let refused = [
        (completions("0", None), "at least 1"),
        (completions("1", Some(&tokenizer)), "at least 2 tokens"),
        (WorkloadSpec { output_tokens: None, ..good() }, "output_tokens"),
        (WorkloadSpec { output_tokens: Some(length("0-3")), ..good() }, "at least 1"),
        (WorkloadSpec { image: Some((1, 1)), ..good() }, "images"),
        (WorkloadSpec { tokenizer: Some("/nonexistent".into()), ..good() }, "cannot read"),
        (WorkloadSpec { token_ids: true, ..good() }, "tokenizer"),
    ];
    for (spec, reason) in refused {
        assert!(error(&spec).contains(reason), "{}", error(&spec));
    }
}

#[test]
fn a_damaged_tokenizer_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for text in ["", "{", "[]", "{\"model\": 5}", "\u{0}\u{1}"] {
        let path = folder.path().join("tokenizer.json");
        std::fs::write(&path, text).unwrap();
        let spec = WorkloadSpec { tokenizer: Some(path), ..completions("5", None) };
        assert!(error(&spec).contains("cannot use the tokenizer"));
    }
}
