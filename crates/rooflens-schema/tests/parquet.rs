//! Tables written to Parquet come back as they were: every column, many ranks, and files of older and newer
//! versions of the schema.
#![expect(clippy::unwrap_used, reason = "a step that fails fails the test")]

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use rooflens_schema::cell::{NameLookup, StoredNames};
use rooflens_schema::parquet_io::{Columnar, RunReader, RunWriter, edit_run_row, read_table, write_table};
use rooflens_schema::table::{ColumnKind, ColumnSchema};
use rooflens_schema::tables::{
    Counters, KernelDimRow, Kernels, ModelOps, ProfiledLaunches, ProfiledMetrics, Ranks, Requests, RunRow,
    Runs, Steps, TableVisitor, TableVisitorMut, Tokens, specs,
};
use rooflens_schema::{Names, Note, RankTables, RunDir, SchemaError, Severity, Stage, TraceMeta, stable_id};

/// Numbers that look random and are always the same.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn name(&mut self) -> String {
        format!("name {}", self.below(50))
    }

    /// A column of any table. Whole numbers are ids of names, so that they can stand in columns of names as well.
    fn column(&mut self, column: &ColumnSchema, rows: usize) -> ArrayRef {
        let mut absent = vec![false; rows];
        if column.nullable {
            absent.iter_mut().for_each(|absent| *absent = self.below(3) == 0);
        }
        let mut cells = absent.into_iter();
        match &column.data_type {
            DataType::Int64 => Arc::new(Int64Array::from_iter(
                cells.map(|absent| Some(stable_id(&self.name())).filter(|_| !absent)),
            )),
            DataType::Int32 => Arc::new(Int32Array::from_iter(
                cells.map(|absent| Some(self.below(1_000) as i32 - 500).filter(|_| !absent)),
            )),
            DataType::Float64 => Arc::new(Float64Array::from_iter(
                cells.map(|absent| Some(self.below(1_000) as f64 / 7.0).filter(|_| !absent)),
            )),
            DataType::Boolean => Arc::new(BooleanArray::from_iter(
                cells.map(|absent| Some(self.below(2) == 0).filter(|_| !absent)),
            )),
            DataType::Utf8 => {
                Arc::new(StringArray::from_iter(cells.map(|absent| Some(self.name()).filter(|_| !absent))))
            }
            DataType::Dictionary(..) => {
                let mut words = StringDictionaryBuilder::<Int8Type>::new();
                cells.all(|_| {
                    words.append(column.words[self.below(column.words.len() as u64) as usize].0).is_ok()
                });
                Arc::new(words.finish())
            }
            other => panic!("{}: no sample of {other}", column.name),
        }
    }

    fn table<T: Columnar>(&mut self, rows: usize, names: &mut NameLookup) -> T {
        let mut table = T::default();
        let spec = T::spec();
        let mut column = |name: &'static str| {
            let column = spec.columns.iter().find(|column| column.name == name)?;
            Some(self.column(column, rows))
        };
        table.decode(rows, &mut column, names).unwrap();
        table
    }
}

fn names() -> Arc<StoredNames> {
    let names = (0..50).map(|i| format!("name {i}"));
    Arc::new(names.map(|name| (stable_id(&name), Arc::from(name))).collect())
}

/// Fills each table of a rank with so many rows.
struct Filler<'a, F> {
    dice: Dice,
    names: &'a mut NameLookup,
    rows: F,
}

impl<F: FnMut(&mut Dice) -> usize> TableVisitorMut for Filler<'_, F> {
    fn table<T: Columnar>(&mut self, table: &mut T) -> Result<(), SchemaError> {
        let rows = (self.rows)(&mut self.dice);
        *table = self.dice.table(rows, self.names);
        Ok(())
    }
}

