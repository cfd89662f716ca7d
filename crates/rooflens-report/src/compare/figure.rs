//! Where the time of both sides went, to look at: a bar for each side, of the same parts, in the colours that classes and
//! causes of idle time have everywhere.

use rooflens_analyze::compare::{AccountRow, Entry, Pair};
use rooflens_analyze::kernel_catalog::KernelClass;
use rooflens_analyze::ledger::{Line, is_needed};

use super::lead::{scope, shown_account};
use super::tables::cause;
use crate::block::{Drawing, Tone};
use crate::figure::{Bar, BarChart, FigureUnit};
use crate::sections::line_tone;

/// What rows of an account have in common, and their time on both sides.
struct Group {
    title: String,
    tone: Tone,
    a_ns: f64,
    b_ns: f64,
}

/// The account that the sentences above it speak of; nothing where there is none.
pub(super) fn figure(pair: &Pair) -> Option<Drawing> {
    let account = shown_account(pair)?;
    let mut groups: Vec<Group> = Vec::new();
    for row in &account.rows {
        let Some((title, tone)) = group(row) else { continue };
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => {
                group.a_ns += row.a_ns;
                group.b_ns += row.b_ns;
            }
            None => groups.push(Group { title, tone, a_ns: row.a_ns, b_ns: row.b_ns }),
        }
    }
    groups.retain(|group| group.a_ns.max(group.b_ns) > 0.0);
    if groups.is_empty() {
        return None;
    }
    // Work first, then idle time, each by length.
    let is_idle = |group: &Group| group.title.starts_with(IDLE);
    groups.sort_by(|a, b| {
        let by_length = b.a_ns.max(b.b_ns).total_cmp(&a.a_ns.max(a.b_ns));
        is_idle(a).cmp(&is_idle(b)).then(by_length)
    });
    let title = format!("Where the time went: {}", scope(account).to_lowercase());
    let chart = BarChart {
        title: title.clone(),
        unit: FigureUnit::Time,
        parts: groups.iter().map(|group| group.title.clone()).collect(),
        tones: groups.iter().map(|group| group.tone).collect(),
        bars: vec![
            Bar::new("A", groups.iter().map(|group| group.a_ns)),
            Bar::new("B", groups.iter().map(|group| group.b_ns)),
        ],
        ..BarChart::default()
    };
    Some(Drawing { title, path: String::new(), svg: chart.svg() })
}

const IDLE: &str = "idle: ";

/// What a row is drawn as; nothing for sums of other rows.
fn group(row: &AccountRow) -> Option<(String, Tone)> {
    match row.entry {
        Entry::Class => {
            let (title, tone) = KernelClass::named(&row.name).map_or(OTHER, of_class);
            Some((title.to_owned(), tone))
        }
        Entry::Cause => {
            let known = Line::ALL.iter().find(|line| line.as_str() == row.name);
            let tone = match (known, row.name.as_str()) {
                (Some(line), _) => line_tone(*line),
                (None, "host_code") => Tone::CpuBound,
                (None, _) => Tone::OtherIdle,
            };
            Some((format!("{IDLE}{}", cause(&row.name)), tone))
        }
        Entry::Wall | Entry::Busy | Entry::Idle | Entry::Operator => None,
    }
}

const OTHER: (&str, Tone) = ("other", Tone::OtherKernels);

fn of_class(class: KernelClass) -> (&'static str, Tone) {
    match class {
        KernelClass::Gemm | KernelClass::Gemv => ("GEMM", Tone::Compute),
        KernelClass::Attention => ("attention", Tone::Attention),
        KernelClass::Moe => ("MoE", Tone::Moe),
        KernelClass::Norm => ("norm", Tone::Norm),
        KernelClass::Communication => ("exposed communication", Tone::Communication),
        KernelClass::Memcpy | KernelClass::Memset => ("exposed memory copies", Tone::Copy),
        class if !is_needed(class) => ("elementwise, copy, activation", Tone::Unneeded),
        _ => OTHER,
    }
}
