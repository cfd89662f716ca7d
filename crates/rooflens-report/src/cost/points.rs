//! Points of a sweep, and the sentence that a sweep begins with.

use rooflens_cost::hold::Balance;
use rooflens_cost::inverse::Met;
use rooflens_cost::step::Phase;
use rooflens_cost::sweep::{CostSummary, PhaseSummary};

use super::design::assumptions;
use super::lead::{target_name, verdict};
use super::{NO_DEVICE, bytes, count, flops, phase_title, seconds};
use crate::block::{Block, Cell, Column, LeftOut, Level, Row, Table};
use crate::format;
use crate::render::Part;

/// What varies, and what each point costs.
#[derive(Debug)]
pub struct Points<'a> {
    /// What does not vary, as `Llama-8B, context 4096`.
    pub fixed: String,
    /// Names of the axes.
    pub axes: Vec<&'static str>,
    /// The points, the last axis varying fastest.
    pub points: Vec<SweepPointRef<'a>>,
    /// Points that cannot be, and why the first of them cannot.
    pub impossible: Option<(usize, &'a str)>,
    /// Bytes that may be used of each device that has a known memory.
    pub usable: Vec<(String, f64)>,
    /// What is assumed.
    pub assumptions: &'a [String],
}

/// A point.
#[derive(Debug, Clone, Copy)]
pub struct SweepPointRef<'a> {
    /// The value of each axis.
    pub at: &'a [String],
    /// What it costs in all.
    pub summary: &'a CostSummary,
    /// What each of its phases costs.
    pub phases: &'a [PhaseSummary],
    /// Whether it meets the targets.
    pub targets: &'a [Met],
    /// How its design was made up for.
    pub balance: Option<&'a Balance>,
}

impl SweepPointRef<'_> {
    /// The phase that is asked about most: decoding, where it is.
    pub(super) fn last(&self) -> Option<&PhaseSummary> {
        self.phases.last()
    }

    pub(super) fn fits(&self) -> bool {
        self.summary.fits != Some(false)
    }
}

/// A sweep as a sentence and a table of at most `rows` rows.
pub fn points(sweep: &Points<'_>, rows: usize) -> Vec<Part> {
    let fields = fields(sweep);
    let shown = sweep.points.len().min(rows);
    let row = |point: &SweepPointRef<'_>| Row::new(fields.iter().map(|(_, cell)| cell(point)).collect());
    let table = Table {
        name: "points".into(),
        columns: fields.iter().map(|(column, _)| (*column).into()).collect(),
        rows: sweep.points[..shown].iter().map(row).collect(),
        left_out: (sweep.points.len() > shown).then(|| LeftOut {
            rows: sweep.points.len() - shown,
            share: None,
            place: "--format csv and --format json".into(),
        }),
    };
    let left_out = table.left_out.as_ref().map(format::left_out);
    let mut blocks = vec![Block::Table(table)];
    // The screen has no line of its own for rows that are left out.
    blocks.extend(left_out.filter(|_| rows < usize::MAX).map(Block::Text));
    vec![
        Part { name: "verdict", title: "Verdict", blocks: vec![Block::Lead(lead(sweep))] },
        // Without a title, the first axis keeps its name.
        Part { name: "points", title: "", blocks },
        assumptions(sweep.assumptions),
    ]
}

type PointField<'a> = (Column, Box<dyn Fn(&SweepPointRef<'_>) -> Cell + 'a>);

fn fields<'a>(sweep: &'a Points<'_>) -> Vec<PointField<'a>> {
    let mut fields: Vec<PointField<'a>> = Vec::new();
    for (axis, name) in sweep.axes.iter().enumerate() {
        // An axis is aligned as its values are.
        let numbers = sweep.points.iter().all(|point| point.at[axis].parse::<f64>().is_ok());
        let column = if numbers { Column::number(name, name) } else { Column::text(name, name) };
        fields.push((column, Box::new(move |point| Cell::text(&point.at[axis]))));
    }
    let Some(first) = sweep.points.first() else { return fields };
    let apart = first.phases.len() > 1;
    if apart {
        for (index, phase) in first.phases.iter().enumerate() {
            let [time, estimate, tokens, limit] = phase_columns(phase.phase);
            let of = move |point: &SweepPointRef<'_>| point.phases.get(index).copied();
            let mut add = |column: Column, cell: fn(PhaseSummary) -> Cell| {
                fields
                    .push((column, Box::new(move |point| of(point).map_or(Cell::missing(NO_DEVICE), cell))));
            };
            add(Column::number(time, phase_title(phase.phase)), |phase| {
                Cell::or(phase.seconds, seconds, NO_DEVICE)
            });
            add(Column::number(estimate, "estimate").at(Level::Screen), |phase| {
                Cell::or(phase.estimate_s, seconds, NO_DEVICE)
            });
            add(Column::number(tokens, "tokens/s ≤").at(Level::Page), |phase| {
                Cell::or(phase.tokens_per_s, Cell::Mean, NO_DEVICE)
            });
            add(Column::text(limit, "bound by").at(Level::Screen), |phase| {
                Cell::or(phase.limit, |limit| Cell::word(limit.as_str()), NO_DEVICE)
            });
        }
    }
    // Times of prompts and single steps together tell nothing, but for programs.
    let of_one_phase = ["seconds", "estimate_s", "tokens_per_s", "limit", "mfu_ceiling", "mbu_ceiling"];
    for (column, cell) in SUMMARY {
        let column =
            if apart && of_one_phase.contains(&column.key) { column.at(Level::Raw) } else { *column };
        fields.push((column, Box::new(move |point| cell(point.summary))));
        if column.key == "fits" {
            fields.extend(asked(first));
        }
    }
    fields
}

