//! Which GEMMs did the BLAS library run?

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rooflens_schema::{NameId, Opt, RankTables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::facts::gemm_calls;
use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};

/// Matmuls by shape, most operations first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Gemms {
    /// Calls.
    pub calls: usize,
    /// Their operations; `None` where the sizes of one are too large to be true.
    pub flops: Option<i64>,
    /// Calls whose kernel is known.
    pub joined_calls: usize,
    /// Time of these kernels; `None` where none is known.
    pub kernel_ns: Option<i64>,
    /// Their operations by their time.
    pub flop_per_s: Option<f64>,
    /// Every shape.
    pub shapes: Vec<GemmShape>,
    /// What is null, and why.
    pub not_computed: BTreeMap<Cow<'static, str>, String>,
}

/// All calls with one shape.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct GemmShape {
    /// Library.
    pub library: String,
    /// Rows of the result.
    pub m: i64,
    /// Columns of the result.
    pub n: i64,
    /// Inner dimension.
    pub k: i64,
    /// Products in a call.
    pub batch: i64,
    /// What is done to A and to B, as `tn`.
    pub transposes: String,
    /// Element type of A.
    pub a_dtype: Option<String>,
    /// Element type of B.
    pub b_dtype: Option<String>,
    /// Element type of the result.
    pub d_dtype: Option<String>,
    /// Type of the sums.
    pub compute: Option<String>,
    /// What is done to the result.
    pub epilogue: Option<String>,
    /// Algorithms that were chosen.
    pub algorithms: Vec<String>,
    /// Calls.
    pub calls: usize,
    /// Operations of a call.
    pub flops: Option<i64>,
    /// Operations of all its calls, of those of all shapes.
    pub flops_share: Option<f64>,
    /// Bytes of a call.
    pub bytes: Option<i64>,
    /// Operations a byte.
    pub intensity: Option<f64>,
    /// Calls whose kernel is known.
    pub(crate) joined_calls: usize,
    /// Time of these kernels.
    pub kernel_ns: Option<i64>,
    /// Their operations by their time.
    pub flop_per_s: Option<f64>,
    /// Names of these kernels.
    pub kernels: Vec<String>,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "gemms",
    question: "Which GEMMs did the BLAS library run?",
    needs: "log of a BLAS library",
    is_special: true,
    finding: FindingType::object::<Gemms>(),
    start: || Box::new(State::default()),
    explain: "\
Calls of cuBLAS, cuBLASLt, hipBLASLt or rocBLAS from their log, one row per shape, most FLOPs first.
m, n and k are the library's, which is column-major: PyTorch's rows are its columns.

- `flops`: of one call, 2 m n k batch; four times that for complex numbers. Of `gemms` itself: of all calls.
- `bytes`: of one call: A, B and the result once each; C is not counted. `intensity` is flops / bytes.
- `flops_share`: calls x flops over the sum of all shapes.
- `kernel_ns`, `flop_per_s`: the log holds no times. With `rooflens analyze TRACE --gemms LOG` the calls are joined
  with the kernels of these libraries, in the order of their launches: if there are as many of each; or if the calls
  repeat a pattern of which the timeline has the last repetitions, and there is only one way to give equal calls
  equal kernels. Otherwise they are null, with the reason in `not_computed`. `flop_per_s` is flops of the joined
  calls / kernel_ns.
",
};

/// What tells two shapes apart; sorts by what people read first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    sizes: [i64; 4],
    transposes: String,
    library: String,
    words: [Option<String>; 5],
}

#[derive(Default)]
struct Row {
    calls: usize,
    flops: Option<i64>,
    bytes: Option<i64>,
    algorithms: BTreeSet<String>,
    joined: usize,
    kernel_ns: i64,
    kernels: BTreeSet<String>,
}

