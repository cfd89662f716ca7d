//! What a run has besides its trace and its page: CSV tables, the queue, the start, the allocator.

use super::run::{OUT, ROWS, metrics, only_run, project, run_in, whole};
use super::*;

fn rows(path: &Path) -> Vec<std::collections::BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(cells);
    let head = lines.next().unwrap();
    lines
        .map(|cells| {
            assert_eq!(cells.len(), head.len(), "{cells:?}");
            head.iter().cloned().zip(cells).collect()
        })
        .collect()
}

/// The fields of a line; none of the fixtures has a line end in a name.
fn cells(line: &str) -> Vec<String> {
    let (mut found, mut is_quoted) = (vec![String::new()], false);
    let mut rest = line.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '"' if is_quoted && rest.peek() == Some(&'"') => found.last_mut().unwrap().extend(rest.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => found.push(String::new()),
            letter => found.last_mut().unwrap().push(letter),
        }
    }
    found
}

const NSYS_HEADER: &str =
    "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name";

#[test]
fn parity_033_084_a_run_writes_csv_where_it_is_asked_to() {
    let folder = project(&whole());
    run_in(&folder, &["output.formats=[json,csv]"]).fine();
    let run_dir = only_run(&folder);
    let json = metrics(&run_dir);
    let report = run_dir.join("report");

    let ops = rows(&report.join("ops.csv"));
    let operators = json["analysis"]["operators"].as_array().unwrap();
    assert_eq!((ops.len(), operators.is_empty()), (operators.len(), false));
    for (row, operator) in ops.iter().zip(operators) {
        assert_eq!(operator["name"], row["key"].as_str());
        for (column, field) in [
            ("count", "count"),
            ("cpu_time_total_ns", "total_ns"),
            ("self_cpu_time_total_ns", "self_ns"),
            ("device_time_total_ns", "device_ns"),
            ("self_device_time_total_ns", "self_device_ns"),
        ] {
            assert_eq!(operator[field], row[column].parse::<i64>().unwrap(), "{column} of {}", row["key"]);
        }
        assert_eq!(operator["share"], row["self_cpu_share"].parse::<f64>().unwrap());
        for (column, field) in [
            ("cpu_memory_usage_bytes", "cpu_memory_bytes"),
            ("self_cpu_memory_usage_bytes", "self_cpu_memory_bytes"),
            ("device_memory_usage_bytes", "device_memory_bytes"),
            ("self_device_memory_usage_bytes", "self_device_memory_bytes"),
        ] {
            let told = operator[field].as_i64().map_or_else(String::new, |bytes| bytes.to_string());
            assert_eq!(row[column], told, "{column} of {}", row["key"]);
        }
        let shapes = operator["shapes"].as_array().unwrap();
        assert_eq!(row["input_shapes"].is_empty(), shapes.is_empty());
        assert!(shapes.iter().all(|shape| row["input_shapes"].contains(shape["shapes"].as_str().unwrap())));
    }
    let shares: f64 = ops.iter().map(|row| row["self_device_share"].parse::<f64>().unwrap()).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{shares}");

    let summary = report.join("summary_cuda_gpu_kern_sum.csv");
    assert_eq!(std::fs::read_to_string(&summary).unwrap().lines().next(), Some(NSYS_HEADER));
    let kernels = json["analysis"]["kernels"].as_array().unwrap();
    let kernels: Vec<_> = kernels.iter().filter(|kernel| kernel["kind"] == "kernel").collect();
    let found = rows(&summary);
    assert_eq!(found.len(), kernels.len());
    for kernel in kernels {
        let row = found.iter().find(|row| kernel["name"] == row["Name"].as_str()).unwrap();
        assert_eq!(kernel["total_ns"], row["Total Time (ns)"].parse::<i64>().unwrap());
        assert_eq!(kernel["count"], row["Instances"].parse::<i64>().unwrap());
        let mean = kernel["mean_ns"].as_f64().unwrap() - row["Avg (ns)"].parse::<f64>().unwrap();
        assert!(mean.abs() <= 0.0501, "{row:?}");
    }
    // What reads the table of nsys reads this one.
    let top = run(&["kernels", "top", summary.to_str().unwrap(), "--format", "json"]).json();
    let of_run = run(&["kernels", "top", run_dir.to_str().unwrap(), "--format", "json"]).json();
    assert_eq!(top["kernels"][0]["name"], of_run["kernels"][0]["name"]);
    assert_eq!(top["kernels"][0]["total_ns"], of_run["kernels"][0]["total_ns"]);
    assert!(!report.join("kernels.csv").exists(), "Nsight Compute did not run");

    // A new report writes them anew, beside the kernels that an analysis of Nsight Compute left; a run that was
    // not asked has none.
    let before = std::fs::read(&summary).unwrap();
    std::fs::remove_file(&summary).unwrap();
    std::fs::create_dir_all(report.join("kernels")).unwrap();
    std::fs::write(report.join("kernels/kernels.csv"), "launch,name\r\n0,gemm\r\n").unwrap();
    text(&["report", run_dir.to_str().unwrap()]);
    assert_eq!(std::fs::read(&summary).unwrap(), before);
    assert_eq!(std::fs::read(report.join("kernels.csv")).unwrap(), b"launch,name\r\n0,gemm\r\n");
    let folder = project(&whole());
    run_in(&folder, &[]).fine();
    assert!(!only_run(&folder).join("report/ops.csv").exists());
}

