//! Multiply in 16 bits.

use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::advice::engine::{Device, Engine};
use crate::analyses::{Kernels, Operators};
use crate::kernel_catalog::KernelClass;
use crate::ledger::of_operator;
use crate::product::is_fp32;
use crate::sentence::{percent, time};

/// Of the products' time, where weights are read for few rows at a time: half of the bytes move, less what
/// does not shrink with them.
const FEW_ROWS: (f64, f64) = (0.2, 0.6);
/// The same on a processor, whose products of a matrix and a vector may be no faster in 16 bits: they are
/// widened on the way.
const FEW_ROWS_ON_HOST: (f64, f64) = (0.0, 0.6);
/// Where many rows are multiplied: matrix units have at least twice the rate in 16 bits, up to sixteen times
/// that of 32 bits on the vector units (NVIDIA A100 datasheet: 19.5 and 312 TFLOP/s, so 93.75 %). Of a device that the
/// catalog knows, its own peaks are the limit.
const MANY_ROWS: (f64, f64) = (0.3, 0.93);
/// The same where that is eight times (V100: 15.7 and 125 TFLOP/s; MI300X: 163.4 and 1,307).
const MANY_ROWS_EIGHT: (f64, f64) = (0.3, 0.87);
/// The same where the kernels are in TF32, on the matrix units already: twice the rate, half of the bytes.
const FROM_TF32: (f64, f64) = (0.2, 0.5);

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "dtype",
    about: "GEMMs whose kernels or operands are in 32 bits. Of their time, 20 to 60 % in decode, where half of \
         the bytes are moved (on a CPU up to 60 %); 20 to 50 % for TF32; and otherwise from 30 % up to \
         1 - fp32 peak / 16-bit peak of the device by the hardware catalog, 93 % if it is not known.",
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let products = case.products_ns();
    if products <= 0.0 {
        return Ok(None);
    }
    let Some((share, mut evidence)) = (if case.is_device() { of_kernels(case) } else { of_operators(case) })
    else {
        return Err("the trace does not record the dtype of GEMMs".to_owned());
    };
    if share < 0.1 {
        return Ok(None);
    }
    let is_tf32 = is_tf32(&evidence);
    let (low, high) = match &*case.phase.phase {
        _ if is_tf32 => FROM_TF32,
        "decode" if case.is_device() => FEW_ROWS,
        "decode" => FEW_ROWS_ON_HOST,
        _ if case.device().is_some_and(has_wide_vectors) => MANY_ROWS_EIGHT,
        _ => MANY_ROWS,
    };
    let wide = products * share;
    let (short, name) = case.narrow_format();
    let is_by_rate = case.is_device() && (is_tf32 || case.phase.phase != "decode");
    let most = case.most_saved(if is_tf32 { "tf32" } else { "fp32" }, short).filter(|_| is_by_rate);
    let high = match is_tf32 {
        true => most.unwrap_or(high).min(high),
        false => most.unwrap_or(high),
    };
    let low = low.min(high);
    evidence.insert(0, case.row("GEMMs in 32 bits", wide));
    Ok(Some(Draft {
        title: format!("Compute in {short} instead of {}", if is_tf32 { "tf32" } else { "fp32" }),
        gain_ns: Some(Range::new(low * wide, high * wide)),
        acts_on_ns: wide,
        comes_first: false,
        evidence,
        computed: format!("{} to {} of the {} of GEMMs in 32 bits", percent(low), percent(high), time(wide)),
        change: change(case, short, name),
        risk: match (case.is_device(), short) {
            (true, "fp16") => "Less precision and range, overflow above 65,504: compare outputs.",
            (true, _) => "Less precision: compare outputs.",
            (false, _) => "Less precision: compare outputs. A CPU without bf16 instructions is slower in it.",
        }
        .to_owned(),
    }))
}

fn change(case: &Case<'_>, short: &str, name: &str) -> String {
    if case.is_training() {
        let scaler = if short == "fp16" { ", with torch.amp.GradScaler" } else { "" };
        return format!(
            "torch.autocast(device_type=..., dtype=torch.{name}) around the forward pass{scaler}"
        );
    }
    let (loading, option) = (format!("dtype=torch.{name} when loading"), format!("--dtype {name}"));
    let options = [(Engine::Pytorch, loading.as_str()), (Engine::Vllm, &option), (Engine::Sglang, &option)];
    case.for_engine(&options) + &case.in_project(&["pytorch", "vllm"], &format!("model.dtype={short}"))
}

fn has_wide_vectors(device: Device) -> bool {
    device == Device::Volta || device.is_amd()
}

fn is_tf32(evidence: &[String]) -> bool {
    evidence.first().is_some_and(|line| line.contains(" in tf32:"))
}

fn of_kernels(case: &Case<'_>) -> Option<(f64, Vec<String>)> {
    let rows = &case.findings.get::<Kernels>()?.0;
    let products = [KernelClass::Gemm.as_str(), KernelClass::Gemv.as_str()];
    let (mut all, mut wide, mut evidence) = (0.0, 0.0, Vec::new());
    for row in rows.iter().filter(|row| products.contains(&row.class.as_str())) {
        let Some(dtype) = &row.dtype else { continue };
        all += row.total_ns as f64;
        if matches!(dtype.as_str(), "fp32" | "tf32") {
            wide += row.total_ns as f64;
            evidence.push(format!(
                "`{}` in {dtype}: {}{}",
                row.short_name,
                time(row.total_ns as f64),
                case.of_trace()
            ));
        }
    }
    evidence.truncate(3);
    (all > 0.0).then(|| (wide / all, evidence))
}

fn of_operators(case: &Case<'_>) -> Option<(f64, Vec<String>)> {
    let rows = &case.findings.get::<Operators>()?.0;
    let (mut all, mut wide, mut evidence) = (0.0, 0.0, Vec::new());
    for row in rows.iter().filter(|row| row.self_ns > 0) {
        if !matches!(of_operator(&row.name), KernelClass::Gemm | KernelClass::Gemv) {
            continue;
        }
        // An operator's own time is spent on its shapes as its whole time is.
        let known: i64 =
            row.shapes.iter().filter(|shape| !shape.dtypes.is_empty()).map(|shape| shape.total_ns).sum();
        if known <= 0 {
            continue;
        }
        let single = row.shapes.iter().filter(|shape| is_fp32(&shape.dtypes));
        let part = single.map(|shape| shape.total_ns).sum::<i64>() as f64 / known as f64;
        all += row.self_ns as f64;
        wide += row.self_ns as f64 * part;
        if part > 0.5 {
            evidence.push(format!(
                "`{}` takes in float: {}{}",
                row.name,
                time(row.self_ns as f64),
                case.of_trace()
            ));
        }
    }
    evidence.truncate(3);
    (all > 0.0).then(|| (wide / all, evidence))
}