fn asked<'a>(first: &SweepPointRef<'_>) -> Vec<PointField<'a>> {
    let mut fields: Vec<PointField<'a>> = Vec::new();
    for (index, met) in first.targets.iter().enumerate() {
        let column = match met.target.phase {
            Phase::Decode => Column::text("meets_tpot", "TPOT"),
            _ => Column::text("meets_ttft", "TTFT"),
        };
        let words = |met: &Met| match (met.ruled_out, met.now_s) {
            (Some(true), Some(now)) if now <= met.target.seconds => Cell::word("does not fit"),
            (Some(_), _) => Cell::word(verdict(met.ruled_out, met.met)),
            (None, _) => Cell::missing(NO_DEVICE),
        };
        fields.push((
            column,
            Box::new(move |point| point.targets.get(index).map_or(Cell::missing(NO_DEVICE), words)),
        ));
    }
    if first.balance.is_some() {
        fields.push((
            Column::text("made_up_by", "adjusted key"),
            Box::new(|point| match point.balance {
                Some(balance) => Cell::text(format!("{}={}", balance.key, balance.after)),
                None => Cell::missing("nothing is held"),
            }),
        ));
    }
    fields
}

fn phase_columns(phase: Phase) -> [&'static str; 4] {
    match phase {
        Phase::Vision => ["vision_seconds", "vision_estimate_s", "vision_tokens_per_s", "vision_limit"],
        Phase::Encoder => ["encoder_seconds", "encoder_estimate_s", "encoder_tokens_per_s", "encoder_limit"],
        Phase::Prefill => ["prefill_seconds", "prefill_estimate_s", "prefill_tokens_per_s", "prefill_limit"],
        Phase::Decode => ["decode_seconds", "decode_estimate_s", "decode_tokens_per_s", "decode_limit"],
    }
}

type SummaryField = (Column, fn(&CostSummary) -> Cell);

const SUMMARY: &[SummaryField] = &[
    (Column::number("seconds", "lower bound ≥"), |point| Cell::or(point.seconds, seconds, NO_DEVICE)),
    (Column::number("estimate_s", "estimate"), |point| Cell::or(point.estimate_s, seconds, NO_DEVICE)),
    (Column::number("tokens_per_s", "tokens/s ≤").at(Level::Screen), |point| {
        Cell::or(point.tokens_per_s, Cell::Mean, NO_DEVICE)
    }),
    (Column::text("limit", "bound by").at(Level::Screen), |point| {
        Cell::or(point.limit, |limit| Cell::word(limit.as_str()), NO_DEVICE)
    }),
    (Column::text("fits", "fits"), |point| {
        Cell::or(point.fits, |fits| Cell::word(if fits { "yes" } else { "no" }), NO_DEVICE)
    }),
    (Column::number("memory_bytes", "memory").at(Level::Screen), |point| bytes(point.memory_bytes)),
    (Column::number("mfu_ceiling", "MFU ≤").at(Level::Screen), |point| {
        Cell::or(point.mfu_ceiling, Cell::Share, NO_DEVICE)
    }),
    (Column::number("mbu_ceiling", "MBU ≤").at(Level::Screen), |point| {
        Cell::or(point.mbu_ceiling, Cell::Share, NO_DEVICE)
    }),
    (Column::number("flops", "model FLOPs").at(Level::Screen), |point| flops(point.flops)),
    (Column::number("bytes", "bytes moved").at(Level::Screen), |point| bytes(point.bytes)),
    (Column::number("intensity", "FLOP/B").at(Level::Screen), |point| Cell::Mean(point.intensity)),
    (Column::number("weight_bytes", "weights").at(Level::Page), |point| bytes(point.weight_bytes)),
    (Column::number("kv_read_bytes", "KV read").at(Level::Page), |point| bytes(point.kv_read_bytes)),
    (Column::number("kv_bytes", "KV cache").at(Level::Screen), |point| bytes(point.kv_bytes)),
];

fn lead(sweep: &Points<'_>) -> String {
    let all = sweep.points.len();
    let mut sentences = vec![best_sentence(sweep)];
    sentences.extend(targets_sentence(sweep));
    let over = sweep.points.iter().filter(|point| !point.fits()).count();
    if over > 0 {
        let verb = if over == 1 { "does" } else { "do" };
        sentences.push(format!("{} of {} points {verb} not fit.", count(over), count(all)));
    }
    if let Some((impossible, reason)) = sweep.impossible {
        sentences.push(format!("{} more are impossible: {reason}.", count(impossible)));
    }
    if !sweep.fixed.is_empty() {
        sentences.push(format!("Fixed: {}.", sweep.fixed));
    }
    sentences.join(" ")
}

