//! Overrides of the command line that use old names.

use rooflens_compose::overrides::{Override, OverrideKind};

use super::table;

/// An override in today's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translated {
    /// What stands in its place; nothing where the setting has no counterpart.
    pub overrides: Vec<String>,
    /// What to tell the user, on one line.
    pub note: String,
}

/// An override in today's words; nothing where it has no old name in it. `has_option` tells whether the config tree has
/// an option of a group, and `has_group` whether its defaults lists name a group by this key.
///
/// # Errors
/// Why its value has no counterpart, with the new name.
pub fn translate(
    text: &str,
    has_option: impl Fn(&str, &str) -> bool,
    has_group: impl Fn(&str) -> bool,
) -> Result<Option<Translated>, String> {
    // What cannot be read is reported by the composition, with its place.
    let Ok(parsed) = text.parse::<Override>() else { return Ok(None) };
    let written = parsed.key_text();
    let key = written.trim_start_matches(['+', '~']);
    if let Some(group) = table().groups.iter().find(|group| group.old == key && !has_group(key)) {
        let value = parsed.value_text().map(|value| format!("={value}")).unwrap_or_default();
        let new = format!("{}{}{value}", parsed.kind.prefix(), group.new);
        let note = format!("{key} is called {} in Rooflens: {new}", group.new);
        return Ok(Some(Translated { overrides: vec![new], note }));
    }
    let found = table().find(key).filter(|found| parsed.package.is_none() && !found.keeps_name());
    let Some(found) = found else { return Ok(None) };
    let value = parsed.value_text().unwrap_or_default();
    // A group of this name may have options of these values, or one that was meant.
    if key == "experiment" && (value == "null" || value.split(',').any(|value| has_option(key, value.trim())))
    {
        return Ok(None);
    }
    if let Some(group) = found.row.group.as_ref().filter(|group| has_option(group, value)) {
        let note = format!("{key} is chosen by {group} in Rooflens: {group}={value}");
        return Ok(Some(Translated { overrides: vec![format!("{group}={value}")], note }));
    }
    let prefix = match parsed.kind {
        // What was to be added is there already, under its new name.
        OverrideKind::Add => OverrideKind::ForceAdd.prefix(),
        kind => kind.prefix(),
    };
    let Some(new) = &found.new else {
        let why = found.row.why.as_deref().unwrap_or_default();
        return Ok(Some(Translated { overrides: Vec::new(), note: format!("{key} is not needed: {why}") }));
    };
    if parsed.kind == OverrideKind::Delete {
        let note = format!("{key} is called {new} in Rooflens: ~{new}");
        return Ok(Some(Translated { overrides: vec![format!("~{new}")], note }));
    }
    let problem = |problem: String| format!("{key} is called {new} in Rooflens, and {problem}: set {new}");
    let changed = match parsed.is_sweep() && !found.is_rename() {
        true => return Err(problem("several values cannot be translated".to_owned())),
        false => found.change(value).map_err(problem)?,
    };
    let overrides: Vec<String> =
        changed.iter().map(|it| format!("{prefix}{}={}", it.key, it.value)).collect();
    let note = match (overrides.is_empty(), &found.row.why) {
        (true, Some(why)) => format!("{key}={value} is not needed: {why}"),
        (true, None) => format!("{key}={value} is the default behaviour"),
        (false, _) => format!("{key} is called {new} in Rooflens: {}", overrides.join(" ")),
    };
    Ok(Some(Translated { overrides, note }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<Vec<String>> {
        translate(text, |_, option| option == "long-decode", |_| false).unwrap().map(|it| it.overrides)
    }

    #[test]
    fn old_words_become_new_ones() {
        for (old, new) in [
            ("device=cuda:0", "hardware.device=cuda:0"),
            ("+device=cpu", "++hardware.device=cpu"),
            ("device=cuda:0,cuda:1", "hardware.device=cuda:0,cuda:1"),
            ("hardware.device_index=1", "hardware.device=cuda:1"),
            ("profiling.nvml.interval_s=0.2", "sampler.interval_ms=200"),
            ("experiment=baseline", "experiment_name=baseline"),
            ("pipeline.nsys.gating_nvtx=true", "pipeline.nsys.capture=decode"),
            ("~dataset.subset_filelist", "~dataset.filelist"),
            ("profiling/torch@pipeline.torch_profiler=detailed", "pipeline/torch_profiler=detailed"),
        ] {
            assert_eq!(told(old), Some(vec![new.to_owned()]), "{old}");
        }
        assert_eq!(told("runtime.impl=vanilla"), Some(Vec::new()));
        for today in ["hardware.device=cpu", "experiment=long-decode", "experiment=null", "a=[", "x=1"] {
            assert_eq!(told(today), None, "{today}");
        }
        let several = translate("profiling.nvml.interval_s=0.1,0.2", |_, _| false, |_| false);
        assert!(several.unwrap_err().contains("sampler.interval_ms"));
    }
}
