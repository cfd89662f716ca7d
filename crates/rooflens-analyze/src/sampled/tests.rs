use rooflens_schema::Opt;

use super::*;

const S: i64 = 1_000_000_000;

/// A device that draws 100 W, then 300 W from 2 s on, sampled each second for 4 s; its counter is in mJ.
fn counters(with_counter: bool) -> Counters {
    let mut counters = Counters::default();
    for (second, (power_mw, energy_mj, throttle)) in [
        (100_000, 5_000, 0),
        (100_000, 105_000, 4),
        (300_000, 205_000, 4),
        (300_000, 505_000, 0x44),
        (300_000, 805_000, 0),
    ]
    .into_iter()
    .enumerate()
    {
        let ts_ns = second as i64 * S;
        let mut row = CounterRow::new(ts_ns, 0, CounterSource::Host, None);
        row.step = CounterStep::Measure;
        row.cpu_busy_pct = (second > 0).then_some(10.0 * second as f64);
        row.disk_read_bytes = Opt::some(1_000 * (second as i64 + 7));
        counters.push(row);
        let mut row = CounterRow::new(ts_ns, 0, CounterSource::Device, Some(0));
        row.step = CounterStep::Measure;
        row.power_mw = Opt::some(power_mw);
        row.energy_mj = if with_counter { Opt::some(energy_mj) } else { Opt::NONE };
        row.throttle_reasons = Opt::some(throttle);
        counters.push(row);
    }
    counters
}

fn names(bits: i64) -> Vec<String> {
    [(4, "power"), (0x40, "heat")]
        .iter()
        .filter(|(bit, _)| bits & bit != 0)
        .map(|(_, name)| (*name).to_owned())
        .collect()
}

fn asked(counters: &Counters, parts: Vec<StepPart>) -> StepSampled {
    let subject = |source, device, reasons: &[(&str, &str)]| CounterSubject {
        source,
        device,
        name: "it".to_owned(),
        reasons: reasons.iter().map(|(column, why)| ((*column).to_owned(), (*why).to_owned())).collect(),
    };
    let question = SampledRun {
        counters,
        interval_ns: S,
        base_unix_ns: 0,
        subjects: vec![
            subject(CounterSource::Host, None, &[]),
            subject(CounterSource::Device, Some(0), &[("temperature_c", "not supported")]),
        ],
        steps: vec![StepParts { step: CounterStep::Measure, parts }],
        throttle: names,
        missing: BTreeMap::new(),
    };
    let mut sampled = sampled(&question);
    sampled.steps.remove(0)
}

fn part(name: &str, stretches: &[(i64, i64)], output_tokens: Option<u64>) -> StepPart {
    StepPart { name: name.to_owned(), stretches: stretches.to_vec(), output_tokens }
}

#[test]
fn a_whole_step_by_hand() {
    let step = asked(&counters(true), vec![]);
    let whole = &step.parts[0];
    assert_eq!((whole.part.as_str(), whole.dur_ns), ("all", 4 * S));
    let [host, device] = whole.subjects.as_slice() else { panic!() };
    assert_eq!(
        host.levels["cpu_busy_pct"],
        Some(LevelSummary { samples: 4, mean: 25.0, min: 10.0, max: 40.0 })
    );
    assert_eq!(host.totals["disk_read_bytes"], Some(4_000.0));
    assert_eq!((host.totals["net_rx_bytes"], host.not_computed["net_rx_bytes"].as_str()), (None, NOT_TOLD));
    assert_eq!(host.energy_j, None);
    assert!(!host.levels.contains_key("power_mw"), "a host has none");
    let power = device.levels["power_mw"].unwrap();
    assert_eq!((power.mean, power.max, power.samples), (220_000.0, 300_000.0, 5));
    // The counter: 805 - 5 J.
    assert_eq!((device.energy_j, device.energy_from.as_deref()), (Some(800.0), Some("counter")));
    assert_eq!(device.not_computed["temperature_c"], "not supported");
    assert_eq!(device.not_computed["energy_j_per_output_token"], NO_TOKENS);
    let throttle: Vec<(&str, f64)> =
        device.throttle.as_ref().unwrap().iter().map(|it| (it.reason.as_str(), it.share)).collect();
    assert_eq!(throttle, [("power", 0.6), ("heat", 0.2)]);
    assert_eq!(device.series["power_mw"].len(), 5);
}

