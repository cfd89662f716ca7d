//! How much memory a query may use by default.

use std::fs;

/// The share of the machine's memory: the rest is for what DataFusion does not account for, as decoded pages.
const SHARE_PERCENT: u64 = 70;
/// Assumed where the system does not tell how much there is.
const UNKNOWN_BYTES: u64 = 8 << 30;

/// The default limit in bytes.
pub(crate) fn default_limit() -> u64 {
    limit(machine_bytes(), container_bytes())
}

fn limit(machine: Option<u64>, container: Option<u64>) -> u64 {
    let total = match (machine, container) {
        (Some(machine), Some(container)) => machine.min(container),
        (machine, container) => machine.or(container).unwrap_or(UNKNOWN_BYTES),
    };
    total / 100 * SHARE_PERCENT
}

fn machine_bytes() -> Option<u64> {
    total_of_meminfo(&fs::read_to_string("/proc/meminfo").ok()?)
}

/// A container may have less than the machine; without a limit the file says `max`.
fn container_bytes() -> Option<u64> {
    fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?.trim().parse().ok()
}

fn total_of_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_of_machine_and_container_counts() {
        let machine = total_of_meminfo("MemTotal:       1000 kB\nMemFree: 5 kB\n");
        assert_eq!(machine, Some(1_024_000));
        assert_eq!(limit(machine, Some(1000)), 700);
        assert_eq!(limit(machine, None), 716_800);
        assert_eq!(limit(None, None), UNKNOWN_BYTES / 100 * 70);
    }
}