fn best(
    sweep: &Points<'_>,
    among: impl Fn(&SweepPointRef<'_>) -> bool,
    value: impl Fn(&SweepPointRef<'_>) -> Option<f64>,
) -> Option<(f64, String)> {
    let known =
        sweep.points.iter().filter(|point| among(point)).filter_map(|point| Some((value(point)?, point)));
    // The first of equals.
    let best = known.reduce(|best, other| if other.0 > best.0 { other } else { best });
    best.map(|(value, point)| (value, place(sweep, point.at)))
}

/// Whether an encoder reads the input and the decoder only starts: both are what comes before a token.
fn encodes(point: &SweepPointRef<'_>) -> bool {
    let has = |wanted| point.phases.iter().any(|phase| phase.phase == wanted);
    has(Phase::Encoder) && !has(Phase::Decode)
}

fn tokens(point: &SweepPointRef<'_>) -> Option<f64> {
    if encodes(point) {
        return point.summary.tokens_per_s;
    }
    point.last().and_then(|phase| phase.tokens_per_s)
}

fn best_sentence(sweep: &Points<'_>) -> String {
    let time = |point: &SweepPointRef<'_>| {
        let of_last = || point.last().and_then(|phase| phase.seconds);
        let seconds = if encodes(point) { point.summary.seconds } else { of_last() };
        seconds.map(|seconds| -seconds)
    };
    let doing = match sweep.points.first().and_then(SweepPointRef::last).map(|phase| phase.phase) {
        Some(Phase::Decode) => "Decode",
        Some(Phase::Vision) => "Vision",
        Some(Phase::Prefill) if sweep.points.first().is_some_and(encodes) => "Encoder with prefill",
        Some(Phase::Encoder | Phase::Prefill) | None => "Prefill",
    };
    let Some((fastest, at)) = best(sweep, |_| true, time) else {
        let moved = |sign: f64| move |point: &SweepPointRef<'_>| Some(sign * point.summary.bytes as f64);
        let ends = (best(sweep, |_| true, moved(-1.0)), best(sweep, |_| true, moved(1.0)));
        let (Some((least, low)), Some((most, high))) = ends else { return "No point.".to_owned() };
        let (least, most) = (format::amount(-least, "B"), format::amount(most, "B"));
        return format!("Bytes moved: {least} at {low} to {most} at {high}.");
    };
    let fastest = format::time(-fastest * 1e9);
    match best(sweep, |point| point.fits(), tokens) {
        Some((most, place)) => {
            let most = format::mean(most);
            format!(
                "{doing} takes at least {fastest}, at {at}; of the points that fit, {place} has the highest \
                 upper bound on tokens/s: {most}."
            )
        }
        None => format!("{doing} takes at least {fastest}, at {at}; nothing fits."),
    }
}

fn targets_sentence(sweep: &Points<'_>) -> Option<String> {
    let targets = sweep.points.first().map_or(&[][..], |point| point.targets);
    let name =
        |met: &Met| format!("{} {}", target_name(met.target.phase), format::time(met.target.seconds * 1e9));
    let names = targets.iter().map(name).collect::<Vec<String>>().join(" and ");
    if targets.is_empty() {
        return None;
    }
    if targets.iter().any(|met| met.now_s.is_none()) {
        return Some(format!("--hardware is needed to check whether {names} can be met."));
    }
    let verb = if targets.len() == 1 { "is" } else { "are" };
    let all = count(sweep.points.len());
    let meets = |point: &SweepPointRef<'_>| point.targets.iter().all(|met| met.met == Some(true));
    let good = sweep.points.iter().filter(|point| meets(point)).count();
    Some(match best(sweep, meets, tokens) {
        None => {
            let open =
                |point: &&SweepPointRef<'_>| point.targets.iter().all(|met| met.ruled_out == Some(false));
            let open = count(sweep.points.iter().filter(open).count());
            format!(
                "{names} {verb} met by the estimate at none of {all} points, and not ruled out at {open}."
            )
        }
        Some((most, at)) => {
            let (good, most) = (count(good), format::mean(most));
            format!(
                "{names} {verb} met by the estimate at {good} of {all} points; the highest bound on tokens/s of these is {most}, at {at}."
            )
        }
    })
}

fn place(sweep: &Points<'_>, at: &[String]) -> String {
    let words: Vec<String> = sweep.axes.iter().zip(at).map(|(axis, value)| label(axis, value)).collect();
    words.join(", ")
}

/// A value where it says what it is, else with its axis.
pub(super) fn label(axis: &str, value: &str) -> String {
    let tells = matches!(axis, "config" | "hardware" | "dtype");
    if tells { value.to_owned() } else { format!("{axis} {value}") }
}
