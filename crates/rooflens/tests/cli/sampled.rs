//! Device and host, sampled while `rooflens run` runs a program.

use rooflens_schema::parquet_io::read_table;
use rooflens_schema::tables::{CounterSource, CounterStep, Counters, Runs};

use super::mock_nvml::{MockNvml, TWO_DEVICES};
use super::*;

/// Works until it was sampled for a while: two hundred intervals in decode, of which two must be kept.
const WORK: &str = "import time\nfrom rooflens import probe\nwith probe.phase('decode'):\n  time.sleep(1)\n";

fn project() -> Folder {
    let folder = Folder::new();
    text(&["init", &folder.text("p"), "--quiet"]);
    folder.write("p/work.py", WORK.as_bytes());
    folder
}

fn run_in(folder: &Folder, library: &Path, args: &[&str]) -> Answer {
    let mut command = rooflens_in(&folder.path("p"), &["run", "runtime=command", "hydra.run.dir=run"]);
    command.args(["runtime.argv=[python3,work.py]", "sampler.interval_ms=5", "--format", "json"]).args(args);
    command.env("XDG_CACHE_HOME", folder.path("cache")).env("ROOFLENS_NVML", library);
    Answer::of(command.output().unwrap())
}

fn part<'a>(json: &'a Json, step: &str, part: &str) -> &'a Json {
    let named = |list: &'a Json, key: &str, name: &str| {
        list.as_array()
            .unwrap()
            .iter()
            .find(|it| it[key] == name)
            .unwrap_or_else(|| panic!("no {name} in {list}"))
    };
    named(&named(&json["sampled"]["steps"], "step", step)["parts"], "part", part)
}

#[test]
fn devices_by_step_and_phase() {
    let mock = MockNvml::new(TWO_DEVICES);
    let folder = project();
    let json = run_in(&folder, &mock.path(), &[]).json();
    assert_eq!((&json["status"], &json["sampled"]["interval_ns"]), (&"complete".into(), &5_000_000.into()));
    for (step, name) in [("measure", "all"), ("measure", "decode"), ("torch_profiler", "decode")] {
        let subjects = part(&json, step, name)["subjects"].as_array().unwrap();
        let device = |index: i32| subjects.iter().find(|it| it["device"] == index).unwrap();
        let first = device(0);
        assert!(first["samples"].as_u64().unwrap() > 1, "{step} {name}: {first}");
        assert_eq!(first["levels"]["power_mw"]["mean"], 301_500.0);
        assert_eq!(first["levels"]["gpu_util_pct"]["max"], 97.0);
        // The counter of the mock stands still; two reasons hold in every sample.
        assert_eq!((&first["energy_j"], &first["energy_from"]), (&0.0.into(), &"counter".into()));
        let throttle = first["throttle"].as_array().unwrap();
        assert_eq!(throttle.len(), 2);
        assert!(throttle.iter().all(|it| it["share"] == 1.0), "{throttle:?}");
        assert_eq!(first["busy_pstates"]["states"], serde_json::json!([{"state": "P2", "share": 1.0}]));
        assert_eq!(first["energy_j_per_output_token"], Json::Null);
        assert!(first["not_computed"]["energy_j_per_output_token"].is_string());
        // The other has no counter: 9.876 W, integrated.
        let second = device(1);
        assert_eq!(
            (&second["energy_from"], &second["levels"]["temperature_c"]),
            (&"power".into(), &Json::Null)
        );
        assert!(second["not_computed"]["temperature_c"].is_string(), "{second}");
        let host = subjects.iter().find(|it| it["source"] == "host").unwrap();
        assert!(host["levels"]["mem_used_bytes"]["max"].as_f64().unwrap() > 0.0);
    }
    // 9.876 W over the time from the first of its samples to the last.
    let whole = part(&json, "measure", "all");
    let device = whole["subjects"].as_array().unwrap().iter().find(|it| it["device"] == 1).unwrap();
    let run_dir = folder.path("p/run");
    saved_are_read_back(&run_dir);
    let counters: Counters = read_table(&run_dir.join("tables/counters.parquet")).unwrap();
    let times: Vec<i64> = (0..counters.len())
        .filter_map(|i| counters.row(i))
        .filter(|row| row.step == CounterStep::Measure && row.device.get() == Some(1))
        .map(|row| row.ts_ns)
        .collect();
    let seconds = (times[times.len() - 1] - times[0]) as f64 / 1e9;
    assert!((device["energy_j"].as_f64().unwrap() - 9.876 * seconds).abs() < 1e-6, "{device}");
    assert!(
        counters.step.contains(&CounterStep::TorchProfiler) && !counters.step.contains(&CounterStep::None)
    );
    assert!(counters.ts_ns.is_sorted_by_key(|ts| ts / 1_000_000_000), "by time, to a second");

    let csv = std::fs::read_to_string(run_dir.join("report/nvml.csv")).unwrap();
    let rows = counters.source.iter().filter(|source| **source == CounterSource::Device).count();
    assert_eq!(csv.lines().count(), rows + 1);
    assert!(csv.starts_with(
        "ts,gpu_util_pct,mem_util_pct,sm_clock_MHz,mem_clock_MHz,power_W,temp_C,mem_used_MiB,mem_total_MiB"
    ));
    // Without a trace the base is the hello of the measured pass.
    let events = std::fs::read_to_string(run_dir.join("raw/measure/events.jsonl")).unwrap();
    let hello: Json = serde_json::from_str(events.lines().next().unwrap()).unwrap();
    assert_eq!(json["sampled"]["base_unix_ns"], hello["clock"]["unix_ns"]);
    let markdown = std::fs::read_to_string(run_dir.join("report/report.md")).unwrap();
    assert!(markdown.contains("hw thermal slowdown 100.0%, sw power cap 100.0%"), "{markdown}");
    assert!(
        markdown.contains("Device 0 was busy in a performance state below P0 in 100.0% of"),
        "{markdown}"
    );
    assert!(run_dir.join("report/index.html").is_file());
}

