//! The file as messages: each behind its length, four bytes, least first. A block is a header, and behind it
//! sources, launches, ranges, command lists and graphs, as many as the header says.

use std::collections::BTreeMap;

use prost::Message;

use super::base_unit::base_unit;
use super::message::{self, BlockHeader, FileHeader, GroupResult, MetricMessage};
use super::{MetricValue, NcuLaunch, NcuMetric, NcuRule, RuleGrade, Speedup};

/// Reads what stands behind the first four bytes. Damage ends it: without its length the next message cannot
/// be found.
pub(super) fn read(bytes: &[u8], lost: &dyn Fn(&str)) -> Vec<NcuLaunch> {
    let mut input = Input { bytes };
    let mut strings: Vec<String> = Vec::new();
    // Names may stand in a later block than the launches that use them.
    let mut found: Vec<(NcuLaunch, Vec<MetricMessage>)> = Vec::new();
    if input.message::<FileHeader>().is_none() {
        lost("the header of the file is damaged");
        return Vec::new();
    }
    while !input.bytes.is_empty() {
        let Some(header) = input.message::<BlockHeader>() else {
            lost("a block is damaged or truncated: the rest is missing");
            break;
        };
        strings.extend(header.strings.iter().flat_map(|table| table.strings.iter().cloned()));
        let groups = [header.range_results, header.command_list_results, header.graph_results];
        let groups: u64 = groups.into_iter().flatten().map(u64::from).sum();
        let kernels = u64::from(header.results.unwrap_or(0));
        let before = found.len();
        let mut block = || {
            for _ in 0..header.sources.unwrap_or(0) {
                input.next()?; // code: not read
            }
            for _ in 0..kernels {
                found.push(kernel(input.message()?));
            }
            for _ in 0..groups {
                found.push((NcuLaunch::default(), input.message::<GroupResult>()?.metrics));
            }
            Some(())
        };
        if block().is_none() {
            let (read, told) = (found.len() - before, kernels + groups);
            lost(&format!("{read} of {told} launches of a block could be read: the rest is missing"));
            break;
        }
    }
    let mut unnamed = 0_u64;
    for (launch, metrics) in &mut found {
        for metric in std::mem::take(metrics) {
            match metric.name.and_then(|index| strings.get(index as usize)) {
                Some(name) => {
                    let unit = base_unit(name).map(str::to_owned);
                    let value = metric.value.and_then(value);
                    launch.metrics.insert(name.clone(), NcuMetric { value, unit });
                }
                None => unnamed += 1,
            }
        }
    }
    if unnamed > 0 {
        lost(&format!("{unnamed} metrics have no name in the file and were left out"));
    }
    found.into_iter().map(|(launch, _)| launch).collect()
}

struct Input<'b> {
    bytes: &'b [u8],
}

impl<'b> Input<'b> {
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

fn kernel(result: message::Result) -> (NcuLaunch, Vec<MetricMessage>) {
    let names = [result.demangled_name, result.mangled_name, result.function_name].into_iter().flatten();
    let launch = NcuLaunch {
        name: names.into_iter().find(|name| !name.is_empty()).unwrap_or_default(),
        grid: result.grid.map(size),
        block: result.block.map(size),
        metrics: BTreeMap::new(),
        rules: result.rules.into_iter().map(rule).collect(),
    };
    (launch, result.metrics)
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
    NcuRule { id: of.id.unwrap_or_default(), section: of.section, messages: messages.collect(), speedup }
}
