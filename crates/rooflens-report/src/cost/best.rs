//! The sentence a sweep begins with.

use rooflens_cost::inverse::Met;
use rooflens_cost::step::Phase;

use super::lead::target_name;
use super::points::{Points, SweepPointRef};
use crate::format;

/// The best points, and how many are good enough.
pub(super) fn lead(sweep: &Points<'_>) -> String {
    let all = sweep.points.len();
    let mut sentences = vec![best_sentence(sweep)];
    sentences.extend(targets_sentence(sweep));
    let over = sweep.points.iter().filter(|point| !point.fits()).count();
    if over > 0 {
        let verb = if over == 1 { "does" } else { "do" };
        sentences.push(format!("{} of {} points {verb} not fit.", number(over), number(all)));
    }
    if let Some((impossible, reason)) = sweep.impossible {
        sentences.push(format!("{} more are impossible: {reason}.", number(impossible)));
    }
    if !sweep.fixed.is_empty() {
        sentences.push(format!("Fixed: {}.", sweep.fixed));
    }
    sentences.join(" ")
}

fn number(number: usize) -> String {
    format::count(i64::try_from(number).unwrap_or(i64::MAX))
}

/// The point with the largest value, in words.
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

/// How many points meet all targets.
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
    let all = number(sweep.points.len());
    let meets = |point: &SweepPointRef<'_>| point.targets.iter().all(|met| met.met == Some(true));
    let good = sweep.points.iter().filter(|point| meets(point)).count();
    Some(match best(sweep, meets, tokens) {
        None => {
            let open =
                |point: &&SweepPointRef<'_>| point.targets.iter().all(|met| met.ruled_out == Some(false));
            let open = number(sweep.points.iter().filter(open).count());
            format!(
                "{names} {verb} met by the estimate at none of {all} points, and not ruled out at {open}."
            )
        }
        Some((most, at)) => {
            let (good, most) = (number(good), format::mean(most));
            format!(
                "{names} {verb} met by the estimate at {good} of {all} points; the highest bound on tokens/s of these is {most}, at {at}."
            )
        }
    })
}

/// A point in words.
fn place(sweep: &Points<'_>, at: &[String]) -> String {
    let words: Vec<String> = sweep.axes.iter().zip(at).map(|(axis, value)| label(axis, value)).collect();
    words.join(", ")
}

/// A value where it says what it is, else with its axis.
pub(super) fn label(axis: &str, value: &str) -> String {
    let tells = matches!(axis, "config" | "hardware" | "dtype");
    if tells { value.to_owned() } else { format!("{axis} {value}") }
}
