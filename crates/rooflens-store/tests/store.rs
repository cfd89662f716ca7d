//! A store as its writers and readers meet it: runs appear whole, stay whole through every later state, and what is
//! damaged is found.
#![expect(clippy::unwrap_used, reason = "a step that fails fails the test")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Int64Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rooflens_schema::parquet_io::{RunReader, RunWriter};
use rooflens_schema::tables::{
    ActivityKind, KernelDimRow, KernelRow, PhaseKind, PhaseRow, PhaseSource, RunRow,
};
use rooflens_schema::{RankTables, RunDir, stable_id};
use rooflens_store::{AddOptions, Audited, ChangedDay, Store, StoreError, StoredRun};

const DAY_NS: i64 = 86_400_000_000_000;
/// 2026-11-10.
const START: i64 = 20_767 * DAY_NS;

/// A run of two ranks with a few kernels in prefill and decode; another for each number.
fn write_run(folder: &Path, number: i64) -> RunDir {
    let run = RunDir::new(folder);
    let mut writer = RunWriter::create(&run).unwrap();
    for rank in 0..2 {
        let mut tables = RankTables { rank, ..RankTables::default() };
        tables.meta.base_unix_ns = Some(START);
        let names = ["gemm", "attention", "norm"].map(|name| tables.names.add(name));
        for (id, kind) in [(0, PhaseKind::Prefill), (1, PhaseKind::Decode)] {
            let mut phase = PhaseRow::new(PhaseSource::Engine, i64::from(id) * 1_000_000, 900_000, names[0]);
            (phase.phase_id, phase.step_id, phase.kind) = (id, Some(id).into(), kind);
            phase.decode_tokens = Some(number + 1).into();
            tables.phases.push(phase);
        }
        for at in 0..30 {
            let name = names[(at % 3) as usize];
            let (start, duration) = (at * 10_000 + number, 1_000 + at * 37 + number);
            let mut row = KernelRow::new(0, 7, start, duration, name, ActivityKind::Kernel);
            row.phase_id = Some(i32::from(at >= 10)).into();
            tables.kernels.push(row);
        }
        for name in ["gemm", "attention", "norm"] {
            tables.kernel_dim.push(KernelDimRow {
                kernel_id: stable_id(name),
                name: name.to_owned(),
                short_name: name.to_owned(),
                class: name.to_owned(),
                library: None,
                dtype: None,
            });
        }
        writer.rank(&tables).unwrap();
    }
    let mut row = RunRow::new("trace");
    row.run_id = writer.content_id();
    row.start_unix_ns = Some(START + (number % 3) * DAY_NS).into();
    row.ranks = 2;
    row.model = Some("/srv/someone/models/tiny".to_owned());
    row.metrics = Some(format!("{{\"tpot_p50_ns\":{}.5}}", 1_000 + number));
    writer.finish(row, &[]).unwrap();
    run
}

struct World {
    folder: tempfile::TempDir,
    store: Store,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store").to_str().unwrap()).unwrap();
        World { folder, store }
    }

    fn run(&self, number: i64) -> RunDir {
        write_run(&self.folder.path().join(format!("run{number}")), number)
    }

    async fn add(&self, number: i64) -> String {
        self.store.add(&self.run(number), &AddOptions::default()).await.unwrap().run_id
    }

    /// Rows and sum of durations of `kernels` by run, over the files that count.
    async fn kernels(&self) -> BTreeMap<String, (i64, i64)> {
        let mut sums = BTreeMap::new();
        for path in self.files("kernels").await {
            for batch in batches(&path) {
                let runs = batch.column_by_name("run_id").unwrap().as_string::<i32>();
                let durations = batch.column_by_name("dur_ns").unwrap().as_primitive::<Int64Type>();
                for row in 0..batch.num_rows() {
                    let sum: &mut (i64, i64) = sums.entry(runs.value(row).to_owned()).or_default();
                    *sum = (sum.0 + 1, sum.1 + durations.value(row));
                }
            }
        }
        sums
    }

    async fn files(&self, table: &str) -> Vec<PathBuf> {
        let snapshot = self.store.snapshot().await.unwrap();
        let found = snapshot.files_of(snapshot.partitions().iter()).await.unwrap();
        let files = found.iter().flat_map(|(_, files)| &files.files).filter(|file| file.table == table);
        files.map(|file| Path::new("/").join(file.path.as_ref())).collect()
    }

    async fn sum(&self, table: &str, column: &str) -> i64 {
        let files = self.files(table).await;
        let batches = files.iter().flat_map(|path| batches(path));
        batches.flat_map(|batch| big(&batch, column).iter().flatten().collect::<Vec<_>>()).sum()
    }

    async fn find(&self, id: &str) -> StoredRun {
        self.store.find(id, None).await.unwrap()
    }

    async fn compact(&self) -> Vec<ChangedDay> {
        self.store.compact(START, |_| true).await.unwrap()
    }
}

