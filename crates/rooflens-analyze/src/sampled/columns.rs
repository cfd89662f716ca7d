//! Which columns of `counters` are summed up for whom, and how.

use rooflens_schema::tables::{CounterRow, CounterSource};

pub(super) type Value = fn(&CounterRow) -> Option<f64>;

pub(super) struct Column {
    pub(crate) name: &'static str,
    pub(crate) of: Value,
    host: bool,
    device: bool,
}

impl Column {
    pub(crate) fn is_of(&self, source: CounterSource) -> bool {
        match source {
            CounterSource::Host => self.host,
            CounterSource::Device => self.device,
        }
    }
}

macro_rules! columns {
    ($($name:ident of $($whose:ident)|+: $of:expr,)+) => {
        &[$(Column {
            name: stringify!($name),
            of: $of,
            host: false $(|| columns!(@host $whose))+,
            device: false $(|| columns!(@device $whose))+,
        },)+]
    };
    (@host host) => { true };
    (@host device) => { false };
    (@device host) => { false };
    (@device device) => { true };
}

fn whole(value: rooflens_schema::Opt<i64>) -> Option<f64> {
    value.get().map(|value| value as f64)
}

fn short(value: rooflens_schema::Opt<i32>) -> Option<f64> {
    value.get().map(f64::from)
}

/// What stands at a level: mean, least and most are told.
pub(super) const LEVELS: &[Column] = columns! {
    cpu_busy_pct of host: |row| row.cpu_busy_pct,
    gpu_util_pct of device: |row| short(row.gpu_util_pct),
    mem_util_pct of device: |row| short(row.mem_util_pct),
    sm_active_pct of device: |row| row.sm_active_pct,
    sm_occupancy_pct of device: |row| row.sm_occupancy_pct,
    tensor_active_pct of device: |row| row.tensor_active_pct,
    dram_active_pct of device: |row| row.dram_active_pct,
    power_mw of device: |row| whole(row.power_mw),
    power_limit_mw of device: |row| whole(row.power_limit_mw),
    temperature_c of device: |row| short(row.temperature_c),
    sm_clock_mhz of device: |row| short(row.sm_clock_mhz),
    mem_clock_mhz of device: |row| short(row.mem_clock_mhz),
    mem_used_bytes of host | device: |row| whole(row.mem_used_bytes),
    mem_total_bytes of host | device: |row| whole(row.mem_total_bytes),
    watched_mem_bytes of host | device: |row| whole(row.watched_mem_bytes),
    swap_used_bytes of host: |row| whole(row.swap_used_bytes),
    pcie_tx_bytes_per_s of device: |row| row.pcie_tx_bytes_per_s,
    pcie_rx_bytes_per_s of device: |row| row.pcie_rx_bytes_per_s,
    nvlink_tx_bytes_per_s of device: |row| row.nvlink_tx_bytes_per_s,
    nvlink_rx_bytes_per_s of device: |row| row.nvlink_rx_bytes_per_s,
};

/// What only grows: what was added is told.
pub(super) const COUNTS: &[Column] = columns! {
    cpu_busy_ns of host: |row| whole(row.cpu_busy_ns),
    watched_cpu_ns of host: |row| whole(row.watched_cpu_ns),
    disk_read_bytes of host: |row| whole(row.disk_read_bytes),
    disk_write_bytes of host: |row| whole(row.disk_write_bytes),
    net_rx_bytes of host: |row| whole(row.net_rx_bytes),
    net_tx_bytes of host: |row| whole(row.net_tx_bytes),
};

#[cfg(test)]
mod tests {
    use super::*;
    use rooflens_schema::tables::Counters;

    #[test]
    fn every_number_of_the_table_is_summed_up_somewhere() {
        // Times and ids are no measure, and these are told in their own way.
        let apart = "ts_ns late_ns took_ns source device step energy_mj throttle_reasons pstate processes";
        let mut known: Vec<&str> =
            LEVELS.iter().chain(COUNTS).map(|column| column.name).chain(apart.split(' ')).collect();
        let mut columns: Vec<&str> = Counters::spec().columns.iter().map(|column| column.name).collect();
        known.sort_unstable();
        columns.sort_unstable();
        assert_eq!(known, columns);
    }
}