#[test]
fn parity_076_operators_have_shapes_and_memory() {
    let text = text(&["analyze", &fixture("kineto/decode.json"), "--format", "csv", "--table", "operators"]);
    let head = text.lines().next().unwrap();
    for column in [
        "input_shapes",
        "cpu_memory_bytes",
        "self_cpu_memory_bytes",
        "device_memory_bytes",
        "self_device_memory_bytes",
    ] {
        assert!(head.split(',').any(|found| found == column), "{column}: {head}");
    }
    // Without profile_memory and record_shapes the cells are empty, never 0.
    let folder = Folder::new();
    let trace = br#"{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1,
        "ts": 1, "dur": 2, "args": {"External id": 1}}]}"#;
    folder.write("t.json", trace);
    let text = run(&["analyze", &folder.text("t.json"), "--format", "csv", "--table", "operators"]).fine();
    folder.write("ops.csv", text.as_bytes());
    let found = rows(&folder.path("ops.csv"));
    assert_eq!((found.len(), found[0]["count"].as_str(), found[0]["total_ns"].as_str()), (1, "1", "2000"));
    for column in ["input_shapes", "cpu_memory_bytes", "device_memory_bytes", "self_device_memory_bytes"] {
        assert_eq!(found[0][column], "", "{column}");
    }
}

/// A trace of real operators, with what `key_averages()` says of their memory.
const RECORD: &str = r#"
import json, sys, torch
from torch.profiler import profile, ProfilerActivity
def work():
    a = torch.randn(64, 64)
    kept = []
    for i in range(3):
        b = torch.nn.functional.linear(a, torch.randn(32, 64), torch.randn(32))
        kept.append(torch.softmax(b, -1).sum(0))
        a = a + 1
    return kept
work()
with profile(activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True) as prof:
    work()
prof.export_chrome_trace(sys.argv[1])
rows = {e.key: [e.count, e.cpu_memory_usage, e.self_cpu_memory_usage] for e in prof.key_averages() if e.key.startswith("aten::")}
json.dump(rows, open(sys.argv[2], "w"))
"#;

#[test]
#[ignore = "needs PyTorch: ROOFLENS_TORCH_PYTHON names an interpreter that has it"]
fn parity_076_memory_is_what_torch_counts_on_torch() {
    let folder = Folder::new();
    let script = folder.write("record.py", RECORD.as_bytes());
    let mut python = Command::new(interpreter("ROOFLENS_TORCH_PYTHON"));
    python.arg(script).arg(folder.path("trace.json")).arg(folder.path("truth.json"));
    let done = python.env("OMP_NUM_THREADS", "1").output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let truth = json_file(folder.path("truth.json"));
    let json = json(&["analyze", &folder.text("trace.json")]);
    let mut used = 0;
    for operator in json["operators"].as_array().unwrap() {
        let Some(told) = truth.get(operator["name"].as_str().unwrap()) else { continue };
        let ours = [&operator["count"], &operator["cpu_memory_bytes"], &operator["self_cpu_memory_bytes"]];
        assert_eq!(ours, [&told[0], &told[1], &told[2]], "{operator}");
        used += usize::from(told[1] != 0);
    }
    assert!(used > 3, "{truth}");
}

