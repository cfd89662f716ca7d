//! Texts made to hurt: each must be answered, soon and without a panic.

use rooflens_compose::value::{Node, Value};
use rooflens_compose::yaml::{self, SyntaxProblem, YamlError, YamlProblem};

fn load(text: &str) -> Result<Node, YamlError> {
    yaml::load(text, "in.yaml".into())
}

fn problem(text: &str) -> YamlProblem {
    load(text).expect_err("a refusal").problem
}

#[test]
fn deep_nesting_is_refused() {
    for text in [
        "[".repeat(10_000),
        "{a: ".repeat(10_000),
        "- ".repeat(10_000) + "x",
        "? ".repeat(10_000),
        (0..10_000).map(|depth| " ".repeat(depth % 3_000) + "a:\n").collect::<String>(),
        (0..3_000).map(|depth| " ".repeat(depth) + "a:\n").collect::<String>(),
        "[".repeat(10_000) + &"]".repeat(10_000),
        "a: ".to_owned() + &"- ".repeat(400) + &"[".repeat(400) + &"]".repeat(400),
    ] {
        assert!(load(&text).is_err());
    }
}

#[test]
fn nesting_within_the_limit_is_read_and_written() {
    let flow = "[".repeat(400) + &"]".repeat(400);
    let node = load(&flow).unwrap();
    assert_eq!(load(&yaml::dump(&node)).unwrap().value, strip(&node).value);
}

/// The tree as its dump reads back: places differ, so only shapes are compared through a dump.
fn strip(node: &Node) -> Node {
    load(&yaml::dump(node)).unwrap()
}

#[test]
fn alias_bombs_are_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let previous = vec![format!("*a{}", level - 1); 10].join(", ");
        text += &format!("a{level}: &a{level} [{previous}]\n");
    }
    assert!(matches!(problem(&text), YamlProblem::TooManyNodes { .. }));

    let mut text = "a0: &a0 {x: 1}\n".to_owned();
    for level in 1..30 {
        let previous = vec![format!("*a{}", level - 1); 10].join(", ");
        text += &format!("a{level}: &a{level} {{<<: [{previous}]}}\n");
    }
    assert!(matches!(problem(&text), YamlProblem::TooManyNodes { .. }));

    let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 100].join(", "));
    assert!(matches!(problem(&text), YamlProblem::TooMuchText { .. }));

    let chain: String = (1..2_000).map(|link| format!("- &c{link} {{<<: *c{}}}\n", link - 1)).collect();
    let text = format!("x:\n- &c0 {{k: 1}}\n{chain}y: {{<<: *c1999}}\n");
    assert!(matches!(problem(&text), YamlProblem::TooDeep { .. }));
}

#[test]
fn recursive_aliases_are_refused() {
    assert_eq!(problem("a: &a [*a]\n"), YamlProblem::RecursiveAlias);
    assert_eq!(problem("&a {b: {c: *a}}\n"), YamlProblem::RecursiveAlias);
    assert!(load("a: &a {<<: *a, k: 1}\n").is_ok());
    assert!(load("a: &a !!str {=: *a}\n").is_err());
}

#[test]
fn long_things_are_read() {
    let long = "x".repeat(1 << 20);
    for text in [format!("a: {long}\n"), format!("a: '{long}'\n"), format!("a: |\n  {long}\n")] {
        let node = load(&text).unwrap();
        assert!(yaml::dump(&node).len() > long.len());
    }
    assert!(load(&format!("{long}: 1\n")).is_err());
    assert!(load(&"# comment\n".repeat(100_000)).is_ok());
    assert!(load(&format!("a: {}\n", "9".repeat(1 << 20))).is_err());
    assert!(load(&format!("a: 1{}\n", ":1".repeat(1 << 18))).is_err());
    assert!(load(&format!("a: {}\n", "b ".repeat(1 << 18))).is_ok());
    assert!(load(&format!("a: [{}]\n", "b, ".repeat(1 << 16))).is_ok());
    assert!(load(&format!("a: b{} c\n", "\n".repeat(1 << 20))).is_ok());
    assert!(load(&format!("a: {}b\n", " ".repeat(1 << 20))).is_ok());
    assert!(load(&format!("[{}]", "!a".repeat(1 << 20))).is_err());
    assert!(load(&format!("{{{}", "? a, ".repeat(1 << 18))).is_err());
    assert!(load(&format!("{}\tx", "# c\n".repeat(1 << 18))).is_err());
}

#[test]
fn odd_characters() {
    assert_eq!(problem("a: \0"), YamlProblem::Character { code: 0 });
    assert_eq!(problem("a: \u{1b}[0m"), YamlProblem::Character { code: 0x1b });
    assert_eq!(problem("a:\tb"), YamlProblem::Syntax(SyntaxProblem::StrayTab));
    assert_eq!(yaml::dump(&load("# c\n\u{feff}x: 1").unwrap()), "\"\\uFEFFx\": 1\n");
    assert_eq!(yaml::dump(&load("\u{feff}a: 1\r\nb: 2\r").unwrap()), "a: 1\nb: 2\n");
    assert_eq!(yaml::dump(&load("a: 1\u{85}b: 2").unwrap()), "a: 1\nb: 2\n");
    for text in [
        "\u{feff}",
        "\u{feff}\u{feff}",
        "\u{2028}",
        "a: \u{2028}b",
        "\u{fffe}",
        "%",
        "&",
        "*",
        "!",
        "!<",
        "\"\\",
        "\"\\U0011ffff\"",
        "'",
        "|",
        "|9",
        "? ",
        "- - -",
        "%TAG",
        "%YAML 9.9\n---\n",
        "!!",
    ] {
        let _ = load(text);
    }
}

#[test]
fn every_prefix_and_every_cut_is_answered() {
    let text = "# @package a\na: &x {b: [1, 'two', \"th\\u00e9\"], <<: {c: d}}\ne: |2-\n  f\n\n  g\nh: *x\n? - k\n: !!binary aGk=\ni: >+\n  j\n\n";
    for (at, _) in text.char_indices() {
        let _ = load(&text[..at]);
        let _ = load(&text[at..]);
        let _ = yaml::header(&text[at..]);
    }
}

#[test]
fn errors_say_where() {
    let error = load("a: 1\nb: 2\na: 3\n").unwrap_err();
    assert_eq!((error.line, error.column, error.excerpt.as_str()), (3, 1, "a: 3"));
    assert_eq!(error.to_string(), "in.yaml:3:1: the key 'a' is written twice in one mapping");
    assert_eq!(problem("~: 1"), YamlProblem::NullKey);
    assert_eq!(problem("a: 1\n---\nb: 2\n"), YamlProblem::SecondDocument);
    assert_eq!(problem("a: &x 1\nb: &x 2\n"), YamlProblem::DuplicateAnchor { name: "x".into() });
    assert_eq!(problem("12"), YamlProblem::RootScalar { kind: "a whole number" });
    assert_eq!(problem("a: !foo 1"), YamlProblem::UnknownTag { tag: "!foo".into() });
}

#[test]
fn values_know_their_place() {
    let node = load("a: 1\nb:\n  - x\n  - {c: 'd'}\n").unwrap();
    let Value::Map(map) = &node.value else { panic!("a mapping") };
    let Value::List(items) = &map[1].value else { panic!("a list") };
    let Value::Map(inner) = &items[1].value else { panic!("a mapping") };
    let place = |node: &Node| (node.origin.line, node.origin.column);
    assert_eq!(place(&map[0]), (1, 4));
    assert_eq!(place(&items[0]), (3, 5));
    assert_eq!(place(&inner[0]), (4, 9));
}