/// A rank whose tables have as many rows as `rows` says.
fn rank(rank: i32, rows: impl FnMut(&mut Dice) -> usize) -> RankTables {
    let mut names = NameLookup::new(&names());
    let meta = TraceMeta {
        source: format!("rank{rank}.json"),
        format: "kineto".to_owned(),
        events: i64::from(rank) * 10,
        rank: Some(rank),
        world_size: Some(64),
        backend: Some("nccl".to_owned()),
        base_unix_ns: Some(1_700_000_000_000_000_000),
        first_ns: 5,
        last_ns: 500 + i64::from(rank),
        microsecond_clock: rank % 2 == 0,
        properties: vec![("cuda".to_owned(), "13.0".to_owned())],
    };
    let mut tables = RankTables { rank, meta, ..RankTables::default() };
    let mut filler = Filler { dice: Dice(rank as u64 + 1), names: &mut names, rows };
    tables.visit_mut(&mut filler).unwrap();
    tables.names = names.into_names();
    for &id in &tables.kernels.kernel_id {
        let name = tables.names.get(id).to_owned();
        if !name.is_empty() && !tables.kernel_dim.name.contains(&name) {
            let class = if name.ends_with('1') { "gemm" } else { "norm" }.to_owned();
            tables.kernel_dim.push(KernelDimRow {
                kernel_id: stable_id(&name),
                short_name: name.clone(),
                name,
                class,
                library: None,
                dtype: Some("bf16".to_owned()),
            });
        }
    }
    tables
}

/// What a table holds, whatever the ids of its names are.
struct Contents<'a> {
    names: &'a Names,
    tables: Vec<(&'static str, Vec<ArrayRef>)>,
}

impl TableVisitor for Contents<'_> {
    fn table<T: Columnar>(&mut self, table: &T) -> Result<(), SchemaError> {
        self.tables.push((T::NAME, table.encode(0..table.rows(), self.names)));
        Ok(())
    }
}

fn contents(tables: &RankTables) -> Vec<(&'static str, Vec<ArrayRef>)> {
    let mut found = Contents { names: &tables.names, tables: Vec::new() };
    tables.visit(&mut found).unwrap();
    found.tables
}

fn assert_same(read: &RankTables, written: &RankTables) {
    assert_eq!(read.rank, written.rank);
    assert_eq!(read.meta, written.meta);
    for ((name, read), (_, written)) in contents(read).into_iter().zip(contents(written)) {
        assert_eq!(read, written, "{name} of rank {}", 0);
    }
    let described = |tables: &RankTables| {
        let mut rows: Vec<_> = tables.kernel_dim.name.iter().zip(&tables.kernel_dim.class).collect();
        rows.sort();
        format!("{rows:?}")
    };
    // Names that only an operator has may be described as well, where another rank has a kernel of that name.
    for row in &written.kernel_dim.name {
        assert!(described(read).contains(&format!("{row:?}")), "{row} of rank {}", read.rank);
    }
}

fn run_row() -> RunRow {
    let mut dice = Dice(7);
    let runs: Runs = dice.table(1, &mut NameLookup::default());
    runs.row(0).unwrap()
}

fn write(folder: &Path, ranks: &[RankTables]) -> RunDir {
    let run = RunDir::new(folder);
    let mut writer = RunWriter::create(&run).unwrap();
    ranks.iter().for_each(|rank| writer.rank(rank).unwrap());
    let note = Note {
        stage: Stage::Ingest,
        severity: Severity::DataLoss,
        code: "truncated".to_owned(),
        source: "rank1.json".to_owned(),
        count: 3,
        message: "it ends early".to_owned(),
    };
    writer.finish(run_row(), &[note]).unwrap();
    run
}

/// Forty ranks in no order of their numbers; some tables have no row of some ranks.
fn shuffled() -> Vec<RankTables> {
    let number = |i: i32| (i * 17 + 5) % 40;
    (0..40).map(|i| rank(number(i), |dice| dice.below(30).saturating_sub(9) as usize)).collect()
}

fn assert_reads(run: &RunDir, ranks: &[RankTables]) {
    let reader = RunReader::open(run).unwrap();
    let order: Vec<i32> = ranks.iter().map(|rank| rank.rank).collect();
    assert_eq!(reader.ranks(), order);
    let mut read = 0;
    for (tables, written) in reader.each_rank().zip(ranks) {
        assert_same(&tables.unwrap(), written);
        read += 1;
    }
    assert_eq!(read, ranks.len());
    // Alone, and in another order than they were written.
    for written in ranks.iter().rev() {
        assert_same(&reader.rank(written.rank).unwrap(), written);
    }
}

