//! Folders of tables, written here, against the SQLite file of the same records.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use parquet::arrow::ArrowWriter;
use rooflens_schema::{Notes, RankTables};

use crate::artefact::{Artefact, InputSource, no_progress};
use crate::folder::rank_files;
use crate::sqlite;
use crate::testing::codes;

const SQL: &str = "
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO StringIds VALUES (7, 'gemm'), (9, 'decode'), (12, 'read');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, correlationId, globalPid, demangledName, shortName, gridX, gridY, gridZ, blockX, blockY, blockZ);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 1250, 0, 7, 3, 16777216, 7, 7, 4, 1, 1, 128, 1, 1), (1300, 1350, 0, 7, 4, 16777216, 7, 7, 8, 1, 1, 128, 1, 1);
    CREATE TABLE OSRT_API (start, end, globalTid, nameId);
    INSERT INTO OSRT_API VALUES (900, 990, 16777217, 12);
    CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid, textId, domainId);
    INSERT INTO NVTX_EVENTS VALUES (950, 1400, 59, NULL, 16777217, 9, 0);
    CREATE TABLE SCHED_EVENTS (start);
    INSERT INTO SCHED_EVENTS VALUES (1), (2);
";

fn ids(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn small(values: &[i32]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

/// The same records, in the types that the exports have.
fn tables() -> Vec<(&'static str, RecordBatch)> {
    let global = |value: u64, count: usize| -> ArrayRef { Arc::new(UInt64Array::from(vec![value; count])) };
    let of = |columns: Vec<(&str, ArrayRef)>| {
        RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, column)| (name, column, true)),
        )
        .unwrap()
    };
    let names: ArrayRef = Arc::new(StringArray::from(vec!["gemm", "decode", "read"]));
    vec![
        ("StringIds", of(vec![("id", small(&[7, 9, 12])), ("value", names)])),
        (
            "CUPTI_ACTIVITY_KIND_KERNEL",
            of(vec![
                ("start", ids(&[1000, 1300])),
                ("end", ids(&[1250, 1350])),
                ("deviceId", small(&[0, 0])),
                ("streamId", small(&[7, 7])),
                ("correlationId", small(&[3, 4])),
                ("globalPid", global(16_777_216, 2)),
                ("demangledName", small(&[7, 7])),
                ("shortName", small(&[7, 7])),
                ("gridX", small(&[4, 8])),
                ("gridY", small(&[1, 1])),
                ("gridZ", small(&[1, 1])),
                ("blockX", small(&[128, 128])),
                ("blockY", small(&[1, 1])),
                ("blockZ", small(&[1, 1])),
            ]),
        ),
        (
            "OSRT_API",
            of(vec![
                ("start", ids(&[900])),
                ("end", ids(&[990])),
                ("globalTid", global(16_777_217, 1)),
                ("nameId", small(&[12])),
            ]),
        ),
        (
            "NVTX_EVENTS",
            of(vec![
                ("start", ids(&[950])),
                ("end", ids(&[1400])),
                ("eventType", small(&[59])),
                ("text", Arc::new(StringArray::from(vec![None::<&str>]))),
                ("globalTid", global(16_777_217, 1)),
                ("textId", small(&[9])),
                ("domainId", small(&[0])),
                ("odd \"name", small(&[0])),
            ]),
        ),
        ("SCHED_EVENTS", of(vec![("start", ids(&[1, 2]))])),
        ("ThreadNames", of(vec![("nameId", ids(&[7]))])),
    ]
}

fn write_parquet(folder: &Path) {
    for (name, batch) in tables() {
        let file = File::create(folder.join(format!("{name}.parquet"))).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
}

fn write_arrow(folder: &Path) {
    for (name, batch) in tables() {
        let file = File::create(folder.join(format!("{name}.arrow"))).unwrap();
        let mut writer = arrow_ipc::writer::StreamWriter::try_new(file, &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    }
}

fn read(folder: &Path, notes: &Notes) -> RankTables {
    let files = rank_files(folder, notes).unwrap();
    assert_eq!(files.len(), 1, "a folder is one trace: {files:?}");
    let artefact = Artefact::open(&InputSource::File(files[0].path.clone()), no_progress()).unwrap();
    crate::read(artefact, notes).unwrap()
}

/// All that was read, but for where it was read from.
fn content(mut tables: RankTables) -> String {
    tables.meta.source = String::new();
    // Names by the rows that have them: their own table is not in order.
    let names = std::mem::take(&mut tables.names);
    let ids = [&tables.kernels.kernel_id, &tables.api.name_id, &tables.ranges.name_id];
    let named: Vec<&str> = ids.into_iter().flatten().map(|id| names.get(*id)).collect();
    format!("{named:?} {tables:?}")
}

#[test]
fn a_folder_gives_what_the_database_gives() {
    let expected = Notes::default();
    let database = Artefact::from_bytes("x.sqlite", &sqlite::made(SQL)).unwrap();
    let expected_tables = content(crate::read(database, &expected).unwrap());
    assert!(expected_tables.contains("gemm") && expected_tables.contains("decode"));
    for write in [write_parquet, write_arrow] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        let notes = Notes::default();
        assert_eq!(content(read(folder.path(), &notes)), expected_tables);
        assert_eq!(codes(&notes), codes(&expected));
    }
}

#[test]
fn a_damaged_table_is_a_note_and_the_others_count() {
    let folder = tempfile::tempdir().unwrap();
    write_parquet(folder.path());
    let path = folder.path().join("OSRT_API.parquet");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let notes = Notes::default();
    let tables = read(folder.path(), &notes);
    assert_eq!((tables.kernels.len(), tables.api.len()), (2, 0));
    assert!(
        notes.rows().iter().any(|note| note.code == "damaged_table" && note.message.contains("OSRT_API"))
    );
}