fn batches(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path).unwrap()).unwrap();
    reader.build().unwrap().map(Result::unwrap).collect()
}

fn big(batch: &RecordBatch, column: &str) -> Int64Array {
    batch.column_by_name(column).unwrap().as_primitive::<Int64Type>().clone()
}

fn removal() -> Audited {
    Audited { by: "tester".to_owned(), reason: "a test".to_owned(), unix_ns: START }
}

#[tokio::test]
async fn a_run_appears_whole_and_only_once() {
    let world = World::new();
    assert!(matches!(world.store.snapshot().await, Err(StoreError::Absent { .. })));
    let id = world.add(1).await;
    let again = world.store.add(&world.run(1), &AddOptions::default()).await.unwrap();
    assert!(again.was_there && again.run_id == id && !again.is_undated);
    assert_eq!(again.day, "2026-11-11");
    let expected: i64 = (0..30).map(|at| 1_000 + at * 37 + 1).sum::<i64>() * 2;
    assert_eq!(world.kernels().await, [(id.clone(), (60, expected))].into());
    for table in ["kernel_rollup", "kernel_hours"] {
        assert_eq!(world.sum(table, "total_ns").await, expected, "{table}");
        assert_eq!(world.sum(table, "count").await, 60, "{table}");
    }
    assert_eq!(world.sum("kernel_histogram", "count").await, 60);
    assert_eq!(world.sum("phase_rollup", "decode_tokens").await, 2 * 2 * 2);
    let runs = world.store.runs().await.unwrap();
    assert_eq!(runs[0].entry.row["model"], "tiny");
    assert_eq!(runs[0].entry.row["metrics"]["tpot_p50_ns"], 1_001.5);
    // A run that says when it was has one day.
    let day = AddOptions { day: Some("2026-11-01".to_owned()), ..AddOptions::default() };
    let again = world.store.add(&world.run(1), &day).await.unwrap();
    assert!(again.was_there && again.day != "2026-11-01");
    // The same id with something else to say is refused.
    let set = AddOptions { set: [("label".to_owned(), "x".to_owned())].into(), ..AddOptions::default() };
    assert!(matches!(world.store.add(&world.run(1), &set).await, Err(StoreError::Differs { .. })));
}

#[tokio::test]
async fn what_has_no_manifest_does_not_count() {
    let world = World::new();
    let id = world.add(1).await;
    let other = world.add(2).await;
    let manifest = format!("store/tenant=default/log/day=2026-11-12/run-{other}.json");
    std::fs::remove_file(world.folder.path().join(manifest)).unwrap();
    assert_eq!(world.kernels().await.into_keys().collect::<Vec<_>>(), vec![id]);
    // Adding it again finds its files there, and makes it count.
    world.add(2).await;
    assert_eq!(world.kernels().await.len(), 2);
}

