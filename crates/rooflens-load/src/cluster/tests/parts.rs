use std::sync::Arc;

use super::*;
use crate::cluster::merge::merged_health;
use crate::cluster::wire::WireRecord;
use crate::record::{Chunk, ChunkKind, RequestError, Usage};

#[test]
fn a_record_arrives_as_it_was_sent() {
    let chunk = |ts_ns, tokens, kind| Chunk { ts_ns, tokens, kind };
    let full = RequestRecord {
        number: u64::MAX,
        session: Some(Arc::from("s")),
        turn: 3,
        lora: Some(Arc::from("l")),
        sample: Some(Arc::from("x")),
        scheduled_ns: 100,
        sent_ns: Some(110),
        first_byte_ns: Some(120),
        end_ns: 200,
        chunks: vec![
            chunk(130, 1, ChunkKind::Reasoning),
            chunk(150, 4, ChunkKind::Text),
            chunk(140, 0, ChunkKind::ToolCall),
        ],
        usage: Some(Usage { prompt: Some(9), output: Some(5), cached: None, reasoning: Some(1) }),
        prompt_tokens: Some(9),
        max_output_tokens: Some(16),
        finish: Some("stop".into()),
        status: RequestStatus::Failed,
        http_status: Some(503),
        error: Some(RequestError { kind: "http_503", message: "a \"b\"\n".to_owned() }),
        external_id: Some("cmpl-1".into()),
        text: Some("grüße".to_owned()),
        is_new_connection: true,
    };
    for sent in [full, record(0, 0, None)] {
        let text = serde_json::to_string(&WireRecord::from(sent.clone())).unwrap();
        let arrived: WireRecord = serde_json::from_str(&text).unwrap();
        assert_eq!(format!("{:?}", arrived.clone().into_record(0)), format!("{sent:?}"));
        let shifted = arrived.into_record(-1_000);
        assert_eq!(shifted.scheduled_ns, sent.scheduled_ns - 1_000);
        assert_eq!(
            (shifted.sent_ns, shifted.end_ns),
            (sent.sent_ns.map(|time| time - 1_000), sent.end_ns - 1_000)
        );
        assert!(shifted.chunks.iter().zip(&sent.chunks).all(|(now, then)| now.ts_ns == then.ts_ns - 1_000));
    }
}

#[test]
fn a_job_survives_json() {
    let sent = job(10);
    let text = serde_json::to_string(&sent).unwrap();
    let arrived: LoadJob = serde_json::from_str(&text).unwrap();
    assert_eq!(format!("{arrived:?}"), format!("{sent:?}"));
    let Pace::Open { arrivals, .. } = arrived.plan.pace else { panic!("{:?}", arrived.plan.pace) };
    assert_eq!(arrivals.stages[0].seconds, f64::INFINITY);
}

#[test]
fn users_and_slots_are_split_evenly() {
    let mut whole = job(10);
    whole.plan.keep_texts = 9;
    whole.plan.pace = Pace::Closed { concurrency: 10, ramp: Duration::ZERO };
    let parts = whole.split(4).unwrap();
    let users = |part: &LoadJob| match part.plan.pace {
        Pace::Closed { concurrency, .. } => concurrency,
        _ => 0,
    };
    assert_eq!(parts.iter().map(users).collect::<Vec<_>>(), [3, 3, 2, 2]);
    assert_eq!(
        parts.iter().map(|part| part.plan.share).collect::<Vec<_>>(),
        [(0, 4), (1, 4), (2, 4), (3, 4)]
    );
    assert!(parts.iter().all(|part| part.plan.keep_texts == 3));
    assert!(whole.split(11).unwrap_err().to_string().contains("cannot be split"));
    whole.plan.pace = Pace::Replay { stretch: 1.0, max_concurrency: Some(3) };
    assert!(whole.split(4).is_err() && whole.split(3).is_ok());
    assert!(parts[0].split(2).is_err());
}

fn report(lost: Option<&str>, client: Option<ClientHealth>) -> WorkerReport {
    let clock = ClockCheck { offset_ns: 0, uncertainty_ns: 1 };
    let lost = lost.map(str::to_owned);
    let outcome = client.map(|client| LoadOutcome { client, ..outcome(0, 4, false) });
    WorkerReport { worker: "w".to_owned(), share: 0, lost, clock, requests: 4, outcome }
}

#[test]
fn health_is_the_worst_of_delays_and_the_sum_of_costs() {
    let slow = ClientHealth {
        valid: false,
        reasons: vec!["late".to_owned()],
        send_lag_p50_ns: Some(5),
        send_lag_p99_ns: Some(900),
        loop_lag_p99_ns: Some(3),
        cpu_ns: 500,
        busiest_thread: Some(0.9),
        peak_rss_bytes: Some(5),
        threads: 2,
        kernel_timestamps: false,
        ..health()
    };
    let merged = merged_health(&[report(None, Some(health())), report(None, Some(slow))], 10);
    let expected = ClientHealth {
        reasons: vec!["worker w: late".to_owned()],
        send_lag_p50_ns: Some(10),
        send_lag_p99_ns: Some(900),
        loop_lag_p99_ns: Some(3),
        cpu_ns: 1_500,
        busiest_thread: Some(0.9),
        cpu_per_chunk_ns: Some(150.0),
        peak_rss_bytes: Some(12),
        threads: 3,
        ..ClientHealth::default()
    };
    assert_eq!(merged, expected);
    let lost = report(Some("gone"), None);
    let merged = merged_health(&[report(None, Some(health())), lost], 0);
    assert!(!merged.valid && merged.kernel_timestamps);
    assert_eq!(merged.reasons, ["worker w was lost after 4 requests: gone"]);
    assert_eq!(merged.cpu_per_chunk_ns, None);
}
