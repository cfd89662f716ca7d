//! Planted operators with known shapes and durations.

use super::*;
use crate::sample::{Sample, findings};

const BF16: &str = r#"["c10::BFloat16","c10::BFloat16"]"#;
const FP32: &str = r#"["float","float"]"#;

fn op(sample: &mut Sample, name: &str, parent: Option<i32>, shapes: &str, dtypes: &str) -> Option<i32> {
    let row = sample.tables.ops.len() as i32;
    sample.op((1, i64::from(row), 1), name, parent, (1, 0), Some(shapes));
    let dtypes = sample.tables.names.add(dtypes);
    sample.tables.ops.dtypes_id[row as usize] = Opt::some(dtypes);
    Some(row)
}

fn kernel(sample: &mut Sample, op: Option<i32>, dur: i64, name: &str) {
    let ts = sample.tables.meta.last_ns;
    sample.kernel(0, 7, ts, dur, name, "gemm").within(op, None, None);
}

/// 1000 FLOP and 100 bytes per ns, bf16; a tenth of that for fp32; four tenths for tf32.
fn peaks() -> DevicePeaks {
    DevicePeaks {
        device: "d".to_owned(),
        flops_per_s: BTreeMap::from([("bf16", 1e12), ("fp32", 1e11), ("tf32", 4e11)]),
        bytes_per_s: Some(1e11),
    }
}

fn rates(sample: Sample) -> ShapeRates {
    let mut found = findings(&[sample.tables]);
    let rates = found.get_mut::<ShapeRates>().expect("shapes");
    rates.compare_with(&peaks());
    rates.clone()
}

#[test]
fn rates_and_shares_by_hand() {
    let mut sample = Sample::new(0);
    for _ in 0..2 {
        let linear = op(&mut sample, "aten::linear", None, "[[100, 200], [300, 200], []]", BF16);
        let mm = op(&mut sample, "aten::mm", linear, "[[100, 200], [200, 300]]", BF16);
        // The memset is time of the call, but not of the kernel.
        let ts = sample.tables.meta.last_ns;
        sample.memset(0, 7, ts, 1_000, "Memset").within(mm, None, None);
        kernel(&mut sample, mm, 19_000, "big_gemm");
        kernel(&mut sample, mm, 4_000, "splitKreduce_kernel");
    }
    let found = rates(sample);
    let [row] = found.shapes.as_slice() else { panic!("{:?}", found.shapes) };
    assert_eq!((row.operator.as_str(), row.sizes.as_str()), ("aten::mm", "[100,200]x[200,300]"));
    assert_eq!((row.count, row.ns, found.ns, row.format.as_deref()), (2, 48_000, 48_000, Some("bf16")));
    // 2 x 2 x 100 x 200 x 300; 2 x 2 bytes of 20 000 + 60 000 + 30 000 elements.
    assert_eq!((row.rate.flops, row.rate.bytes), (Some(24e6), Some(440e3)));
    // 24e6 / 48 us; 440e3 / 48 us.
    assert_eq!(row.rate.flops_per_s, Some(500e9));
    assert_eq!(row.rate.bytes_per_s.map(f64::round), Some(9_166_666_667.0));
    // 24 us of compute, 4.4 us of memory.
    assert_eq!((row.rate.limit.as_deref(), row.rate.floor_ns), (Some("compute"), Some(24_000)));
    assert_eq!((row.rate.roof_share, row.rate.lost_ns), (Some(0.5), Some(24_000)));
    assert_eq!(row.rate.no_roof, None);
    let [kernel] = found.kernels.as_slice() else { panic!("{:?}", found.kernels) };
    assert_eq!((kernel.name.as_str(), kernel.count, kernel.ns), ("big_gemm", 2, 38_000));
    assert_eq!(kernel.operators, ["aten::mm [100,200]x[200,300]"]);
    assert_eq!((kernel.rate.roof_share, kernel.rate.lost_ns), (Some(24.0 / 38.0), Some(14_000)));
}

#[test]
fn a_product_of_few_rows_is_bound_by_memory() {
    let mut sample = Sample::new(0);
    let mm = op(&mut sample, "aten::mm", None, "[[1, 100], [100, 500]]", BF16);
    kernel(&mut sample, mm, 2_024, "gemv");
    let row = &rates(sample).shapes[0];
    // 2 (100 + 50 000 + 500) = 101 200 bytes: 1012 ns of 2024.
    assert_eq!((row.rate.limit.as_deref(), row.rate.roof_share), (Some("memory"), Some(0.5)));
}

