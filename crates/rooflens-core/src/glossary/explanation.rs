//! The text that explains an analysis, taken apart: its bullets define the fields.
//!
//! ```text
//! - `total_ns`: sum of durations, ns.
//! - `p50_ns`, `p99_ns`: nearest rank: the value at position ceil(p n / 100)
//!   of the sorted durations.
//! ```

use super::entry::{GlossaryEntry, plain};

pub(crate) fn fields(text: &str) -> Vec<GlossaryEntry> {
    let mut found = Vec::new();
    for bullet in bullets(text) {
        let Some((names, about)) = bullet.split_once(": ") else { continue };
        let names: Option<Vec<&str>> = names.split(", ").map(quoted).collect();
        for name in names.into_iter().flatten() {
            found.push(GlossaryEntry { unit: unit(name).into(), ..plain(name, about) });
        }
    }
    found
}

/// The first bullet that speaks of `name`, further inside.
pub(crate) fn mention(text: &str, name: &str) -> Option<GlossaryEntry> {
    let quoted = format!("`{name}`");
    let about = bullets(text).into_iter().find(|bullet| bullet.contains(&quoted))?;
    Some(GlossaryEntry { unit: unit(name).into(), ..plain(name, about) })
}

pub(crate) fn formulas(text: &str, name: &str) -> String {
    let words = |sentence: &str| {
        sentence.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == name)
    };
    let paragraphs = text.split("\n\n").filter(|paragraph| !paragraph.starts_with("- "));
    let joined: Vec<String> = paragraphs.map(|paragraph| paragraph.replace('\n', " ")).collect();
    let sentences = joined.iter().flat_map(|paragraph| paragraph.split(". "));
    let equations = sentences.filter(|sentence| sentence.contains(" = ") && words(sentence));
    equations.map(|sentence| sentence.trim().trim_end_matches('.')).collect::<Vec<_>>().join("\n")
}

fn bullets(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if let Some(start) = line.strip_prefix("- ") {
            found.push(start.to_owned());
            inside = true;
        } else if let (true, Some(more), Some(bullet)) = (inside, line.strip_prefix("  "), found.last_mut()) {
            bullet.push(' ');
            bullet.push_str(more.trim());
        } else {
            inside = false;
        }
    }
    found
}

fn quoted(text: &str) -> Option<&str> {
    text.strip_prefix('`')?.strip_suffix('`')
}

fn unit(name: &str) -> &'static str {
    let ends = |word: &str| name == word || name.ends_with(&format!("_{word}"));
    match name {
        _ if ends("ns") => "ns",
        _ if ends("bytes") => "bytes",
        _ if ends("gb_per_s") => "GB/s",
        _ if ends("share") => "share, 0 to 1",
        _ if ends("count") => "count",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
One row a device. busy_ns = compute_ns +
copy_ns. More.

- `busy_ns`: time with activity, be it
  kernel or copy.
- `p50_ns`, `share`: of gaps. `host` is the operator.
- not a field: this.
";

    #[test]
    fn bullets_define_fields() {
        let found: Vec<_> = fields(TEXT).into_iter().map(|field| (field.name, field.unit)).collect();
        let expected = [("busy_ns", "ns"), ("p50_ns", "ns"), ("share", "share, 0 to 1")];
        assert_eq!(found, expected.map(|(name, unit)| (name.to_owned(), unit.into())));
        assert_eq!(fields(TEXT)[0].about, "time with activity, be it kernel or copy.");
    }

    #[test]
    fn what_is_said_elsewhere_is_found() {
        assert_eq!(formulas(TEXT, "busy_ns"), "busy_ns = compute_ns + copy_ns");
        assert_eq!(formulas(TEXT, "share"), "");
        let host = mention(TEXT, "host").expect("a mention");
        assert_eq!(host.about, "`p50_ns`, `share`: of gaps. `host` is the operator.");
        assert!(mention(TEXT, "nothing").is_none());
    }
}
