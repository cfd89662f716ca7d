//! The Markdown files.

use rooflens_analyze::Findings;
use rooflens_report::{MarkdownPage, markdown};

use crate::sample;

#[test]
fn report() {
    insta::assert_snapshot!(markdown(&sample::decode(), MarkdownPage::Report));
}

#[test]
fn operators() {
    insta::assert_snapshot!(markdown(&sample::decode(), MarkdownPage::Operators));
}

#[test]
fn kernels() {
    insta::assert_snapshot!(markdown(&sample::decode(), MarkdownPage::Kernels));
}

#[test]
fn nothing() {
    for page in MarkdownPage::ALL {
        let text = markdown(&Findings::default(), *page);
        assert!(text.lines().count() >= 3, "{text}");
    }
}

#[test]
fn every_kernel_is_there() {
    let text = markdown(&sample::fleet(), MarkdownPage::Kernels);
    assert!(text.contains("`kernel_00000`") && text.contains("`kernel_09999`"));
}

#[test]
fn what_a_trace_holds_breaks_no_table() {
    for page in MarkdownPage::ALL {
        let text = markdown(&sample::hostile(), *page);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
        assert!(!text.contains("NaN"));
        let mut columns = None;
        for line in text.lines() {
            if !line.starts_with('|') {
                columns = None;
                continue;
            }
            let bars = line.replace("\\|", "").matches('|').count();
            assert_eq!(*columns.get_or_insert(bars), bars, "{}", &line[..line.len().min(200)]);
        }
    }
}
