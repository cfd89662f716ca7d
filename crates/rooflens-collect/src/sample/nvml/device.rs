//! One device: what it is asked on each beat, and what now and then.

use nvml_wrapper::enum_wrappers::device::{Clock, PerformanceState, TemperatureSensor};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::{Bits, NvmlError};
use nvml_wrapper::struct_wrappers::device::ProcessInfo;
use nvml_wrapper::{Device, Nvml};
use rooflens_schema::tables::{CounterRow, CounterSource, Counters};
use rooflens_schema::{Notes, Opt};

use super::ask::{Ask, Trouble};
use super::gpm::{self, Gpm};
use crate::sample::source::{DeviceProcess, Moment, Ration, Reason, Subject};
use crate::sample::watched::Watched;

const SELDOM_NS: i64 = 1_000_000_000;
/// GPM compares two samples; between closer ones there is little to count.
const GPM_NS: i64 = 100_000_000;

pub(super) struct SampledDevice {
    device: Device<'static>,
    index: i32,
    name: String,
    uuid: Option<String>,
    source: String,
    lost: bool,
    questions: Questions,
}

struct Questions {
    utilization: Ask,
    sm_clock: Ask,
    mem_clock: Ask,
    power: Ask,
    power_limit: Ask,
    energy: Ask,
    temperature: Ask,
    memory: Ask,
    throttle: Ask,
    pstate: Ask,
    processes: Ask,
    gpm_metrics: Ask,
    gpm: Gpm,
    limit_turn: Ration,
    processes_turn: Ration,
    gpm_turn: Ration,
}

impl SampledDevice {
    pub(super) fn open(nvml: &'static Nvml, index: u32) -> Result<Self, NvmlError> {
        let device = nvml.device_by_index(index)?;
        Ok(SampledDevice {
            index: small(index).get().ok_or(NvmlError::InvalidArg)?,
            name: device.name().unwrap_or_else(|_| "NVIDIA device".to_owned()),
            uuid: device.uuid().ok(),
            source: format!("device {index}"),
            lost: false,
            questions: Questions::new(nvml, &device),
            device,
        })
    }

    pub(super) fn subject(&self) -> Subject {
        let source = CounterSource::Device.as_str().into();
        Subject { source, device: Some(self.index), name: self.name.clone(), uuid: self.uuid.clone() }
    }

    /// The power limit that holds now, in watts; or why it is not known.
    pub(super) fn power_limit_w(&self) -> Result<f64, String> {
        let limit = self.device.enforced_power_limit().map_err(|error| error.to_string())?;
        Ok(f64::from(limit) / 1000.0)
    }

    pub(super) fn sample(&mut self, moment: &Moment, rows: &mut Counters, watched: &Watched, notes: &Notes) {
        if self.lost {
            return;
        }
        let mut row = moment.begin(CounterSource::Device, Some(self.index));
        let mut trouble = Trouble { due_ns: moment.due_ns, source: &self.source, notes, lost: false };
        self.questions.often(&self.device, &mut row, &mut trouble);
        self.questions.seldom(&self.device, moment, &mut row, &mut trouble, watched);
        self.lost = trouble.lost;
        if !self.lost {
            moment.end(row, rows);
        }
    }

    pub(super) fn reasons(&self) -> Vec<Reason> {
        let refused = |ask: &Ask| {
            let reason = ask.refused.clone()?;
            Some(Reason { device: Some(self.index), column: ask.column.into(), reason })
        };
        self.questions.all().into_iter().filter_map(refused).collect()
    }

    pub(super) fn processes(&self) -> Vec<DeviceProcess> {
        let running = self.device.running_compute_processes().unwrap_or_default();
        let busy = self.device.process_utilization_stats(None).unwrap_or_default();
        let process = |process: &ProcessInfo| DeviceProcess {
            device: self.index,
            pid: process.pid,
            mem_bytes: memory_of(process),
            // The newest sample of the process.
            gpu_util_pct: busy
                .iter()
                .filter(|sample| sample.pid == process.pid)
                .max_by_key(|sample| sample.timestamp)
                .and_then(|sample| small(sample.sm_util).get()),
        };
        running.iter().map(process).collect()
    }
}

