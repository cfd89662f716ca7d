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

use rooflens_schema::{Interner, RankTables, Severity, TraceMeta};

use crate::artefact::{Artefact, Probe, STOPPED};
use crate::error::IngestError;
use crate::reading::{Format, Reading};
use event::EventRows;
pub use export::{ANALYSIS_CATEGORY, EXPORT_KEY, Export};
use pipeline::Contents;

pub(crate) const FORMAT: Format =
    Format { name: "kineto", about: "PyTorch profiler (Kineto) trace: .json or .json.gz", sniff, read };

fn sniff(probe: &Probe) -> bool {
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

fn read(from: Artefact, reading: &Reading<'_>) -> Result<RankTables, IngestError> {
    let interner = Interner::default();
    let threads = from.threads();
    let contents = pipeline::read(from.into_reader(), &interner, threads).map_err(|why| reading.fail(why))?;
    if let Some(export) = contents.head.export.as_ref().filter(|export| export.ranks > 1) {
        let source_name = reading.source.clone();
        return Err(IngestError::SeveralRanks { source_name, ranks: export.ranks });
    }
    tell(&contents, reading);
    let Contents { head, rows: EventRows { tables, counts }, .. } = contents;
    if counts.events == 0 {
        return Err(reading.fail("its array of events is empty or damaged from the start"));
    }
    let (first, last) = counts.extent.0.unwrap_or((0, 0));
    let meta = TraceMeta {
        rank: head.rank,
        world_size: head.world_size,
        backend: head.backend,
        base_unix_ns: wall_clock(first, head.base_time_ns).map(|ns| ns.saturating_sub(first)),
        microsecond_clock: !counts.fractions,
        properties: head.properties,
        ..TraceMeta::default()
    };
    let tables = RankTables { rank: head.rank.unwrap_or(0), meta, devices: head.devices, ..tables };
    Ok(reading.finish(tables, interner, counts.events, (first, last)))
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

fn tell(contents: &Contents, reading: &Reading<'_>) {
    let Contents { head, rows: EventRows { counts, .. }, .. } = contents;
    if let Some(error) = &contents.read_error {
        match error.to_string() == STOPPED {
            true => reading.lost("stopped", 1, "reading was stopped; the rest of the trace is missing"),
            false => reading.broke_off(error),
        }
    }
    let message = "the list of events is not closed: the trace is truncated, its end is missing";
    reading.lost("truncated", contents.unclosed.into(), message);
    let message = "the text after the events is damaged or truncated";
    reading.lost("damaged_header", contents.damaged_tail.into(), message);
    let message = "places where an event could not be read and was skipped";
    reading.lost("damaged_event", counts.damaged, message);
    reading.lost("event_without_time", counts.timeless, "events without a valid time or duration");
    let message = "names that are not valid UTF-8; bad bytes were replaced";
    reading.lost("invalid_text", counts.bad_text, message);
    let message = format!("header keys that could not be parsed: {}", head.damaged.join(", "));
    reading.lost("damaged_header", head.damaged.len() as i64, message);
    for (category, &count) in &counts.unread {
        let code = format!("unread_{}", category.replace(|c: char| !c.is_ascii_alphanumeric(), "_"));
        let message = format!("events of category {category:?} are not supported yet and were not read");
        reading.note(Severity::Info, &code, count, message);
    }
    if let Some(export) = &head.export {
        // Its keys are the ones that the first reader kept.
        return export.tell(reading);
    }
    let dropped = head.dropped.join(", ");
    let message = format!("header keys not kept, since they may name people or machines: {dropped}");
    reading.note(Severity::Info, "header_not_kept", head.dropped.len() as i64, message);
}
