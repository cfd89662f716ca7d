//! The account of PyTorch's CUDA allocator at the end of a pass: `torch.cuda.memory_stats()`, as the workload
//! leaves it in `memory_stats.json`. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the allocator says at the end of a pass, from the start of the process on. Null is "not known", and
/// [`PassAllocator::not_computed`] says why.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PassAllocator {
    /// The step, as `measure`.
    pub step: String,
    /// Most bytes in tensors at a time (`allocated_bytes.all.peak`).
    pub peak_allocated_bytes: Option<u64>,
    /// Most bytes taken from the device at a time (`reserved_bytes.all.peak`).
    pub peak_reserved_bytes: Option<u64>,
    /// Inactive split bytes / reserved bytes, both at the end: the part of what was taken from the device that is
    /// free, but cannot be given back because another part of its segment is in use. Segments that are free as a
    /// whole are cached, not fragmented: the allocator gives them back where an allocation fails.
    pub fragmentation: Option<f64>,
    /// Bytes in tensors at the end (`allocated_bytes.all.current`).
    pub(crate) allocated_bytes: Option<u64>,
    /// Bytes taken from the device at the end (`reserved_bytes.all.current`).
    pub(crate) reserved_bytes: Option<u64>,
    /// Free bytes at the end in blocks that were split from larger ones, and cannot be given back while a
    /// part of them is in use (`inactive_split_bytes.all.current`).
    pub inactive_split_bytes: Option<u64>,
    /// The most of it (`inactive_split_bytes.all.peak`).
    pub(crate) peak_inactive_split_bytes: Option<u64>,
    /// How often `cudaMalloc` failed and was tried again after the cache was emptied.
    pub num_alloc_retries: Option<u64>,
    /// Number of allocations that failed: out of memory.
    pub num_ooms: Option<u64>,
    /// What is null, and why.
    pub(crate) not_computed: BTreeMap<Cow<'static, str>, String>,
}

const NOT_TOLD: &str = "torch.cuda.memory_stats() of this version or backend does not report it";
const NOT_ON_CUDA: &str = "the model was not on a CUDA device";

