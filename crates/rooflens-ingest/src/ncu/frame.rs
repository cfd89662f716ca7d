//! The file as messages: each behind its length, four bytes, least first. A block is a header, and behind it
//! sources, launches, ranges, command lists and graphs, as many as the header says.

use std::collections::BTreeMap;

use prost::Message;

use super::base_unit::base_unit;
use super::message::{self, BlockHeader, FileHeader, GroupResult};
use super::{MetricValue, NcuLaunch, NcuMetric, NcuRule, Report, RuleGrade, Speedup, What};

/// Reads what stands behind the first four bytes. Damage ends it: without its length the next message cannot
/// be found.
pub fn read(bytes: &[u8], lost: &dyn Fn(&str)) -> Report {
    let mut input = Input { bytes };
    let mut report = Report::default();
    let mut strings: Vec<String> = Vec::new();
    // Names may stand in a later block than the launches that use them.
    let mut found: Vec<Found> = Vec::new();
    if input.message::<FileHeader>().is_none() {
        lost("the header of the file is damaged");
        return report;
    }
    while !input.bytes.is_empty() {
        let Some(header) = input.message::<BlockHeader>() else {
            lost("a block is damaged or truncated: the rest is missing");
            break;
        };
        if report.version.is_none() {
            report.version = header.session.as_ref().and_then(version);
        }
        strings.extend(header.strings.iter().flat_map(|table| table.strings.iter().cloned()));
        let before = found.len();
        if block(&mut input, &header, &mut found).is_none() {
            let told =
                [header.results, header.range_results, header.command_list_results, header.graph_results];
            let told: u64 = told.into_iter().map(|count| u64::from(count.unwrap_or(0))).sum();
            let read = (found.len() - before) as u64;
            lost(&format!("{read} of {told} launches of a block could be read: the rest is missing"));
            break;
        }
    }
    let unnamed = std::cell::Cell::new(0_u64);
    report.launches = found.into_iter().map(|found| launch(found, &strings, &unnamed)).collect();
    if unnamed.get() > 0 {
        lost(&format!("{} metrics have no name in the file and were left out", unnamed.get()));
    }
    report
}

/// A launch with its metrics still numbered.
struct Found {
    launch: NcuLaunch,
    metrics: Vec<message::MetricMessage>,
}

struct Input<'b> {
    bytes: &'b [u8],
}

impl<'b> Input<'b> {
    /// The bytes of the next message.
    fn next(&mut self) -> Option<&'b [u8]> {
        let (length, rest) = self.bytes.split_first_chunk::<4>()?;
        let (message, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        self.bytes = rest;
        Some(message)
    }

    fn message<M: Message + Default>(&mut self) -> Option<M> {
        M::decode(self.next()?).ok()
    }
}

fn block(input: &mut Input<'_>, header: &BlockHeader, found: &mut Vec<Found>) -> Option<()> {
    let count = |of: Option<u32>| of.unwrap_or(0);
    for _ in 0..count(header.sources) {
        input.next()?; // code: not read
    }
    for _ in 0..count(header.results) {
        found.push(kernel(input.message()?));
    }
    let groups = [
        (What::Range, header.range_results),
        (What::CommandList, header.command_list_results),
        (What::Graph, header.graph_results),
    ];
    for (what, number) in groups {
        for _ in 0..count(number) {
            found.push(group(what, input.message()?));
        }
    }
    Some(())
}

fn kernel(result: message::Result) -> Found {
    let function = result.function_name.unwrap_or_default();
    let full = [result.demangled_name, result.mangled_name].into_iter().flatten();
    let name = full.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| function.clone());
    let launch = NcuLaunch {
        what: What::Kernel,
        name,
        function,
        grid: result.grid.map(size),
        block: result.block.map(size),
        context: result.context,
        stream: result.stream,
        ranges: result.nvtx.map(|state| ranges(&state, result.thread)).unwrap_or_default(),
        metrics: BTreeMap::new(),
        rules: result.rules.into_iter().map(rule).collect(),
    };
    Found { launch, metrics: result.metrics }
}