fn batches(path: &Path) -> Vec<RecordBatch> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    builder.with_batch_size(1 << 20).build().unwrap().map(Result::unwrap).collect()
}

/// Writes a table's file again, its rows and columns changed, in row groups of so many rows.
fn rewrite(path: &Path, group: usize, version: &str, change: impl Fn(RecordBatch) -> RecordBatch) {
    write_batches(path, group, version, &batches(path).into_iter().map(change).collect::<Vec<_>>());
}

fn write_batches(path: &Path, group: usize, version: &str, batches: &[RecordBatch]) {
    let version = KeyValue::new("rooflens.schema_version".to_owned(), version.to_owned());
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .set_key_value_metadata(Some(vec![version]))
        .build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batches[0].schema(), Some(properties)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
}

fn groups(path: &Path) -> usize {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    builder.metadata().num_row_groups()
}

fn without(batch: &RecordBatch, column: &str) -> RecordBatch {
    let keep: Vec<usize> =
        (0..batch.num_columns()).filter(|i| batch.schema().field(*i).name() != column).collect();
    batch.project(&keep).unwrap()
}

#[test]
fn every_column_of_every_table_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let written = rank(3, |_| 9);
    let run = write(folder.path(), std::slice::from_ref(&written));
    assert_reads(&run, std::slice::from_ref(&written));
    let reader = RunReader::open(&run).unwrap();
    assert_eq!(format!("{:?}", reader.run_row().unwrap().unwrap()), format!("{:?}", run_row()));
    let notes = reader.notes().unwrap();
    assert_eq!(notes.len(), 1);
    assert_eq!((notes[0].code.as_str(), notes[0].count), ("truncated", 3));
}

#[test]
fn tables_of_no_rank_come_back() {
    fn check<T: Columnar>(run: &RunDir) {
        let written: T = Dice(11).table(20, &mut NameLookup::default());
        write_table(run, &written).unwrap();
        let read: T = read_table(&run.table(T::NAME)).unwrap();
        let names = Names::default();
        assert_eq!(read.encode(0..read.rows(), &names), written.encode(0..20, &names), "{}", T::NAME);
    }
    let folder = tempfile::tempdir().unwrap();
    let run = RunDir::new(folder.path());
    check::<Counters>(&run);
    check::<ModelOps>(&run);
    check::<ProfiledLaunches>(&run);
    check::<ProfiledMetrics>(&run);
    check::<Requests>(&run);
    check::<Tokens>(&run);
    check::<Steps>(&run);
}

#[test]
fn many_ranks_share_row_groups() {
    let folder = tempfile::tempdir().unwrap();
    let ranks = shuffled();
    let run = write(folder.path(), &ranks);
    assert_eq!(groups(&run.table(Kernels::NAME)), 1);
    assert_eq!(groups(&run.table(Ranks::NAME)), 1);
    assert_reads(&run, &ranks);
}

#[test]
fn ranks_cross_the_ends_of_row_groups() {
    let folder = tempfile::tempdir().unwrap();
    let ranks = shuffled();
    let run = write(folder.path(), &ranks);
    for spec in specs().iter().filter(|spec| spec.per_rank) {
        rewrite(&run.table(spec.name), 7, "1.0", |batch| batch);
    }
    assert!(groups(&run.table(Kernels::NAME)) > 40);
    assert_reads(&run, &ranks);
}

#[test]
fn runs_with_row_groups_by_rank_are_read() {
    let folder = tempfile::tempdir().unwrap();
    // Every rank has as many rows as a row group.
    let ranks: Vec<RankTables> = [4, 2, 9].map(|number| rank(number, |_| 5)).into();
    let run = write(folder.path(), &ranks);
    for spec in specs().iter().filter(|spec| spec.per_rank && spec.name != Ranks::NAME) {
        rewrite(&run.table(spec.name), 5, "1.0", |batch| batch);
    }
    rewrite(&run.table(Ranks::NAME), 1, "1.0", |batch| batch);
    assert_eq!(groups(&run.table(Kernels::NAME)), 3);
    assert_reads(&run, &ranks);
}