impl PassAllocator {
    /// Of the bytes of a `memory_stats.json`.
    pub fn read(step: &str, bytes: &[u8]) -> Self {
        let mut pass = PassAllocator { step: step.to_owned(), ..PassAllocator::default() };
        let found: Result<Value, _> = serde_json::from_slice(bytes);
        let (stats, absent) = match found {
            Ok(record) => {
                let stats = record.get("memory_stats").filter(|stats| stats.is_object()).cloned();
                let reason = record.get("device_reason").and_then(Value::as_str);
                (stats, reason.unwrap_or(NOT_ON_CUDA).to_owned())
            }
            Err(error) => (None, format!("memory_stats.json cannot be read: {error}")),
        };
        let reason = if stats.is_some() { NOT_TOLD.to_owned() } else { absent };
        let of = |key: &str| stats.as_ref()?.get(key)?.as_u64();
        pass.peak_allocated_bytes = of("allocated_bytes.all.peak");
        pass.peak_reserved_bytes = of("reserved_bytes.all.peak");
        pass.allocated_bytes = of("allocated_bytes.all.current");
        pass.reserved_bytes = of("reserved_bytes.all.current");
        pass.inactive_split_bytes = of("inactive_split_bytes.all.current");
        let reserved = pass.reserved_bytes.filter(|reserved| *reserved > 0);
        pass.fragmentation = pass
            .inactive_split_bytes
            .zip(reserved)
            .and_then(|(split, reserved)| (split <= reserved).then(|| split as f64 / reserved as f64));
        pass.peak_inactive_split_bytes = of("inactive_split_bytes.all.peak");
        pass.num_alloc_retries = of("num_alloc_retries");
        pass.num_ooms = of("num_ooms");
        let nulls = [
            ("peak_allocated_bytes", pass.peak_allocated_bytes.is_none()),
            ("peak_reserved_bytes", pass.peak_reserved_bytes.is_none()),
            ("fragmentation", pass.fragmentation.is_none()),
            ("allocated_bytes", pass.allocated_bytes.is_none()),
            ("reserved_bytes", pass.reserved_bytes.is_none()),
            ("inactive_split_bytes", pass.inactive_split_bytes.is_none()),
            ("peak_inactive_split_bytes", pass.peak_inactive_split_bytes.is_none()),
            ("num_alloc_retries", pass.num_alloc_retries.is_none()),
            ("num_ooms", pass.num_ooms.is_none()),
        ];
        let nulls = nulls.into_iter().filter(|(_, is_null)| *is_null);
        pass.not_computed = nulls.map(|(name, _)| (name.into(), reason.clone())).collect();
        if pass.fragmentation.is_none() && pass.reserved_bytes == Some(0) {
            pass.not_computed.insert("fragmentation".into(), "nothing was reserved".to_owned());
        }
        pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_133_memory_stats_in_the_shape_that_torch_writes() {
        // Keys as torch.cuda.memory_stats() flattens them, a part of them.
        let planted =
            br#"{"schema": 1, "device": {"allocated_bytes": 600}, "device_reason": null, "memory_stats": {
            "active.all.allocated": 12, "active_bytes.all.current": 640,
            "allocated_bytes.all.allocated": 9000, "allocated_bytes.all.current": 600,
            "allocated_bytes.all.freed": 8400, "allocated_bytes.all.peak": 1500,
            "allocated_bytes.large_pool.peak": 1400, "allocated_bytes.small_pool.peak": 100,
            "inactive_split_bytes.all.current": 450, "inactive_split_bytes.all.peak": 500,
            "max_split_size": -1, "num_alloc_retries": 3, "num_ooms": 1,
            "reserved_bytes.all.current": 1800, "reserved_bytes.all.peak": 2000}}"#;
        let pass = PassAllocator::read("measure", planted);
        assert_eq!((pass.peak_allocated_bytes, pass.peak_reserved_bytes), (Some(1500), Some(2000)));
        // 450 / 1800.
        assert_eq!(pass.fragmentation, Some(0.25));
        assert_eq!((pass.allocated_bytes, pass.reserved_bytes), (Some(600), Some(1800)));
        assert_eq!((pass.inactive_split_bytes, pass.peak_inactive_split_bytes), (Some(450), Some(500)));
        assert_eq!((pass.num_alloc_retries, pass.num_ooms), (Some(3), Some(1)));
        assert!(pass.not_computed.is_empty());
    }

    #[test]
    fn parity_133_what_is_not_known_is_null_with_a_reason() {
        let nulls = |bytes: &[u8]| {
            let pass = PassAllocator::read("measure", bytes);
            let json = serde_json::to_value(&pass).unwrap();
            let null = json.as_object().unwrap().iter().filter(|(_, value)| value.is_null()).count();
            assert_eq!(null, pass.not_computed.len(), "{json}");
            pass
        };
        let cpu = nulls(br#"{"memory_stats": null, "device_reason": "the model is on the CPU"}"#);
        assert_eq!((cpu.num_ooms, cpu.not_computed["num_ooms"].as_str()), (None, "the model is on the CPU"));
        let cut = nulls(br#"{"memory_stats": {"num_ooms""#);
        assert!(cut.not_computed["fragmentation"].starts_with("memory_stats.json cannot be read"), "{cut:?}");
        let odd = nulls(
            br#"{"memory_stats": {"num_ooms": -1, "inactive_split_bytes.all.current": 9, "reserved_bytes.all.current": 5}}"#,
        );
        assert_eq!((odd.num_ooms, odd.fragmentation, odd.reserved_bytes), (None, None, Some(5)));
        let empty = nulls(
            br#"{"memory_stats": {"inactive_split_bytes.all.current": 0, "reserved_bytes.all.current": 0}}"#,
        );
        assert_eq!(empty.not_computed["fragmentation"], "nothing was reserved");
        assert_eq!(nulls(b"[]").not_computed["num_ooms"], NOT_ON_CUDA);
    }
}
