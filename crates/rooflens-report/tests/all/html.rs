//! The HTML file.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Kernels, Verdict};
use rooflens_report::html;

use crate::sample;

#[test]
fn a_small_report() {
    let mut findings = Findings::default();
    let kernels = vec![sample::kernel("void f<int, 4>(A&)", "gemm", 3, 7_500, 1e4)];
    findings.insert("kernels", Box::new(Kernels(kernels)));
    findings
        .insert("verdict", Box::new(Verdict { sentence: "All is well.".to_owned(), ..Verdict::default() }));
    let page = html(&findings, "small.json");
    let main = &page[page.find("<nav").unwrap()..page.find("<div id=\"tip\"").unwrap()];
    insta::assert_snapshot!(main);
}

fn without_library(page: &str) -> String {
    let Some((before, rest)) = page.split_once("<script id=\"charts-library\">") else {
        return page.to_owned();
    };
    let (_, after) = rest.split_once("</script>").unwrap_or(("", rest));
    // The still figures are SVG files: their namespace is a name, not an address.
    format!("{before}{after}").replace("xmlns=\"http://www.w3.org/2000/svg\"", "")
}

#[test]
fn nothing_is_asked_of_the_network() {
    for findings in [sample::decode(), sample::hostile(), Findings::default()] {
        let page = without_library(&html(&findings, "x"));
        for word in ["src=", "http://", "https://", "url(", "@import", "<link", "<img", "<iframe"] {
            assert!(!page.contains(word), "{word}");
        }
    }
}

#[test]
fn what_a_trace_holds_is_only_text() {
    let page = html(&sample::hostile(), sample::HARM);
    assert_eq!(page.matches("<script>").count(), 2, "ours");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    let page = without_library(&page);
    assert!(!page.contains(|c: char| c.is_control() && c != '\n'));
    assert!(!page.contains("NaN") || page.matches("NaN").count() == page.matches("isNaN").count() + 1);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}

#[test]
fn a_large_job_is_a_small_file() {
    let page = html(&sample::fleet(), "fleet");
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(page.contains("9,500 more rows"));
}

#[test]
fn the_same_findings_give_the_same_bytes() {
    assert_eq!(html(&sample::decode(), "a"), html(&sample::decode(), "a"));
}
