//! `HOST:PID:TID [0] NCCL INFO AllReduce: opCount 139d sendbuff 0x… recvbuff 0x… count 7382228
//! datatype 7 op 0 root 0 comm 0x… [nranks=128] stream 0x…`.

use rooflens_schema::tables::CommCallRow;
use rooflens_schema::{Interner, Opt};

use super::{Calls, message_bytes};

/// `ncclDataType_t` of nccl.h, and the bytes of one.
const DTYPES: &[(&str, i64)] = &[
    ("int8", 1),
    ("uint8", 1),
    ("int32", 4),
    ("uint32", 4),
    ("int64", 8),
    ("uint64", 8),
    ("fp16", 2),
    ("fp32", 4),
    ("fp64", 8),
    ("bf16", 2),
    ("fp8_e4m3", 1),
    ("fp8_e5m2", 1),
];

pub(super) fn line(line: &str, calls: &mut Calls, interner: &Interner) {
    let Some((before, said)) = line.split_once(" NCCL INFO ") else { return };
    // A name, as in `AllReduce: opCount 2 …`; other lines hold the words inside sentences.
    let Some((collective, arguments)) = said.split_once(": opCount ") else { return };
    if collective.contains(' ') {
        return;
    }
    // The process is part of a communicator's name: an address alone may stand in two of them.
    let process = before.split_whitespace().find(|word| word.matches(':').count() == 2).unwrap_or_default();
    let row = call(process, collective, arguments, calls, interner);
    calls.push(row);
}

fn call(
    process: &str,
    collective: &str,
    arguments: &str,
    calls: &mut Calls,
    interner: &Interner,
) -> Option<CommCallRow> {
    let value = |name: &str| {
        let mut words = arguments.split_ascii_whitespace();
        words.find(|word| *word == name).and_then(|_| words.next())
    };
    let collective = collective.to_ascii_lowercase();
    let elements: i64 = value("count")?.parse().ok().filter(|count| *count >= 0)?;
    let dtype = DTYPES.get(value("datatype")?.parse::<usize>().ok()?);
    let ranks: Option<i32> = arguments
        .split_once("[nranks=")
        .and_then(|(_, rest)| rest.split(']').next()?.parse().ok())
        .filter(|ranks| *ranks > 0);
    let named = dtype.and_then(|(_, bytes)| elements.checked_mul(*bytes));
    // host:pid without the thread.
    let process = process.rsplit_once(':').map_or(process, |(process, _)| process);
    let comm = calls.comm(&format!("{process} {}", value("comm")?));
    Some(CommCallRow {
        comm,
        comm_rank: Opt::NONE,
        group_size: ranks.into(),
        // Written in base 16.
        sequence: i64::from_str_radix(arguments.split_ascii_whitespace().next()?, 16).ok().into(),
        collective_id: interner.intern(&collective),
        dtype_id: dtype.map(|(name, _)| interner.intern(name)).into(),
        elements: Opt::some(elements),
        bytes: named.and_then(|named| message_bytes(&collective, named, ranks)).into(),
        exec_ns: Opt::NONE,
        timing_id: Opt::NONE,
        alg_gb_per_s: None,
        bus_gb_per_s: None,
    })
}