#[test]
fn tables_that_another_tool_sorted_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ranks = shuffled();
    let run = write(folder.path(), &ranks);
    // The ranks of one table come backwards, each cut in two places: the others stay as they are.
    let path = run.table(Kernels::NAME);
    let batch = batches(&path).remove(0);
    let of: Vec<i32> = batch.column(0).as_any().downcast_ref::<Int32Array>().unwrap().values().to_vec();
    let mut order: Vec<usize> = (0..of.len()).collect();
    order.sort_by_key(|row| (row % 2, -of[*row]));
    let rows: Vec<RecordBatch> = order.iter().map(|row| batch.slice(*row, 1)).collect();
    write_batches(&path, 7, "1.0", &rows);
    let reader = RunReader::open(&run).unwrap();
    for (tables, written) in reader.each_rank().zip(&ranks) {
        let tables = tables.unwrap();
        let sorted = |column: &[i64]| {
            let mut column = column.to_vec();
            column.sort_unstable();
            column
        };
        assert_eq!(sorted(&tables.kernels.ts_ns), sorted(&written.kernels.ts_ns));
        assert_eq!(tables.ops.ts_ns, written.ops.ts_ns);
    }
}

#[test]
fn a_file_of_an_older_version_lacks_newer_columns() {
    let folder = tempfile::tempdir().unwrap();
    let written = rank(0, |_| 6);
    let run = write(folder.path(), std::slice::from_ref(&written));
    rewrite(&run.table(Kernels::NAME), 100, "1.0", |batch| without(&batch, "queue_depth"));
    // A table that the older version did not have.
    std::fs::remove_file(run.table("ranges")).unwrap();
    let read = RunReader::open(&run).unwrap().rank(0).unwrap();
    assert!(read.kernels.queue_depth.iter().all(|depth| depth.get().is_none()));
    assert_eq!(read.kernels.queue_depth.len(), 6);
    assert_eq!(read.kernels.dur_ns, written.kernels.dur_ns);
    assert!(read.ranges.is_empty());
    assert_eq!(read.ops.dur_ns, written.ops.dur_ns);
}

#[test]
fn a_file_without_a_needed_column_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let run = write(folder.path(), &[rank(0, |_| 6)]);
    rewrite(&run.table(Kernels::NAME), 100, "1.0", |batch| without(&batch, "dur_ns"));
    let error = RunReader::open(&run).unwrap().rank(0).unwrap_err();
    assert_eq!(error.to_string(), "table kernels: column dur_ns is not readable as Int64");
    rewrite(&run.table(Kernels::NAME), 100, "1.0", |batch| without(&batch, "rank"));
    let error = RunReader::open(&run).err().unwrap();
    assert_eq!(error.to_string(), "table kernels: column rank is not readable as Int32");
}

#[test]
fn a_file_of_a_newer_version_may_have_more_columns() {
    let folder = tempfile::tempdir().unwrap();
    let written = rank(0, |_| 6);
    let run = write(folder.path(), std::slice::from_ref(&written));
    rewrite(&run.table(Kernels::NAME), 100, "1.7", |batch| {
        let mut fields: Vec<_> = batch.schema().fields().iter().cloned().collect();
        fields.insert(0, Arc::new(Field::new("colour", DataType::Utf8, true)));
        let mut columns = batch.columns().to_vec();
        columns.insert(0, Arc::new(StringArray::from(vec![Some("red"); batch.num_rows()])));
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
    });
    assert_reads(&run, std::slice::from_ref(&written));
}

#[test]
fn a_file_of_another_major_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = write(folder.path(), &[rank(0, |_| 6)]);
    rewrite(&run.table(Kernels::NAME), 100, "2.0", |batch| batch);
    let error = RunReader::open(&run).err().unwrap();
    assert!(error.to_string().ends_with("has schema version 2.0, this build reads 1.0"), "{error}");
}

#[test]
fn a_cut_off_file_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let run = write(folder.path(), &[rank(0, |_| 6)]);
    let path = run.table(Kernels::NAME);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(matches!(RunReader::open(&run), Err(SchemaError::Parquet { .. })));
}