#[tokio::test]
async fn compaction_changes_files_and_nothing_else() {
    let world = World::new();
    for number in 0..12 {
        world.add(number).await;
    }
    let before = world.kernels().await;
    let sums = |table: &'static str, column: &'static str| world.sum(table, column);
    let hours = sums("kernel_hours", "total_ns").await;
    let buckets = sums("kernel_histogram", "count").await;
    let changed = world.compact().await;
    assert_eq!(changed.len(), 3);
    assert!(changed.iter().all(|day| day.runs == 4 && day.files_after < day.files_before), "{changed:?}");
    assert_eq!(world.kernels().await, before);
    assert_eq!(sums("kernel_hours", "total_ns").await, hours);
    assert_eq!(sums("kernel_histogram", "count").await, buckets);
    assert_eq!(world.files("kernels").await.len(), 3);
    // Nothing is left to do; a run that is added later counts beside the state, and goes into the next.
    assert!(world.compact().await.is_empty());
    world.add(12).await;
    assert_eq!(world.kernels().await.len(), 13);
    assert_eq!(world.compact().await.len(), 1);
    assert_eq!(world.kernels().await.len(), 13);
    // What no longer counts goes, what counts stays.
    let vacuumed = world.store.vacuum(i64::MAX).await.unwrap();
    assert!(vacuumed.files > 12, "{vacuumed:?}");
    assert_eq!(world.kernels().await.len(), 13);
    assert_eq!(world.store.vacuum(i64::MAX).await.unwrap().files, 0);
    // A run whose own manifest is gone is known all the same.
    assert!(world.store.add(&world.run(3), &AddOptions::default()).await.unwrap().was_there);
}

#[tokio::test]
async fn compacted_rows_are_sorted_by_kernel() {
    let world = World::new();
    for number in [0, 3, 6] {
        world.add(number).await;
    }
    world.compact().await;
    let files = world.files("kernels").await;
    assert_eq!(files.len(), 1);
    let mut last = (i64::MIN, String::new(), 0, 0);
    for batch in batches(&files[0]) {
        let (kernels, times) = (big(&batch, "kernel_id"), big(&batch, "ts_ns"));
        let ranks = batch.column_by_name("rank").unwrap().as_primitive::<Int32Type>();
        let runs = batch.column_by_name("run_id").unwrap().as_string::<i32>();
        for row in 0..batch.num_rows() {
            let run = runs.value(row).to_owned();
            let key = (kernels.value(row), run, ranks.value(row), times.value(row));
            assert!(key >= last, "{key:?} after {last:?}");
            last = key;
        }
    }
}

#[tokio::test]
async fn a_removed_run_stays_removed() {
    let world = World::new();
    let ids = [world.add(0).await, world.add(3).await, world.add(6).await];
    // One of its own files, then one of a compacted day.
    world.store.remove(&world.find(&ids[0]).await, &removal()).await.unwrap();
    assert_eq!(world.kernels().await.len(), 2);
    world.compact().await;
    assert_eq!(world.kernels().await.len(), 2);
    let of_two = world.sum("kernel_hours", "count").await;
    world.store.remove(&world.find(&ids[1]).await, &removal()).await.unwrap();
    assert_eq!(world.kernels().await.into_keys().collect::<Vec<_>>(), vec![ids[2].clone()]);
    assert_eq!(world.sum("kernel_hours", "count").await * 2, of_two);
    world.store.vacuum(i64::MAX).await.unwrap();
    assert_eq!(world.kernels().await.len(), 1);
    for number in [0, 3] {
        let added = world.store.add(&world.run(number), &AddOptions::default()).await;
        assert!(matches!(added, Err(StoreError::Removed { .. })), "{added:?}");
    }
    let audit = world.folder.path().join("store/tenant=default/audit");
    assert_eq!(std::fs::read_dir(audit).unwrap().count(), 2);
}

#[tokio::test]
async fn what_counted_until_now_is_kept_for_those_who_read_it() {
    let world = World::new();
    for number in [0, 3, 6] {
        world.add(number).await;
    }
    let before = world.files("kernels").await;
    let now = i64::MAX / 2;
    world.store.compact(now, |_| true).await.unwrap();
    // The files are older than the state that took their place: what counts is since when they do not count.
    assert_eq!(world.store.vacuum(now).await.unwrap().files, 0);
    assert!(before.iter().all(|file| file.is_file()));
    assert!(world.store.vacuum(now + 1).await.unwrap().files > 0);
    assert!(!before.iter().any(|file| file.is_file()));
    // What a writer that was killed left half-written.
    let staged = world.files("kernels").await[0].with_file_name("x.parquet#1");
    std::fs::write(&staged, "half").unwrap();
    assert_eq!(world.store.vacuum(i64::MAX).await.unwrap().files, 1);
    assert!(!staged.exists());
}

