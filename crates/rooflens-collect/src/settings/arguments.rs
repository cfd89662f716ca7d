//! Arguments of the user's own for a profiler.
//!
//! Each is one word, `--name` or `--name=value`: a word alone would be taken for the program. What Rooflens
//! sets itself is refused, in full or abbreviated, as both profilers complete abbreviations.

use super::ConfigSection;
use crate::error::PlanError;

type ReservedArgument = (&'static str, &'static str);

const READS: &str = "Rooflens sets the report's location";
const LAUNCHES: &str = "Rooflens chooses the launches: pipeline.ncu.kernel, top_kernels, launches_per_kernel";
const RANGE: &str = "Rooflens sets it for the phase: pipeline.ncu.phase";
const CAPTURE: &str = "Rooflens sets it for the phase: pipeline.nsys.capture";
const SEPARATE: &str = "Rooflens sets it, to keep the profiler's own output and settings separate";

pub(crate) const NCU: &[ReservedArgument] = &[
    ("export", READS),
    ("force-overwrite", READS),
    ("import", READS),
    ("log-file", SEPARATE),
    ("config-file", SEPARATE),
    ("config-file-path", SEPARATE),
    ("target-processes", "Rooflens sets it: the workload may start processes of its own"),
    ("set", "Rooflens sets it: pipeline.ncu.set"),
    ("section", "Rooflens sets it: pipeline.ncu.sections"),
    ("metrics", "Rooflens sets it: pipeline.ncu.metrics"),
    ("clock-control", "Rooflens sets it: pipeline.ncu.clock_control"),
    ("print-units", "Rooflens sets it, as it reads base units"),
    ("import-source", "Rooflens sets it: no source code is put into the report"),
    ("nvtx", RANGE),
    ("nvtx-include", RANGE),
    ("profile-from-start", RANGE),
    ("launch-count", LAUNCHES),
    ("kernel-name", LAUNCHES),
    ("kernel-name-base", LAUNCHES),
    ("kernel-id", LAUNCHES),
];

pub(crate) const NSYS: &[ReservedArgument] = &[
    ("output", READS),
    ("export", READS),
    ("force-overwrite", READS),
    ("session", SEPARATE),
    ("session-new", SEPARATE),
    ("command-file", SEPARATE),
    ("trace", "Rooflens sets it: pipeline.nsys.trace"),
    ("sample", "Rooflens sets it: pipeline.nsys.sample"),
    ("cpuctxsw", "Rooflens sets it with pipeline.nsys.sample"),
    ("cuda-graph-trace", "Rooflens sets it: pipeline.nsys.cuda_graph_trace"),
    ("gpu-metrics-device", "Rooflens sets it: pipeline.nsys.gpu_metrics"),
    ("gpu-metrics-devices", "Rooflens sets it: pipeline.nsys.gpu_metrics"),
    ("capture-range", CAPTURE),
    ("capture-range-end", CAPTURE),
    ("nvtx-capture", CAPTURE),
];

/// The key `args` of a stage.
pub fn read(keys: &mut ConfigSection<'_>, own: &[ReservedArgument]) -> Result<Vec<String>, PlanError> {
    let args = keys.optional_texts("args")?;
    match args.iter().find_map(|arg| Some((arg, refusal(arg, own)?))) {
        Some((arg, why)) => Err(keys.refused("args", arg, why)),
        None => Ok(args),
    }
}

fn refusal(arg: &str, own: &[ReservedArgument]) -> Option<String> {
    if arg.contains('\0') {
        return Some("a string with a NUL cannot be an argument".to_owned());
    }
    let Some(long) = arg.strip_prefix("--").filter(|long| !long.is_empty()) else {
        return Some(match arg.starts_with('-') {
            true => "write it as --name or --name=value, by its long name".to_owned(),
            false => "write --name=value as one string: a separate word would be taken for the \
                      program"
                .to_owned(),
        });
    };
    let name = long.split('=').next().unwrap_or(long);
    if name.is_empty() || name.starts_with('-') {
        return Some("this is not an option".to_owned());
    }
    let full = own.iter().find(|(known, _)| *known == name);
    // A longer name that is another option (--section-folder) begins with one of ours; the reverse abbreviates it.
    let (known, why) = full.or_else(|| own.iter().find(|(known, _)| known.starts_with(name)))?;
    Some(if *known == name { (*why).to_owned() } else { format!("it abbreviates --{known}; {why}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rooflens_sets_is_refused_in_any_spelling() {
        for arg in
            ["--export", "--export=x", "--exp=x", "-o", "-ox", "--kernel=x", "--", "python", "--=x", "---x"]
        {
            assert!(refusal(arg, NCU).is_some(), "{arg}");
        }
        for arg in ["--output=x", "--o=x", "-t", "--session=a", "--gpu-metrics-d=0", "", "x\0y"] {
            assert!(refusal(arg, NSYS).is_some(), "{arg}");
        }
        for arg in ["--section-folder=x", "--cache-control=none", "--replay-mode=application", "--verbose"] {
            assert_eq!(refusal(arg, NCU), None, "{arg}");
        }
        for arg in ["--cuda-memory-usage=true", "--stats=true", "--delay=5", "--cudabacktrace=all"] {
            assert_eq!(refusal(arg, NSYS), None, "{arg}");
        }
        assert_eq!(
            refusal("--exp=x", NCU).unwrap(),
            "it abbreviates --export; Rooflens sets the report's location"
        );
    }
}
