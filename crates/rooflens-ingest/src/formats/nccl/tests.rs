use rooflens_schema::Opt;

use crate::testing::{self, names, read_whole as read};

const DEBUG: &[u8] = include_bytes!("../../../../../fixtures/nccl/debug.log");
const INSPECTOR: &[u8] = include_bytes!("../../../../../fixtures/nccl/inspector.jsonl");

#[test]
fn sizes_of_a_debug_log() {
    let (tables, notes) = read(DEBUG);
    assert_eq!(notes, ["damaged_event 1"]);
    let calls = &tables.comm_calls;
    let collectives = names(&tables, &calls.collective_id);
    assert_eq!(collectives, ["allreduce", "allgather", "reducescatter", "broadcast"]);
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
    assert_eq!(names(&tables, &calls.collective_id), ["reducescatter", "allreduce"]);
    assert_eq!(calls.bytes, [65_536 * 32, 1_048_576].map(Opt::some));
    assert_eq!(calls.exec_ns, [110_000, 200_000].map(Opt::some));
    assert_eq!(calls.comm_rank, [31, 0].map(Opt::some));
    assert_eq!((calls.alg_gb_per_s[0], calls.bus_gb_per_s[0]), (Some(19.065018), Some(18.469236)));
    assert!(tables.names.iter().all(|(_, name)| !name.contains("node")));
}

#[test]
fn a_log_without_collectives_says_what_helps() {
    let bytes = b"node-a:1:2 [0] NCCL INFO Bootstrap: Using eth0:192.0.2.1<0>\n";
    let error = testing::read(bytes).0.unwrap_err();
    assert!(error.to_string().contains("NCCL_DEBUG_SUBSYS=COLL"), "{error}");
}