#[tokio::test]
async fn old_days_go_events_first() {
    let world = World::new();
    for number in 0..6 {
        world.add(number).await;
    }
    let all = world.sum("kernel_rollup", "count").await;
    world.store.retain(Some("2026-11-12"), None, START, false).await.unwrap();
    assert_eq!(world.kernels().await.len(), 2);
    assert_eq!(world.sum("kernel_rollup", "count").await, all);
    assert!(world.store.retain(Some("2026-11-12"), None, START, false).await.unwrap().is_empty());
    world.store.retain(Some("2026-11-12"), Some("2026-11-11"), START, false).await.unwrap();
    assert_eq!(world.store.runs().await.unwrap().len(), 4);
    world.store.vacuum(i64::MAX).await.unwrap();
    assert_eq!(world.kernels().await.len(), 2);
    // Compaction of what is left does not bring events back.
    world.compact().await;
    assert_eq!(world.store.runs().await.unwrap().len(), 4);
}

#[tokio::test]
async fn damage_is_found_and_not_passed_on() {
    let world = World::new();
    world.add(0).await;
    world.add(3).await;
    assert!(world.store.verify(|_| true).await.unwrap().damaged.is_empty());
    let file = world.files("kernels").await.remove(0);
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let gone = world.files("runs").await.remove(0);
    std::fs::remove_file(gone).unwrap();
    let found = world.store.verify(|_| true).await.unwrap();
    assert_eq!(found.damaged.len(), 2, "{found:?}");
    assert!(world.store.compact(START, |_| true).await.is_err());
}

#[tokio::test]
async fn a_damaged_manifest_does_not_hide_other_damage() {
    let world = World::new();
    let id = world.add(0).await;
    world.add(3).await;
    world.add(1).await;
    let file = world.files("kernels").await.pop().unwrap();
    std::fs::write(&file, b"PAR1").unwrap();
    let manifest = format!("tenant=default/log/day=2026-11-10/run-{id}.json");
    let path = world.folder.path().join("store").join(&manifest);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("tiny", "tony", 1)).unwrap();
    let found = world.store.verify(|_| true).await.unwrap();
    assert_eq!((found.runs, found.damaged.len()), (2, 2), "{found:?}");
    assert!(found.damaged.iter().any(|file| file.path == manifest), "{found:?}");
    // A reader is told which manifest it is, as a path in the store.
    let error = world.store.runs().await.unwrap_err().to_string();
    assert!(error.contains(&format!("the manifest {manifest} is damaged")), "{error}");
    // Without it the run is not there, and can be added again.
    std::fs::remove_file(path).unwrap();
    world.add(0).await;
    assert_eq!(world.store.verify(|_| true).await.unwrap().damaged.len(), 1);
    // Of a day whose state cannot be read nothing is known; the other days are checked.
    world.store.compact(START, |partition| partition.day == "2026-11-10").await.unwrap();
    let state = world.folder.path().join("store/tenant=default/log/day=2026-11-10/state-000001.json");
    std::fs::write(state, b"{}").unwrap();
    let found = world.store.verify(|_| true).await.unwrap();
    assert_eq!((found.runs, found.damaged.len()), (1, 2), "{found:?}");
}

#[tokio::test]
async fn a_run_can_be_relabelled() {
    let world = World::new();
    let id = world.add(0).await;
    world.add(3).await;
    let before = world.kernels().await;
    let set = |name: &str, value: &str| [(name.to_owned(), value.to_owned())].into();
    for is_compacted in [false, true] {
        let run = world.find(&id).await;
        let (label, hardware) = if is_compacted { ("second", "B200") } else { ("first", "H100") };
        world.store.set(&run, &set("label", label), &removal()).await.unwrap();
        world.store.set(&run, &set("hardware", hardware), &removal()).await.unwrap();
        let row = world.find(&id).await.entry.row;
        assert_eq!((row["label"].as_str(), row["hardware"].as_str()), (Some(label), Some(hardware)));
        assert_eq!(world.kernels().await, before);
        world.compact().await;
    }
    // The roll-up by hardware follows: half of the calls are of the run.
    let mut of_b200 = 0;
    for path in world.files("kernel_hours").await {
        for batch in batches(&path) {
            let hardware = batch.column_by_name("hardware").unwrap().as_string::<i32>();
            let counts = big(&batch, "count");
            let rows = hardware.iter().zip(counts.values()).filter(|(of, _)| *of == Some("B200"));
            of_b200 += rows.map(|(_, count)| count).sum::<i64>();
        }
    }
    assert_eq!((of_b200, world.sum("kernel_hours", "count").await), (60, 120));
    // It is the same run for those who add it again; what may not be set is refused before anything is written.
    assert!(world.store.add(&world.run(0), &AddOptions::default()).await.unwrap().was_there);
    let run = world.find(&id).await;
    let audits =
        || std::fs::read_dir(world.folder.path().join("store/tenant=default/audit")).unwrap().count();
    let written = audits();
    assert!(matches!(
        world.store.set(&run, &set("run_id", "x"), &removal()).await,
        Err(StoreError::Value { .. })
    ));
    assert!(written > 0 && audits() == written);
    world.store.set(&run, &set("label", ""), &removal()).await.unwrap();
    assert!(world.find(&id).await.entry.row["label"].is_null());
}