#[derive(Default)]
struct State {
    rows: BTreeMap<Key, Row>,
    reason: Option<String>,
}

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let gemms = &tables.gemms;
        if gemms.is_empty() {
            return;
        }
        let word = |id: Opt<NameId>| id.get().map(|id| tables.names.get(id).to_owned());
        for call in 0..gemms.len() {
            let key = Key {
                sizes: [gemms.m[call], gemms.n[call], gemms.k[call], gemms.batch[call]],
                transposes: format!("{}{}", gemms.trans_a[call].as_str(), gemms.trans_b[call].as_str()),
                library: tables.names.get(gemms.library_id[call]).to_owned(),
                words: [
                    word(gemms.a_dtype_id[call]),
                    word(gemms.b_dtype_id[call]),
                    word(gemms.d_dtype_id[call]),
                    word(gemms.compute_id[call]),
                    word(gemms.epilogue_id[call]),
                ],
            };
            let row = self.rows.entry(key).or_default();
            row.calls += 1;
            (row.flops, row.bytes) = (gemms.flops[call].get(), gemms.bytes[call].get());
            row.algorithms.extend(word(gemms.algorithm_id[call]));
            let kernel = gemms.kernel_row[call].get().and_then(|row| usize::try_from(row).ok());
            if let Some(kernel) = kernel.filter(|row| *row < tables.kernels.len()) {
                row.joined += 1;
                row.kernel_ns = row.kernel_ns.saturating_add(tables.kernels.dur_ns[kernel]);
                row.kernels.insert(tables.names.get(tables.kernels.kernel_id[kernel]).to_owned());
            }
        }
        if gemms.kernel_row.iter().all(|row| !row.is_some()) && self.reason.is_none() {
            self.reason = gemm_calls::join(tables).err();
        }
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        if self.rows.is_empty() {
            return None;
        }
        let mut found = Gemms { flops: Some(0), ..Gemms::default() };
        let (mut joined_ns, mut joined_flops) = (0i64, Some(0i64));
        for (key, row) in self.rows {
            let times = |calls: usize| row.flops?.checked_mul(i64::try_from(calls).ok()?);
            let add = |sum: Option<i64>, more: Option<i64>| sum?.checked_add(more?);
            found.calls += row.calls;
            found.flops = add(found.flops, times(row.calls));
            found.joined_calls += row.joined;
            joined_ns = joined_ns.saturating_add(row.kernel_ns);
            if row.joined > 0 {
                joined_flops = add(joined_flops, times(row.joined));
            }
            let flop_per_s = rate(times(row.joined), row.kernel_ns);
            let bytes = row.bytes.filter(|bytes| *bytes > 0);
            let [a_dtype, b_dtype, d_dtype, compute, epilogue] = key.words;
            let [m, n, k, batch] = key.sizes;
            found.shapes.push(GemmShape {
                library: key.library,
                m,
                n,
                k,
                batch,
                transposes: key.transposes,
                a_dtype,
                b_dtype,
                d_dtype,
                compute,
                epilogue,
                algorithms: row.algorithms.into_iter().collect(),
                calls: row.calls,
                flops: row.flops,
                flops_share: None,
                bytes: row.bytes,
                intensity: row.flops.zip(bytes).map(|(flops, bytes)| flops as f64 / bytes as f64),
                joined_calls: row.joined,
                kernel_ns: (row.joined > 0).then_some(row.kernel_ns),
                flop_per_s,
                kernels: row.kernels.into_iter().collect(),
            });
        }
        let of_all = |shape: &GemmShape| shape.flops.map_or(0.0, |flops| flops as f64 * shape.calls as f64);
        for shape in &mut found.shapes {
            let all = found.flops.filter(|flops| *flops > 0);
            shape.flops_share = all.map(|all| of_all(shape) / all as f64);
        }
        // Stable: equals stay in the order of their sizes.
        found.shapes.sort_by(|a, b| of_all(b).total_cmp(&of_all(a)));
        if found.joined_calls > 0 {
            found.kernel_ns = Some(joined_ns);
            found.flop_per_s = rate(joined_flops, joined_ns);
        } else {
            let reason = self.reason.unwrap_or_else(|| "no call has a kernel".to_owned());
            found.not_computed =
                BTreeMap::from([("kernel_ns".into(), reason.clone()), ("flop_per_s".into(), reason)]);
        }
        Some(Box::new(found))
    }
}

fn rate(flops: Option<i64>, ns: i64) -> Option<f64> {
    flops.filter(|_| ns > 0).map(|flops| flops as f64 * 1e9 / ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Sample, findings};

    #[test]
    fn shapes_without_times() {
        let mut sample = Sample::new(0);
        [4, 64, 4].iter().for_each(|m| sample.gemm(*m, 8, 2));
        let gemms = sample.find::<Gemms>();
        // 2 x 64 x 8 x 2 = 2048, and twice 2 x 4 x 8 x 2 = 128.
        assert_eq!((gemms.calls, gemms.flops, gemms.kernel_ns), (3, Some(2304), None));
        assert!(gemms.not_computed["kernel_ns"].contains("holds no times"));
        let shapes: Vec<(i64, usize, Option<i64>)> =
            gemms.shapes.iter().map(|shape| (shape.m, shape.calls, shape.flops)).collect();
        assert_eq!(shapes, [(64, 1, Some(2048)), (4, 2, Some(128))]);
        assert_eq!(gemms.shapes[0].flops_share, Some(2048.0 / 2304.0));
        // 2 (64 x 2 + 2 x 8 + 64 x 8) = 1312.
        assert_eq!((gemms.shapes[0].bytes, gemms.shapes[0].intensity), (Some(1312), Some(2048.0 / 1312.0)));
    }

    #[test]
    fn rates_of_joined_calls() {
        let mut sample = Sample::new(0);
        sample.kernel(0, 7, 0, 100, "a", "gemm").kernel(0, 7, 100, 60, "b", "gemm");
        sample.kernel(0, 7, 200, 20, "b", "gemm");
        [64, 4, 4].iter().for_each(|m| sample.gemm(*m, 8, 2));
        let mut tables = sample.tables;
        tables.kernel_dim.library.fill(Some("cublaslt".to_owned()));
        tables.gemms.kernel_row = vec![Opt::some(0), Opt::some(1), Opt::some(2)];
        let found = findings(&[tables]);
        let gemms = found.get::<Gemms>().expect("calls");
        assert_eq!((gemms.joined_calls, gemms.kernel_ns), (3, Some(180)));
        // 2304 operations in 180 ns; 2048 in 100; 256 in 80.
        assert_eq!(gemms.flop_per_s, Some(2304.0 * 1e9 / 180.0));
        assert_eq!(gemms.shapes[0].flop_per_s, Some(2048.0 * 1e9 / 100.0));
        assert_eq!(gemms.shapes[1].flop_per_s, Some(256.0 * 1e9 / 80.0));
        assert_eq!(gemms.shapes[1].kernels, ["b"]);
        assert!(gemms.not_computed.is_empty());
    }
}