impl Questions {
    fn new(nvml: &'static Nvml, device: &Device<'static>) -> Self {
        let mut gpm_metrics = Ask::new("sm_active_pct");
        gpm_metrics.refused = match device.gpm_support() {
            Ok(true) => None,
            Ok(false) => Some("the device has no GPM, which Hopper and later have".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        Questions {
            utilization: Ask::new("gpu_util_pct"),
            sm_clock: Ask::new("sm_clock_mhz"),
            mem_clock: Ask::new("mem_clock_mhz"),
            power: Ask::new("power_mw"),
            power_limit: Ask::new("power_limit_mw"),
            energy: Ask::new("energy_mj"),
            temperature: Ask::new("temperature_c"),
            memory: Ask::new("mem_used_bytes"),
            throttle: Ask::new("throttle_reasons"),
            pstate: Ask::new("pstate"),
            processes: Ask::new("processes"),
            gpm_metrics,
            gpm: Gpm::new(nvml),
            limit_turn: Ration::new(SELDOM_NS),
            processes_turn: Ration::new(SELDOM_NS),
            gpm_turn: Ration::new(GPM_NS),
        }
    }

    fn all(&self) -> [&Ask; 12] {
        [
            &self.utilization,
            &self.sm_clock,
            &self.mem_clock,
            &self.power,
            &self.power_limit,
            &self.energy,
            &self.temperature,
            &self.memory,
            &self.throttle,
            &self.pstate,
            &self.processes,
            &self.gpm_metrics,
        ]
    }

    fn often(&mut self, device: &Device<'static>, row: &mut CounterRow, trouble: &mut Trouble<'_>) {
        if let Some(used) = self.utilization.ask(trouble, || device.utilization_rates()) {
            row.gpu_util_pct = small(used.gpu);
            row.mem_util_pct = small(used.memory);
        }
        let sm_clock = self.sm_clock.ask(trouble, || device.clock_info(Clock::SM));
        row.sm_clock_mhz = sm_clock.map_or(Opt::NONE, small);
        let mem_clock = self.mem_clock.ask(trouble, || device.clock_info(Clock::Memory));
        row.mem_clock_mhz = mem_clock.map_or(Opt::NONE, small);
        row.power_mw = self.power.ask(trouble, || device.power_usage()).map(i64::from).into();
        let energy = self.energy.ask(trouble, || device.total_energy_consumption());
        row.energy_mj = energy.map_or(Opt::NONE, large);
        let temperature = self.temperature.ask(trouble, || device.temperature(TemperatureSensor::Gpu));
        row.temperature_c = temperature.map_or(Opt::NONE, small);
        if let Some(memory) = self.memory.ask(trouble, || device.memory_info()) {
            row.mem_used_bytes = large(memory.used);
            row.mem_total_bytes = large(memory.total);
        }
        let throttle = self.throttle.ask(trouble, || throttle_bits(device));
        row.throttle_reasons = throttle.map_or(Opt::NONE, large);
        let pstate = self.pstate.ask(trouble, || device.performance_state());
        row.pstate = pstate
            .filter(|state| *state != PerformanceState::Unknown)
            .map_or(Opt::NONE, |state| small(state.as_c()));
    }

    fn seldom(
        &mut self,
        device: &Device<'static>,
        moment: &Moment,
        row: &mut CounterRow,
        trouble: &mut Trouble<'_>,
        watched: &Watched,
    ) {
        let limit = &mut self.power_limit;
        let limit = self.limit_turn.ask(moment, || limit.ask(trouble, || device.enforced_power_limit()));
        row.power_limit_mw = limit.map(i64::from).into();
        let running = &mut self.processes;
        let running =
            self.processes_turn.ask(moment, || running.ask(trouble, || device.running_compute_processes()));
        if let Some(running) = running {
            row.processes = i32::try_from(running.len()).ok().into();
            // Where none is known to the driver by our number, a container may hide it: not 0.
            let known = watched.with_pids(|pids| {
                let of_ours = running.iter().filter(|process| pids.contains(&process.pid));
                of_ours.filter_map(memory_of).reduce(|sum, bytes| sum.saturating_add(bytes))
            });
            row.watched_mem_bytes = known.into();
        }
        let (gpm, metrics) = (&mut self.gpm, &mut self.gpm_metrics);
        let values = self.gpm_turn.ask(moment, || metrics.ask(trouble, || gpm.since_last(device)).flatten());
        if let Some(values) = values {
            gpm::fill(row, values);
        }
    }
}

fn memory_of(process: &ProcessInfo) -> Option<i64> {
    match process.used_gpu_memory {
        UsedGpuMemory::Used(bytes) => large(bytes).get(),
        UsedGpuMemory::Unavailable => None,
    }
}

/// Bits that the binding has no name for are kept.
fn throttle_bits(device: &Device<'static>) -> Result<u64, NvmlError> {
    match device.current_throttle_reasons_strict() {
        Ok(reasons) => Ok(reasons.bits()),
        Err(NvmlError::IncorrectBits(Bits::U64(bits))) => Ok(bits),
        Err(error) => Err(error),
    }
}

fn small(number: u32) -> Opt<i32> {
    i32::try_from(number).ok().into()
}

fn large(number: u64) -> Opt<i64> {
    i64::try_from(number).ok().into()
}
