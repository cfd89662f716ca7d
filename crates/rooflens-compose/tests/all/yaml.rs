//! Reading and writing YAML: inputs and the output as OmegaConf 2.3.1 prints it (`oracles/compose/yaml_diff.py` compares
//! many more), what is refused and where, and texts made to hurt.

use rooflens_compose::value::{Node, Value, float_repr, python_str};
use rooflens_compose::yaml::{self, YamlError};

fn load(text: &str) -> Result<Node, YamlError> {
    yaml::load(text, "in.yaml".into())
}

fn rewritten(text: &str) -> String {
    yaml::dump(&load(text).unwrap())
}

fn problem(text: &str) -> String {
    load(text).expect_err("a refusal").problem
}

#[test]
fn what_is_read_is_written_as_omegaconf_writes_it() {
    for (input, output) in [
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
        (
            "a: &a {x: 1}\nb: &b {x: 2, z: 3}\nc: {<<: [*a, *b], w: 4}\nd: {<<: [], v: 1}",
            "a:\n  x: 1\nb:\n  x: 2\n  z: 3\nc:\n  x: 1\n  z: 3\n  w: 4\nd:\n  v: 1\n",
        ),
        ("'': 1\n", "? ''\n: 1\n"),
        ("word\n", "word: null\n"),
        ("'a: 1'\n", "a: 1\n"),
        ("1: a\ntrue: b\n", "1: b\n"),
        ("a: |\n  no newline", "a: no newline\n"),
        ("a: 'x\n  b'", "a: x b\n"),
        ("a: >\n x\n y\n\n  z\n w", "a: \"x y\\n\\n z\\nw\"\n"),
        ("a: |+1\n  x\n\n", "a: ' x\n\n\n  '\n"),
        ("? a\n? b\n", "a: null\nb: null\n"),
        ("a: ! '1'\nb: !!str\nc: !!int '3'\n", "a: 1\nb: ''\nc: 3\n"),
        ("- a\n-\n- -\n", "- a\n- null\n- - null\n"),
        ("a:\n- b\nc:\n", "a:\n- b\nc: null\n"),
        ("\u{feff}a: 1\r\nb: 2\r", "a: 1\nb: 2\n"),
        ("a: \"\\u2028\"\n", "a: \"\\L\"\n"),
    ] {
        assert_eq!(rewritten(input), output, "{input:?}");
    }
    let text = format!("a: {}\n", vec!["word"; 20].join(" "));
    let folded = format!("a: {}\n  {}\n", vec!["word"; 16].join(" "), ["word"; 4].join(" "));
    assert_eq!(rewritten(&text), folded);
    for (length, mark) in [(122, ""), (123, "? ")] {
        let key = "k".repeat(length);
        let end = if mark.is_empty() { ": 1\n".to_owned() } else { "\n: 1\n".to_owned() };
        assert_eq!(rewritten(&format!("? {key}\n: 1\n")), format!("{mark}{key}{end}"));
    }
}