#[test]
fn fp32_is_what_the_kernel_s_name_says() {
    let shapes = "[[100, 100], [100, 100]]";
    let share_of = |kernel_name: &str| {
        let mut sample = Sample::new(0);
        let mm = op(&mut sample, "aten::mm", None, shapes, FP32);
        kernel(&mut sample, mm, 40_000, kernel_name);
        let row = rates(sample).shapes.remove(0);
        (row.format, row.rate.roof_share, row.rate.flops_per_s, row.rate.no_roof)
    };
    // 2e6 FLOPs take 20 us as fp32 and 5 us as tf32.
    assert_eq!(share_of("ampere_sgemm_128x64_tn"), (Some("fp32".into()), Some(0.5), Some(5e10), None));
    let tf32 = share_of("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x32_stage4");
    assert_eq!(tf32, (Some("tf32".into()), Some(0.125), Some(5e10), None));
    let (format, share, rate, reason) = share_of("gemm_of_ones_own");
    assert_eq!((format, share, rate), (None, None, Some(5e10)));
    assert!(reason.as_ref().is_some_and(|reason| reason.contains("dtype")), "{reason:?}");
}

#[test]
fn what_has_no_share_says_why() {
    let attention = "aten::_scaled_dot_product_flash_attention";
    let heads = "[[1, 4, 39, 64], [1, 4, 39, 64], [1, 4, 39, 64]]";
    let three = r#"["c10::BFloat16","c10::BFloat16","c10::BFloat16"]"#;
    let half = r#"["c10::Half","c10::Half"]"#;
    let mixed = r#"["c10::Half","c10::BFloat16"]"#;
    let square = "[[100, 100], [100, 100]]";
    for (operator, shapes, dtypes, dur, words) in [
        (attention, heads, three, 10_000, "masked"),
        ("aten::conv2d", "[[1, 3, 224, 224], [64, 3, 16, 16]]", BF16, 10_000, "do not determine the FLOPs"),
        ("aten::_grouped_mm", "[[39, 64], [8, 64, 32], [8]]", BF16, 10_000, "bytes"),
        ("aten::mm", square, "", 10_000, "bytes"),
        ("aten::mm", square, mixed, 10_000, "dtype"),
        ("aten::mm", square, half, 10_000, "no known peak"),
        // 2 us of compute in 1; 505 ns of memory in 500.
        ("aten::mm", square, BF16, 1_000, "faster than the peak"),
        ("aten::mm", "[[1, 100], [100, 250]]", BF16, 500, "cache"),
    ] {
        let mut sample = Sample::new(0);
        let op = op(&mut sample, operator, None, shapes, dtypes);
        kernel(&mut sample, op, dur, "k");
        let found = rates(sample);
        let (row, own) = (&found.shapes[0].rate, &found.kernels[0].rate);
        assert_eq!((row.roof_share, row.lost_ns, row.floor_ns), (None, None, None), "{operator} {dtypes}");
        assert!(
            row.no_roof.as_ref().is_some_and(|reason| reason.contains(words)),
            "{words}: {:?}",
            row.no_roof.as_deref()
        );
        assert_eq!((own.roof_share, own.no_roof.as_deref()), (None, row.no_roof.as_deref()));
        let is_told = !matches!(words, "masked" | "do not determine the FLOPs");
        assert_eq!(row.flops_per_s.is_some(), is_told, "{words}");
    }
}

#[test]
fn calls_without_kernels_and_outer_products_are_left_out() {
    let mut sample = Sample::new(0);
    // Its kernel was not recorded, only what merges its parts.
    let lost = op(&mut sample, "aten::mm", None, "[[20, 30], [30, 40]]", BF16);
    kernel(&mut sample, lost, 1_000, "void splitKreduce_kernel<32, 16>()");
    // Captured into a graph: nothing ran.
    op(&mut sample, "aten::mm", None, "[[2, 3], [3, 4]]", BF16);
    let matmul = op(&mut sample, "aten::matmul", None, "[[1, 2, 3], [1, 3, 4]]", BF16);
    let clone = op(&mut sample, "aten::clone", matmul, "[[2, 3]]", BF16);
    let bmm = op(&mut sample, "aten::bmm", matmul, "[[1, 2, 3], [1, 3, 4]]", BF16);
    kernel(&mut sample, clone, 5_000, "copy");
    kernel(&mut sample, bmm, 1_000, "gemm");
    let found = rates(sample);
    let rows: Vec<_> = found.shapes.iter().map(|row| (row.operator.as_str(), row.ns)).collect();
    assert_eq!(rows, [("aten::bmm", 1_000)]);
}

#[test]
fn a_device_without_peaks_leaves_the_rates() {
    let mut sample = Sample::new(0);
    let mm = op(&mut sample, "aten::mm", None, "[[100, 100], [100, 100]]", BF16);
    kernel(&mut sample, mm, 2_000, "gemm");
    let rates = sample.find::<ShapeRates>();
    assert_eq!((rates.shapes[0].rate.flops_per_s, rates.shapes[0].rate.roof_share), (Some(1e12), None));
    assert_eq!(rates.kernels[0].rate.flops_per_s, Some(1e12));
    assert!(rates.not_computed["roof_share"].contains("--hardware"));
    assert!(
        rates.shapes[0].rate.no_roof.as_ref().is_some_and(|reason| reason.contains("peaks of the device"))
    );
}
