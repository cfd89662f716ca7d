//! The whole reader, on a made export, on damaged ones and on those of the corpus.

use rooflens_schema::tables::{ActivityKind, ApiKind};
use rooflens_schema::{Notes, RankTables, Severity};

use crate::error::IngestError;
use crate::sqlite::made as file;
use crate::testing::{assert_without, codes, cuts, names, read, turned};

const MADE: &str = include_str!("../../../../../fixtures/nsys/two_processes.sql");

fn made() -> (RankTables, Notes) {
    let (tables, notes) = read(&file(MADE));
    (tables.unwrap(), notes)
}

#[test]
fn activities() {
    let (tables, _) = made();
    let kernels = &tables.kernels;
    assert_eq!(
        names(&tables, &kernels.kernel_id),
        [
            "void gemm<float>(float*)",
            "void gemm<float>(float*)",
            "Memcpy HtoD (Pageable -> Device)",
            "Memset (Device)"
        ]
    );
    // The first record of all starts at 1000.
    assert_eq!(kernels.ts_ns, [200, 300, 1100, 1300]);
    assert_eq!(kernels.dur_ns, [500, 600, 100, 10]);
    assert_eq!((kernels.kind[2], kernels.bytes[2].get()), (ActivityKind::Memcpy, Some(4096)));
    assert_eq!((kernels.grid_x[0].get(), kernels.shared_memory_bytes[0].get()), (Some(64), Some(48)));
    assert_eq!(tables.meta.base_unix_ns, Some(1_700_000_000_000_001_000));
}

#[test]
fn each_process_has_its_own_correlations() {
    let (tables, _) = made();
    let (kernels, api) = (&tables.kernels, &tables.api);
    assert_eq!(kernels.corr_id[0].get(), Some(7), "those of the first process stay");
    assert_ne!(kernels.corr_id[0], kernels.corr_id[1]);
    assert_eq!([api.corr_id[0], api.corr_id[1]], [kernels.corr_id[0], kernels.corr_id[1]]);
    assert_eq!(&api.tid[..2], [101, 201]);
    assert_eq!(tables.names.get(api.name_id[0]), "cudaLaunchKernel");
    assert_eq!((api.kind[3], tables.names.get(api.name_id[3])), (ApiKind::System, "poll"));
}

#[test]
fn ranges_and_operators() {
    let (tables, notes) = made();
    let phases = names(&tables, &tables.phases.name_id);
    assert_eq!(phases, ["rooflens.prefill", "NCCL:ncclAllReduce", "never closed"]);
    assert_eq!(tables.phases.dur_ns, [1500, 60, 100]);
    assert_eq!(tables.ops.len(), 1);
    assert_eq!(tables.names.get(tables.ops.shapes_id[0].get().unwrap()), "[[1,2],[2,3]]");
    let codes = codes(&notes);
    for code in ["open_ranges", "unread_nvtx_marks", "nsys_diagnostic"] {
        assert!(codes.iter().any(|found| found.starts_with(code)), "{code} in {codes:?}");
    }
}

#[test]
fn nothing_private_is_kept() {
    let (tables, notes) = made();
    assert_without(&tables, &notes, &["hunter2", "SECRET", "secret", "somebody"]);
    assert_eq!(tables.devices.device, [0, 1], "only those that were used");
}

#[test]
fn what_a_version_does_not_write_is_absent() {
    let old = "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, shortName INTEGER);
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 30, 1), (NULL, 5, 1), (20, 10, 1);
        INSERT INTO StringIds VALUES (1, 'gemm');";
    let (tables, notes) = read(&file(old));
    let tables = tables.unwrap();
    assert_eq!((tables.kernels.len(), tables.kernels.dur_ns[0]), (1, 20));
    assert_eq!(tables.kernels.corr_id[0].get(), None);
    let lost = notes.rows().into_iter().find(|note| note.code == "event_without_time").unwrap();
    assert_eq!((lost.severity, lost.count), (Severity::DataLoss, 2));
}

#[test]
fn a_view_of_that_name_is_not_run() {
    let hostile = "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE VIEW NVTX_EVENTS AS SELECT 1 AS start, 2 AS end, 59 AS eventType, 'x' AS text;";
    assert!(matches!(read(&file(hostile)).0, Err(IngestError::NoRecords { .. })));
}

/// Cut off, overwritten, with bits turned: an answer or an error, and a note where something is lost.
#[test]
fn damage_is_told() {
    let whole = file(MADE);
    let rows = |tables: &RankTables| tables.kernels.len() + tables.api.len() + tables.phases.len();
    let all = rows(&made().0);
    for bytes in cuts(&whole, 509).chain(turned(&whole, 41, 0xff)) {
        let (tables, notes) = read(&bytes);
        let Ok(tables) = tables else { continue };
        if rows(&tables) < all {
            let told = notes.rows().iter().any(|note| note.severity == Severity::DataLoss);
            let nameless = tables.names.iter().any(|(_, name)| name.contains("missing"));
            // A table whose name was hit cannot be told from one that nothing was recorded for.
            assert!(told || nameless || rows(&tables) > 0);
        }
    }
}
