//! How fast an Nsight Systems export becomes tables, beside a bare `SELECT` of the same columns in which
//! each value is looked at and nothing is kept.
//!
//! `cargo bench -p rooflens-ingest` prints rows a second and the ratio, and fails where all tables
//! together come below [`LEAST`].
#![allow(clippy::print_stdout, reason = "a bench says what it measured")]

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rooflens_ingest::{Artefact, InputSource, no_progress};
use rooflens_schema::Notes;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

/// Part of the speed of the bare `SELECT`.
const LEAST: f64 = 0.6;
const ROUNDS: usize = 7;
const LAUNCHES: i64 = 500_000;
const RANGES: i64 = 400_000;

const KERNELS: &str = "start, end, deviceId, streamId, correlationId, globalPid, graphNodeId, demangledName,
    shortName, mangledName, gridX, gridY, gridZ, blockX, blockY, blockZ, registersPerThread,
    staticSharedMemory, dynamicSharedMemory, graphId FROM CUPTI_ACTIVITY_KIND_KERNEL";
const CALLS: &str = "start, end, globalTid, correlationId, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME";
const NVTX: &str = "eventType, start, end, globalTid, domainId, text, textId, endGlobalTid, uint64Value,
    int64Value, doubleValue, uint32Value, int32Value, floatValue, jsonText, jsonTextId FROM NVTX_EVENTS";

/// As nsys 2025.5 declares them.
const DDL: &str = "
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL,
  mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL,
  gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL,
  blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,
  dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL,
  localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER,
  sharedMemoryLimitConfig INTEGER, graphId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
  eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL,
  returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
  category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,
  domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER,
  int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);
";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    println!(
        "{LAUNCHES} kernels, {} calls, {RANGES} ranges; the middle of {ROUNDS} rounds",
        LAUNCHES * 7 / 5
    );
    let mut all = 0.0;
    for (name, parts) in [
        ("kernels", &[KERNELS][..]),
        ("calls", &[CALLS]),
        ("ranges", &[NVTX]),
        ("all", &[KERNELS, CALLS, NVTX]),
    ] {
        let file = made(folder.path(), name, parts)?;
        let (mut bare, mut ours) = (Vec::new(), Vec::new());
        let mut rows = 0;
        // One after the other, so that whatever else the machine does meets both.
        for _ in 0..ROUNDS {
            let begin = Instant::now();
            rows = selected(&file, parts)?;
            bare.push(begin.elapsed());
            let begin = Instant::now();
            black_box(rooflens_ingest::read(
                Artefact::open(&InputSource::File(file.clone()), no_progress())?,
                &Notes::default(),
            )?);
            ours.push(begin.elapsed());
        }
        let (bare, ours) = (middle(bare), middle(ours));
        all = bare.as_secs_f64() / ours.as_secs_f64();
        let speed = |time: Duration| rows as f64 / time.as_secs_f64() / 1e6;
        println!(
            "{name:8} SELECT {:5.2} M rows/s   to tables {:5.2} M rows/s   ratio {all:.2}",
            speed(bare),
            speed(ours)
        );
        std::fs::remove_file(file)?;
    }
    Ok(if all < LEAST { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Looks at every value, and gives the number of rows.
fn selected(file: &Path, parts: &[&str]) -> Result<usize, Box<dyn Error>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    let (mut count, mut sum) = (0, 0_i64);
    for part in parts {
        let mut statement = connection.prepare(&format!("SELECT {part}"))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            count += 1;
            for column in 0..columns {
                sum = sum.wrapping_add(match row.get_ref(column)? {
                    ValueRef::Integer(value) => value,
                    ValueRef::Real(value) => value as i64,
                    ValueRef::Text(bytes) => std::str::from_utf8(bytes)?.len() as i64,
                    _ => 1,
                });
            }
        }
    }
    black_box(sum);
    Ok(count)
}

/// A file with the tables that are asked for: decoding with some forty kernels a layer, ranges of layers
/// with registered names, and one in four of PyTorch's `emit_nvtx`, of which no two have one text.
fn made(folder: &Path, name: &str, parts: &[&str]) -> Result<PathBuf, Box<dyn Error>> {
    let path = folder.join(format!("{name}.sqlite"));
    let mut connection = Connection::open(&path)?;
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
    connection.execute_batch(DDL)?;
    let whole = connection.transaction()?;
    {
        let mut string = whole.prepare("INSERT INTO StringIds VALUES (?1, ?2)")?;
        for id in 0..600_i64 {
            string.execute((id, format!("void at::native::kernel_{id}<float, {}>(int, T2, T3)", id * 7)))?;
        }
        let (process, thread) = (1_i64 << 48 | 4000 << 24, 1_i64 << 48 | 4000 << 24 | 4000);
        let mut kernel = whole.prepare(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?1, ?2, 0, 1, NULL, 7, ?3, ?4, ?5, ?6, NULL, 0, 0,
             64, ?7, 1, 1, 128, 1, 1, 0, 4096, 0, 0, ?3, 8192, NULL, 0, NULL)",
        )?;
        for at in (0..LAUNCHES).filter(|_| parts.contains(&KERNELS)) {
            let start = 1_000_000_000 + at * 9_000;
            let name = at % 300;
            kernel.execute((
                start + 5_000,
                start + 12_000 + at % 977,
                at,
                process,
                name,
                name + 300,
                at % 4096,
            ))?;
        }
        let mut call = whole
            .prepare("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?1, ?2, 0, ?3, ?4, ?5, 0, NULL)")?;
        for at in (0..LAUNCHES * 7 / 5).filter(|_| parts.contains(&CALLS)) {
            let start = 1_000_000_000 + at * 6_400;
            call.execute((start, start + 3_000 + at % 331, thread, at, at % 25))?;
        }
        let mut range = whole.prepare(
            "INSERT INTO NVTX_EVENTS VALUES (?1, ?2, 59, NULL, NULL, NULL, ?3, ?4, NULL, ?5, 0, NULL, NULL,
             NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
        )?;
        for at in (0..RANGES).filter(|_| parts.contains(&NVTX)) {
            let start = 1_000_000_000 + at * 11_000;
            let own = (at % 4 == 0)
                .then(|| format!("aten::mul, seq = {at}, op_id = {}, sizes = [[1, 4096], []]", at * 3));
            let registered = own.is_none().then_some(at % 400);
            range.execute((start, start + 9_000, own, thread, registered))?;
        }
    }
    whole.commit()?;
    Ok(path)
}
