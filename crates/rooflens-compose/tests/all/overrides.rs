//! The override grammar, against Hydra's own answers and against hostile input.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rooflens_compose::overrides::{
    Override, OverrideElement, OverrideError, OverrideFault, OverrideValue, Spacing, SweepContext,
    SweepError, ValueError, ValueKind, parse,
};
use rooflens_compose::value::{Int, float_repr};
use serde_json::{Value, json};

/// Goldens of the corpus.
fn corpus(file: &str) -> String {
    let root = std::env::var_os("ROOFLENS_CORPUS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join("hydra-oracle").join(file);
    std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; ROOFLENS_CORPUS names the corpus", path.display()))
}

fn read(text: &str) -> Override {
    parse(text, 0).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> OverrideError {
    parse(text, 0).expect_err(text)
}

fn swept(text: &str) -> Vec<String> {
    let parsed = read(text);
    let values = parsed.sweep_values(SweepContext::default()).expect(text);
    values.map(|value| value.expect(text).text).collect()
}

fn golden_value(element: &OverrideElement) -> Value {
    match element {
        OverrideElement::Null => Value::Null,
        OverrideElement::Bool(flag) => json!(flag),
        OverrideElement::Int(Int::Small(small)) => json!(small),
        OverrideElement::Int(Int::Big(digits)) => serde_json::from_str(digits).expect("a number"),
        OverrideElement::Float(float) if float.is_finite() => json!(float),
        OverrideElement::Float(float) => json!({ "$float": float_repr(*float) }),
        OverrideElement::Str(text) => json!(text),
        OverrideElement::Quoted(quoted) => json!(quoted.text),
        OverrideElement::List(items) => items.iter().map(golden_value).collect(),
        OverrideElement::Map(pairs) => {
            let pair =
                |(key, value): &(OverrideElement, OverrideElement)| [golden_value(key), golden_value(value)];
            json!({ "$map": pairs.iter().map(pair).collect::<Vec<_>>() })
        }
        OverrideElement::Sweep(sweep) => panic!("a sweep inside: {sweep:?}"),
    }
}

fn golden(parsed: &Override) -> Value {
    let kind = parsed.kind.hydra_name();
    let value_type = parsed.value.as_ref().map(|value| value.kind().hydra_name());
    let mut golden = json!({
        "in": parsed.text, "type": kind, "key": parsed.key, "package": parsed.package,
        "value_type": value_type,
    });
    match &parsed.value {
        None => {
            golden["value"] = Value::Null;
            golden["value_str"] = Value::Null;
        }
        Some(OverrideValue::Element(element)) => {
            golden["value"] = golden_value(element);
            golden["value_str"] = json!(element.to_text(Spacing::Tight).expect("text"));
        }
        Some(value) => {
            if !matches!(value.kind(), ValueKind::Glob | ValueKind::Interval) {
                golden["sweep"] = json!(swept(&parsed.text));
            }
        }
    }
    golden
}

#[test]
#[ignore = "needs the corpus"]
fn every_golden_case_is_read_as_hydra_reads_it() {
    let cases = corpus("override_grammar_cases.jsonl");
    let (mut count, mut wrong) = (0, Vec::new());
    for line in cases.lines() {
        let want: Value = serde_json::from_str(line).expect("a case");
        let text = want["in"].as_str().expect("an input");
        let same = match parse(text, 0) {
            Ok(parsed) => golden(&parsed) == want,
            Err(_) => want.get("err").is_some(),
        };
        count += 1;
        if !same {
            wrong.push(format!("{want}\n  {:?}", parse(text, 0)));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(count, 174);
}

#[test]
fn an_error_shows_the_place() {
    assert_eq!(
        refused("db.url=a;b").to_string(),
        "override 'db.url=a;b', column 9: the character ';' is not allowed in an unquoted value\n    \
         db.url=a;b\n            ^"
    );
    assert_eq!(
        refused("x=rang(1)").to_string(),
        "override 'x=rang(1)', column 3: there is no function 'rang'; there are bool, choice, float, \
         glob, int, interval, range, shuffle, sort, str, tag\n    x=rang(1)\n      ^^^^"
    );
    assert_eq!(
        refused("é=[bool(on)]").to_string(),
        "override 'é=[bool(on)]', column 1: the character 'é' is not allowed in a key\n    é=[bool(on)]\n    ^"
    );
    assert_eq!(
        refused("x=[bool(on)]").to_string(),
        "override 'x=[bool(on)]', column 4: bool: 'on' cannot become a truth value\n    \
         x=[bool(on)]\n       ^^^^^^^^"
    );
    let hint = refused("u=http://h/?a=1").hint();
    assert_eq!(hint, Some("escape it (\\=) or put the value in quotes: key='…'"));
}

#[test]
fn quotes_are_kept_and_written_again() {
    for text in [r"'it\'s'", r#""a\\""#, r"'\\\'x'", r"'\n'", "''", r#"['a',"b"]"#, r"{a:'b c'}"] {
        let parsed = read(&format!("k={text}"));
        let written = parsed.value.as_ref().map(|value| value.to_text(Spacing::Tight));
        assert_eq!(written, Some(Ok(text.to_owned())));
    }
    let spaced = read("k={a:[1,2],b:x}").value.map(|value| value.to_text(Spacing::Spaced));
    assert_eq!(spaced, Some(Ok("{a: [1, 2], b: x}".to_owned())));
}

#[test]
fn sweeps_count_as_python_does() {
    assert_eq!(swept("a=range(0.1,0.5,0.1)"), ["0.1", "0.2", "0.30000000000000004", "0.4"]);
    assert_eq!(swept("a=sort(range(0,5,2),reverse=true)"), ["3", "1", "-1"]);
    assert_eq!(swept("a=range(-0.0,1,6)"), ["-0.0"]);
    assert_eq!(
        swept("a=range(9223372036854775806,9223372036854775809)"),
        ["9223372036854775806", "9223372036854775807", "9223372036854775808"]
    );
    assert_eq!(swept("a=sort([b],reverse=true),'x,y',{k:1.0}"), ["[b]", "'x,y'", "{k:1.0}"]);
    // random.seed(0); random.shuffle([1,2,3,4,5]) in Python 3.11.
    assert_eq!(swept("a=shuffle(1,2,3,4,5)"), ["3", "2", "1", "5", "4"]);
}

#[test]
fn a_glob_chooses_among_the_options() {
    let options: Vec<String> = ["a1", "a2", "b1", "c"].map(str::to_owned).to_vec();
    let context = SweepContext { group_options: &options, shuffle_seed: 0 };
    let chosen = |text: &str| -> Result<Vec<String>, SweepError> {
        let parsed = read(text);
        parsed.sweep_values(context)?.map(|value| Ok(value?.text)).collect()
    };
    assert_eq!(chosen("g=glob(*)"), Ok(options.clone()));
    assert_eq!(chosen("g=glob([a*,b*],exclude=*2)"), Ok(vec!["a1".to_owned(), "b1".to_owned()]));
    assert_eq!(chosen("g=glob('[!a]*')"), Ok(vec!["b1".to_owned(), "c".to_owned()]));
    assert_eq!(chosen("g=glob(['a*'])"), Err(SweepError::Pattern { found: "quoted text" }));
}

#[test]
fn what_cannot_be_swept_says_so() {
    let error = |text: &str| read(text).sweep_values(SweepContext::default()).err();
    assert_eq!(error("a=1"), Some(SweepError::NotASweep));
    assert_eq!(error("~a"), Some(SweepError::NotASweep));
    assert_eq!(error("a=interval(0,1)"), Some(SweepError::Interval));
    assert_eq!(error("a=range(0,5,0)"), Some(SweepError::ZeroStep));
    assert_eq!(error("a=range(0.0,inf)"), Some(SweepError::Endless));
    assert_eq!(error("a=range(1.0,2.0,1e-300)"), Some(SweepError::Endless));
    assert_eq!(error("a=range(0.0,nan)"), Some(SweepError::NotANumber));
    assert!(matches!(error("a=shuffle(range(10000000))"), Some(SweepError::TooLong { .. })));
}

#[test]
fn a_config_cannot_hold_everything_that_is_read() {
    let value = |text: &str| read(text).value.expect("a value").to_value();
    assert_eq!(value("a={null:1}"), Err(ValueError::NullKey));
    assert_eq!(value("a=[choice(1,2)]"), Err(ValueError::NestedSweep { kind: "a choice" }));
    assert!(matches!(value("a=1,2"), Err(ValueError::IsSweep { .. })));
}

/// Much input is read, or refused, in a time that grows with its length.
#[test]
fn hostile_input_neither_hangs_nor_panics() {
    let deep = |open: &str, close: &str| format!("a={}1{}", open.repeat(10_000), close.repeat(10_000));
    let long = |piece: &str, length: usize| piece.repeat(length / piece.len());
    for text in [deep("[", "]"), deep("{a:", "}"), deep("choice(", ")"), deep("[{k:int(", ")}]")] {
        assert!(matches!(refused(&text).fault, OverrideFault::TooDeep { limit: 200 }));
    }
    let started = Instant::now();
    for piece in [
        "[", "(", "{", "${", "$", "\\", "\\\\", "'", "\"", "1", "1e", "1_", ".", "-", " ", "\t:", "a,",
        "{a:1},", "1.5,", "x", "${x}", "}", "]", ")", "=", ",", "é", "a(", "\\'", "true", "inf-", "+inf",
    ] {
        let _ = parse(&format!("a={}", long(piece, 300_000)), 0);
        let short = long(piece, 30_000);
        let _ = (parse(&short, 0), parse(&format!("a='{short}"), 0));
        let _ = (parse(&format!("a=[{short}1]"), 0), parse(&format!("a=int({short})"), 0));
    }
    let names: Vec<String> = (0..100_000).map(|name| format!("x{name}=1")).collect();
    assert!(parse(&format!("a=sort({})", names.join(",")), 0).is_err());
    let pairs: Vec<String> = (0..100_000).map(|key| format!("{key}:1")).collect();
    assert!(parse(&format!("a={{{}}}", pairs.join(",")), 0).is_ok());
    let items: Vec<String> = (0..100_000).map(|item| (item * 7919 % 100_003).to_string()).collect();
    assert!(parse(&format!("a=sort({})", items.join(",")), 0).is_ok());
    assert!(parse(&format!("a={}", "9".repeat(4301)), 0).is_err());
    assert!(parse(&format!("a={}", "9".repeat(4300)), 0).is_ok());
    assert!(started.elapsed() < Duration::from_secs(1200), "{:?}", started.elapsed());
}
