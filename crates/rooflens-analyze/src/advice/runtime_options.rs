//! What the runtime of a run can be set to: advice names no option that it does not have.

/// The options of a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuntimeOptions {
    /// The runtime, as in `vllm`.
    pub name: &'static str,
    /// The keys of `runtime` that it reads.
    pub keys: &'static [&'static str],
}

impl RuntimeOptions {
    /// Whether it has an option.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.keys.contains(&key)
    }
}

/// How to have the model compiled, by the runtime of a run or in a program of one's own.
pub(super) fn how_to_compile(runtime: Option<&RuntimeOptions>) -> String {
    match runtime {
        Some(runtime) if runtime.has("compile") => {
            "torch.compile(model); in this project: runtime.compile=true".to_owned()
        }
        Some(runtime) if runtime.has("enforce_eager") => format!(
            "{} compiles the model unless runtime.enforce_eager=true; what is left takes a fused kernel",
            runtime.name
        ),
        Some(_) | None => "torch.compile(model)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newcomer_17_an_option_that_the_runtime_lacks_is_not_named() {
        let pytorch = RuntimeOptions { name: "pytorch", keys: &["compile"] };
        let vllm = RuntimeOptions { name: "vllm", keys: &["enforce_eager"] };
        let command = RuntimeOptions { name: "command", keys: &["argv"] };
        assert!(how_to_compile(Some(&pytorch)).contains("runtime.compile=true"));
        for runtime in [Some(&vllm), Some(&command), None] {
            assert!(!how_to_compile(runtime).contains("runtime.compile"), "{runtime:?}");
        }
        assert!(how_to_compile(Some(&vllm)).contains("runtime.enforce_eager"));
    }
}
