//! How long the analyses take on a trace of three million records. Not a test of correctness:
//! `cargo test --release -p rooflens-analyze --test speed -- --ignored --nocapture`.

use std::time::Instant;

use rooflens_analyze::{Findings, analyses};
use rooflens_schema::tables::{
    ActivityKind, ApiKind, ApiRow, FrameRow, GapCause, KernelDimRow, KernelRow, OpRow, PhaseKind, PhaseRow,
    PhaseSource,
};
use rooflens_schema::{NameId, Opt, RankTables, stable_id};

const STEPS: i64 = 600;
const LAYERS: i64 = 50;

/// Steps of 50 layers: 600 k operators, 1.9 M frames, 170 k runtime calls, 115 k kernels.
fn large_rank() -> RankTables {
    let mut tables = RankTables::default();
    let mut names = |prefix: &str, count: usize| -> Vec<NameId> {
        (0..count).map(|i| tables.names.add(&format!("{prefix}_{i}"))).collect()
    };
    let (op_names, kernel_names) = (names("aten::op", 200), names("kernel", 300));
    let (frame_names, shapes) = (names("file.py(1): function", 3_000), names("[[1, 2]]", 5_000));
    let (launch, sync, step_name) =
        (names("launch", 1)[0], names("sync", 1)[0], names("ProfilerStep#", 1)[0]);
    for (i, &id) in kernel_names.iter().enumerate() {
        let name = tables.names.get(id).to_owned();
        tables.kernel_dim.push(KernelDimRow {
            kernel_id: stable_id(&name),
            short_name: name.clone(),
            name,
            class: if i % 20 == 0 { "communication" } else { "gemm" }.to_owned(),
            library: None,
            dtype: None,
        });
    }
    let mut clock = 0i64;
    let mut corr = 0i64;
    for step in 0..STEPS {
        let step_start = clock;
        tables.frames.push(FrameRow {
            tid: 1,
            ts_ns: clock,
            dur_ns: LAYERS * 80_000,
            name_id: frame_names[0],
        });
        for layer in 0..LAYERS {
            // 63 frames in chains of seven, with an operator chain of two in every third.
            for chain in 0..9 {
                for depth in 0..7 {
                    let name_id = frame_names[((layer * 63 + chain * 7 + depth) % 3_000) as usize];
                    let ts_ns = clock + depth * 100;
                    tables.frames.push(FrameRow { tid: 1, ts_ns, dur_ns: 8_000 - depth * 200, name_id });
                }
                for inner in 0..2 {
                    let index = tables.ops.len();
                    let ts_ns = clock + 1_000 + inner * 100;
                    let dur_ns = 5_000 - inner * 200 + (step * 7 + chain) % 900;
                    let name_id = op_names[((layer * 18 + chain * 2 + inner) % 200) as usize];
                    tables.ops.push(OpRow {
                        op_id: index as i32,
                        shapes_id: Opt::some(shapes[(index * 31) % 5_000]),
                        dtypes_id: Opt::some(shapes[index % 5]),
                        parent_id: if inner == 0 { Opt::NONE } else { Opt::some(index as i32 - 1) },
                        depth: inner as i32,
                        device_ns: 3_000,
                        phase_id: Opt::some(step as i32),
                        layer: Opt::some(layer as i32),
                        ..OpRow::new(1, ts_ns, dur_ns, name_id)
                    });
                }
                if chain % 3 != 2 {
                    let kind = if chain % 9 == 8 { ApiKind::Sync } else { ApiKind::Launch };
                    tables.api.push(ApiRow {
                        pid: Opt::NONE,
                        tid: 1,
                        ts_ns: clock + 1_500,
                        dur_ns: 2_000,
                        name_id: if kind == ApiKind::Sync { sync } else { launch },
                        kind,
                        corr_id: Opt::some(corr),
                        ext_id: Opt::NONE,
                        op_id: Opt::NONE,
                        kernel_id: Opt::NONE,
                    });
                }
                if chain % 3 == 0 || chain == 1 {
                    let name = kernel_names[((layer * 5 + chain) % 300) as usize];
                    let mut row =
                        KernelRow::new(0, 7, clock + 4_000, 3_000 + step % 97, name, ActivityKind::Kernel);
                    row.corr_id = Opt::some(corr);
                    row.op_id = Opt::some(tables.ops.len() as i32 - 1);
                    row.layer = Opt::some(layer as i32);
                    row.module_id = Opt::some(frame_names[layer as usize]);
                    row.idle_before_ns = 4_000;
                    row.gap_cause = if step % 2 == 0 { GapCause::LaunchBound } else { GapCause::CpuBound };
                    row.launch_delay_ns = Opt::some(2_500);
                    row.queue_depth = Opt::some(1);
                    tables.kernels.push(row);
                }
                corr += 1;
                clock += 8_500;
            }
        }
        tables.phases.push(PhaseRow {
            phase_id: step as i32,
            step_id: Opt::some(step as i32),
            kind: PhaseKind::Decode,
            tid: Opt::some(1),
            step: Opt::some(step),
            device_busy_ns: Opt::some(100),
            activities: Opt::some(200),
            launches: Opt::some(300),
            ..PhaseRow::new(PhaseSource::ProfilerStep, step_start, clock - step_start, step_name)
        });
    }
    tables.meta.last_ns = clock + 100_000;
    tables
}

#[test]
#[ignore = "measures time"]
fn nightly_analyses_of_three_million_records() {
    let tables = large_rank();
    let rows = [tables.kernels.len(), tables.ops.len(), tables.api.len(), tables.frames.len()];
    println!("kernels, operators, calls, frames: {rows:?}");
    let mut findings = Findings::default();
    let mut sum = 0.0;
    for analysis in analyses::ALL {
        let start = Instant::now();
        let mut fold = (analysis.start)();
        fold.rank(&tables);
        let folded = start.elapsed().as_secs_f64() * 1e3;
        if let Some(finding) = fold.finish(&findings) {
            findings.insert(analysis.name, finding);
        }
        let whole = start.elapsed().as_secs_f64() * 1e3;
        println!("{:14} {folded:8.2} ms rank {:8.2} ms finish", analysis.name, whole - folded);
        sum += whole;
    }
    println!("{:14} {sum:8.2} ms", "all");
    assert!(sum < 400.0, "the analyses take {sum:.0} ms");
}