#[test]
fn parity_127_states_below_p0_count_while_the_device_is_busy() {
    let mut rows = counters(true);
    // The device's rows are the odd ones: busy in P0, P2, P2, then unknown, then idle in P8.
    for (at, (busy, state)) in
        [(90, Some(0)), (95, Some(2)), (10, Some(2)), (80, None), (0, Some(8))].into_iter().enumerate()
    {
        (rows.gpu_util_pct[2 * at + 1], rows.pstate[2 * at + 1]) = (Opt::some(busy), state.into());
    }
    let step = asked(&rows, vec![part("decode", &[(S, 3 * S)], None), part("idle", &[(4 * S, 5 * S)], None)]);
    let shares = |states: &[StateShare]| -> Vec<String> {
        states.iter().map(|it| format!("{} {}", it.state, it.share)).collect()
    };
    let device = &step.parts[0].subjects[1];
    assert_eq!(shares(device.pstates.as_ref().unwrap()), ["P0 0.25", "P2 0.5", "P8 0.25"]);
    let busy = device.busy_pstates.as_ref().unwrap();
    assert_eq!((busy.samples, busy.below_p0_share, busy.below_p0_ns), (3, 2.0 / 3.0, 2 * S));
    let decode = step.parts[1].subjects[1].busy_pstates.clone().unwrap();
    assert_eq!(
        (decode.samples, decode.below_p0_share, shares(&decode.states)),
        (2, 1.0, vec!["P2 1".to_owned()])
    );
    let idle = &step.parts[2].subjects[1];
    assert_eq!((idle.busy_pstates.clone(), idle.not_computed["busy_pstates"].as_str()), (None, NOT_BUSY));
    let host = &step.parts[0].subjects[0];
    assert_eq!((host.pstates.clone(), host.not_computed["pstates"].as_str()), (None, NOT_OF_HOSTS));
    // A driver that tells none.
    let device = &asked(&counters(true), vec![]).parts[0].subjects[1];
    assert_eq!((device.pstates.clone(), device.not_computed["pstates"].as_str()), (None, NOT_TOLD));
}

#[test]
fn power_stands_in_for_a_counter() {
    let device = &asked(&counters(false), vec![]).parts[0].subjects[1];
    // 100 J + 200 J (rising) + 300 J + 300 J.
    assert_eq!((device.energy_j, device.energy_from.as_deref()), (Some(900.0), Some("power")));
}

#[test]
fn a_part_has_what_fell_into_it() {
    let half = S / 2;
    let parts =
        vec![part("decode", &[(S + half, 3 * S + half)], Some(50)), part("blink", &[(half, half + 9)], None)];
    let step = asked(&counters(true), parts);
    let decode = &step.parts[1].subjects[1];
    assert_eq!((step.parts[1].dur_ns, decode.samples), (2 * S, 2));
    assert_eq!(decode.levels["power_mw"].unwrap().mean, 300_000.0);
    // The counter at 1.5 s is 155 J, at 3.5 s 655 J.
    assert_eq!((decode.energy_j, decode.energy_j_per_output_token), (Some(500.0), Some(10.0)));
    assert!(decode.series.is_empty());
    let blink = &step.parts[2].subjects[1];
    assert_eq!((blink.samples, blink.levels["power_mw"], blink.energy_j), (0, None, None));
    assert_eq!(blink.not_computed["power_mw"], NO_SAMPLE);
    assert_eq!(blink.not_computed["energy_j"], TOO_SHORT);
}

#[test]
fn nothing_sampled_is_nothing_told() {
    let step = asked(&Counters::default(), vec![part("decode", &[], None)]);
    for part in &step.parts {
        assert_eq!(part.dur_ns, 0);
        for subject in &part.subjects {
            assert!(subject.levels.values().all(Option::is_none) && subject.energy_j.is_none());
            let nulls = subject.levels.len() + subject.totals.len();
            assert!(subject.not_computed.len() >= nulls, "{subject:?}");
        }
    }
}
