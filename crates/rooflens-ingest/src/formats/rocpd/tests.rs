//! The whole reader, on a made database and on damaged ones.

use rooflens_schema::{RankTables, Severity};

use crate::error::IngestError;
use crate::sqlite::made as file;
use crate::testing::{assert_without, codes, cuts, fixture, names, read, read_file, turned};

const MADE: &str = include_str!("../../../../../fixtures/rocpd/two_devices.sql");

/// The same process as CSV and as a database gives the same rows, but for what only the latter knows.
#[test]
fn it_says_what_the_csv_says() {
    let (csv, _) = read_file(fixture("rocprofv3/42_kernel_trace.csv"));
    let (made, notes) = read(&file(MADE));
    let made = made.unwrap();
    assert_eq!(made.meta.format, "rocpd");
    assert_eq!(made.meta.properties, [("rocpd_schema_version".to_owned(), "3".to_owned())]);
    let kernels = |tables: &RankTables| {
        let mut rows = Vec::new();
        for row in 0..tables.kernels.len() {
            let it = &tables.kernels;
            let name = tables.names.get(it.kernel_id[row]).to_owned();
            let launch = [&it.grid_x, &it.grid_y, &it.grid_z, &it.block_x, &it.block_y, &it.block_z];
            let launch = launch.map(|column| column[row].get());
            let place = (it.device[row], it.stream[row], it.ts_ns[row], it.dur_ns[row]);
            let rest = (it.corr_id[row].get(), it.registers[row].get(), it.shared_memory_bytes[row].get());
            rows.push((place, name, launch, rest));
        }
        rows
    };
    assert_eq!(kernels(&made), kernels(&csv));
    assert_eq!(made.kernels.len(), 5);
    let calls = |tables: &RankTables| {
        format!("{:?} {:?} {:?}", names(tables, &tables.api.name_id), tables.api.ts_ns, tables.api.dur_ns)
    };
    assert_eq!(calls(&made), calls(&csv));
    assert_eq!(made.api.tid, csv.api.tid);
    assert_eq!(made.api.corr_id, csv.api.corr_id);
    let phases = |tables: &RankTables| {
        let it = &tables.phases;
        format!("{:?} {:?} {:?}", names(tables, &it.name_id), it.ts_ns, it.dur_ns)
    };
    assert_eq!(phases(&made), phases(&csv));
    assert_eq!((&made.devices.device, &made.devices.name), (&csv.devices.device, &csv.devices.name));
    assert_eq!(made.devices.units, csv.devices.units);
    assert_eq!([3, 4].map(|row| made.kernels.bytes[row].get()), [Some(4096), Some(1024)]);
    assert_eq!(codes(&notes), ["unread_rocpd_sample 1"]);
}

#[test]
fn nothing_private_is_kept() {
    let (tables, notes) = read(&file(MADE));
    assert_without(&tables.unwrap(), &notes, &["hunter2", "somebody"]);
}

/// Two processes in a file: the same ids mean something else in each.
#[test]
fn each_process_has_its_own_ids() {
    let second: String = MADE.lines().filter(|line| !line.contains("VIEW")).collect::<Vec<_>>().join("\n");
    let second = second.replace("_0a_1b", "_0c").replace("softmax", "other");
    let tables = read(&file(&format!("{MADE}\n{second}"))).0.unwrap();
    assert_eq!((tables.kernels.len(), tables.api.len()), (10, 12));
    let (first, other) = (tables.kernels.corr_id[1], tables.kernels.corr_id[6]);
    assert_eq!((first.get(), other.get()), (Some(6), Some((1 << 32) | 6)));
    assert_eq!(tables.names.get(tables.kernels.kernel_id[6]), "other(float*)");
}

#[test]
fn a_hostile_schema_does_nothing() {
    // A view in place of a table, and names that would end the statement they stand in.
    let hostile = "CREATE TABLE rocpd_metadata (tag TEXT, value TEXT);
        CREATE VIEW rocpd_kernel_dispatch AS SELECT 1 AS start, 2 AS \"end\";
        CREATE TABLE \"rocpd_string\"\"; DROP TABLE rocpd_metadata; --\" (id INTEGER);";
    assert!(matches!(read(&file(hostile)).0, Err(IngestError::NoRecords { .. })));
    let elsewhere = "CREATE TABLE rocpd_metadata_1 (tag TEXT, value TEXT);
        CREATE TABLE rocpd_string_1 (id INTEGER PRIMARY KEY, string TEXT);
        CREATE TABLE rocpd_timestamp_1 (id INTEGER PRIMARY KEY, value BIGINT);
        CREATE TABLE rocpd_kernel_dispatch_1 (id INTEGER PRIMARY KEY, start_id INTEGER, end_id INTEGER);
        INSERT INTO rocpd_kernel_dispatch_1 VALUES (1, 1, 2);";
    let error = read(&file(elsewhere)).0.unwrap_err().to_string();
    assert!(error.contains("rocpd_timestamp"), "{error}");
}

/// Cut off, with bits turned: an answer or an error, and a note where something is lost.
#[test]
fn damage_is_told() {
    let whole = file(MADE);
    let rows = |tables: &RankTables| tables.kernels.len() + tables.api.len() + tables.phases.len();
    let all = rows(&read(&whole).0.unwrap());
    for bytes in cuts(&whole, 509).chain(turned(&whole, 37, 0xff)) {
        let (tables, notes) = read(&bytes);
        let Ok(tables) = tables else { continue };
        if rows(&tables) < all {
            let told = notes.rows().iter().any(|note| note.severity == Severity::DataLoss);
            // A table whose name was hit cannot be told from one that nothing was recorded for.
            assert!(told || rows(&tables) > 0);
        }
    }
}