fn group(what: What, result: GroupResult) -> Found {
    let ranges = result.nvtx.map(|state| ranges(&state, result.thread)).unwrap_or_default();
    let launch = NcuLaunch { what, context: result.context, ranges, ..NcuLaunch::default() };
    Found { launch, metrics: result.metrics }
}

fn launch(found: Found, strings: &[String], unnamed: &std::cell::Cell<u64>) -> NcuLaunch {
    let Found { mut launch, metrics } = found;
    for metric in metrics {
        let name = metric.name.and_then(|index| strings.get(index as usize));
        let Some(name) = name else {
            unnamed.set(unnamed.get() + 1);
            continue;
        };
        let instances = metric.instances.into_iter();
        let instances =
            instances.filter_map(|part| Some((part.of.and_then(value), value(part.value?)?))).collect();
        let unit = base_unit(name).map(str::to_owned);
        launch
            .metrics
            .insert(name.clone(), NcuMetric { value: metric.value.and_then(value), instances, unit });
    }
    launch
}

fn value(of: message::ValueMessage) -> Option<MetricValue> {
    None.or(of.double.map(MetricValue::Number))
        .or(of.float.map(|float| MetricValue::Number(f64::from(float))))
        .or(of.large.map(MetricValue::Whole))
        .or(of.small.map(|small| MetricValue::Whole(u64::from(small))))
        .or(of.text.map(MetricValue::Text))
}

/// Proto leaves out what is 0; a dimension that is absent is 0 too, which no launch has.
fn size(of: message::SizeMessage) -> [u64; 3] {
    [of.x, of.y, of.z].map(|length| length.unwrap_or(0))
}

fn ranges(state: &message::NvtxState, thread: Option<u32>) -> Vec<String> {
    let named = |domain: Option<u64>, name: &Option<String>| {
        let name = name.clone().unwrap_or_default();
        let known = state.domains.iter().find(|known| known.id == domain && known.id != state.default_domain);
        match known.and_then(|known| known.name.as_deref()) {
            Some(domain) if !domain.is_empty() && !domain.starts_with('<') => format!("{domain}:{name}"),
            _ => name,
        }
    };
    let mut found = Vec::new();
    for domain in &state.start_end {
        found.extend(domain.ranges.iter().map(|range| named(domain.domain, &range.name)));
    }
    for threads in state.threads.iter().filter(|of| thread.is_none() || of.thread == thread) {
        for stack in &threads.domains {
            found.extend(stack.ranges.iter().map(|range| named(stack.domain, &range.name)));
        }
    }
    found
}

fn rule(of: message::RuleResult) -> NcuRule {
    let items = of.body.map(|body| body.items).unwrap_or_default();
    let speedup = items.iter().find_map(|item| {
        let speedup = item.speedup?;
        let percent = speedup.percent.filter(|percent| percent.is_finite())?;
        Some(Speedup { is_global: speedup.kind == Some(2), percent })
    });
    let messages = items.into_iter().filter_map(|item| {
        let message = item.message?;
        let grade = match message.kind {
            Some(1) => RuleGrade::Ok,
            Some(2) => RuleGrade::Warning,
            Some(3) => RuleGrade::Error,
            Some(4) => RuleGrade::Optimization,
            _ => RuleGrade::Info,
        };
        Some((grade, message.text?))
    });
    NcuRule {
        id: of.id.unwrap_or_default(),
        name: of.name.unwrap_or_default(),
        section: of.section,
        messages: messages.collect(),
        speedup,
    }
}

fn version(session: &message::Session) -> Option<String> {
    let compute = session.versions.iter().find(|version| {
        version.provider.as_deref().is_some_and(|provider| provider.contains("Nsight Compute"))
    });
    compute.or(session.versions.first())?.version.clone()
}
