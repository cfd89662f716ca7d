//! One step, however many annotations name it.
//!
//! An engine, a framework, a profiler and a user may each put a range around the same forward pass, on the host
//! and again on the device. The ranges of a timeline make a forest by what lies in what (`forest.rs`); from the
//! leaves to the roots, each range is a step, a further name of the step inside it, or a range that only holds
//! steps. Decision 20 has the rules with an example of each.

mod forest;
mod merge;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use rooflens_schema::tables::{PhaseKind, PhaseSource, Phases};
use rooflens_schema::{NameId, Opt, RankTables};

use forest::Forest;
use merge::Steps;

/// What two names of one step disagree on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contradictions {
    /// Steps with names that disagree.
    pub steps: usize,
    /// The first of them, in words.
    pub first: String,
}

/// Fills `phases.step_id`; adds to each step what its other names say of it.
pub(super) fn merge(tables: &mut RankTables) -> Contradictions {
    let named_on_host: HashSet<NameId> = rows(&tables.phases, |phases, row| !is_on_device(phases, row))
        .map(|row| tables.phases.name_id[row])
        .collect();
    let on_host = Forest::of_threads(
        tables,
        says_what_it_does(&tables.phases, |phases, row| !is_on_device(phases, row)),
    );
    let on_device = Forest::of_devices(
        tables,
        says_what_it_does(&tables.phases, |phases, row| {
            is_on_device(phases, row) && !named_on_host.contains(&phases.name_id[row])
        }),
    );
    let mut steps = Steps::new(&mut tables.phases, &tables.names);
    steps.resolve(&on_host);
    steps.resolve(&on_device);
    let contradictions = steps.finish();
    join_device_ranges(&mut tables.phases);
    contradictions
}

fn is_on_device(phases: &Phases, row: usize) -> bool {
    phases.device[row].is_some()
}

fn rows<'a>(
    phases: &'a Phases,
    wanted: impl Fn(&Phases, usize) -> bool + 'a,
) -> impl Iterator<Item = usize> + 'a {
    (0..phases.len()).filter(move |&row| wanted(phases, row))
}

fn says_what_it_does(phases: &Phases, wanted: impl Fn(&Phases, usize) -> bool) -> Vec<usize> {
    rows(phases, |phases, row| phases.kind[row] != PhaseKind::Range && wanted(phases, row)).collect()
}

/// A range that the profiler drew again on the device is of the step that it has on the host: by order where there
/// are as many of the name on both, else the last that began before.
fn join_device_ranges(phases: &mut Phases) {
    let mut on_host: HashMap<NameId, Vec<usize>> = HashMap::new();
    let mut drawn_again: HashMap<(NameId, i32), Vec<usize>> = HashMap::new();
    for row in 0..phases.len() {
        let name = phases.name_id[row];
        match phases.device[row].get() {
            None => on_host.entry(name).or_default().push(row),
            Some(device) if phases.source[row] == PhaseSource::DeviceAnnotation => {
                drawn_again.entry((name, device)).or_default().push(row);
            }
            Some(_) => {}
        }
    }
    for ((name, _), rows) in drawn_again {
        let Some(hosts) = on_host.get(&name) else { continue };
        for (number, &row) in rows.iter().enumerate() {
            let before = || hosts.partition_point(|&host| phases.ts_ns[host] <= phases.ts_ns[row]);
            let host = if hosts.len() == rows.len() { number } else { before().saturating_sub(1) };
            phases.step_id[row] = hosts.get(host).map_or(Opt::NONE, |&host| phases.step_id[host]);
        }
    }
}