#[test]
fn the_same_ranks_give_the_same_bytes() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let ranks = shuffled();
    let (one, two) = (write(one.path(), &ranks), write(two.path(), &ranks));
    for spec in specs() {
        let bytes = |run: &RunDir| std::fs::read(run.table(spec.name)).unwrap_or_default();
        assert!(bytes(&one) == bytes(&two), "{}", spec.name);
    }
}

#[test]
fn the_id_of_a_run_follows_from_its_rows() {
    let id = |ranks: &[RankTables]| {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = RunWriter::create(&RunDir::new(folder.path())).unwrap();
        ranks.iter().for_each(|rank| writer.rank(rank).unwrap());
        writer.content_id()
    };
    let ranks = [rank(0, |_| 5), rank(1, |_| 5)];
    assert_eq!(id(&ranks), id(&ranks));
    let mut renamed = ranks.clone();
    renamed[0].meta.source = "copy.json".to_owned();
    assert_eq!(id(&renamed), id(&ranks), "files may be renamed");
    let mut other = ranks.clone();
    other[1].kernels.dur_ns[3] += 1;
    assert_ne!(id(&other), id(&ranks));
    let known = ranks[1].kernels.queue_depth.iter().position(|depth| depth.is_some()).unwrap();
    let mut other = ranks.clone();
    other[1].kernels.queue_depth[known] = Default::default();
    assert_ne!(id(&other), id(&ranks), "a value is not its absence");
    let [first, second] = ranks.clone();
    assert_ne!(id(&[second, first]), id(&ranks));
}

#[test]
fn the_row_of_a_run_is_completed_later() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDir::new(folder.path());
    // A run that was only measured gets its row, and still has no trace.
    edit_run_row(&run, "run", |row| row.status = "complete".to_owned()).unwrap();
    let row = read_table::<Runs>(&run.table("runs")).unwrap().row(0).unwrap();
    assert_eq!((row.kind.as_str(), row.status.as_str(), row.ranks), ("run", "complete", 0));
    assert!(!RunDir::has_trace(run.root()) && RunDir::open(run.root()).is_err());
    write(folder.path(), &[rank(0, |_| 2)]);
    assert!(RunDir::has_trace(run.root()));
    edit_run_row(&run, "other", |row| row.kind = "run".to_owned()).unwrap();
    let row = RunReader::open(&run).unwrap().run_row().unwrap().unwrap();
    assert_eq!((row.kind.as_str(), row.run_id), ("run", run_row().run_id));
}

#[test]
fn shifting_moves_times_and_nothing_else() {
    let before = rank(0, |_| 8);
    let mut after = before.clone();
    after.shift(1_000);
    for ((name, before), (_, after)) in contents(&before).into_iter().zip(contents(&after)) {
        let spec = specs().into_iter().find(|spec| spec.name == name).unwrap();
        for (i, column) in spec.columns.iter().enumerate() {
            if column.kind == ColumnKind::Value {
                assert_eq!(&before[i], &after[i], "{name}.{}", column.name);
                continue;
            }
            let moved = |array: &ArrayRef, by: i64| -> Vec<Option<i64>> {
                let array = array.as_any().downcast_ref::<Int64Array>().unwrap();
                array.iter().map(|ts| ts.map(|ts| ts.saturating_add(by))).collect()
            };
            assert_eq!(moved(&before[i], 1_000), moved(&after[i], 0), "{name}.{}", column.name);
        }
    }
    assert_eq!((after.meta.first_ns, after.meta.last_ns), (1_005, 1_500));
}

#[test]
fn columns_that_are_called_times_are_declared_so() {
    for spec in specs() {
        for column in &spec.columns {
            let is_time =
                ["ts_ns", "first_ns", "last_ns", "end_ns"].iter().any(|end| column.name.ends_with(end));
            let declared = column.kind == ColumnKind::Time;
            assert_eq!(
                declared, is_time,
                "{}.{}: declare times as Time, and call them so",
                spec.name, column.name
            );
            assert!(!declared || column.unit == "ns", "{}.{}", spec.name, column.name);
        }
    }
}
