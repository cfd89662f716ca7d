//! Records as rows of the tables `requests` and `tokens`.

use rooflens_schema::cell::Opt;
use rooflens_schema::tables::{OutputKind, RequestRow, TokenRow};

use crate::record::{Chunk, ChunkKind, RequestRecord, Usage};

/// The row of a request, without its run: stage, round and model are the caller's.
#[must_use]
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
#[must_use]
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
