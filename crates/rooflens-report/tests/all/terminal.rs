//! The screen.

use rooflens_analyze::Findings;
use rooflens_report::{TerminalOptions, terminal, text};

use crate::sample;

fn screen(findings: &Findings, width: usize) -> String {
    terminal(findings, &TerminalOptions { width, ..TerminalOptions::default() })
}

#[test]
fn decode_at_100_columns() {
    let screen = screen(&sample::decode(), 100);
    assert!(screen.lines().count() <= 50, "{} lines", screen.lines().count());
    insta::assert_snapshot!(screen);
}

#[test]
fn decode_at_80_columns() {
    insta::assert_snapshot!(screen(&sample::decode(), 80));
}

#[test]
fn decode_at_140_columns() {
    insta::assert_snapshot!(screen(&sample::decode(), 140));
}

#[test]
fn a_trace_without_devices() {
    insta::assert_snapshot!(screen(&sample::cpu_only(), 100));
}

#[test]
fn a_thousand_devices() {
    insta::assert_snapshot!(screen(&sample::fleet(), 100));
}

#[test]
fn nothing() {
    insta::assert_snapshot!(screen(&Findings::default(), 100));
}

#[test]
fn ascii_in_colours() {
    let options = TerminalOptions { width: 90, color: true, unicode: false, limit: 2 };
    let screen = terminal(&sample::decode(), &options);
    assert!(screen.is_ascii());
    insta::assert_snapshot!(screen.replace('\u{1b}', "^"));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let samples = [sample::decode(), sample::cpu_only(), sample::fleet(), sample::hostile()];
    for (index, findings) in samples.iter().enumerate() {
        // The large samples are slow to lay out in a debug build.
        for width in (0..200).step_by(if index < 2 { 1 } else { 9 }) {
            for line in screen(findings, width).lines() {
                assert!(text::width(line) <= width, "{} > {width}: {line}", text::width(line));
            }
        }
    }
}

#[test]
fn a_trace_never_writes_an_escape_code() {
    for color in [false, true] {
        let options = TerminalOptions { color, ..TerminalOptions::default() };
        let mut screen = terminal(&sample::hostile(), &options);
        for code in ["0", "1", "2", "32", "33", "34", "36", "1;31"] {
            screen = screen.replace(&format!("\u{1b}[{code}m"), "");
        }
        assert!(!screen.contains(|c: char| c.is_control() && c != '\n'));
        assert!(!screen.contains('\u{202e}'));
        assert!(!screen.contains("NaN") && !screen.contains("inf "));
    }
}
