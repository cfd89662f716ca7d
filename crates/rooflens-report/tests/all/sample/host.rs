//! The host's side.

use rooflens_analyze::analyses::*;
use rooflens_schema::tables::ApiKind;
use serde_json::json;

use super::made;

pub fn operators() -> Operators {
    let rows = [
        ("aten::mm", 30_720, 412_000_000, 331_000_000, 1_013_000_000),
        ("vllm::unified_attention_with_output", 10_240, 388_000_000, 201_000_000, 295_000_000),
        ("_C::rms_norm", 20_544, 151_000_000, 150_000_000, 88_000_000),
        ("c10d::allreduce_", 20_480, 202_000_000, 120_000_000, 149_000_000),
        ("aten::copy_", 4_800, 98_000_000, 71_000_000, 28_600_000),
        ("aten::item", 320, 64_000_000, 64_000_000, 0),
        ("aten::softmax", 320, 3_100_000, 2_000_000, 1_900_000),
    ];
    let all: i64 = rows.iter().map(|row| row.3).sum();
    let stat = |(name, count, total_ns, self_ns, device_ns): (&str, i64, i64, i64, i64)| {
        let shape = |shapes: &str, dtypes: &str, fourths: i64| {
            json!({"shapes": shapes, "dtypes": dtypes, "count": count * fourths / 4,
                "total_ns": total_ns * fourths / 4, "device_ns": device_ns * fourths / 4})
        };
        let large = shape("[[32, 8192], [8192, 10240]]", "[c10::BFloat16, c10::BFloat16]", 3);
        made(json!({
            "name": name, "count": count, "total_ns": total_ns, "self_ns": self_ns,
            "mean_ns": total_ns as f64 / count as f64, "p50_ns": total_ns / count, "max_ns": total_ns / count * 9,
            "device_ns": device_ns, "self_device_ns": device_ns * 9 / 10, "cpu_memory_bytes": 4_096 * count,
            "self_cpu_memory_bytes": 0, "share": self_ns as f64 / all as f64,
            "shapes": [large, shape("[[32, 8192], [8192, 57344]]", "", 1)],
        }))
    };
    Operators(rows.map(stat).to_vec())
}

pub fn launches() -> Launches {
    let call = |name: &str, kind, count: usize, total_ns: i64| ApiStat {
        name: name.to_owned(),
        kind,
        count,
        total_ns,
        p50_ns: total_ns / count as i64,
        max_ns: total_ns / count as i64 * 12,
    };
    Launches {
        captured_launches: 0,
        launches: 129_000,
        graph_launches: 0,
        graph_activities: 0,
        per_step: Some(403.1),
        short_kernel_share: 0.912,
        launch_api_ns: 641_000_000,
        sync_api_ns: 388_000_000,
        delay_p50_ns: Some(6_120),
        delay_p99_ns: Some(41_800),
        queue_depth_mean: Some(1.3),
        queue_depth_max: Some(41),
        calls: vec![
            call("cudaLaunchKernel", ApiKind::Launch, 108_000, 541_000_000),
            call("cudaStreamSynchronize", ApiKind::Sync, 640, 388_000_000),
            call("cuLaunchKernelEx", ApiKind::Launch, 21_000, 100_000_000),
            call("cudaMemcpyAsync", ApiKind::Memcpy, 1_600, 21_000_000),
        ],
    }
}

pub fn modules() -> Modules {
    let rows = [
        ("layers.*.mlp.gate_up_proj", 0.31),
        ("layers.*.self_attn.attn", 0.22),
        ("layers.*.mlp.down_proj", 0.17),
    ];
    let module = |(module, share): (&str, f64)| ModuleStat {
        module: module.to_owned(),
        activities: 10_240,
        device_ns: (1_600_000_000.0 * share) as i64,
        share,
    };
    Modules {
        activities_a_layer: None,
        layers_by_pattern: 0,
        pattern_match: None,
        layers: (0..32)
            .map(|layer| LayerStat {
                layer,
                activities: 4_000,
                device_ns: 48_000_000 + i64::from((layer * 37) % 11) * 400_000,
            })
            .collect(),
        modules: rows.map(module).to_vec(),
        layer_share: 0.914,
        module_share: 0.7,
    }
}

pub fn frames() -> Frames {
    let rows = [
        ("vllm/v1/worker/gpu_model_runner.py(1203): _prepare_inputs", 320, 612_000_000, 201_000_000),
        ("torch/nn/modules/module.py(1747): _call_impl", 81_920, 2_012_000_000, 148_000_000),
        ("vllm/model_executor/models/llama.py(221): forward", 10_240, 1_402_000_000, 91_000_000),
    ];
    let frame = |(name, count, total_ns, self_ns): (&str, usize, i64, i64)| FrameStat {
        name: name.to_owned(),
        count,
        total_ns,
        self_ns,
        working_self_ns: self_ns * 2 / 3,
    };
    Frames(rows.map(frame).to_vec())
}

pub fn memory() -> Memory {
    let saw = |index: i64| 64_000_000_000 + (index * 7_919) % 13 * 400_000_000 + index * 21_000_000;
    let timeline: Vec<(i64, i64)> =
        (0..200).map(|index| (1_000_000 + index * 12_061_728, saw(index))).collect();
    let peak = timeline.iter().max_by_key(|point| point.1).copied().unwrap_or_default();
    made(json!([
        {"rank": 0, "device": 0, "allocations": 41_021, "releases": 41_003, "peak_allocated_bytes": peak.1,
            "peak_ts_ns": peak.0, "peak_reserved_bytes": 76_101_451_776_i64, "timeline": timeline, "at_peak": []},
        {"rank": 0, "device": -1, "allocations": 611, "releases": 600, "timeline": [], "at_peak": []},
    ]))
}

pub fn communication() -> Communication {
    let rank_wait = |rank, wait_ns, last_to_arrive| {
        json!({"rank": rank, "device": 0, "wait_ns": wait_ns, "last_to_arrive": last_to_arrive,
            "collectives": 20_160, "lost_to_it_ns": 0})
    };
    made(json!({
        "count": 20_480, "total_ns": 149_000_000, "matched": 20_160,
        "collectives": [
            {"name": "allreduce", "dtype": "BFloat16", "group_size": 2, "bytes": 524_288, "count": 20_160,
                "total_ns": 140_000_000, "p50_ns": 6_600, "max_ns": 812_000, "algorithm_gb_per_s": 79.4,
                "bus_gb_per_s": 79.4},
            {"name": "ncclDevKernel_SendRecv", "count": 320, "total_ns": 9_000_000, "p50_ns": 28_000,
                "max_ns": 91_000},
        ],
        "waits": [rank_wait(0, 12_100_000, 19_022), rank_wait(1, 61_900_000, 1_138)],
    }))
}

pub fn health() -> Health {
    let check = |name: &'static str, ok, count, message: &str| HealthCheck {
        name: name.into(),
        ok,
        count,
        of: Some(131_072),
        message: message.to_owned(),
    };
    Health(vec![
        check("launches", true, 0, "Every kernel has its launch."),
        check("overlaps", false, 14, "14 kernels overlap on one stream: their times cannot be trusted."),
        check("clock", true, 0, "Times are in nanoseconds."),
    ])
}
