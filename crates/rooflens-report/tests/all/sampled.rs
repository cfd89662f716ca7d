//! What devices and host did, as people read it.

use std::collections::BTreeMap;

use rooflens_analyze::Findings;
use rooflens_analyze::sampled::{CounterSubject, Sampled, SampledRun, StepPart, StepParts, sampled};
use rooflens_report::{Extras, MarkdownPage, html_with, markdown_with, sampled::part};
use rooflens_schema::Opt;
use rooflens_schema::tables::{CounterRow, CounterSource, CounterStep, Counters};

const S: i64 = 1_000_000_000;

/// A device that draws 200 W for 10 s, of which 4 s are decode, with 40 tokens.
fn sample() -> Sampled {
    let mut counters = Counters::default();
    for second in 0..=10_i64 {
        let mut row = CounterRow::new(second * S, 0, CounterSource::Device, Some(0));
        row.step = CounterStep::Measure;
        row.power_mw = Opt::some(200_000);
        row.energy_mj = Opt::some(1_000 + 200_000 * second);
        row.sm_clock_mhz = Opt::some(if second == 5 { 900 } else { 1_980 });
        row.throttle_reasons = Opt::some(i64::from(second == 5));
        counters.push(row);
    }
    let decode =
        StepPart { name: "decode".to_owned(), stretches: vec![(3 * S, 7 * S)], output_tokens: Some(40) };
    let name = "<script>alert(1)</script>|x".to_owned();
    sampled(&SampledRun {
        counters: &counters,
        interval_ns: S,
        base_unix_ns: 0,
        subjects: vec![CounterSubject {
            source: CounterSource::Device,
            device: Some(0),
            name,
            reasons: BTreeMap::new(),
        }],
        steps: vec![StepParts { step: CounterStep::Measure, parts: vec![decode] }],
        throttle: |bits| if bits == 0 { vec![] } else { vec!["sw_power_cap".to_owned()] },
        missing: BTreeMap::from([("host".to_owned(), "no /proc".to_owned())]),
    })
}

#[test]
fn the_numbers_of_a_phase() {
    let text = markdown_with(
        &Findings::default(),
        MarkdownPage::Report,
        Extras { more: &[part(&sample())], ..Extras::default() },
    );
    let line = text.lines().find(|line| line.starts_with("| decode |")).unwrap();
    // 4 s at 200 W are 800 J, 20 J for each of 40 tokens; one of four samples was slow.
    for word in
        ["| 4.00 s | 4 |", "| 200.0 W | 200.0 W | 800.0 J | 20.00 J |", "900.0 MHz", "sw power cap 25.0%"]
    {
        assert!(line.contains(word), "{word} is not in {line}");
    }
    assert!(text.contains("Devices by number: 0: &lt;script&gt;alert(1)&lt;/script&gt;\\|x."), "{text}");
    assert!(text.contains("- No samples of host: no /proc."), "{text}");
}

#[test]
fn the_page_has_charts_and_obeys_no_name() {
    let page =
        html_with(&Findings::default(), "run", Extras { more: &[part(&sample())], ..Extras::default() });
    assert!(page.contains("<section id=\"sampled\"") && page.contains("<svg class=\"chart\""));
    assert!(page.contains("aria-label=\"device 0: power over time, from 200.0 W to 200.0 W\""));
    assert!(!page.contains("<script>alert"));
    assert_eq!(
        page,
        html_with(&Findings::default(), "run", Extras { more: &[part(&sample())], ..Extras::default() }),
        "the same bytes"
    );
}

#[test]
fn nothing_sampled_is_an_empty_part() {
    let nothing = Sampled { interval_ns: S, base_unix_ns: 0, steps: vec![], not_computed: BTreeMap::new() };
    assert!(part(&nothing).blocks.is_empty());
}
