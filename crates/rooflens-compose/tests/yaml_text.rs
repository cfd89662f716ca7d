//! What is read, and what is written of it: input beside output. Every expectation was printed by
//! OmegaConf 2.3.1 (`oracles/compose/yaml_diff.py` compares many more).

#![allow(clippy::unwrap_used, reason = "a test")]

use rooflens_compose::value::{Node, Value, float_repr, python_str};
use rooflens_compose::yaml;

fn rewritten(text: &str) -> String {
    yaml::dump(&yaml::load(text, "in.yaml".into()).unwrap())
}

#[test]
fn types_survive_and_are_normalised() {
    let table = [
        ("a: 017\nb: 0x1F\nc: 1:30\nd: 1_000\n", "a: 15\nb: 31\nc: 90\nd: 1000\n"),
        (
            "a: 1e3\nb: 1e-7\nc: 1e20\nd: .inf\ne: .nan\n",
            "a: 1000.0\nb: 1.0e-07\nc: 1.0e+20\nd: .inf\ne: .nan\n",
        ),
        ("yes: on\nb: y\nc: 08\nd: 2020-01-01\n", "true: true\nb: 'y'\nc: '08'\nd: '2020-01-01'\n"),
        ("a: '1'\nb: 'null'\nc: ''\nd: '~'\ne: inf\n", "a: '1'\nb: 'null'\nc: ''\nd: '~'\ne: 'inf'\n"),
        ("a: ${b}\nb: ???\nc: ~\n", "a: ${b}\nb: ???\nc: null\n"),
        ("{a: [], b: {}, c: [[1], {d: 2}]}", "a: []\nb: {}\nc:\n- - 1\n- d: 2\n"),
        ("a: |\n  x\n  y\n", "a: 'x\n\n  y\n\n  '\n"),
        ("a: \"x\\ty\"\n", "a: \"x\\ty\"\n"),
        ("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n", "a:\n  x: 1\n  'y': 2\nb:\n  x: 1\n  'y': 3\n"),
        ("a: !!binary aGVsbG8=\n", "a: !!binary |\n  aGVsbG8=\n"),
        ("'': 1\n", "? ''\n: 1\n"),
        ("word\n", "word: null\n"),
        ("'a: 1'\n", "a: 1\n"),
        ("1: a\ntrue: b\n", "1: b\n"),
        ("a: |\n  no newline", "a: no newline\n"),
    ];
    for (input, output) in table {
        assert_eq!(rewritten(input), output, "{input:?}");
    }
}

#[test]
fn long_texts_fold_after_column_80() {
    let text = format!("a: {}\n", vec!["word"; 20].join(" "));
    let folded = format!("a: {}\n  {}\n", vec!["word"; 16].join(" "), ["word"; 4].join(" "));
    assert_eq!(rewritten(&text), folded);
    let key = "k".repeat(123);
    assert_eq!(rewritten(&format!("? {key}\n: 1\n")), format!("? {key}\n: 1\n"));
    let key = "k".repeat(122);
    assert_eq!(rewritten(&format!("? {key}\n: 1\n")), format!("{key}: 1\n"));
}

#[test]
fn python_spellings() {
    let node = yaml::load("[a, 1, 1.0, true, null, {k: \"it's\"}, 1e-5]", "in.yaml".into()).unwrap();
    assert_eq!(python_str(&node.value), "['a', 1, 1.0, True, None, {'k': \"it's\"}, 1e-05]");
    assert_eq!(python_str(&Value::Str("a'b".into())), "a'b");
    assert_eq!(python_str(&Value::List(vec![Node::new(Value::Bytes(vec![0, b'a']))])), "[b'\\x00a']");
    for (float, text) in [
        (1e16, "1e+16"),
        (1e15, "1000000000000000.0"),
        (1e-4, "0.0001"),
        (1.5e-5, "1.5e-05"),
        (-0.0, "-0.0"),
        (30_544_497_531_360.312, "30544497531360.312"),
    ] {
        assert_eq!(float_repr(float), text);
    }
}
