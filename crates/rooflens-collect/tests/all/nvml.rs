//! NVIDIA devices, by a mock of the library: what goes in comes out, in the same units, and what is not told
//! is null.

use std::path::Path;
use std::time::Duration;

use rooflens_collect::sample::clock::monotonic_ns;
use rooflens_collect::sample::nvml::{NvmlSource, parts};
use rooflens_collect::sample::source::{DeviceProcess, Lack, Moment, SampleClock};
use rooflens_collect::sample::{Missing, Sampler, SamplingSettings, Source, Watched, throttle};
use rooflens_schema::tables::{CounterRow, CounterSource, Counters};
use rooflens_schema::{Note, Notes, Severity};

use crate::mock_nvml::{MockNvml, TWO_DEVICES};

struct Sampled {
    source: NvmlSource,
    rows: Vec<CounterRow>,
    notes: Vec<Note>,
}

/// The clock of rows, and samples due at these times: when they are taken does not matter.
fn moments(due_ms: &[i64]) -> Vec<Moment> {
    let (timeline, start_ns) = (SampleClock::from(0), monotonic_ns());
    due_ms.iter().map(|due| Moment { due_ns: start_ns + due * 1_000_000, timeline }).collect()
}

/// Samples so often, far enough apart for what is asked ten times a second, not for what is asked once.
fn sample(mock: &MockNvml, times: usize, watched: &Watched) -> Sampled {
    let mut source = NvmlSource::open(Some(&mock.path()), watched).unwrap();
    let (mut rows, notes) = (Counters::default(), Notes::default());
    for moment in moments(&[0, 400, 800][..times]) {
        source.sample(&moment, &mut rows, &notes);
    }
    let rows = (0..rows.len()).map(|i| rows.row(i).unwrap()).collect();
    Sampled { source, rows, notes: notes.rows() }
}

fn open_error(script: &str) -> Missing {
    let mock = MockNvml::new(script);
    NvmlSource::open(Some(&mock.path()), &Watched::default()).err().unwrap()
}

#[test]
fn values_come_through_in_their_units() {
    let mock = MockNvml::new(TWO_DEVICES);
    let watched = Watched::default();
    watched.watch(4242);
    let mut sampled = sample(&mock, 2, &watched);
    assert!(sampled.notes.is_empty(), "{:?}", sampled.notes);
    let [row, little, later, _] = &sampled.rows[..] else { panic!("{:?}", sampled.rows.len()) };

    assert_eq!((row.source, row.device.get()), (CounterSource::Device, Some(0)));
    assert_eq!((row.gpu_util_pct.get(), row.mem_util_pct.get()), (Some(97), Some(41)));
    assert_eq!((row.sm_clock_mhz.get(), row.mem_clock_mhz.get()), (Some(1980), Some(2619)));
    assert_eq!((row.power_mw.get(), row.power_limit_mw.get()), (Some(301_500), Some(700_000)));
    assert_eq!((row.energy_mj.get(), row.temperature_c.get()), (Some(123_456_789_012), Some(54)));
    assert_eq!(row.mem_used_bytes.get(), Some(12_884_901_888));
    assert_eq!(row.mem_total_bytes.get(), Some(85_520_809_984));
    assert_eq!(throttle::names(row.throttle_reasons.get().unwrap()), ["sw_power_cap", "hw_thermal_slowdown"]);
    assert_eq!((row.processes.get(), row.watched_mem_bytes.get()), (Some(2), Some(10_737_418_240)));
    // GPM tells of the time between two samples; what is asked once a second is not asked again so soon.
    assert_eq!((row.sm_active_pct, later.sm_active_pct), (None, Some(61.5)));
    assert_eq!((later.sm_occupancy_pct, later.tensor_active_pct), (Some(33.25), Some(48.0)));
    assert_eq!((later.dram_active_pct, later.pcie_tx_bytes_per_s), (Some(72.5), Some(1_572_864.0)));
    assert_eq!(
        (later.pcie_rx_bytes_per_s, later.nvlink_tx_bytes_per_s),
        (Some(2_097_152.0), Some(4_194_304.0))
    );
    assert_eq!(later.nvlink_rx_bytes_per_s, None);
    assert_eq!((later.processes.get(), later.power_limit_mw.get()), (None, None));
    assert!(later.ts_ns > row.ts_ns && row.took_ns > 0);

    // 0 is 0 where the device says so, and null where it says nothing.
    assert_eq!((little.device.get(), little.gpu_util_pct.get()), (Some(1), Some(0)));
    assert_eq!((little.mem_used_bytes.get(), little.processes.get()), (Some(0), Some(0)));
    assert_eq!((little.mem_clock_mhz.get(), little.temperature_c.get()), (None, None));
    assert_eq!((little.power_limit_mw.get(), little.watched_mem_bytes.get()), (None, None));
    assert_eq!(throttle::names(little.throttle_reasons.get().unwrap()), ["gpu_idle", "0x400"]);

    let subjects = sampled.source.subjects();
    assert_eq!(subjects[0].name, "NVIDIA H100 80GB HBM3");
    assert_eq!(subjects[0].uuid.as_deref(), Some("GPU-00000000-0000-0000-0000-000000000000"));
    assert_eq!((subjects[1].name.as_str(), &subjects[1].uuid), ("NVIDIA T4", &None));
    assert_eq!(sampled.source.about(), "NVIDIA driver 580.65.06");
    let process = |pid, mem_bytes, gpu_util_pct| DeviceProcess {
        device: 0,
        pid,
        mem_bytes: Some(mem_bytes),
        gpu_util_pct: Some(gpu_util_pct),
    };
    assert_eq!(sampled.source.processes(), [process(4242, 10_737_418_240, 93), process(77, 1_048_576, 1)]);
}

