//! What a runtime call does, by its name.

use rooflens_schema::RankTables;
use rooflens_schema::tables::ApiKind;

/// Fills `api.kind` where the reader left it open.
pub(super) fn classify(tables: &mut RankTables) {
    let mut kinds: Vec<Option<ApiKind>> = vec![None; tables.names.len()];
    for (name, kind) in tables.api.name_id.iter().zip(&mut tables.api.kind) {
        if *kind == ApiKind::Other {
            *kind = *kinds[name.index()].get_or_insert_with(|| kind_of(tables.names.get(*name)));
        }
    }
}

fn kind_of(name: &str) -> ApiKind {
    let name = name.to_ascii_lowercase();
    let has = |word: &str| name.contains(word);
    if has("graphlaunch") {
        ApiKind::GraphLaunch
    } else if has("synchronize") || has("streamsync") || has("waitforevent") {
        ApiKind::Sync
    } else if has("launch") || has("enqueuekernel") || has("runfunction") || has("appendlaunchkernel") {
        ApiKind::Launch
    } else if has("memcpy") || has("copyasync") || has("memorycopy") {
        ApiKind::Memcpy
    } else if has("memset") || has("memoryfill") {
        ApiKind::Memset
    } else if has("malloc") || has("free") || has("alloc") || has("memmap") || has("memunmap") {
        ApiKind::Memory
    } else if has("event") {
        ApiKind::Event
    } else {
        ApiKind::Other
    }
}

pub(crate) fn launches(kind: ApiKind) -> bool {
    matches!(kind, ApiKind::Launch | ApiKind::GraphLaunch | ApiKind::Memcpy | ApiKind::Memset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_by_name() {
        for (name, kind) in [
            ("cudaLaunchKernel", ApiKind::Launch),
            ("cuLaunchKernelEx", ApiKind::Launch),
            ("hipExtModuleLaunchKernel", ApiKind::Launch),
            ("cudaGraphLaunch", ApiKind::GraphLaunch),
            ("hipGraphLaunch", ApiKind::GraphLaunch),
            ("cudaDeviceSynchronize", ApiKind::Sync),
            ("hipEventSynchronize", ApiKind::Sync),
            ("cudaMemcpyAsync", ApiKind::Memcpy),
            ("hipMemcpyWithStream", ApiKind::Memcpy),
            ("cudaMemsetAsync", ApiKind::Memset),
            ("cudaHostAlloc", ApiKind::Memory),
            ("cudaEventRecord", ApiKind::Event),
            ("cudaStreamIsCapturing", ApiKind::Other),
        ] {
            assert_eq!(kind_of(name), kind, "{name}");
        }
    }
}
