//! Sampling, with a mock of the driver's library.

use std::io::{BufRead, BufReader};

use rooflens_schema::parquet_io::read_table;
use rooflens_schema::tables::Counters;

use super::mock_nvml::{MockNvml, TWO_DEVICES};
use super::*;

/// The program with the mock as its driver; without one, as on a machine that has none.
fn with_mock(mock: Option<&MockNvml>, args: &[&str]) -> Command {
    let mut command = rooflens(args);
    let library = mock.map_or_else(|| PathBuf::from("/nowhere/libnvidia-ml.so.1"), MockNvml::path);
    command.env("ROOFLENS_NVML", library);
    command
}

fn ask(mock: Option<&MockNvml>, args: &[&str]) -> Answer {
    Answer::of(with_mock(mock, args).output().unwrap())
}

#[test]
fn one_sample_with_everything_that_is_known() {
    let mock = MockNvml::new(TWO_DEVICES);
    let json = ask(Some(&mock), &["monitor", "--once", "--format", "json"]).json();
    assert_eq!(json["schema"]["name"], "rooflens.sample");
    let nvml = json["sources"].as_array().unwrap().iter().find(|source| source["name"] == "nvml").unwrap();
    assert_eq!((&nvml["state"], &nvml["about"]), (&"ready".into(), &"NVIDIA driver 580.65.06".into()));
    let samples = json["samples"].as_array().unwrap();
    let first = samples.iter().find(|sample| sample["device"] == 0).unwrap();
    assert_eq!((&first["power_mw"], &first["power_limit_mw"]), (&301_500.into(), &700_000.into()));
    assert_eq!((&first["sm_active_pct"], &first["pstate"]), (&61.5.into(), &2.into()));
    assert_eq!(first["throttle"], serde_json::json!(["sw_power_cap", "hw_thermal_slowdown"]));
    let second = samples.iter().find(|sample| sample["device"] == 1).unwrap();
    assert_eq!((&second["mem_used_bytes"], &second["energy_mj"]), (&0.into(), &Json::Null));
    let reasons = json["reasons"].as_array().unwrap();
    assert!(
        reasons.iter().any(|reason| reason["device"] == 1 && reason["column"] == "energy_mj"),
        "{reasons:?}"
    );
    assert_eq!(
        json["processes"][0],
        serde_json::json!({"device": 0, "pid": 4242, "mem_bytes": 10_737_418_240_i64, "gpu_util_pct": 93})
    );

    let text = ask(Some(&mock), &["monitor", "--once"]).fine();
    let device = text.split("device 0").nth(1).unwrap().split("device 1").next().unwrap();
    insta::assert_snapshot!(device.trim_end(), @r"
      NVIDIA H100 80GB HBM3
      busy    ███████████████████·  97.0%   memory 12.9 GB of 85.5 GB
              302 W of 700 W · 54 °C · SM 1980 MHz · P2 · throttled: sw_power_cap, hw_thermal_slowdown
              SM active 61.5% · occupancy 33.2% · tensor 48.0% · DRAM 72.5%
              process 4242 · 10.7 GB · gpu 93%
              process 77 · 1.0 MB · gpu 1%
    ");
}

#[test]
fn what_is_missing_is_told_by_monitor_and_doctor_alike() {
    let state = |mock: Option<&MockNvml>| {
        let json = ask(mock, &["monitor", "--once", "--format", "json"]).json();
        let sources = json["sources"].as_array().unwrap();
        let missing = sources.iter().find(|source| source["name"] == "nvml").unwrap()["missing"].clone();
        let doctor = ask(mock, &["doctor", "--format", "json"]).json();
        let checks: Vec<Json> = doctor["checks"].as_array().unwrap().clone();
        let told = checks.iter().any(|check| {
            check["status"] == "missing"
                && check["found"] == missing["fact"]
                && check["hint"] == missing["hint"]
        });
        assert!(told, "{missing} is not in {checks:?}");
        missing["lack"].as_str().unwrap().to_owned()
    };
    assert_eq!(state(None), "library");
    let mock = MockNvml::new("init !9\n");
    assert_eq!(state(Some(&mock)), "driver");
    assert_eq!(state(Some(&MockNvml::new("count 0\n"))), "device");

    let mock = MockNvml::new(TWO_DEVICES);
    let text = ask(Some(&mock), &["doctor"]).fine();
    for line in [
        "ok      nvml library",
        "ok      nvidia driver     580.65.06",
        "ok      nvidia devices    NVIDIA H100",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

/// Rows, and samples taken and missed, as it says at its end.
fn samples(talk: &str) -> [usize; 3] {
    let line = talk.lines().find(|line| line.contains(" samples, ")).unwrap_or_else(|| panic!("{talk}"));
    let numbers: Vec<usize> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    numbers.try_into().unwrap_or_else(|_| panic!("{line}"))
}

#[test]
fn files_are_whole() {
    let mock = MockNvml::new(TWO_DEVICES);
    let folder = Folder::new();
    let fast = ["monitor", "--interval", "10ms", "--duration", "200ms", "-o"];
    let answer = ask(Some(&mock), &[&fast[..], &[&folder.text("a.parquet")]].concat());
    assert_eq!((answer.code, answer.stdout.as_str()), (0, ""), "{}", answer.stderr);
    let counters: Counters = read_table(&folder.path("a.parquet")).unwrap();
    let [rows, taken, missed] = samples(&answer.stderr);
    assert_eq!((rows, taken + missed), (counters.len(), 20), "{}", answer.stderr);
    // The host is sampled where it is Linux.
    let subjects = counters.len() / taken;
    assert_eq!((counters.len(), subjects >= 2), (taken * subjects, true));

    let answer = ask(Some(&mock), &[&fast[..], &[&folder.text("nvml.csv"), "--columns", "nvml"]].concat());
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    let csv = std::fs::read_to_string(folder.path("nvml.csv")).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "ts,gpu_util_pct,mem_util_pct,sm_clock_MHz,mem_clock_MHz,power_W,temp_C,mem_used_MiB,mem_total_MiB,device"
    );
    let [_, taken, _] = samples(&answer.stderr);
    assert_eq!(lines.len(), 1 + 2 * taken);
    assert!(lines[1].ends_with(",97,41,1980,2619,301.5,54,12288,81559,0"), "{}", lines[1]);
    assert!(lines[2].contains(",0,0,300,,9.876,,0,"), "{}", lines[2]);
    assert_eq!(files(&folder.path("")), ["a.parquet", "nvml.csv"]);
}

#[test]
fn an_interrupt_ends_it_well() {
    let folder = Folder::new();
    let args = ["monitor", "--interval", "10ms", "--format", "json", "-o", &folder.text("a.parquet")];
    let mut command = with_mock(None, &args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let head: Json = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(head["schema"]["name"], "rooflens.samples");
    let row: Json = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!((&row["source"], &row["power_mw"]), (&"host".into(), &Json::Null));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let rest = lines.count();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let counters: Counters = read_table(&folder.path("a.parquet")).unwrap();
    assert_eq!(counters.len(), 1 + rest);
    assert_eq!(files(&folder.path("")), ["a.parquet"]);
}

#[test]
fn a_reader_that_has_seen_enough_ends_it() {
    let mut command = with_mock(None, &["monitor", "--interval", "10ms"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("  host"));
    drop(lines);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_scraper_finds_what_is_served() {
    let mock = MockNvml::new(TWO_DEVICES);
    let mut command = with_mock(Some(&mock), &["monitor", "--interval", "10ms", "--serve", "0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut talk = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    talk.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("serving http://").unwrap().strip_suffix("/metrics").unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let scrape = || {
        // It does not wait long for who asks slowly: then one asks again.
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let asked = stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n");
        asked.and_then(|()| std::io::read_to_string(stream)).unwrap_or_default()
    };
    let wanted = "rooflens_power_watts{device=\"0\",name=\"NVIDIA H100 80GB HBM3\",uuid=\"GPU-00000000-0000-0000-0000-000000000000\"} 301.5";
    while !scrape().contains(wanted) {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn wrong_wishes_are_refused() {
    for (args, why) in [
        (["monitor", "--interval", "1us"], "shorter than 1ms"),
        (["monitor", "-o", "a.txt"], "must end with .csv or .parquet"),
        (["monitor", "--serve", "nowhere"], "is not an address"),
    ] {
        run(&args).fails(2, why);
    }
    let answer = ask(None, &["monitor", "--duration", "100ms", "-o", "/nowhere/a.csv"]);
    assert_eq!((answer.code, answer.hint().is_empty()), (3, false), "{}", answer.stderr);
}
