//! Each rule on planted values: where it speaks, and where it must not.

use std::borrow::Cow;

use crate::kernels::{ProfiledLaunch, TimelineDurations, profile};

const TIME: &str = "gpu__time_duration.sum";
const COMPUTE: &str = "sm__throughput.avg.pct_of_peak_sustained_elapsed";
const MEMORY: &str = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed";
const WAVES: &str = "launch__waves_per_multiprocessor";
const ISSUE: &str = "smsp__issue_active.avg.pct_of_peak_sustained_active";
const ELIGIBLE: &str = "smsp__warps_eligible.avg.per_cycle_active";
const ACTIVE: &str = "smsp__warps_active.avg.per_cycle_active";
const TENSOR: &str = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active";
const THEORETICAL: &str = "sm__maximum_warps_per_active_cycle_pct";
const ACHIEVED: &str = "sm__warps_active.avg.pct_of_peak_sustained_active";
const SECTORS: &str = "memory_l2_theoretical_sectors_global";
const IDEAL: &str = "memory_l2_theoretical_sectors_global_ideal";
const CONFLICTS: &str = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";
const WAVEFRONTS: &str = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum";
const THREADS: &str = "smsp__thread_inst_executed_per_inst_executed.ratio";

fn launch(name: &str, numbers: &[(&str, f64)]) -> ProfiledLaunch {
    let numbers = numbers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    ProfiledLaunch { name: name.to_owned(), numbers, grid: Some([64, 2, 1]), ..ProfiledLaunch::default() }
}

/// A launch that waits: 1 µs, 20 % and 30 % busy, a full device.
fn waiting(more: &[(&str, f64)]) -> ProfiledLaunch {
    let common = [(TIME, 1000.0), (COMPUTE, 20.0), (MEMORY, 30.0), (WAVES, 4.0)];
    launch("k", &[&common[..], more].concat())
}

fn said(launches: &[ProfiledLaunch]) -> Vec<(Cow<'static, str>, String)> {
    profile(launches, None, None).suggestions.into_iter().map(|row| (row.rule, row.measured)).collect()
}

fn only(launch: ProfiledLaunch, rule: &str) -> String {
    let found = said(&[launch]);
    assert_eq!(found.iter().map(|row| &*row.0).collect::<Vec<_>>(), [rule], "{found:?}");
    found[0].1.clone()
}

#[test]
fn parity_117_low_issue_names_its_stall() {
    let stall = |reason: &str| format!("smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio");
    let (long, chosen, other) = (stall("long_scoreboard"), stall("selected"), stall("not_selected"));
    let stalls = [(long.as_str(), 3.0), (chosen.as_str(), 1.0), (other.as_str(), 6.0)];
    let numbers = [(ISSUE, 17.0), (ELIGIBLE, 0.2), (ACTIVE, 8.0)];
    let told = only(waiting(&[&numbers[..], &stalls].concat()), "low_issue_utilisation");
    // 3 of 10; what was not selected did not wait.
    assert_eq!(
        told,
        "schedulers issue in 17 % of active cycles (below 60 %); 0.20 of 8.00 active warps of a scheduler are eligible; 30 % of warp time is stall long scoreboard"
    );
    let tensor =
        waiting(&[(ISSUE, 10.0), (ELIGIBLE, 0.1), (TENSOR, 35.0), (THEORETICAL, 17.0), (ACHIEVED, 17.0)]);
    assert_eq!(said(&[tensor]), [], "kernels on tensor cores issue seldom and hold few warps by design");
    assert_eq!(said(&[waiting(&[(ISSUE, 60.0)])]), [], "at the threshold nothing is said");
    assert_eq!(said(&[waiting(&[(ISSUE, 17.0), (MEMORY, 85.0)])]), [], "memory is the limit");
}

#[test]
fn parity_117_uncoalesced_accesses_by_what_their_bytes_need() {
    let told = only(waiting(&[(SECTORS, 1000.0), (IDEAL, 250.0)]), "uncoalesced_access");
    assert_eq!(told, "75 % of the sectors of global accesses are beyond what their bytes need (from 10 %)");
    assert_eq!(said(&[waiting(&[(SECTORS, 1000.0), (IDEAL, 950.0)])]), []);
    let sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";
    let requests = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
    // 16 bytes a thread need 16 sectors: that is as good as it gets.
    assert_eq!(said(&[waiting(&[(sectors, 1600.0), (requests, 100.0)])]), []);
    let told = only(waiting(&[(sectors, 3200.0), (requests, 100.0)]), "uncoalesced_access");
    assert!(told.starts_with("a global load touches 32.0 sectors"), "{told}");
    // Bytes that are used count for more than sectors that were touched.
    let used = "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio";
    assert_eq!(said(&[waiting(&[(sectors, 3200.0), (requests, 100.0), (used, 32.0)])]), []);
    let told = only(waiting(&[(used, 4.0)]), "uncoalesced_access");
    assert_eq!(told, "global loads use 4.0 of the 32 bytes of a sector (up to 24)");
    assert_eq!(said(&[waiting(&[(used, 0.0)])]), [], "no load at all");
}

