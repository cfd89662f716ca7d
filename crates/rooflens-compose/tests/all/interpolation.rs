//! The interpolation grammar: its trees, its places and hostile input. That it agrees with OmegaConf
//! is the business of `oracles/compose/interpolation_diff.py`.

use std::time::{Duration, Instant};

use rooflens_compose::interpolation::{
    GrammarFault, Interpolation, InterpolationElement, Name, ResolverCall, Span, TextPart, decode,
    is_interpolation, parse, split_key,
};
use rooflens_compose::value::Int;

fn resolver(text: &str) -> ResolverCall {
    match parse(text).expect(text).remove(0) {
        TextPart::Interpolation(Interpolation::Resolver(call)) => call,
        other => panic!("{other:?}"),
    }
}

fn text(text: &str) -> String {
    match &parse(text).expect(text)[..] {
        [TextPart::Text { text, .. }] => text.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_node_keeps_its_path() {
    let parts = parse("x ${ ..a[b].${c} }").expect("a node");
    let TextPart::Interpolation(Interpolation::Node(node)) = &parts[1] else { panic!("{parts:?}") };
    assert_eq!((node.dots, node.keys.len()), (2, 3));
    assert!(node.keys[1].bracketed && !node.keys[2].bracketed);
    assert!(matches!(node.keys[2].name, Name::Interpolation(_)));
    assert_eq!(node.span, Span::new(2, 18));
    let path = node.path(|_| Ok::<_, ()>("d.e".to_owned())).expect("a path");
    assert_eq!(path, "..a[b].d.e");
    assert_eq!(split_key(&path), ["", "", "a", "b", "d", "e"]);
}

#[test]
fn a_resolver_has_typed_arguments() {
    let source = "${oc.env: 1 , 'a b', [x,], {k: ${v}}, p-${q}}";
    let call = resolver(source);
    assert_eq!(call.name, [Name::Text("oc".into()), Name::Text("env".into())]);
    let raw: Vec<&str> = call.arguments.iter().map(|argument| argument.span.of(source)).collect();
    assert_eq!(raw, ["1", "'a b'", "[x,]", "{k: ${v}}", "p-${q}"]);
    assert_eq!(call.arguments[0].element, InterpolationElement::Int(Int::Small(1)));
    let empty = InterpolationElement::Text(String::new());
    assert_eq!(
        call.arguments[2].element,
        InterpolationElement::List(vec![InterpolationElement::Text("x".into()), empty])
    );
    assert!(matches!(&call.arguments[4].element, InterpolationElement::Joined(parts) if parts.len() == 2));
    assert!(resolver("${now:}").arguments.is_empty());
    assert_eq!(resolver("${a:,}").arguments.len(), 2);
}

#[test]
fn backslashes_count_only_before_an_interpolation() {
    assert_eq!(text(r"\${a}"), "${a}");
    assert_eq!(text(r"\\\${a}"), r"\${a}");
    assert_eq!(text(r"a\\b\"), r"a\\b\");
    let parts = parse(r"\\${a}").expect("a text and a node");
    assert!(matches!(&parts[0], TextPart::Text { text, .. } if text == r"\"));
    assert!(is_interpolation(r"\${a}") && !is_interpolation("$a"));
}

#[test]
fn decode_reads_one_element() {
    assert_eq!(decode("1_000").expect("a number"), InterpolationElement::Int(Int::Small(1000)));
    assert_eq!(decode("NULL").expect("null"), InterpolationElement::Null);
    assert_eq!(decode(r"a\, b").expect("text"), InterpolationElement::Text("a, b".into()));
    assert!(matches!(decode("  ").expect_err("blank").fault, GrammarFault::Blank));
    assert!(decode("").is_err() && decode("a,b").is_err() && decode("}").is_err());
}

#[test]
fn an_error_shows_the_place() {
    let shown = |text| parse(text).expect_err(text).to_string();
    assert_eq!(shown("é ${a b}"), "column 6: unexpected character ' '\n    é ${a b}\n         ^");
    assert_eq!(
        shown("${a"),
        "column 4: unexpected end of text: expected '.', '[', ':' or '}'\n    ${a\n       ^"
    );
    assert_eq!(
        shown("${a:{'k': 1}}"),
        "column 6: expected an unquoted key, found '''\n    ${a:{'k': 1}}\n         ^"
    );
}

#[test]
fn keys_are_split_as_omegaconf_splits_them() {
    let keys = |path| split_key(path).join("|");
    assert_eq!(keys("a.b[0].c"), "a|b|0|c");
    assert_eq!(keys(".a.b[c]"), "|a|b|c");
    assert_eq!(keys("..[a]"), "||a");
    assert_eq!(keys(""), "");
    assert_eq!(keys("a[b"), "a");
    assert_eq!(keys("a[b.c]d.e"), "a|b.c|e");
}

/// Much input is read, or refused, in a time that grows with its length.
#[test]
fn hostile_input_neither_hangs_nor_panics() {
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
    for text in [deep("${", "}"), deep("${f:", "}"), deep("${f:'", "'}"), deep("${f:[", "]}")] {
        let fault = parse(&text).expect_err("too deep").fault;
        assert!(matches!(fault, GrammarFault::TooDeep { limit: 200 }), "{fault:?}");
    }
    for text in [deep("[", "]"), deep("{a:", "}")] {
        assert!(matches!(decode(&text).expect_err("deep").fault, GrammarFault::TooDeep { .. }));
    }
    let started = Instant::now();
    for piece in [
        "[", "(", "{", "${", "$", "\\", "\\\\", "'", "\"", "1", "1e", "1_", ".", " ", "\t:", "a,", "${a}",
        "${a:1}", "}", "]", "=", ",", "é", "\\'", "\\${", "[\n", "[.", "$\\", "x", "a.", "[a]", "${a:'",
    ] {
        let long = piece.repeat(300_000 / piece.len());
        let _ = (parse(&long), split_key(&long));
        let short = piece.repeat(30_000 / piece.len());
        let _ = (decode(&short), parse(&format!("${{{short}")), parse(&format!("${{a:{short}")));
        let _ = (parse(&format!("${{a:'{short}")), parse(&format!("${{a:{short}}}")));
    }
    assert!(started.elapsed() < Duration::from_secs(1200), "{:?}", started.elapsed());
}
