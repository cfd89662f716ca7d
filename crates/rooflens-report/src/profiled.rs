//! Launches under a profiler, laid out.

use rooflens_analyze::kernels::counters::missing;
use rooflens_analyze::kernels::{Bound, Kernel, Profile, Shares, SourcedPeak, Suggestion, UnprofiledKernel};

use crate::block::Level::{Essential, Page, Raw, Screen};
use crate::block::{Block, Cell, Column, Fact, Field, Table};
use crate::figure::{RooflineChart, RooflineDevice, RooflineOperator};
use crate::format;
use crate::render::Part;
use crate::text;

/// Why a cell is empty; the JSON has the reason of each.
const MISSING: &str = "not collected: see not_computed in the JSON";

/// Why the cell of an asked metric is empty.
const NOT_ASKED: &str = "not in the report: ncu --metrics collects it";
/// The longest text of a report that is shown.
const LONGEST: usize = 400;

/// The parts of the page; tables and lists have at most `limit` rows.
pub fn parts(profile: &Profile, limit: usize) -> Vec<Part> {
    let loss = |kernel: &Kernel| format!("{}: {}", kernel.short_name, kernel.loss);
    let losses: Vec<String> = profile.kernels.iter().take(limit).map(loss).collect();
    let advice = advice(profile, limit);
    let part = |name, title, blocks: Vec<Block>| Part { name, title, blocks };
    let mut parts = vec![
        part("launches", "Launches", vec![Block::Lead(lead(profile)), table(profile, limit)]),
        part(
            "bounds",
            "What limits them",
            vec![bounds(profile), Block::Text(format!("How launches are classified: {}.", profile.rule))],
        ),
        part("losses", "Lost time per kernel", vec![Block::Lines(losses)]),
        part("changes", "What to change", vec![changes(profile, limit)]),
        part("device", "Device", vec![Block::Facts(device(profile))]),
    ];
    if !profile.timeline_not_profiled.is_empty() {
        parts.push(part("unmatched", "In the timeline but not profiled", vec![unmatched(profile, limit)]));
    }
    if !advice.is_empty() {
        parts.push(part("advice", "Nsight Compute", vec![Block::Lines(advice)]));
    }
    parts
}

fn lead(profile: &Profile) -> String {
    let launches = profile.kernels.len();
    let weight = |row: &Shares| row.timeline_share.or(row.time_share).unwrap_or(row.launch_share);
    let most = profile.shares.iter().max_by(|a, b| weight(a).total_cmp(&weight(b)));
    let Some(most) = most else {
        return format!(
            "{}: what limits them was not measured.",
            format::things(launches as i64, "launch", "launches")
        );
    };
    let of = match (most.timeline_share, most.time_share) {
        (Some(_), _) => "the time in the timeline",
        (None, Some(_)) => "the time under the profiler",
        _ => "the launches",
    };
    let by = match most.bound {
        Bound::Memory => "memory",
        Bound::Compute => "compute",
        Bound::Balanced => "compute and memory equally",
        Bound::Latency => "latency",
        Bound::Launch => "too small a grid",
    };
    let (are, share) = (if most.launches == 1 { "is" } else { "are" }, format::share(weight(most)));
    let counted = profile.shares.iter().map(|row| row.launches).sum::<usize>();
    let with = if counted < launches { " with counters" } else { "" };
    format!("{} of {counted} launches{with} {are} bound by {by}: {share} of {of}.", most.launches)
}

fn pct(value: Option<f64>) -> Cell {
    Cell::or(value, |value| Cell::Share(value / 100.0), MISSING)
}

fn amount(value: Option<f64>, unit: &'static str) -> Cell {
    Cell::or(value, |value| Cell::amount(value, unit), MISSING)
}

fn size(value: Option<[u64; 3]>) -> Cell {
    Cell::or(value, |[x, y, z]| Cell::code(format!("{x}×{y}×{z}")), MISSING)
}

/// The column of a counter, or of what collects it: key, title, level, help, name of the counter.
macro_rules! counter {
    ($key:literal, $title:literal, $level:ident, $help:literal, $name:ident) => {
        (Column::number($key, $title).at($level).help($help), |k| {
            Cell::or(k.counters.$name, Cell::Mean, missing(stringify!($name)))
        })
    };
}

