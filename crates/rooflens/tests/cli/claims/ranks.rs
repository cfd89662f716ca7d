//! Waiting for other ranks, and transfers.

use serde_json::json;

use super::causes::check_verdict;
use super::*;

/// The traces of a tensor-parallel job in lockstep: in each of 24 decode steps each rank runs a GEMM of 100 µs, rank
/// `late` one of 150 µs, and meets the others in an all-reduce that moves `elements` of bf16 in `transfer_us`. The
/// clock of each rank is 3 ms ahead of that of the one before.
fn traces(name: &str, ranks: i64, late: Option<i64>, elements: i64, transfer_us: i64) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ranks-{name}"));
    std::fs::create_dir_all(&folder).unwrap();
    let slowest = if late.is_some() { 150 } else { 100 };
    for rank in 0..ranks {
        let mut events = Vec::new();
        for step in 0..24 {
            let start = 1_000 + step * (slowest + transfer_us) + rank * 3_000;
            let own = if late == Some(rank) { 150 } else { 100 };
            let event = |cat: &str, name: &str, tid: i64, ts: i64, dur: i64, args: Json| json!({"ph": "X", "cat": cat, "name": name, "pid": tid, "tid": tid, "ts": ts, "dur": dur, "args": args});
            let (first, second) = (2 * step + 1, 2 * step + 2);
            events.extend([
                event("user_annotation", "step[DECODE bs=8]", 1, start - 500, 60, json!({})),
                event("cuda_runtime", "cudaLaunchKernel", 1, start - 490, 5, json!({"correlation": first})),
                event("cuda_runtime", "cudaLaunchKernel", 1, start - 470, 5, json!({"correlation": second})),
                event(
                    "kernel",
                    "nvjet_tst_144x128_64x6_2x1_v_bz_bias_TNN",
                    7,
                    start,
                    own,
                    json!({"device": 0, "stream": 7, "correlation": first}),
                ),
                event(
                    "kernel",
                    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                    9,
                    start + own,
                    slowest + transfer_us - own,
                    json!({
                        "device": 0, "stream": 9, "correlation": second, "Collective name": "allreduce",
                        "dtype": "BFloat16", "In msg nelems": elements, "Out msg nelems": elements,
                        "Group size": ranks, "Process Group Name": "tp",
                    }),
                ),
            ]);
        }
        let trace = json!({
            "schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}],
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks},
            "baseTimeNanoseconds": 1_760_000_000_000_000_000_i64,
            "traceEvents": events,
        });
        std::fs::write(folder.join(format!("rank-{rank}.json")), trace.to_string()).unwrap();
    }
    folder
}

fn analyze(folder: &Path) -> Json {
    json(&["analyze", folder.to_str().unwrap()])
}

fn line(report: &Json, name: &str) -> i64 {
    let lines = report["ledger"]["lines"].as_array().unwrap();
    lines.iter().find(|line| line["line"] == name).map_or(0, |line| line["ns"].as_i64().unwrap())
}

fn advice<'a>(report: &'a Json, rule: &str) -> Option<&'a Json> {
    report["advice"]["items"].as_array().unwrap().iter().find(|item| item["rule"] == rule)
}

