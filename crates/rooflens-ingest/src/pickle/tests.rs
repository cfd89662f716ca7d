//! Pickles written by Python, and ones that no Python writes.

use super::*;
use crate::testing::{cuts, turned};

/// `pickle.dumps({"a": [1, -2, 300, 70000, 2**40, -2**40, 2**63], "t": (1, "é"), "s": s, "again": s}, 4)`
/// where `s` is one list `[None, True, 1.5]`.
const MADE: &[u8] = b"\x80\x04\x95a\0\0\0\0\0\0\0}\x94(\x8c\x01a\x94]\x94(K\x01J\xfe\xff\xff\xffM,\x01Jp\x11\x01\0\
    \x8a\x06\0\0\0\0\0\x01\x8a\x06\0\0\0\0\0\xff\x8a\x09\0\0\0\0\0\0\0\x80\0e\x8c\x01t\x94K\x01\x8c\x02\xc3\xa9\x94\
    \x86\x94\x8c\x01s\x94]\x94(N\x88G?\xf8\0\0\0\0\0\0e\x8c\x05again\x94h\x07u.";

fn parse(bytes: &[u8]) -> Result<Pickle, PickleError> {
    Pickle::parse(bytes.to_vec())
}

#[test]
fn plain_data() {
    let pickle = parse(MADE).unwrap();
    let root = pickle.root();
    let numbers = pickle.items(pickle.get(root, "a").unwrap());
    let values: Vec<Option<i64>> = numbers
        .iter()
        .map(|id| match pickle.node(*id) {
            Node::Int(value) => Some(*value),
            _ => None,
        })
        .collect();
    assert_eq!(values, [Some(1), Some(-2), Some(300), Some(70_000), Some(1 << 40), Some(-1 << 40), None]);
    assert_eq!(pickle.raw(pickle.items(pickle.get(root, "t").unwrap())[1]), Some("é".as_bytes()));
    assert_eq!(pickle.get(root, "s"), pickle.get(root, "again"));
    let others = pickle.items(pickle.get(root, "s").unwrap());
    assert!(others.len() == 3 && others.iter().all(|id| matches!(pickle.node(*id), Node::Other)));
    assert_eq!(pickle.number(root, "a"), None, "no number");
}

#[test]
fn what_runs_code_is_refused() {
    // os.system("true"), by GLOBAL and by STACK_GLOBAL.
    let error = parse(b"\x80\x02cos\nsystem\nX\x04\0\0\0true\x85R.").unwrap_err();
    assert!(error.to_string().starts_with("byte 2 is the instruction GLOBAL,"), "{error}");
    let error = parse(b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.").unwrap_err();
    assert!(error.to_string().starts_with("byte 14 is the instruction STACK_GLOBAL,"), "{error}");
    for (opcode, name) in REFUSED {
        let error = parse(&[b']', *opcode, 0, 0, 0, 0, b'.']).unwrap_err();
        assert!(error.to_string().starts_with(&format!("byte 1 is the instruction {name},")), "{error}");
    }
}

#[test]
fn what_makes_no_sense_is_an_error() {
    for bytes in [
        &b"."[..],
        b"e.",
        b"]e.",
        b"(e.",
        b"K\x01K\x02a.",
        b"}K\x01s.",
        b"}(K\x01u.",
        b"](K\x01a.",
        b"h\x07.",
        b"\x94.",
        b"\x86.",
        b"\xff.",
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff.",
    ] {
        assert!(parse(bytes).is_err(), "{}", bytes.escape_ascii());
    }
    // A list that contains itself is no harm.
    let pickle = parse(b"]\x94h\0a.").unwrap();
    assert_eq!(pickle.items(pickle.root()), [pickle.root()]);
}

#[test]
fn many_keys_are_refused() {
    let mut bytes = b"}(".to_vec();
    bytes.extend((0..=MOST_KEYS).flat_map(|_| [b'N', b'N']));
    bytes.extend(b"u.");
    assert!(parse(&bytes).unwrap_err().to_string().ends_with("makes too many keys"));
}

/// Cut off anywhere it is an error; with a byte turned it is anything but a panic.
#[test]
fn damage() {
    assert!(cuts(MADE, 1).all(|bytes| parse(&bytes).is_err()));
    for bytes in [1, 0x80, 0xff].into_iter().flat_map(|bits| turned(MADE, 1, bits)) {
        let _ = parse(&bytes);
    }
}