#[test]
fn parity_127_the_performance_state_is_sampled() {
    // P0, P2, P15, NVML_PSTATE_UNKNOWN, a number that is no state, and no answer at all.
    let mock = MockNvml::new("count 2\n0.name A\n0.pstate 0 2 15 32 77 8\n1.name B\n1.power 7\n");
    let mut source = NvmlSource::open(Some(&mock.path()), &Watched::default()).unwrap();
    let (mut rows, notes) = (Counters::default(), Notes::default());
    for moment in moments(&[0, 10, 20, 30, 40, 2000]) {
        source.sample(&moment, &mut rows, &notes);
    }
    let of = |device: i32| -> Vec<Option<i32>> {
        let rows = (0..rows.len()).filter_map(|i| rows.row(i));
        rows.filter(|row| row.device.get() == Some(device)).map(|row| row.pstate.get()).collect()
    };
    assert_eq!(of(0), [Some(0), Some(2), Some(15), None, None, Some(8)]);
    assert_eq!(of(1), [None; 6]);
    let reasons = source.reasons();
    assert!(
        reasons.iter().any(|reason| reason.column == "pstate" && reason.device == Some(1)),
        "{reasons:?}"
    );
    let codes: Vec<String> = notes.rows().into_iter().map(|note| note.message).collect();
    assert!(codes.iter().any(|message| message.starts_with("pstate was not reported")), "{codes:?}");
}

#[test]
fn what_is_not_supported_is_not_asked_again() {
    let mock = MockNvml::new(TWO_DEVICES);
    let sampled = sample(&mock, 3, &Watched::default());
    // The script would answer the second time.
    let energies =
        sampled.rows.iter().filter(|row| row.device.get() == Some(1)).map(|row| row.energy_mj.get());
    assert_eq!(energies.collect::<Vec<_>>(), [None; 3]);
    let reasons = sampled.source.reasons();
    let of = |column| reasons.iter().find(|reason| reason.column == column && reason.device == Some(1));
    assert!(of("energy_mj").unwrap().reason.contains("not available"), "{reasons:?}");
    assert!(of("sm_active_pct").unwrap().reason.contains("no GPM"), "{reasons:?}");
    assert!(reasons.iter().all(|reason| reason.device == Some(1)), "{reasons:?}");
}