#[test]
fn parity_117_bank_conflicts_of_wavefronts() {
    let told = only(waiting(&[(CONFLICTS, 300.0), (WAVEFRONTS, 1000.0)]), "bank_conflicts");
    assert_eq!(told, "300 bank conflicts: 30 % of the wavefronts of shared memory (from 10 %)");
    assert_eq!(said(&[waiting(&[(CONFLICTS, 99.0), (WAVEFRONTS, 1000.0)])]), []);
    assert_eq!(said(&[waiting(&[(CONFLICTS, 300.0)])]), [], "of how many is not known");
}

#[test]
fn parity_117_tensor_pipes_idle_only_where_compute_is_the_limit() {
    let product = |name: &str, compute: f64, tensor: f64| {
        launch(name, &[(TIME, 1000.0), (COMPUTE, compute), (MEMORY, 30.0), (WAVES, 4.0), (TENSOR, tensor)])
    };
    let told = only(product("ampere_sgemm_128x64_nn", 90.0, 0.0), "tensor_pipes_idle");
    assert_eq!(
        told,
        "tensor pipes are active in 0.0 % of cycles (below 1 %) while other pipes are 90 % busy"
    );
    assert_eq!(said(&[product("ampere_sgemm_128x64_nn", 90.0, 50.0)]), []);
    assert_eq!(said(&[product("ampere_sgemm_128x64_nn", 30.0, 0.0)]), [], "it waits for something else");
    assert_eq!(said(&[product("vectorized_elementwise_kernel", 90.0, 0.0)]), [], "no product");
}

#[test]
fn parity_117_occupancy_names_its_limiter() {
    let limits = [("launch__occupancy_limit_registers", 2.0), ("launch__occupancy_limit_warps", 8.0)];
    let numbers = [(ELIGIBLE, 0.3), (THEORETICAL, 25.0), (ACHIEVED, 22.0)];
    let all = [&numbers[..], &limits].concat();
    let told = only(waiting(&all), "low_occupancy");
    assert_eq!(
        told,
        "0.30 eligible warps per scheduler (below 1); occupancy 22 % of at most 25 % (below 80 %), limited by registers"
    );
    let mut small = waiting(&all);
    // A quarter of a wave of two blocks for each multiprocessor is half a block for each.
    small.numbers.insert(WAVES.to_owned(), 0.25);
    let found = said(&[small]);
    assert_eq!(
        found.iter().map(|row| &*row.0).collect::<Vec<_>>(),
        ["small_grid"],
        "the grid, not the registers"
    );
    let mut enough = waiting(&all);
    enough.numbers.insert(ELIGIBLE.to_owned(), 1.5);
    assert_eq!(said(&[enough]), []);
}

#[test]
fn parity_117_tails_only_where_waves_are_known() {
    // 1.1 waves: 90 % of the second is empty, 45 % of both.
    let told = only(waiting(&[(WAVES, 1.1)]), "tail_effect");
    assert_eq!(
        told,
        "1.10 waves: the last fills 10 % of the device; up to 45 % of its time is empty if blocks take equally long (from 10 %)"
    );
    assert_eq!(said(&[waiting(&[(WAVES, 9.5)])]), [], "5 %");
    let mut unknown = waiting(&[]);
    unknown.numbers.remove(WAVES);
    assert_eq!(said(&[unknown]), []);
    let busy = launch("k", &[(TIME, 1.0), (COMPUTE, 95.0), (MEMORY, 30.0), (WAVES, 1.1)]);
    assert_eq!(said(&[busy]), [], "what is 95 % busy is not 45 % empty");
}

#[test]
fn threads_that_go_different_ways() {
    let told = only(waiting(&[(THREADS, 8.0)]), "thread_divergence");
    assert_eq!(told, "8.0 of 32 threads of a warp are active in an instruction (below 24)");
    assert_eq!(said(&[waiting(&[(THREADS, 24.0)])]), []);
}

#[test]
fn parity_117_time_at_stake_is_that_of_the_launches() {
    let conflicts = [(CONFLICTS, 300.0), (WAVEFRONTS, 1000.0)];
    let mut longer = waiting(&conflicts);
    longer.numbers.insert(TIME.to_owned(), 2000.0);
    let mut other = waiting(&[]);
    (other.name, _) = ("other".to_owned(), other.numbers.insert(TIME.to_owned(), 1000.0));
    let mut timeline = TimelineDurations::default();
    timeline.add("k", 900.0);
    timeline.add("other", 100.0);
    let found = profile(&[waiting(&conflicts), longer, other], None, Some(&timeline)).suggestions;
    assert_eq!(found.len(), 1, "one kernel, one line");
    assert_eq!(
        (found[0].launches.len(), found[0].time_share, found[0].timeline_share),
        (2, Some(0.75), Some(0.9))
    );
    assert!(profile(&[], None, None).suggestions.is_empty());
}
