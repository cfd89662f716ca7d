//! The whole reader, on a made snapshot and on damaged ones.

use rooflens_schema::tables::BlockState;

use super::{Kind, kind};
use crate::testing::{cuts, read, turned};

/// Made by `make.py` beside it, where its numbers are explained.
const MADE: &[u8] = include_bytes!("../../../../../fixtures/torchmem/small.pickle");

#[test]
fn events_and_totals() {
    let (tables, notes) = read(MADE);
    let tables = tables.unwrap();
    let memory = &tables.memory;
    assert_eq!(memory.ts_ns, [0, 5_000, 10_000, 20_000, 30_000, 40_000]);
    assert_eq!(memory.bytes, [2000, 0, 3000, -2000, 500, -500]);
    let totals: Vec<Option<i64>> = memory.allocated_bytes.iter().map(|total| total.get()).collect();
    assert_eq!(totals, [3000, 3000, 6000, 4000, 4500, 4000].map(Some));
    let totals: Vec<Option<i64>> = memory.reserved_bytes.iter().map(|total| total.get()).collect();
    assert_eq!(totals, [4096, 12_288, 12_288, 12_288, 12_288, 12_288].map(Some));
    let sites: Vec<Option<&str>> =
        memory.site_id.iter().map(|id| id.get().map(|id| tables.names.get(id))).collect();
    let (forward, step) = (Some("model.py(54): forward"), Some("train.py(12): step"));
    assert_eq!(sites, [forward, None, step, forward, forward, forward]);
    assert_eq!((tables.meta.base_unix_ns, tables.meta.events), (Some(1_700_000_000_000_010_000), 14));
    assert!(notes.rows().is_empty());
}

#[test]
fn blocks() {
    let tables = read(MADE).0.unwrap();
    let blocks = &tables.memory_blocks;
    assert_eq!(blocks.bytes, [1024, 2048, 1024, 3072, 5120]);
    assert_eq!(blocks.segment, [0, 0, 0, 1, 1]);
    assert_eq!((blocks.state[0], blocks.state[1]), (BlockState::Allocated, BlockState::Free));
    assert_eq!((blocks.requested_bytes[0].get(), blocks.requested_bytes[1].get()), (Some(1000), None));
    assert_eq!(blocks.site_id[0].get().map(|id| tables.names.get(id)), Some("(no stack was recorded)"));
}

#[test]
fn folders_are_not_kept() {
    let tables = read(MADE).0.unwrap();
    for (_, name) in tables.names.iter() {
        assert!(!name.contains("somebody") && !name.contains("secret") && !name.contains('/'), "{name}");
    }
}

#[test]
fn a_snapshot_with_code_is_refused() {
    let (tables, _) = read(b"\x80\x04\x8c\x08segments\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.");
    let error = tables.unwrap_err().to_string();
    assert!(error.contains("STACK_GLOBAL") && error.contains("may run code"), "{error}");
}

#[test]
fn totals_that_make_no_sense_are_left_out() {
    // An allocation of which nothing is left, and no release.
    let made = b"\x80\x04}(\x8c\x08segments]\x8c\x0ddevice_traces](](}(\x8c\x06action\x8c\x05alloc\
        \x8c\x04addrK\x01\x8c\x04sizeK\x08\x8c\x07time_usK\x02ueeu.";
    let (tables, notes) = read(made);
    let tables = tables.unwrap();
    assert_eq!((tables.memory.bytes[0], tables.memory.allocated_bytes[0].get()), (8, None));
    assert_eq!(notes.rows()[0].code, "events_missing");
}

#[test]
fn damage() {
    assert!(cuts(MADE, 37).all(|bytes| read(&bytes).0.is_err()));
    for bytes in [1, 0x80, 0xff].into_iter().flat_map(|bits| turned(MADE, 3, bits)) {
        let _ = read(&bytes);
    }
}

#[test]
fn whose_code() {
    for (file, whose) in [
        ("/srv/a/train.py", Kind::User),
        (r"D:\work\model.py", Kind::User),
        ("<stdin>", Kind::User),
        ("/usr/lib/python3.11/contextlib.py", Kind::Library),
        (r"D:\.venv\Lib\site-packages\torch\nn\modules\module.py", Kind::Library),
        ("/tmp/torchinductor_a/hw/chwq7.py", Kind::Library),
        ("memory_snapshot.cpp", Kind::Native),
        ("??", Kind::Native),
        ("", Kind::Native),
    ] {
        assert_eq!(kind(file), whose, "{file}");
    }
}