#[test]
fn python_spellings() {
    let node = load("[a, 1, 1.0, true, null, {k: \"it's\"}, 1e-5]").unwrap();
    assert_eq!(python_str(&node.value), "['a', 1, 1.0, True, None, {'k': \"it's\"}, 1e-05]");
    assert_eq!(python_str(&Value::Str("a'b".into())), "a'b");
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

#[test]
fn values_know_their_place() {
    let node = load("a: 1\nb:\n  - x\n  - {c: 'd'}\n").unwrap();
    let Value::Map(map) = &node.value else { panic!("a mapping") };
    let Value::List(items) = &map[1].value else { panic!("a list") };
    let Value::Map(inner) = &items[1].value else { panic!("a mapping") };
    let place = |node: &Node| (node.origin.line, node.origin.column);
    assert_eq!([place(&map[0]), place(&items[0]), place(&inner[0])], [(1, 4), (3, 5), (4, 9)]);
}

#[test]
fn refusals_say_where_and_what_to_do() {
    for (text, line, column, hint) in [
        ("a: b: c\n", 1, 5, "quote a string that contains ': ', and put a mapping on its own lines"),
        ("a: - b\n", 1, 4, "put the '- ' on a separate line, or the value in quotes"),
        ("a: @x\n", 1, 4, "put the value in quotes"),
        ("a: \"x\\q\"\n", 1, 4, "write '\\\\' for a backslash, or use single quotes, which have no escapes"),
        ("a:\n  b: 1\n c: 2\n", 3, 2, "all keys of a mapping must begin in the same column"),
        ("a: 1\nb: 2\na: 3\n", 3, 1, ""),
        ("a: [1, 2\n", 1, 4, ""),
        ("a: 'x\nb: 2\n", 2, 1, ""),
        ("a: *x\n", 1, 4, ""),
        ("a: 1\n---\nb: 2\n", 2, 1, ""),
    ] {
        let error = load(text).unwrap_err();
        assert_eq!(
            (error.line, error.column, error.hint.unwrap_or("")),
            (line, column, hint),
            "{text:?} {error}"
        );
        assert_eq!(error.excerpt, text.split('\n').nth(line as usize - 1).unwrap(), "{text:?}");
    }
    for (text, expected) in [
        ("a: 1\na: 2\n", "the key 'a' is written twice in one mapping"),
        ("~: 1", "null cannot be a key"),
        ("[a]: 1", "a list cannot be a key"),
        ("a: 1\n---\nb: 2\n", "a second document begins here; a config is one document"),
        ("12", "the document is a whole number, not a mapping or a list"),
        ("a: !foo 1", "the tag '!foo' has no meaning in a config"),
        ("a: !!binary aGk=", "the tag '!!binary' has no meaning in a config"),
        ("a: !!map [1]", "the tag '!!map' does not fit a list"),
        ("a: {<<: 1}", "'<<' merges mappings, not a whole number"),
        ("a: &a [*a]\n", "an alias refers to the node that contains it"),
        ("a: \u{1b}[0m", "character U+001B is not allowed in YAML"),
    ] {
        assert_eq!(problem(text), expected, "{text:?}");
    }
}

#[test]
fn work_and_memory_are_bounded() {
    for text in [
        "[".repeat(10_000),
        "{a: ".repeat(10_000),
        "- ".repeat(10_000) + "x",
        "? ".repeat(10_000),
        (0..3_000).map(|depth| " ".repeat(depth) + "a:\n").collect::<String>(),
        "[".repeat(10_000) + &"]".repeat(10_000),
        "a: ".to_owned() + &"- ".repeat(200) + &"[".repeat(200) + &"]".repeat(200),
    ] {
        assert!(load(&text).is_err());
    }
    assert!(load(&("[".repeat(200) + &"]".repeat(200))).is_ok());

    let doubled = |first: &str, levels: usize, each: &dyn Fn(String) -> String| {
        let line = |level: usize| {
            let previous = vec![format!("*a{}", level - 1); 10].join(", ");
            format!("a{level}: &a{level} {}\n", each(previous))
        };
        format!("a0: &a0 {first}\n") + &(1..levels).map(line).collect::<String>()
    };
    let lists = doubled("[x, x, x, x, x, x, x, x, x, x]", 12, &|previous| format!("[{previous}]"));
    assert!(problem(&lists).contains("more than 1000000 nodes"));
    let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 100].join(", "));
    assert!(problem(&text).contains("bytes of text"));
    let chain: String = (1..2_000).map(|link| format!("- &c{link} [*c{}]\n", link - 1)).collect();
    assert!(problem(&format!("x:\n- &c0 [k]\n{chain}")).contains("deeper"));

    let long = "x".repeat(1 << 20);
    for text in [format!("a: {long}\n"), format!("a: '{long}'\n"), format!("a: |\n  {long}\n")] {
        assert!(yaml::dump(&load(&text).unwrap()).len() > long.len());
    }
    for text in [
        format!("{long}: 1\n"),
        "# comment\n".repeat(100_000),
        format!("a: {}\n", "9".repeat(1 << 20)),
        format!("a: 1{}\n", ":1".repeat(1 << 18)),
        format!("a: {}\n", "b ".repeat(1 << 18)),
        format!("a: [{}]\n", "b, ".repeat(1 << 16)),
        format!("a: b{} c\n", "\n".repeat(1 << 20)),
        format!("a: {}b\n", " ".repeat(1 << 20)),
        format!("[{}]", "!a".repeat(1 << 20)),
        format!("{{{}", "? a, ".repeat(1 << 18)),
        format!("{}\tx", "# c\n".repeat(1 << 18)),
    ] {
        let _ = load(&text);
    }
}

#[test]
fn every_prefix_and_every_cut_is_answered() {
    let text = "# @package a\na: &x {b: [1, 'two', \"th\\u00e9\"], <<: {c: d}}\ne: |2-\n  f\n\n  g\nh: *x\n? - k\n: !!str aGk=\ni: >+\n  j\n\n";
    for (at, _) in text.char_indices() {
        let _ = load(&text[..at]);
        let _ = load(&text[at..]);
        let _ = yaml::header(&text[at..]);
    }
    for text in [
        "\0",
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
        ":\n- !%",
    ] {
        let _ = load(text);
    }
}
