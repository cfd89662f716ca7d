//! What is read, and what is written of it: input beside output. Every expectation was printed by
//! OmegaConf 2.3.1 (`oracles/compose/yaml_diff.py` compares many more).

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

/// What `PyYAML` reads in its own way, and YAML 1.2 in another or not at all.
#[test]
fn the_dialect_is_that_of_pyyaml() {
    let table = [
        ("{a:{b: 1}}", "a:\n  b: 1\n"),
        ("{a:[1], 'b':2}", "a:\n- 1\nb: 2\n"),
        ("[-, -a, ?a]", "- '-'\n- -a\n- a: null\n"),
        ("a: 'x'#c", "a: x\n"),
        ("a: [1]#c", "a:\n- 1\n"),
        ("a: 'x\nb'", "a: x b\n"),
        ("a: \"x\n\t y\"", "a: x y\n"),
        ("a: &x y\nb: {*x: 1}", "a: 'y'\nb:\n  'y': 1\n"),
        ("a: 1\u{2028}b: 2\u{85}c: 3\rd: 4", "a: 1\nb: 2\nc: 3\nd: 4\n"),
        ("a: x\u{2028}  y", "a: 'x\u{2028}  y'\n"),
        ("a: >\n x\n y\n\n  z\n w", "a: \"x y\\n\\n z\\nw\"\n"),
        ("a: |+1\n  x\n\n", "a: ' x\n\n\n  '\n"),
        ("? a\n? b\n", "a: null\nb: null\n"),
        ("a: x\u{feff}y", "a: \"x\\uFEFFy\"\n"),
        ("%TAG !e! tag:yaml.org,2002:\n---\n!e!str 1: !<tag:yaml.org,2002:int> '2'", "'1': 2\n"),
        ("a: ! '1'\nb: !!str", "a: 1\nb: ''\n"),
        ("- a\n-\n- -\n", "- a\n- null\n- - null\n"),
        ("a:\n- b\nc:\n", "a:\n- b\nc: null\n"),
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