#[test]
fn what_is_missing_has_its_reason_and_fails_nothing() {
    let folder = project();
    let nowhere = Path::new("/nowhere/libnvidia-ml.so.1");
    let json = run_in(&folder, nowhere, &["profiling=minimal"]).json();
    let why = json["sampled"]["not_computed"]["devices"].as_str().unwrap();
    assert!(why.contains("/nowhere/libnvidia-ml.so.1"), "{why}");
    assert_eq!(json["status"], "complete");
    assert!(!folder.path("p/run/report/nvml.csv").exists());

    let folder = project();
    let json = run_in(&folder, nowhere, &["sampler.enable=false"]).json();
    assert_eq!(
        (&json["sampled"], &json["not_computed"]["sampled"]),
        (&Json::Null, &"sampler.enable is false".into())
    );
    assert!(!folder.path("p/run/tables/counters.parquet").exists());
}

#[test]
#[ignore = "needs PyTorch: ROOFLENS_TORCH_PYTHON names an interpreter that has it"]
fn samples_align_with_a_real_trace_on_torch() {
    let python = interpreter("ROOFLENS_TORCH_PYTHON");
    let folder = project();
    let mut command = rooflens_in(&folder.path("p"), &["run", "hydra.run.dir=run", "dataset/sampling=few"]);
    command.args(["infer.max_new_tokens=6", "sampler.interval_ms=5", "repeats=1", "--format", "json"]);
    command.arg(format!("runtime.python={python}"));
    command.env("OMP_NUM_THREADS", "1").env("HOME", folder.path("cache"));
    Answer::of(command.output().unwrap()).json();
    let run_dir = folder.path("p/run");
    let runs: Runs = read_table(&run_dir.join("tables/runs.parquet")).unwrap();
    let base = runs.base_unix_ns[0].get().unwrap();
    let reader =
        rooflens_schema::parquet_io::RunReader::open(&rooflens_schema::RunDir::new(&run_dir)).unwrap();
    let tables = reader.rank(reader.ranks()[0]).unwrap();
    let events = std::fs::read_to_string(run_dir.join("raw/torch_profiler/events.jsonl")).unwrap();
    let events: Vec<Json> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let clock = |key: &str| events[0]["clock"][key].as_i64().unwrap();
    let since_base = |monotonic_ns: i64| clock("unix_ns") + monotonic_ns - clock("monotonic_ns") - base;
    let moment = |name: &str, kind: &str| {
        let event = events.iter().find(|event| event["event"] == name && event["kind"] == kind).unwrap();
        since_base(event["t_ns"].as_i64().unwrap())
    };
    let (begin, end) = (moment("round_begin", "profiled"), moment("round_end", "profiled"));

    // Every marked batch of the trace lies within its round, to a millisecond.
    const MS: i64 = 1_000_000;
    let phases = &tables.phases;
    let batches: Vec<(i64, i64)> = (0..phases.len())
        .filter_map(|i| phases.row(i))
        .filter(|row| tables.names.get(row.name_id).starts_with("rooflens.batch["))
        .map(|row| (row.ts_ns, row.ts_ns + row.dur_ns))
        .collect();
    assert!(!batches.is_empty());
    for (from, to) in &batches {
        assert!(begin - MS <= *from && *to <= end + MS, "{from}..{to} is not in {begin}..{end}");
    }
    // The samples' clock agrees with the workload's, to a millisecond, and they reach around all operators.
    let record = json_file(run_dir.join("raw/sampler/sampler.json"));
    let own =
        record["steps"].as_array().unwrap().iter().find(|step| step["step"] == "torch_profiler").unwrap();
    let own = |key: &str| own["clock"][key].as_i64().unwrap();
    let apart = (own("unix_ns") - own("monotonic_ns")) - (clock("unix_ns") - clock("monotonic_ns"));
    assert!(apart.abs() < MS, "the clocks are {apart} ns apart");
    assert_eq!(record["base_unix_ns"], base);
    let counters: Counters = read_table(&run_dir.join("tables/counters.parquet")).unwrap();
    let mut times: Vec<i64> = counters
        .ts_ns
        .iter()
        .zip(&counters.step)
        .filter(|(_, step)| **step == CounterStep::TorchProfiler)
        .map(|(ts, _)| *ts)
        .collect();
    times.sort_unstable();
    let ops = &tables.ops;
    let ends = ops.ts_ns.iter().zip(&ops.dur_ns).map(|(ts, dur)| ts + dur);
    let (first, last) = (ops.ts_ns.iter().copied().min().unwrap(), ends.max().unwrap());
    assert!(times[0] <= first && last <= times[times.len() - 1], "{first}..{last} is not in the samples");
    assert!(times.iter().any(|ts| (first..last).contains(ts)), "no sample fell among the operators");
}