/// The same of a counter in percent.
macro_rules! counted_share {
    ($key:literal, $title:literal, $level:ident, $help:literal, $name:ident) => {
        (Column::number($key, $title).at($level).help($help), |k| {
            Cell::or(k.counters.$name.map(|pct| pct / 100.0), Cell::Share, missing(stringify!($name)))
        })
    };
}

fn precision(kernel: &Kernel, name: &str) -> Cell {
    amount(kernel.flops.by_precision.get(name).copied(), "FLOP")
}

const FIELDS: &[Field<Kernel>] = &[
    (Column::text("short_name", "Kernel"), |k| Cell::name(&k.short_name, &k.name)),
    (Column::text("name", "Name").at(Raw), |k| Cell::text(k.name.clone())),
    (Column::number("launch", "Launch").at(Raw), |k| Cell::count(k.launch)),
    (Column::number("time_ns", "Time"), |k| Cell::or(k.time_ns, Cell::MeanTime, MISSING)),
    (Column::number("timeline_ns", "In timeline"), |k| Cell::or(k.timeline_ns, Cell::MeanTime, MISSING)),
    (Column::text("bound", "Bound by"), |k| Cell::or(k.bound, |bound| Cell::word(bound.as_str()), MISSING)),
    (
        Column::number("compute_share", "Compute")
            .help("fraction of peak: the higher of the busiest unit and of FLOP/s"),
        |k| pct(k.compute_pct),
    ),
    (Column::number("memory_share", "Memory").help("fraction of peak of the busiest memory unit"), |k| {
        pct(k.memory_pct)
    }),
    (Column::number("dram_share", "DRAM").at(Screen), |k| pct(k.dram_pct)),
    (Column::number("intensity_dram", "Intensity").help("dominant precision, device memory"), |k| {
        amount(k.intensity.dram, "FLOP/B")
    }),
    (Column::number("flops_per_s", "FLOP/s").at(Screen), |k| amount(k.flops_per_s, "FLOP/s")),
    (Column::number("dram_bytes_per_s", "DRAM B/s").at(Screen), |k| amount(k.bytes_per_s.dram, "B/s")),
    (Column::number("roofline_share", "Of roof").at(Screen), |k| pct(k.roofline_pct)),
    (Column::number("occupancy_share", "Occupancy").at(Screen), |k| pct(k.occupancy.achieved_pct)),
    (Column::number("theoretical_occupancy_share", "At most").at(Page), |k| pct(k.occupancy.theoretical_pct)),
    (Column::text("occupancy_limited_by", "Limited by").at(Page), |k| {
        let by = k.occupancy.limited_by.join(" ");
        Cell::or(Some(by).filter(|by| !by.is_empty()), Cell::text, MISSING)
    }),
    (Column::number("waves", "Waves").at(Page), |k| Cell::or(k.waves, Cell::Mean, MISSING)),
    (Column::text("grid", "Grid").at(Page), |k| size(k.grid)),
    (Column::text("block", "Block").at(Page), |k| size(k.block)),
    (Column::number("registers", "Registers").at(Page), |k| Cell::or(k.registers, Cell::Mean, MISSING)),
    (Column::text("class", "Class").at(Page), |k| Cell::word(k.class.clone())),
    (Column::text("leading_precision", "Precision").at(Page), |k| {
        Cell::or(k.flops.leading.clone(), Cell::text, MISSING)
    }),
    (Column::number("fp64_flop", "FP64").at(Raw), |k| precision(k, "fp64")),
    (Column::number("fp32_flop", "FP32").at(Raw), |k| precision(k, "fp32")),
    (Column::number("fp16_flop", "FP16").at(Raw), |k| precision(k, "fp16")),
    (Column::number("tensor_bf16_flop", "Tensor BF16").at(Raw), |k| precision(k, "tensor_bf16")),
    (Column::number("tensor_fp16_flop", "Tensor FP16").at(Raw), |k| precision(k, "tensor_fp16")),
    (Column::number("total_flop", "FLOPs").at(Raw), |k| amount(k.flops.total, "FLOP")),
    (Column::number("dram_bytes", "DRAM bytes").at(Raw), |k| amount(k.bytes.dram, "B")),
    (Column::number("l2_bytes", "L2 bytes").at(Raw), |k| amount(k.bytes.l2, "B")),
    (Column::number("l1_bytes", "L1 bytes").at(Raw), |k| amount(k.bytes.l1, "B")),
    (Column::number("shared_bytes", "Shared bytes").at(Raw), |k| amount(k.bytes.shared, "B")),
    (Column::number("intensity_l2", "FLOP/B of L2").at(Raw), |k| amount(k.intensity.l2, "FLOP/B")),
    (Column::number("intensity_l1", "FLOP/B of L1").at(Raw), |k| amount(k.intensity.l1, "FLOP/B")),
    (Column::number("floor_ns", "Lower bound").at(Page), |k| Cell::or(k.floor_ns, Cell::MeanTime, MISSING)),
    (Column::text("top_stall", "Top stall").at(Page), |k| {
        let top = k.stalls.first();
        let words = top.map(|it| format!("{} {}", it.reason.replace('_', " "), format::share(it.share)));
        Cell::or(words, Cell::text, MISSING)
    }),
    counted_share!("tensor_pipe_share", "Tensor pipes", Page, "active, of active cycles", tensor_pipe_pct),
    counted_share!("tensor_pipe_elapsed_share", "Tensor pipes, of elapsed", Raw, "", tensor_pipe_elapsed_pct),
    counted_share!("issue_slots_share", "Issue slots", Page, "Issue Slots Busy", issue_slots_pct),
    counted_share!("issue_active_share", "Issuing", Page, "One or More Eligible", issue_active_pct),
    counter!("eligible_warps", "Eligible warps", Page, "per scheduler", eligible_warps),
    counter!("active_warps", "Active warps", Raw, "", active_warps),
    counted_share!(
        "warp_execution_share",
        "Threads active",
        Page,
        "of 32, warp execution efficiency",
        warp_execution_pct
    ),
    counted_share!(
        "warp_execution_pred_share",
        "Threads not predicated off",
        Raw,
        "",
        warp_execution_pred_pct
    ),
    counter!(
        "load_sectors_per_request",
        "Sectors per load",
        Page,
        "per request of a global load",
        load_sectors_per_request
    ),
    counter!(
        "store_sectors_per_request",
        "Sectors per store",
        Page,
        "per request of a global store",
        store_sectors_per_request
    ),
    counter!("load_bytes_per_sector", "Bytes used per sector, loads", Raw, "", load_bytes_per_sector),
    counter!("store_bytes_per_sector", "Bytes used per sector, stores", Raw, "", store_bytes_per_sector),
    counted_share!(
        "excess_sectors_share",
        "Excess sectors",
        Page,
        "beyond what global accesses need",
        excess_sectors_pct
    ),
    counter!("bank_conflicts", "Bank conflicts", Page, "of shared memory", bank_conflicts),
    counter!("bank_conflicts_per_request", "Conflicts per request", Page, "", bank_conflicts_per_request),
    counted_share!("bank_conflicts_share", "Conflicts, of wavefronts", Raw, "", bank_conflicts_pct),
    (Column::text("loss", "Loss").at(Raw), |k| Cell::text(k.loss.clone())),
];

