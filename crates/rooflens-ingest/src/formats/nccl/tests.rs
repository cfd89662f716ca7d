use rooflens_schema::{Notes, Opt, RankTables};

use crate::artefact::Artefact;

const DEBUG: &[u8] = include_bytes!("../../../../../fixtures/nccl/debug.log");
const INSPECTOR: &[u8] = include_bytes!("../../../../../fixtures/nccl/inspector.jsonl");

fn read(bytes: &[u8]) -> (RankTables, Vec<String>) {
    let notes = Notes::default();
    let tables = crate::read(Artefact::from_bytes("log", bytes).unwrap(), &notes).unwrap();
    (tables, notes.rows().into_iter().map(|note| format!("{} {}", note.code, note.count)).collect())
}

fn collectives(tables: &RankTables) -> Vec<&str> {
    tables.comm_calls.collective_id.iter().map(|id| tables.names.get(*id)).collect()
}

#[test]
fn sizes_of_a_debug_log() {
    let (tables, notes) = read(DEBUG);
    assert_eq!(notes, ["damaged_event 1"]);
    assert_eq!(collectives(&tables), ["allreduce", "allgather", "reducescatter", "broadcast"]);
    let calls = &tables.comm_calls;
    // 1,000 x 4; 64 x 2 of each of eight; of each of four; a type that is not known.
    assert_eq!(calls.bytes, [Some(4_000), Some(1_024), Some(512), None].map(Opt::from));
    assert_eq!(calls.group_size, [8, 8, 4, 4].map(Opt::some));
    // The same address in another process is another communicator.
    assert_eq!(calls.comm, [0, 0, 1, 2]);
    assert_eq!(calls.sequence, [10, 11, 11, 12].map(Opt::some));
    assert!(calls.exec_ns.iter().all(|ns| !ns.is_some()));
    for (_, name) in tables.names.iter() {
        assert!(!name.contains("node") && !name.contains("192"), "{name} names a machine");
    }
}

#[test]
fn times_of_the_inspector() {
    let (tables, notes) = read(INSPECTOR);
    assert_eq!(notes, ["damaged_event 1", "unread_p2p 1"]);
    let calls = &tables.comm_calls;
    assert_eq!(collectives(&tables), ["reducescatter", "allreduce"]);
    assert_eq!(calls.bytes, [65_536 * 32, 1_048_576].map(Opt::some));
    assert_eq!(calls.exec_ns, [110_000, 200_000].map(Opt::some));
    assert_eq!(calls.comm_rank, [31, 0].map(Opt::some));
    assert_eq!((calls.alg_gb_per_s[0], calls.bus_gb_per_s[0]), (Some(19.065018), Some(18.469236)));
    assert!(tables.names.iter().all(|(_, name)| !name.contains("node")));
}

#[test]
fn a_log_without_collectives_says_what_helps() {
    let bytes = b"node-a:1:2 [0] NCCL INFO Bootstrap: Using eth0:192.0.2.1<0>\n";
    let error = crate::read(Artefact::from_bytes("log", bytes).unwrap(), &Notes::default()).unwrap_err();
    assert!(error.to_string().contains("NCCL_DEBUG_SUBSYS=COLL"), "{error}");
}
