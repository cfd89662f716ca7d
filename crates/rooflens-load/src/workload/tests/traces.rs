use super::tokenizers_made::{Made, byte_level_bpe};
use super::*;

struct Trace {
    spec: WorkloadSpec,
    _folder: TempDir,
}

fn trace(format: TraceFormat, text: &str) -> Trace {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("trace");
    std::fs::write(&path, text).unwrap();
    let spec = WorkloadSpec::of(Api::Completions, PromptSource::Trace { path, format });
    Trace { spec, _folder: folder }
}

fn ids(session: &LoadSession, made: &Made) -> Vec<u32> {
    let body = ready(session);
    made.tokenizer.encode(body["prompt"].as_str().unwrap(), true).unwrap().get_ids().to_vec()
}

const MOONCAKE: &str = r#"{"timestamp": 27482, "input_length": 1500, "output_length": 52, "hash_ids": [46, 47, 48]}
{"timestamp": 30535, "input_length": 1100, "output_length": 26, "hash_ids": [46, 47, 2366]}
{"timestamp": 30535, "input_length": 700, "output_length": 1, "hash_ids": [47, 46]}
{"timestamp": 29000, "input_length": 600, "output_length": 9}
"#;

#[test]
fn equal_blocks_of_mooncake_are_equal_tokens() {
    let made = byte_level_bpe();
    let mut trace = trace(TraceFormat::Mooncake, MOONCAKE);
    trace.spec.tokenizer = Some(made.path.clone());
    let all = sessions(&trace.spec, 9);
    let arrivals: Vec<u128> = all.iter().map(|session| session.arrival.unwrap().as_millis()).collect();
    assert_eq!(arrivals, [0, 1_518, 3_053, 3_053]);
    let prompts: Vec<Vec<u32>> = all.iter().map(|session| ids(session, &made)).collect();
    let lengths: Vec<usize> = prompts.iter().map(Vec::len).collect();
    assert_eq!(lengths, [1_500, 600, 1_100, 700]);
    let limits: Vec<Option<u32>> = all.iter().map(|session| session.turns[0].max_output_tokens).collect();
    assert_eq!(limits, [Some(52), Some(9), Some(26), Some(1)]);
    assert_eq!(prompts[0][..1_024], prompts[2][..1_024]);
    assert_ne!(prompts[0][1_024..1_030], prompts[2][1_024..1_030]);
    // A block that comes first has no space before it; all the rest of it is the same.
    assert_ne!(prompts[0][..3], prompts[3][..3]);
    assert_eq!(prompts[0][513..700], prompts[3][1..188]);
    assert_eq!(ready(&all[0])["ignore_eos"], true);
    check_skipping(&trace.spec, 9);
    let opened = open(&trace.spec).unwrap();
    assert_eq!(opened.arrival_span_s, Some(3.053));
    assert!(opened.description.starts_with("4 requests of the Mooncake trace "));
}

const BURST_GPT: &str = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45.5,ChatGPT,1087,230,1317,Conversation log
118,GPT-4,417,0,417,Conversation log
120,GPT-4,\"30\",276,306,API log
";

#[test]
fn burst_gpt_gives_arrivals_and_lengths() {
    let trace = trace(TraceFormat::BurstGpt, BURST_GPT);
    let all = sessions(&trace.spec, 9);
    assert_eq!(all.len(), 3, "a request without a response is skipped");
    let seconds: Vec<Duration> = all.iter().map(|session| session.arrival.unwrap()).collect();
    assert_eq!(seconds, [Duration::ZERO, Duration::from_millis(40_500), Duration::from_secs(115)]);
    let words: Vec<usize> =
        all.iter().map(|session| ready(session)["prompt"].as_str().unwrap().split(' ').count()).collect();
    assert_eq!(words, [472, 1_087, 30]);
    assert_eq!(all[2].turns[0].max_output_tokens, Some(276));
}

#[test]
fn output_tokens_replace_those_of_the_trace() {
    let mut trace = trace(TraceFormat::Mooncake, MOONCAKE);
    trace.spec.output_tokens = Some(length("3"));
    let all = sessions(&trace.spec, 9);
    assert!(all.iter().all(|session| session.turns[0].max_output_tokens == Some(3)));
}

#[test]
fn hostile_traces_are_errors_with_line_numbers() {
    let good = r#"{"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": []}"#;
    let bad = [
        r#"{"timestamp": -1, "input_length": 1, "output_length": 1}"#,
        r#"{"timestamp": 1e300, "input_length": 1, "output_length": 1}"#,
        r#"{"timestamp": "1", "input_length": 1, "output_length": 1}"#,
        r#"{"timestamp": NaN, "input_length": 1, "output_length": 1}"#,
        r#"{"timestamp": 1, "input_length": -1, "output_length": 1}"#,
        r#"{"timestamp": 1, "input_length": 99999999999, "output_length": 1}"#,
        r#"{"timestamp": 1, "input_length": 1.5, "output_length": 1}"#,
        r#"{"timestamp": 1, "input_length": 1}"#,
        r#"{"timestamp": 1, "input_length": 1, "output_length": 1, "hash_ids": [-1]}"#,
        r#"{"timestamp": 1, "input_length": 1, "output_length": 1, "hash_ids": 5}"#,
        "[]",
        "nothing",
    ];
    for line in bad {
        let trace = trace(TraceFormat::Mooncake, &format!("{good}\n{line}\n"));
        let error = error(&trace.spec);
        assert!(error.contains("trace:2: "), "{line}: {error}");
    }
    for line in
        ["", "x,M,1,1", "nan,M,1,1", "inf,M,1,1", "-5,M,1,1", "1,M,-1,1", "1,M,1", "1,M,1,99999999999"]
    {
        let text = format!("Timestamp,Model,Request tokens,Response tokens\n1,M,1,1\n{line},\n");
        let error = error(&trace(TraceFormat::BurstGpt, &text).spec);
        assert!(error.contains("trace:3: "), "{line}: {error}");
    }
    assert!(error(&trace(TraceFormat::BurstGpt, "a,b\n1,2\n").spec).contains("no column"));
    assert!(error(&trace(TraceFormat::BurstGpt, "").spec).contains("no column"));
    assert!(error(&trace(TraceFormat::Mooncake, "\n").spec).contains("no request"));
}

#[test]
fn traces_fit_neither_conversations_nor_embeddings() {
    let mut spec = trace(TraceFormat::Mooncake, MOONCAKE).spec;
    spec.conversation = Some(ConversationSpec { turns: 2, think: Duration::ZERO, tool_tokens: None });
    assert!(error(&spec).contains("one by one"));
    spec = WorkloadSpec { api: Api::Embeddings, conversation: None, ..spec };
    assert!(error(&spec).contains("output tokens"));
}