fn table(profile: &Profile, limit: usize) -> Block {
    let mut table = Table::new("kernels", FIELDS, &profile.kernels, limit);
    for name in &profile.asked {
        // Asked for by name: shown at any width.
        table.columns.push(Column::number(name, name).at(Essential).into());
        for (row, kernel) in table.rows.iter_mut().zip(&profile.kernels) {
            let asked = kernel.metrics.get(*name);
            let cell = match asked.map(|asked| (asked.value, &asked.text)) {
                Some((Some(value), _)) => Cell::Mean(value),
                Some((None, Some(words))) => Cell::text(text::clip(&text::clean(words), LONGEST)),
                _ => Cell::missing(NOT_ASKED),
            };
            row.cells.push(cell);
        }
    }
    Block::Table(table)
}

fn change(row: &Suggestion) -> String {
    let (share, of) = match (row.timeline_share, row.time_share) {
        (Some(share), _) => (format::share(share), "the timeline's time of the profiled kernels"),
        (None, Some(share)) => (format::share(share), "profiled time"),
        (None, None) => ("an unknown share".to_owned(), "profiled time"),
    };
    let rule = row.rule.replace('_', " ");
    format!("{}: {rule}, on {share} of {of}: {}. Try: {}", row.short_name, row.measured, row.change)
}

