//! Where each device's time goes.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{DeviceTime, DeviceTimeline, Devices};

use crate::block::Level::Raw;
use crate::block::{Block, Cell, Chart, ChartUnit, Column, Field, Mark, Series, Stack, StackBar, Tone};
use crate::section::{Detail, device_label};

/// Up to here each device has a bar and a chart; beyond, the best and the worst stand for all.
const FEW: usize = 8;

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(Devices(devices)) = findings.get::<Devices>() else { return vec![] };
    if devices.is_empty() {
        return vec![];
    }
    let one_rank = devices.iter().all(|device| device.rank == devices[0].rank);
    let label = |device: &DeviceTime| device_label(device.rank, device.device, one_rank);
    let chosen: Vec<(String, &DeviceTime)> = if devices.len() <= FEW {
        devices.iter().map(|device| (label(device), device)).collect()
    } else {
        extremes(devices).map(|(word, device)| (format!("{word}: {}", label(device)), device)).to_vec()
    };
    let mut bars: Vec<StackBar> = chosen.iter().map(|(label, device)| bar(label.clone(), device)).collect();
    if devices.len() > FEW {
        bars.push(mean(devices));
    }
    if detail.is_screen() {
        return vec![Block::Stack(stack(bars))];
    }
    // On a page the verdict has shown the time of an only device.
    let mut blocks = if bars.len() > 1 { vec![Block::Stack(stack(bars))] } else { vec![] };
    blocks.extend(
        chosen
            .into_iter()
            .filter(|(_, device)| !device.timeline.compute.is_empty())
            .map(|(label, device)| Block::Chart(timeline(label, &device.timeline))),
    );
    blocks.push(Block::table("devices", FIELDS, devices, detail.rows()));
    blocks
}

const PARTS: [(Tone, &str); 4] = [
    (Tone::Compute, "compute"),
    (Tone::Communication, "exposed comm"),
    (Tone::Copy, "exposed copy"),
    (Tone::Idle, "idle"),
];

/// Compute and idle always; communication and copies where there are any.
fn stack(mut bars: Vec<StackBar>) -> Stack {
    let mut parts = vec![];
    for (index, (tone, name)) in PARTS.iter().enumerate().rev() {
        if matches!(tone, Tone::Compute | Tone::Idle) || bars.iter().any(|bar| bar.parts_ns[index] > 0) {
            parts.insert(0, (*tone, (*name).to_owned()));
        } else {
            for bar in &mut bars {
                bar.parts_ns.remove(index);
            }
        }
    }
    Stack { parts, bars }
}

fn bar(label: String, device: &DeviceTime) -> StackBar {
    StackBar {
        label,
        parts_ns: vec![
            device.compute_ns,
            device.exposed_communication_ns,
            device.exposed_copy_ns,
            device.idle_ns,
        ],
        whole_ns: device.span_ns,
    }
}

/// All devices, laid end to end, at the scale of one.
fn mean(devices: &[DeviceTime]) -> StackBar {
    let mut sum = StackBar { label: "mean".to_owned(), parts_ns: vec![0; PARTS.len()], whole_ns: 0 };
    for device in devices {
        let one = bar(String::new(), device);
        sum.whole_ns = sum.whole_ns.saturating_add(one.whole_ns);
        for (total, part) in sum.parts_ns.iter_mut().zip(one.parts_ns) {
            *total = total.saturating_add(part);
        }
    }
    let number = devices.len().max(1) as i64;
    sum.whole_ns /= number;
    sum.parts_ns.iter_mut().for_each(|part| *part /= number);
    sum
}

fn extremes(devices: &[DeviceTime]) -> [(&'static str, &DeviceTime); 2] {
    let (mut worst, mut best) = (&devices[0], &devices[0]);
    for device in devices {
        if busy_share(device) < busy_share(worst) {
            worst = device;
        }
        if busy_share(device) > busy_share(best) {
            best = device;
        }
    }
    [("worst", worst), ("best", best)]
}

fn busy_share(device: &DeviceTime) -> f64 {
    if device.span_ns > 0 { device.busy_ns as f64 / device.span_ns as f64 } else { 0.0 }
}

fn timeline(label: String, timeline: &DeviceTimeline) -> Chart {
    let series = |tone, name: &str, shares: &[f32]| Series {
        label: name.to_owned(),
        tone,
        points: shares
            .iter()
            .enumerate()
            .map(|(index, share)| {
                (timeline.start_ns as f64 + timeline.slice_ns as f64 * index as f64, f64::from(*share))
            })
            .collect(),
    };
    let shares = [&timeline.compute, &timeline.communication, &timeline.copy];
    let parts = PARTS.iter().zip(shares);
    let some =
        parts.filter(|((tone, _), shares)| *tone == Tone::Compute || shares.iter().any(|share| *share > 0.0));
    Chart {
        title: label,
        x: ("over time".into(), ChartUnit::Time),
        y: ("busy share".into(), ChartUnit::Share),
        mark: Mark::Areas,
        series: some.map(|((tone, name), shares)| series(*tone, name, shares)).collect(),
        rules: vec![],
    }
}

const FIELDS: &[Field<DeviceTime>] = &[
    (Column::number("rank", "rank"), |row| Cell::count(row.rank)),
    (Column::number("device", "device"), |row| Cell::count(row.device)),
    (Column::text("name", "name"), |row| {
        Cell::or(row.name.as_ref(), Cell::text, "the trace does not name its devices")
    }),
    (
        Column::number("span_ns", "span")
            .help("From the start of the device's first activity to the end of its last."),
        |row| Cell::Time(row.span_ns),
    ),
    (Column::number("busy_ns", "busy").help("Time with at least one activity."), |row| {
        Cell::Time(row.busy_ns)
    }),
    (Column::number("idle_ns", "idle").help("The rest of the span."), |row| Cell::Time(row.idle_ns)),
    (Column::number("compute_ns", "compute").help("Time with at least one compute kernel."), |row| {
        Cell::Time(row.compute_ns)
    }),
    (
        Column::number("communication_ns", "communication")
            .help("Time with at least one communication kernel."),
        |row| Cell::Time(row.communication_ns),
    ),
    (
        Column::number("exposed_communication_ns", "exposed comm")
            .help("Time with communication while no compute kernel runs."),
        |row| Cell::Time(row.exposed_communication_ns),
    ),
    (Column::number("hidden_communication_ns", "hidden communication").at(Raw), |row| {
        Cell::Time(row.hidden_communication_ns)
    }),
    (Column::number("copy_ns", "copies").at(Raw), |row| Cell::Time(row.copy_ns)),
    (
        Column::number("exposed_copy_ns", "exposed copy")
            .help("Time with copies while neither compute nor communication runs."),
        |row| Cell::Time(row.exposed_copy_ns),
    ),
    (Column::number("activities", "activities").help("Kernels, copies and fills."), |row| {
        Cell::count(row.activities)
    }),
    (Column::number("streams", "streams").at(Raw), |row| Cell::count(row.streams)),
    (Column::bar("busy_share", "busy share").help("Busy time / span."), |row| {
        let share = (row.span_ns > 0).then(|| busy_share(row));
        Cell::or(share, Cell::Share, "the device's span is 0")
    }),
];
