use rooflens_schema::tables::{GemmRow, Transpose};
use rooflens_schema::{NameId, Opt, RankTables};

use crate::error::IngestError;
use crate::testing::{self, read_whole as read};

const LT: &[u8] = include_bytes!("../../../../../fixtures/blaslog/cublaslt.log");
const CUBLAS: &[u8] = include_bytes!("../../../../../fixtures/blaslog/cublas.log");
const BENCH: &[u8] = include_bytes!("../../../../../fixtures/blaslog/bench.log");

fn rows(tables: &RankTables) -> Vec<GemmRow> {
    (0..tables.gemms.len()).filter_map(|row| tables.gemms.row(row)).collect()
}

fn sizes(tables: &RankTables) -> Vec<[i64; 4]> {
    rows(tables).iter().map(|row| [row.m, row.n, row.k, row.batch]).collect()
}

fn word(tables: &RankTables, id: Opt<NameId>) -> String {
    id.get().map_or("-".to_owned(), |id| tables.names.get(id).to_owned())
}

#[test]
fn a_traced_call_counts_once() {
    let (tables, notes) = read(LT);
    assert_eq!(notes, Vec::<String>::new());
    assert_eq!(sizes(&tables), [[128, 3, 64, 1], [10, 7, 64, 5], [128, 3, 64, 1]]);
    let rows = rows(&tables);
    // 2 x 128 x 3 x 64, and two bytes for each of 128 x 64 + 64 x 3 + 128 x 3.
    assert_eq!((rows[0].flops, rows[0].bytes), (Opt::some(49_152), Opt::some(17_536)));
    // Five times 2 x 10 x 7 x 64; half a byte for 5 (10 x 64 + 64 x 7), four for 5 x 10 x 7.
    assert_eq!((rows[1].flops, rows[1].bytes), (Opt::some(44_800), Opt::some(2_720 + 1_400)));
    assert_eq!((rows[1].trans_a, rows[1].trans_b), (Transpose::Yes, Transpose::No));
    let words = |row: &GemmRow| {
        [row.a_dtype_id, row.d_dtype_id, row.compute_id, row.epilogue_id, row.algorithm_id]
            .map(|id| word(&tables, id))
    };
    assert_eq!(words(&rows[0]), ["bf16", "bf16", "COMPUTE_32F", "EPILOGUE_BIAS", "21 32x32 64x1"]);
    assert_eq!(words(&rows[1]), ["fp4", "fp32", "COMPUTE_32F", "-", "66 128x128 128xAUTO 1x1x1"]);
}

#[test]
fn without_traces_the_question_before_tells_the_shape() {
    let lines: Vec<&[u8]> = LT.split(|byte| *byte == b'\n').take(3).collect();
    let (tables, notes) = read(&lines.join(&b'\n'));
    assert_eq!((sizes(&tables), notes.len()), (vec![[128, 3, 64, 1]], 0));
    // The same call again, with no question before it.
    let (tables, notes) = read(&[lines[0], lines[1], lines[2], lines[2]].join(&b'\n'));
    assert_eq!((tables.gemms.len(), notes), (1, vec!["call_without_shape 1".to_owned()]));
}

/// Written by cuBLAS 13.1 itself, on a machine without a device.
#[test]
fn records_of_cublas() {
    let (tables, notes) = read(CUBLAS);
    assert_eq!(notes, Vec::<String>::new());
    let expected = [
        [4096, 7, 1024, 1],
        [128, 7, 64, 12],
        [128, 7, 64, 3],
        [64, 32, 16, 1],
        [4096, 7, 1024, 1],
        [128, 7, 64, 5],
    ];
    assert_eq!(sizes(&tables), expected);
    let types: Vec<String> = rows(&tables).iter().map(|row| word(&tables, row.a_dtype_id)).collect();
    assert_eq!(types, ["bf16", "fp16", "fp32", "fp16", "bf16", "fp16"]);
    assert_eq!(word(&tables, tables.gemms.compute_id[0]), "COMPUTE_32F");
    assert_eq!(tables.gemms.flops[0], Opt::some(2 * 4096 * 7 * 1024));
}

#[test]
fn arguments_of_two_records_are_of_none() {
    let text = String::from_utf8_lossy(CUBLAS);
    let headless: Vec<&str> = text.lines().filter(|line| !line.contains("cublasSgemv_v2")).collect();
    let (tables, notes) = read(headless.join("\n").as_bytes());
    assert_eq!((tables.gemms.len(), notes), (5, vec!["call_without_shape 1".to_owned()]));
}

#[test]
fn lines_that_repeat_a_call() {
    let (tables, notes) = read(BENCH);
    assert_eq!(sizes(&tables), [[1024, 512, 256, 2], [100, 20, 30, 1], [8, 4, 2, 1]]);
    assert_eq!(notes, ["call_without_shape 1"]);
    let rows = rows(&tables);
    // One byte for 2 (1024 x 256 + 256 x 512), two for 2 x 1024 x 512.
    assert_eq!(rows[0].bytes, Opt::some(786_432 + 2_097_152));
    assert_eq!(word(&tables, rows[0].algorithm_id), "solution 56073");
    assert_eq!(word(&tables, rows[0].epilogue_id), "gelu");
    // 2 (100 x 30 + 30 x 20) + 4 x 100 x 20.
    assert_eq!((rows[1].flops, rows[1].bytes), (Opt::some(120_000), Opt::some(15_200)));
    assert_eq!(tables.names.get(rows[1].library_id), "rocblas");
    assert_eq!(word(&tables, rows[2].d_dtype_id), "fp32");
}

#[test]
fn sizes_too_large_to_be_true_have_no_count() {
    let line =
        b"hipblaslt-bench --api_method c -m 9000000000000 -n 9000000000000 -k 9000000000000 --a_type f16_r";
    let (tables, _) = read(line);
    assert_eq!((tables.gemms.flops[0], tables.gemms.bytes[0]), (Opt::NONE, Opt::NONE));
}

#[test]
fn a_log_without_products_is_an_error() {
    let only = LT.split(|byte| *byte == b'\n').next().unwrap();
    let error = testing::read(only).0.unwrap_err();
    assert!(matches!(error, IngestError::NoRecords { .. }) && error.to_string().contains("LOG_LEVEL=2"));
}