fn changes(profile: &Profile, limit: usize) -> Block {
    if profile.suggestions.is_empty() {
        return Block::Text(
            "No rule applies: either the launches are fine, or the counters that would show otherwise were not collected \
             (Nsight Compute: --set full collects all; rocprof-compute: all blocks, its default)."
                .to_owned(),
        );
    }
    Block::Lines(profile.suggestions.iter().take(limit).map(change).collect())
}

fn bounds(profile: &Profile) -> Block {
    const FIELDS: &[Field<Shares>] = &[
        (Column::text("bound", "Bound by"), |row| Cell::word(row.bound.as_str())),
        (Column::number("launches", "Launches"), |row| Cell::count(row.launches)),
        (Column::number("launch_share", "Of launches"), |row| Cell::Share(row.launch_share)),
        (Column::number("time_share", "Of profiled time"), |row| {
            Cell::or(row.time_share, Cell::Share, MISSING)
        }),
        (Column::number("timeline_share", "Of timeline"), |row| {
            Cell::or(row.timeline_share, Cell::Share, "no --timeline was given")
        }),
    ];
    Block::table("bounds", FIELDS, &profile.shares, usize::MAX)
}

fn unmatched(profile: &Profile, limit: usize) -> Block {
    const FIELDS: &[Field<UnprofiledKernel>] = &[
        (Column::text("name", "Kernel"), |row| Cell::name(&row.short_name, &row.name)),
        (Column::number("timeline_ns", "In timeline"), |row| Cell::MeanTime(row.timeline_ns)),
        (Column::number("timeline_share", "Of timeline"), |row| Cell::Share(row.timeline_share)),
    ];
    Block::table("unmatched", FIELDS, &profile.timeline_not_profiled, limit)
}

fn device(profile: &Profile) -> Vec<Fact> {
    let device = &profile.device;
    let mut facts = Vec::new();
    facts.extend(device.name.clone().map(|name| Fact::new("device", Cell::text(name))));
    let capability = device.compute_capability.clone();
    facts.extend(capability.map(|capability| Fact::new("compute capability", Cell::text(capability))));
    facts.extend(device.multiprocessors.map(|count| Fact::new("multiprocessors", Cell::Mean(count))));
    let said = |peak: &SourcedPeak, unit: &str| {
        let amount = format::amount(peak.per_s, unit);
        Cell::text(format!(
            "{amount}, from {}",
            match &*peak.source {
                "counters" => "the counters",
                "benchmark" => "rocprof-compute's benchmark",
                "sysinfo" => "clocks and widths",
                _ => "the catalog",
            }
        ))
    };
    let levels =
        [("DRAM", &device.dram), ("L2", &device.l2), ("L1", &device.l1), ("shared memory", &device.shared)];
    for (name, peak) in levels {
        facts.extend(peak.as_ref().map(|peak| Fact::new(name, said(peak, "B/s"))));
    }
    let ceilings = ceilings(profile).into_iter();
    facts.extend(ceilings.map(|(name, peak)| Fact::new(name.replace('_', " "), said(peak, "FLOP/s"))));
    let met = profile.timeline_share_profiled;
    facts.extend(met.map(|share| Fact::new("profiled share of the timeline", Cell::Share(share))));
    facts
}

/// Ceilings worth showing: those that were measured, and those that a launch stands under.
fn ceilings(profile: &Profile) -> Vec<(&str, &SourcedPeak)> {
    let is_used =
        |name: &str| profile.kernels.iter().any(|kernel| kernel.flops.leading.as_deref() == Some(name));
    let all = profile.device.flops_per_s.iter().map(|(name, peak)| (name.as_str(), peak));
    all.filter(|(name, peak)| matches!(&*peak.source, "counters" | "benchmark") || is_used(name)).collect()
}

