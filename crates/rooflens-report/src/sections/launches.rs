//! How work gets to the device.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{ApiStat, Kernels, Launches};

use crate::block::{Block, Cell, Column, Fact, Field};
use crate::section::Detail;

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(launches) = findings.get::<Launches>() else { return vec![] };
    let no_launches = "the trace has no launches";
    let kernels = findings.get::<Kernels>().map(|_| launches.short_kernel_share);
    let short = Cell::or(kernels, Cell::Share, "the trace has no device activity");
    let mut facts = vec![
        Fact::new("kernels", Cell::count(launches.launches)).help("Calls that launch one kernel."),
        Fact::new("graphs", Cell::count(launches.graph_launches)).help("Calls that launch a captured graph."),
        Fact::new("launches per step", Cell::or(launches.per_step, Cell::Mean, "the trace has no steps"))
            .help("Calls that launch kernels, graphs, copies or fills, per step: mean."),
        Fact::new("under 10 µs", short).help("Kernels shorter than 10 µs, as a share of all kernels."),
        Fact::new("delay p50", Cell::or(launches.delay_p50_ns, Cell::Time, no_launches))
            .help("From the launching call to the start on the device."),
    ];
    if detail.is_screen() {
        // A screen has no room for what did not happen.
        facts.retain(|fact| fact.label != "graphs" || launches.graph_launches > 0);
        return vec![Block::Facts(facts)];
    }
    facts.extend([
        Fact::new("delay p99", Cell::or(launches.delay_p99_ns, Cell::Time, no_launches)),
        Fact::new("from graphs", Cell::count(launches.graph_activities))
            .help("Activities launched by graphs."),
        Fact::new("host time launching", Cell::Time(launches.launch_api_ns)),
        Fact::new("host time waiting", Cell::Time(launches.sync_api_ns))
            .help("Host time in calls that wait for the device."),
        Fact::new("queued ahead, mean", Cell::or(launches.queue_depth_mean, Cell::Mean, no_launches))
            .help("Activities launched but not finished when the next was launched."),
        Fact::new("queued ahead, most", Cell::or(launches.queue_depth_max, Cell::count, no_launches)),
    ]);
    let mut blocks = vec![Block::Facts(facts)];
    if !launches.calls.is_empty() {
        blocks.push(Block::table("api_calls", FIELDS, &launches.calls, detail.rows()));
    }
    blocks
}

const FIELDS: &[Field<ApiStat>] = &[
    (Column::text("name", "runtime call"), |row| Cell::code(&row.name)),
    (Column::text("kind", "kind"), |row| Cell::word(row.kind.as_str())),
    (Column::number("count", "calls"), |row| Cell::count(row.count)),
    (Column::number("p50_ns", "median"), |row| Cell::Time(row.p50_ns)),
    (Column::number("max_ns", "longest"), |row| Cell::Time(row.max_ns)),
    (Column::number("total_ns", "total").help("Host time."), |row| Cell::Time(row.total_ns)),
];
