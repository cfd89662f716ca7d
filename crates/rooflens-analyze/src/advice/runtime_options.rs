//! What the runtime of a run can be set to: advice names no option that it does not have.

use crate::advice::Case;

/// The options of a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuntimeOptions {
    /// The runtime, as in `vllm`.
    pub name: &'static str,
    /// The keys of `runtime` that it reads.
    pub keys: &'static [&'static str],
}

/// Keys of `runtime` that every runtime has which runs the model itself.
const OF_ALL: &[&str] = &["batch_size", "env"];

impl RuntimeOptions {
    /// Whether it has an option.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.keys.contains(&key)
    }

    /// Whether a setting of a project, as `runtime.compile=true`, means anything to it.
    fn takes(&self, setting: &str) -> bool {
        // A command of one's own has settings of its own.
        let runs_the_model = !self.has("argv");
        let setting = setting.trim_start_matches('+');
        let key = setting.strip_prefix("runtime.").and_then(|rest| rest.split(['=', '.']).next());
        key.map_or(runs_the_model, |key| self.has(key) || (runs_the_model && OF_ALL.contains(&key)))
    }
}

impl Case<'_> {
    /// A setting of the project that the run is of, where its runtime has it.
    pub(super) fn in_project(&self, setting: &str) -> String {
        match self.around.runtime.is_some_and(|runtime| runtime.takes(setting)) {
            true => format!("; in this project: {setting}"),
            false => String::new(),
        }
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
        assert!(pytorch.takes("runtime.compile=true") && !pytorch.takes("runtime.enforce_eager=false"));
        assert!(vllm.takes("runtime.enforce_eager=false") && !vllm.takes("runtime.compile=true"));
        assert!(vllm.takes("model.dtype=bf16") && vllm.takes("+runtime.env.OMP_NUM_THREADS=4"));
        assert!(!command.takes("runtime.compile=true") && !command.takes("model.dtype=bf16"));
    }
}
