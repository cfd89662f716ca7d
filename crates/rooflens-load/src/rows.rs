//! Records as rows of the tables `requests` and `tokens`.

use rooflens_schema::cell::Opt;
use rooflens_schema::tables::{OutputKind, RequestRow, TokenRow};

use crate::record::{Chunk, ChunkKind, RequestRecord, Usage};

/// The row of a request, without its run: stage, round and model are the caller's.
pub fn request_row(record: &RequestRecord) -> RequestRow {
    let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let usage = record.usage.unwrap_or_default();
    let prompt = usage.prompt.or(record.prompt_tokens.map(u64::from));
    let text = |text: &std::sync::Arc<str>| text.to_string();
    RequestRow {
        external_id: record.external_id.as_deref().map(str::to_owned),
        sample: record.sample.as_ref().map(text),
        session: record.session.as_ref().map(text),
        turn: record.session.as_ref().map(|_| i32::try_from(record.turn).unwrap_or(i32::MAX)).into(),
        lora: record.lora.as_ref().map(text),
        scheduled_ts_ns: Some(record.scheduled_ns).into(),
        sent_ts_ns: record.sent_ns.into(),
        first_byte_ts_ns: record.first_byte_ns.into(),
        first_token_ts_ns: record.chunks.first().map(|chunk| chunk.ts_ns).into(),
        last_token_ts_ns: record.chunks.last().map(|chunk| chunk.ts_ns).into(),
        end_ts_ns: Some(record.end_ns).into(),
        prompt_tokens: prompt.map(count).into(),
        cached_tokens: usage.cached.map(count).into(),
        output_tokens: output_tokens(record).map(count).into(),
        max_output_tokens: record.max_output_tokens.map(i64::from).into(),
        finish: record.finish.as_deref().map(str::to_owned),
        http_status: record.http_status.map(i32::from).into(),
        error_kind: record.error.as_ref().map(|error| error.kind.to_owned()),
        error: record.error.as_ref().map(|error| error.message.clone()),
        ..RequestRow::new(count(record.number), record.status)
    }
}

/// Output tokens: as the server counted them, else the sum over chunks if it said so for each.
pub fn output_tokens(record: &RequestRecord) -> Option<u64> {
    record.usage.and_then(|usage: Usage| usage.output).or_else(|| {
        let is_known = !record.chunks.is_empty() && record.chunks.iter().all(|chunk| chunk.tokens > 0);
        is_known.then(|| record.chunks.iter().map(|chunk| u64::from(chunk.tokens)).sum())
    })
}

/// The chunks of a request. Where the server counts as many tokens as there are chunks, each has one.
pub fn token_rows(record: &RequestRecord) -> impl Iterator<Item = TokenRow> + '_ {
    let request_id = i64::try_from(record.number).unwrap_or(i64::MAX);
    let chunks = u64::try_from(record.chunks.len()).unwrap_or(u64::MAX);
    let is_one_each = record.usage.and_then(|usage| usage.output) == Some(chunks);
    let tokens = move |chunk: &Chunk| match chunk.tokens {
        0 if is_one_each => Opt::some(1),
        0 => Opt::NONE,
        tokens => Opt::some(i64::from(tokens)),
    };
    let rows = record.chunks.iter().enumerate();
    rows.map(move |(index, chunk)| TokenRow {
        request_id,
        index: index as i64,
        ts_ns: chunk.ts_ns,
        tokens: tokens(chunk),
        kind: Some(match chunk.kind {
            ChunkKind::Text => OutputKind::Text,
            ChunkKind::Reasoning => OutputKind::Reasoning,
            ChunkKind::ToolCall => OutputKind::ToolCall,
        }),
    })
}

#[cfg(test)]
mod tests {
    use rooflens_schema::tables::RequestStatus;

    use super::*;
    use crate::record::{ChunkKind, RequestError};

    fn record(tokens: &[u32], output: Option<u64>) -> RequestRecord {
        let chunk = |(at, tokens): (usize, &u32)| Chunk {
            ts_ns: 100 + 10 * at as i64,
            tokens: *tokens,
            kind: ChunkKind::Text,
        };
        RequestRecord {
            session: Some("s".into()),
            turn: 2,
            sample: Some("q1".into()),
            scheduled_ns: 10,
            sent_ns: Some(12),
            first_byte_ns: Some(90),
            end_ns: 200,
            chunks: tokens.iter().enumerate().map(chunk).collect(),
            usage: output.map(|output| Usage { output: Some(output), cached: Some(3), ..Usage::default() }),
            prompt_tokens: Some(40),
            max_output_tokens: Some(16),
            ..RequestRecord::of_test(5)
        }
    }

    fn tokens(record: &RequestRecord) -> Vec<Option<i64>> {
        token_rows(record).map(|row| row.tokens.get()).collect()
    }

    #[test]
    fn a_request_keeps_its_times_and_counts() {
        let row = request_row(&record(&[0, 0, 0], Some(9)));
        assert_eq!((row.request_id, row.turn.get(), row.session.as_deref()), (5, Some(2), Some("s")));
        assert_eq!((row.scheduled_ts_ns.get(), row.sent_ts_ns.get()), (Some(10), Some(12)));
        assert_eq!((row.first_byte_ts_ns.get(), row.end_ts_ns.get()), (Some(90), Some(200)));
        assert_eq!((row.first_token_ts_ns.get(), row.last_token_ts_ns.get()), (Some(100), Some(120)));
        assert_eq!((row.prompt_tokens.get(), row.cached_tokens.get()), (Some(40), Some(3)));
        assert_eq!((row.output_tokens.get(), row.max_output_tokens.get()), (Some(9), Some(16)));
        assert_eq!((row.http_status.get(), row.error_kind), (Some(200), None));
    }

    #[test]
    fn output_tokens_are_the_servers_or_all_chunks_or_unknown() {
        assert_eq!(output_tokens(&record(&[1, 2], Some(7))), Some(7));
        assert_eq!(output_tokens(&record(&[1, 2], None)), Some(3));
        assert_eq!(output_tokens(&record(&[1, 0], None)), None);
        assert_eq!(output_tokens(&record(&[], None)), None);
    }

    #[test]
    fn chunks_have_one_token_each_only_where_the_counts_agree() {
        assert_eq!(tokens(&record(&[0, 0], Some(2))), [Some(1), Some(1)]);
        assert_eq!(tokens(&record(&[0, 0], Some(3))), [None, None]);
        assert_eq!(tokens(&record(&[0, 0], None)), [None, None]);
        assert_eq!(tokens(&record(&[3, 1], None)), [Some(3), Some(1)]);
        let times: Vec<i64> = token_rows(&record(&[0, 0], None)).map(|row| row.ts_ns).collect();
        assert_eq!(times, [100, 110]);
    }

    #[test]
    fn errors_are_in_their_columns() {
        let error = Some(RequestError { kind: "timeout", message: "late".into() });
        let row = request_row(&RequestRecord { error, status: RequestStatus::TimedOut, ..record(&[], None) });
        assert_eq!((row.error_kind.as_deref(), row.error.as_deref()), (Some("timeout"), Some("late")));
        assert_eq!((row.status, row.first_token_ts_ns.get()), (RequestStatus::TimedOut, None));
    }
}
