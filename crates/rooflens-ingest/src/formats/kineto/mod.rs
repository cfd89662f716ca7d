//! Kineto: the JSON that `torch.profiler` writes, from torch 1.8 to 2.15, for CUDA, ROCm, MTIA and
//! CPU; also as vLLM and SGLang write it, and as other programs have written it again.
//!
//! * `scan`: a cursor over JSON text.
//! * `args`, `event`: one event to one row.
//! * `block`: cutting the events into blocks, reading one, going on after damage.
//! * `pipeline`: reading, cutting, parsing and joining on all cores.
//! * `head`: what stands around the events.
//! * `export`: what `rooflens export` adds to a trace.

mod args;
mod block;
mod event;
mod export;
mod head;
mod pipeline;
mod scan;
#[cfg(test)]
mod tests;

use rooflens_schema::{Interner, Notes, RankTables, Severity, Stage, TraceMeta};

use crate::artefact::{Artefact, Probe, STOPPED};
use crate::error::IngestError;
use crate::formats::Format;
pub use export::{ANALYSIS_CATEGORY, EXPORT_KEY, Export};
use pipeline::{Contents, NoEvents};

/// The format.
pub(crate) struct Kineto;

impl Format for Kineto {
    fn name(&self) -> &'static str {
        "kineto"
    }

    fn about(&self) -> &'static str {
        "PyTorch profiler (Kineto) trace: .json or .json.gz"
    }

    fn sniff(&self, probe: &Probe) -> bool {
        let head = scan::without_blank(&probe.head);
        let has = |word: &str| memchr::memmem::find(head, word.as_bytes()).is_some();
        match head.first() {
            Some(b'{') => {
                ["\"traceEvents\"", "\"schemaVersion\"", "\"deviceProperties\"", "\"baseTimeNanoseconds\""]
                    .into_iter()
                    .any(has)
            }
            Some(b'[') => has("\"ph\""),
            _ => false,
        }
    }

    fn read(&self, from: Artefact, notes: &Notes) -> Result<RankTables, IngestError> {
        let source = from.name().to_owned();
        let interner = Interner::default();
        let no_records =
            |why: String| IngestError::NoRecords { source_name: source.clone(), format: "kineto", why };
        let threads = from.threads();
        let contents =
            pipeline::read(from.into_reader(), &interner, threads).map_err(|error| match error {
                NoEvents::Head(why) => no_records(why.to_owned()),
                NoEvents::Io(error) => no_records(error.to_string()),
            })?;
        if let Some(export) = contents.head.export.as_ref().filter(|export| export.ranks > 1) {
            return Err(IngestError::SeveralRanks { source_name: source, ranks: export.ranks });
        }
        tell(&contents, &source, notes);
        let Contents { head, rows, .. } = contents;
        if rows.counts.events == 0 {
            return Err(no_records("its array of events is empty or damaged from the start".to_owned()));
        }
        let (first, last) = rows.counts.extent.unwrap_or((0, 0));
        let mut tables = RankTables {
            rank: head.rank.unwrap_or(0),
            meta: TraceMeta {
                source,
                format: "kineto".to_owned(),
                events: rows.counts.events,
                rank: head.rank,
                world_size: head.world_size,
                backend: head.backend,
                base_unix_ns: wall_clock(first, head.base_time_ns).map(|ns| ns.saturating_sub(first)),
                first_ns: first,
                last_ns: last,
                microsecond_clock: !rows.counts.fractions,
                properties: head.properties,
            },
            names: interner.freeze(),
            devices: head.devices,
            kernels: rows.kernels,
            ops: rows.ops,
            api: rows.api,
            frames: rows.frames,
            phases: rows.phases,
            memory: rows.memory,
            collectives: rows.collectives,
            ..RankTables::default()
        };
        tables.shift(first.saturating_neg());
        Ok(tables)
    }
}

/// When the first event was, since 1970. Old traces count from then, new ones from a base they
/// name; a few do both. Times before 2001 are counts since boot.
fn wall_clock(first_ns: i64, base_time_ns: Option<i64>) -> Option<i64> {
    const YEAR_2001_NS: i64 = 978_307_200_000_000_000;
    if first_ns > YEAR_2001_NS {
        return Some(first_ns);
    }
    base_time_ns.and_then(|base| base.checked_add(first_ns)).filter(|&ns| ns > YEAR_2001_NS)
}

/// Notes what was not read.
fn tell(contents: &Contents, source: &str, notes: &Notes) {
    let Contents { head, rows, .. } = contents;
    let loss = |code: &str, count: i64, message: String| {
        notes.add_many(Stage::Ingest, Severity::DataLoss, code, source, count, message);
    };
    if let Some(error) = &contents.read_error {
        if error.to_string() == STOPPED {
            loss("stopped", 1, "reading was stopped; the rest of the trace is missing".to_owned());
        } else {
            let message = format!("the stream ends early: {error}; the rest is missing");
            loss("stream_error", 1, message);
        }
    }
    if contents.unclosed {
        let message = "the list of events is not closed: the trace is truncated, its end is missing";
        loss("truncated", 1, message.to_owned());
    }
    if contents.damaged_tail {
        loss("damaged_header", 1, "the text after the events is damaged or truncated".to_owned());
    }
    let message = "places where an event could not be read and was skipped";
    loss("damaged_event", rows.counts.damaged, message.to_owned());
    let message = "events without a valid time or duration";
    loss("event_without_time", rows.counts.timeless, message.to_owned());
    let message = "names that are not valid UTF-8; bad bytes were replaced";
    loss("invalid_text", rows.counts.bad_text, message.to_owned());
    if !head.damaged.is_empty() {
        let message = format!("header keys that could not be parsed: {}", head.damaged.join(", "));
        loss("damaged_header", head.damaged.len() as i64, message);
    }
    let info = |code: &str, count: i64, message: String| {
        notes.add_many(Stage::Ingest, Severity::Info, code, source, count, message);
    };
    for (category, &count) in &rows.counts.unread {
        let message = format!("events of category {category:?} are not supported yet and were not read");
        info(
            &format!("unread_{}", category.replace(|c: char| !c.is_ascii_alphanumeric(), "_")),
            count,
            message,
        );
    }
    if let Some(export) = &head.export {
        // Its keys are the ones that the first reader kept.
        return export.tell(source, notes);
    }
    if !head.dropped.is_empty() {
        let message = format!(
            "header keys not kept, since they may name people or machines: {}",
            head.dropped.join(", ")
        );
        info("header_not_kept", head.dropped.len() as i64, message);
    }
}