#[tokio::test]
async fn a_manifest_names_files_of_its_own_tenant_only() {
    let world = World::new();
    let id = world.add(0).await;
    let path = world.folder.path().join(format!("store/tenant=default/log/day=2026-11-10/run-{id}.json"));
    let text = std::fs::read_to_string(&path).unwrap();
    let write = |from: &str, to: &str| {
        let mut document: serde_json::Map<_, _> = serde_json::from_str(&text.replace(from, to)).unwrap();
        document.remove("sha256");
        std::fs::write(&path, rooflens_store::sealed(&document)).unwrap();
    };
    for place in ["tenant=other/", "tenant=default/../../", "/etc/"] {
        write("\"tenant=default/", &format!("\"{place}"));
        let error = world.store.runs().await.unwrap_err().to_string();
        assert!(error.contains("not the tenant's"), "{error}");
    }
    write("\"rooflens_store\":1", "\"rooflens_store\":2");
    assert!(world.store.runs().await.unwrap_err().to_string().contains("version 2"));
    std::fs::write(&path, text.replace("\"rooflens_store\":1", "\"rooflens_store\":0")).unwrap();
    assert!(world.store.runs().await.unwrap_err().to_string().contains("not those that were written"));
}

#[tokio::test]
async fn writers_at_the_same_time_are_one_writer() {
    let world = World::new();
    let run = world.run(0);
    let options = AddOptions::default();
    let (a, b, c) = tokio::join!(
        world.store.add(&run, &options),
        world.store.add(&run, &options),
        world.store.add(&run, &options)
    );
    assert!([a, b, c].into_iter().all(|added| added.is_ok()));
    assert_eq!(world.kernels().await.len(), 1);
    let (a, b) = tokio::join!(world.store.compact(START, |_| true), world.store.compact(START, |_| true));
    assert!(a.is_ok() && b.is_ok());
    assert_eq!(world.kernels().await.len(), 1);
}

#[tokio::test]
async fn a_run_comes_back_as_a_run_directory() {
    let world = World::new();
    let ids = [world.add(0).await, world.add(3).await];
    for is_compacted in [false, true] {
        if is_compacted {
            world.compact().await;
        }
        let to = RunDir::new(world.folder.path().join(format!("back-{is_compacted}")));
        world.store.fetch(&world.find(&ids[1]).await, &to).await.unwrap();
        let reader = RunReader::open(&to).unwrap();
        assert_eq!(reader.ranks(), [0, 1]);
        assert_eq!(reader.run_row().unwrap().unwrap().run_id.as_str(), ids[1]);
        let was = RunReader::open(&RunDir::new(world.folder.path().join("run3"))).unwrap();
        for rank in [0, 1] {
            let (back, was) = (reader.rank(rank).unwrap(), was.rank(rank).unwrap());
            assert_eq!(back.kernels.ts_ns, was.kernels.ts_ns);
            assert_eq!(back.kernels.dur_ns, was.kernels.dur_ns);
            let names = |tables: &RankTables| -> Vec<String> {
                tables.kernels.kernel_id.iter().map(|&id| tables.names.get(id).to_owned()).collect()
            };
            assert_eq!(names(&back), names(&was));
            assert_eq!(back.phases.kind, was.phases.kind);
            assert_eq!(back.phases.decode_tokens, was.phases.decode_tokens);
        }
    }
}