#[test]
fn parity_106_133_queue_start_and_allocator_of_a_run() {
    let stats = r#"{"schema":1,"device":{},"device_reason":null,"memory_stats":{"allocated_bytes.all.current":600,"allocated_bytes.all.peak":1500,"inactive_split_bytes.all.current":450,"inactive_split_bytes.all.peak":500,"num_alloc_retries":3,"num_ooms":0,"reserved_bytes.all.current":1800,"reserved_bytes.all.peak":2000}}"#;
    let cpu = r#"{"schema":1,"device":null,"device_reason":"the model is on the CPU","memory_stats":null}"#;
    let events = r#"
echo '{"event":"model","t_ns":2,"name":"m","load_ns":7000000}' >> "$out/events.jsonl"
echo '{"event":"round_end","t_ns":3,"round":0,"kind":"warmup","dur_ns":2000000}' >> "$out/events.jsonl"
sed -i 's/"start_ns":1000/"start_ns":1000,"queued_ns":40/' "$out/requests.jsonl"
"#;
    let trace = fixture("kineto/decode.json");
    let plant = format!(
        "case $out in *torch_profiler) gzip -c '{trace}' > $out/trace.json.gz; echo '{cpu}' > $out/memory_stats.json;; \
         *) echo '{stats}' > $out/memory_stats.json;; esac\n"
    );
    let folder = project(&format!("{OUT}{ROWS}{events}{plant}"));
    let answer = run_in(&folder, &[]).fine();
    assert!(answer.contains("queue     p50 40 ns"), "{answer}");
    let run_dir = only_run(&folder);
    let json = metrics(&run_dir);
    let measured = &json["measured"];
    assert_eq!((&measured["queued_ns"]["p50"], &measured["queued_ns"]["count"]), (&40.0.into(), &1.into()));
    assert_eq!((&measured["load_ns"], &measured["warmup_ns"]), (&7_000_000.into(), &2_000_000.into()));
    let [first, second] = json["allocator"].as_array().unwrap().as_slice() else { panic!("{json}") };
    assert_eq!((&first["step"], &first["fragmentation"]), (&"measure".into(), &0.25.into()));
    assert_eq!((&first["num_alloc_retries"], &first["inactive_split_bytes"]), (&3.into(), &450.into()));
    assert_eq!((&second["step"], &second["num_ooms"]), (&"torch_profiler".into(), &Json::Null));
    assert_eq!(second["not_computed"]["num_ooms"], "the model is on the CPU");
    let markdown = std::fs::read_to_string(run_dir.join("report/report.md")).unwrap();
    for words in [
        "loading the model took 7.00 ms, 1 warm-up round took 2.00 ms",
        "CUDA allocator",
        "In the pass measure cudaMalloc failed and was retried after the cache was emptied, 3 times.",
    ] {
        assert!(markdown.contains(words), "{words}: {markdown}");
    }
    for key in ["queued_ns", "warmup_ns", "fragmentation", "num_alloc_retries", "inactive split"] {
        text(&["explain", key]);
    }

    // A workload without any of it: null, each with its reason.
    let folder = project(&whole());
    run_in(&folder, &[]).fine();
    let json = metrics(&only_run(&folder));
    assert_eq!(json["allocator"], Json::Null);
    assert_eq!(json["not_computed"]["allocator"], "no step wrote memory_stats.json");
    for key in ["queued_ns", "load_ns", "warmup_ns"] {
        assert_eq!(json["measured"][key], Json::Null);
        assert!(json["measured"]["not_computed"][key].is_string(), "{key}");
    }
}