#[test]
fn expert_09_waiting_for_a_slow_rank_is_not_communication_to_hide() {
    let folder = traces("late", 4, Some(2), 4_096, 20);
    let report = analyze(&folder);
    // 24 steps: three ranks wait 50 µs each, all four transfer for 20 µs.
    assert_eq!(line(&report, "comm_wait"), 24 * 3 * 50_000);
    assert_eq!(line(&report, "communication"), 24 * 4 * 20_000);
    assert_eq!(report["ledger"]["wall_ns"], 24 * 4 * 170_000);
    let late = &report["stragglers"]["rows"][0];
    assert_eq!(late["rank"], 2);
    assert_eq!(late["last_to_arrive"], 24);
    assert_eq!(late["lost_ns"], 3_600_000);
    // 23 GEMMs lie between the first and the last collective; 3.6 ms of 16.32 ms.
    let sentence = "Rank 2 is the last to arrive at 24 of 24 collectives; the others lose 3.60 ms waiting for it, 22.1% \
                    of all device time. Cause: its GEMM kernels take 1.50 times as long, 3.45 ms against \
                    2.30 ms on the other ranks.";
    assert_eq!(late["sentence"], sentence);
    // Every step of every rank would end 50 µs earlier.
    let mended = advice(&report, "straggler").unwrap();
    assert_eq!(mended["gain_ns"]["high"], 24.0 * 4.0 * 50_000.0);
    assert_eq!(mended["gain_ns"]["low"], mended["gain_ns"]["high"]);
    assert!(advice(&report, "overlap_communication").is_none());
    let screen = text(&["analyze", folder.to_str().unwrap()]);
    assert!(screen.contains("waiting for other ranks"), "{screen}");
    assert!(screen.contains("Rank 2 is the last to arrive"), "{screen}");
    // The verdict tells both apart: 3.6 and 1.92 of 16.32 ms.
    check_verdict("late", &report);
    let verdict = report["verdict"]["sentence"].as_str().unwrap();
    let waiting = format!("Waiting for other ranks in collectives 22.1%. {sentence}");
    assert!(verdict.contains(&waiting), "{verdict}");
    assert!(
        verdict.ends_with("Exposed communication 11.8% (transfer alone): none of it overlaps compute."),
        "{verdict}"
    );
}

#[test]
fn expert_09_one_rank_cannot_tell_waiting_from_transfer() {
    let folder = traces("alone", 4, Some(2), 4_096, 20);
    let report = analyze(&folder.join("rank-0.json"));
    assert_eq!((line(&report, "comm_wait"), line(&report, "communication")), (0, 24 * 70_000));
    let reason = "only one rank was given: waiting for other ranks cannot be separated from transfer";
    assert_eq!(report["ledger"]["not_computed"]["comm_wait"], reason);
    assert_eq!(report["stragglers"]["rows"], json!([]));
}

#[test]
fn expert_16_a_decode_all_reduce_of_27_us_is_not_for_overlap() {
    // 64 kB in 27 µs: latency. 24 * 8 of them, down to 15 and to 8 µs each.
    let report = analyze(&traces("small", 8, None, 32_768, 27));
    let small = advice(&report, "small_collectives").unwrap();
    assert_eq!(small["gain_ns"]["low"], 24.0 * 8.0 * 12_000.0);
    assert_eq!(small["gain_ns"]["high"], 24.0 * 8.0 * 19_000.0);
    let change = small["change"].as_str().unwrap();
    assert!(change.contains("allreduce-fusion") && !change.contains("two-batch-overlap"), "{change}");
    assert!(advice(&report, "overlap_communication").is_none());
    assert!(advice(&report, "straggler").is_none());
    assert_eq!(report["stragglers"]["rows"], json!([]));
}

#[test]
fn expert_16_a_prefill_all_reduce_is_for_overlap_and_held_against_the_link() {
    // 2,048 tokens of 8,192: 33.55 MB, times 2 * 7/8 in 200 µs are 293.6 GB/s of the H100's 450 GB/s.
    let report = analyze(&traces("large", 8, None, 2_048 * 8_192, 200));
    let row = &report["communication"]["collectives"][0];
    assert_eq!(row["transfer_p50_ns"], 200_000);
    assert_near(row["bus_gb_per_s"].as_f64().unwrap(), 293.601_28, 1e-9);
    assert_near(row["link_share"].as_f64().unwrap(), 293.601_28 / 450.0, 1e-9);
    assert_eq!(report["communication"]["link"]["gb_per_s"], 450.0);
    // NCCL's RING kernels run other algorithms as well.
    assert_eq!(row["algorithm"], Json::Null);
    let large = advice(&report, "overlap_communication").unwrap();
    // From nothing to all: a range that wide is not given as a number.
    assert_eq!(large["gain_ns"], Json::Null);
    let link = "allreduce of 33.6 MB: 200 µs, 294 GB/s of bus bandwidth, 65.2% of the link bandwidth of H100 SXM5 80GB";
    assert_eq!(large["evidence"][2], link);
    assert!(advice(&report, "small_collectives").is_none());
}
