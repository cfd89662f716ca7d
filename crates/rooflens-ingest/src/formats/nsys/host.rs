//! What the host did: calls of the runtime and the driver, of the operating system, of the profiler.

use std::collections::BTreeSet;

use rooflens_schema::Severity;
use rooflens_schema::tables::{ApiKind, ApiRow};

use super::{Reader, process, thread};
use crate::sqlite::{number, text};

/// Calls of libraries: start, end, thread, correlation, name.
const CALL: [&str; 5] = ["start", "end", "globalTid", "correlationId", "nameId"];

const UNREAD: &[(&str, &str)] = &[
    ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "device-side synchronisation events"),
    ("CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUDA events"),
    ("SAMPLING_CALLCHAINS", "call chains of samples"),
    ("COMPOSITE_EVENTS", "CPU samples"),
    ("SCHED_EVENTS", "context switches"),
    ("CUBLAS_EVENTS", "cuBLAS calls"),
    ("CUDNN_EVENTS", "cuDNN calls"),
    ("MPI_COLLECTIVES_EVENTS", "MPI collectives"),
];

impl Reader<'_> {
    /// Reads everything that stands on a thread's timeline and has no name by the user.
    pub(super) fn host(&mut self) {
        self.calls("CUPTI_ACTIVITY_KIND_RUNTIME", ApiKind::Other);
        self.calls("OSRT_API", ApiKind::System);
        self.calls("PROFILER_OVERHEAD", ApiKind::Overhead);
        self.calls("CUPTI_ACTIVITY_KIND_OVERHEAD", ApiKind::Overhead);
        for (table, what) in UNREAD {
            let count = self.database.count(table);
            if count > 0 {
                let message = format!("{what} ({table}) are not supported yet and were not read");
                let code = format!("unread_{}", table.to_ascii_lowercase());
                self.database.reading.note(Severity::Info, &code, count, message);
                self.records += count;
            }
        }
        self.device_metrics();
    }

    /// Counters that were sampled on the devices. The table of samples is the run's, not a rank's, so they
    /// have no place yet; which they are is worth knowing.
    fn device_metrics(&mut self) {
        let count = self.database.count("GPU_METRICS");
        if count == 0 {
            return;
        }
        let mut names = BTreeSet::new();
        self.database.each("TARGET_INFO_GPU_METRICS", &["metricName"], |row| {
            names.extend(text(row, 0).map(str::to_owned));
        });
        let (all, most) = (names.len(), 20);
        let mut named = names.into_iter().take(most).collect::<Vec<_>>().join(", ");
        if all > most {
            named += &format!(" and {} more", all - most);
        }
        let message = format!(
            "samples of device counters (GPU_METRICS) are not supported yet and were not read: {named}"
        );
        self.database.reading.note(Severity::Info, "unread_gpu_metrics", count, message);
        self.records += count;
    }

    fn calls(&mut self, table: &str, kind: ApiKind) {
        self.tables.api.reserve(self.database.most(table));
        self.database.each(table, &CALL, |row| {
            let Some((ts_ns, dur_ns)) = self.span(number(row, 0), number(row, 1)) else { return };
            let tid = number(row, 2);
            let corr_id = self.correlation(tid, number(row, 3)).into();
            let name_id = self.strings.of_row(row, &[4], without_version);
            self.tables.api.push(ApiRow {
                pid: tid.map(|tid| process(Some(tid))).into(),
                tid: thread(tid),
                ts_ns,
                dur_ns,
                name_id: name_id.unwrap_or_else(|| self.strings.intern("(unnamed call)")),
                kind,
                corr_id,
                ..ApiRow::default()
            });
        });
    }
}

/// `cudaLaunchKernel_v7000` is what everybody else calls `cudaLaunchKernel`: the number is that of the
/// CUDA version it came with, four or five digits. `cuMemAlloc_v2` is a name.
fn without_version(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((plain, version)) if version.len() >= 4 && version.bytes().all(|byte| byte.is_ascii_digit()) => {
            plain
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_left_out() {
        for (name, plain) in [
            ("cudaLaunchKernel_v7000", "cudaLaunchKernel"),
            ("cudaStreamGetCaptureInfo_v2_v11030", "cudaStreamGetCaptureInfo_v2"),
            ("cuMemAlloc_v2", "cuMemAlloc_v2"),
            ("poll", "poll"),
        ] {
            assert_eq!(without_version(name), plain);
        }
    }
}