#[test]
fn an_error_that_may_pass_is_a_note_and_asked_again_later() {
    let mock = MockNvml::new("count 1\n0.name A\n0.power 100 !999 300\n0.temperature 50\n");
    let mut source = NvmlSource::open(Some(&mock.path()), &Watched::default()).unwrap();
    let (mut rows, notes) = (Counters::default(), Notes::default());
    for moment in moments(&[0, 1, 999, 1001]) {
        source.sample(&moment, &mut rows, &notes);
    }
    let powers: Vec<_> = rows.power_mw.iter().map(|power| power.get()).collect();
    assert_eq!(powers, [Some(100), None, None, Some(300)]);
    assert!(rows.temperature_c.iter().all(|celsius| celsius.get() == Some(50)));
    let notes = notes.rows();
    assert_eq!(
        (notes[0].code.as_str(), notes[0].count, notes[0].source.as_str()),
        ("device_unanswered", 1, "device 0")
    );
    assert!(notes[0].message.starts_with("power_mw was not reported"), "{notes:?}");
}

#[test]
fn a_lost_device_is_a_note_and_the_other_goes_on() {
    let script = "count 2\n0.name A\n0.power 100 200 !15\n1.name B\n1.power 7\n";
    let mock = MockNvml::new(script);
    let source = NvmlSource::open(Some(&mock.path()), &Watched::default()).unwrap();
    let settings = SamplingSettings {
        interval: Duration::from_millis(5),
        beats: Some(10),
        ..SamplingSettings::default()
    };
    let sampler = Sampler::start(settings, vec![Box::new(source)]).unwrap();
    while !sampler.is_done() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let outcome = sampler.stop();
    let of = |device| outcome.rows.device.iter().filter(|index| index.get() == Some(device)).count();
    let tally = &outcome.tally;
    assert_eq!((tally.due, tally.taken + tally.missed), (10, 10));
    assert_eq!((of(0), of(1)), (2, tally.taken as usize));
    let lost: Vec<&Note> = outcome.notes.iter().filter(|note| note.code == "device_lost").collect();
    assert_eq!((lost.len(), lost[0].count, lost[0].source.as_str()), (1, 1, "device 0"));
    assert_eq!(lost[0].severity, Severity::DataLoss);
}

#[test]
fn no_library_no_driver_and_no_device_are_three_states() {
    let missing = NvmlSource::open(Some(Path::new("/nowhere/libnvidia-ml.so.1")), &Watched::default());
    let library = missing.err().unwrap();
    assert_eq!(library.lack, Lack::Library);
    assert!(library.fact.contains("/nowhere/libnvidia-ml.so.1"), "{library}");
    assert!(library.hint.contains("docker run --gpus all"), "{library:?}");

    let driver = open_error("init !9\n");
    assert_eq!((driver.lack, driver.fact.as_str()), (Lack::Driver, "the NVIDIA driver is not loaded"));
    assert!(driver.hint.contains("modprobe nvidia"), "{driver:?}");

    let other = open_error("init !18\n");
    assert_eq!(other.lack, Lack::Driver);
    assert!(other.fact.contains("differ in version") && other.hint.contains("reboot"), "{other:?}");

    let none = open_error("count 0\n");
    assert_eq!((none.lack, none.fact.as_str()), (Lack::Device, "the driver has no device"));
    assert!(none.hint.contains("lspci"), "{none:?}");

    let unusable = open_error("count 1\n0.handle !4\n");
    assert_eq!(unusable.lack, Lack::Device);
    assert!(unusable.fact.contains("none of 1 devices can be used"), "{unusable}");
}

#[test]
fn a_diagnosis_stops_at_the_first_part_that_is_missing() {
    let states = |parts: &[rooflens_collect::sample::nvml::NvmlPart]| {
        parts.iter().map(|part| part.ok).collect::<Vec<_>>()
    };
    assert_eq!(states(&parts(Some(Path::new("/nowhere/x.so")))), [Some(false), None, None]);
    let mock = MockNvml::new(TWO_DEVICES);
    let whole = parts(Some(&mock.path()));
    assert_eq!(states(&whole), [Some(true); 3]);
    assert_eq!(whole[1].found, "580.65.06");
    assert_eq!(whole[2].found, "NVIDIA H100 80GB HBM3, NVIDIA T4");
    let mock = MockNvml::new("init !9\n");
    assert_eq!(states(&parts(Some(&mock.path()))), [Some(true), Some(false), None]);
    let mock = MockNvml::new("count 0\n");
    assert_eq!(states(&parts(Some(&mock.path()))), [Some(true), Some(true), Some(false)]);
}