fn advice(profile: &Profile, limit: usize) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for kernel in &profile.kernels {
        for advice in kernel.advice.iter().take(2) {
            let of = if advice.global { "" } else { " of its part" };
            let sentence = advice.message.split(". ").next().unwrap_or_default().trim_end_matches('.');
            let percent = advice.speedup_pct;
            all.push(format!(
                "{}: {} (up to {percent:.0} %{of}): {sentence}",
                kernel.short_name, advice.rule
            ));
        }
    }
    all.truncate(limit);
    all
}

/// Every launch under the roofs of its device, or `None` without the peak of device memory.
///
/// A launch without floating-point operations has no place on axes of FLOPs: it stands at the left edge,
/// as far below the roof of device memory as its bandwidth is below the peak.
pub(crate) fn roofline(profile: &Profile) -> Option<RooflineChart> {
    let device = &profile.device;
    let dram = device.dram.as_ref()?;
    let ceilings: Vec<(String, f64)> =
        ceilings(profile).into_iter().map(|(name, peak)| (name.replace('_', " "), peak.per_s)).collect();
    let highest = ceilings.iter().map(|(_, peak)| *peak).max_by(f64::total_cmp)?;
    let weighed_by_timeline = profile.timeline_share_profiled.is_some();
    let weight = |kernel: &Kernel| if weighed_by_timeline { kernel.timeline_ns } else { kernel.time_ns };
    let all: f64 = profile.kernels.iter().filter_map(weight).sum();
    let least = profile.kernels.iter().filter_map(|kernel| kernel.intensity.dram).filter(|at| *at > 0.0);
    // Left of every ridge and every launch.
    let fastest = [&device.dram, &device.l2, &device.l1].into_iter().flatten().map(|peak| peak.per_s);
    let fastest = fastest.max_by(f64::total_cmp)?;
    let ridges = ceilings.iter().map(|(_, peak)| peak / fastest / 30.0);
    let edge = ridges.chain(least.map(|at| at / 2.0)).min_by(f64::total_cmp)?;
    let operator = |kernel: &Kernel| {
        let group = kernel.bound.map_or("not classed", |bound| bound.as_str()).to_owned();
        let weight = weight(kernel).map(|time| time / all);
        let common = RooflineOperator {
            label: kernel.short_name.clone(),
            group,
            weight,
            ..RooflineOperator::default()
        };
        match (kernel.intensity.dram, kernel.flops_per_s, kernel.bytes_per_s.dram) {
            (Some(intensity), Some(flops_per_s), _) if intensity > 0.0 => {
                Some(RooflineOperator { intensity, flops_per_s, ..common })
            }
            (Some(_), _, Some(rate)) if kernel.flops.leading_flops() == Some(0.0) => Some(RooflineOperator {
                intensity: edge,
                flops_per_s: edge * rate,
                told: Some(format!("no FLOPs, {}", format::amount(rate, "B/s"))),
                ..common
            }),
            _ => None,
        }
    };
    let below = RooflineDevice { name: "DRAM".to_owned(), bytes_per_s: dram.per_s, flops_per_s: ceilings };
    let caches = [("L2", &device.l2), ("L1", &device.l1)];
    let caches = caches.iter().filter_map(|(name, peak)| {
        // Their ceilings are those of the device: one of them ends their slope.
        Some(RooflineDevice::new(*name, peak.as_ref()?.per_s, [("", highest)]))
    });
    let operators: Vec<RooflineOperator> = profile.kernels.iter().filter_map(operator).collect();
    let without = operators.iter().filter(|operator| operator.told.is_some()).count();
    let mut subtitle = device.name.clone().unwrap_or_else(|| "device of the report".to_owned());
    subtitle += &format!(", {} of {} launches", operators.len(), profile.kernels.len());
    if without > 0 {
        subtitle += &format!("; {without} without FLOPs at the left edge, at their share of the bandwidth");
    }
    Some(RooflineChart {
        title: "Launches under the roofline".to_owned(),
        subtitle,
        devices: std::iter::once(below).chain(caches).collect(),
        operators,
        normalised: false,
        weight: if weighed_by_timeline {
            "share of the timeline"
        } else {
            "share of the time under the profiler"
        }
        .to_owned(),
    })
}
