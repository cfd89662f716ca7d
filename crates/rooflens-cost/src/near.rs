//! When two names are the same, and when they are alike.

/// A shorter name lies within too many others to mean anything there.
const PART_CHARS: usize = 3;

/// Names longer than this are compared by their beginning.
const LONGEST: usize = 128;

/// The form in which names are compared: lower case, without blanks, dashes and other marks. `+` and
/// `.` stay, as they tell devices apart, and the `:` of PCI ids.
pub(crate) fn key(name: &str) -> String {
    let lower = name.to_lowercase().replace("(r)", "").replace("(tm)", "");
    lower.chars().filter(|c| c.is_alphanumeric() || matches!(c, '+' | '.' | ':')).collect()
}

/// How alike two keys are, 0 to 1, if one is a part of the other or few edits away: a third of the longer one, and
/// always one, as names are suggested everywhere (`suggest.rs` of `rooflens-compose`; this crate uses no other).
pub(crate) fn likeness(a: &str, b: &str) -> Option<f64> {
    let (a, b) = (beginning(a), beginning(b));
    let (a_chars, b_chars) = (a.chars().count(), b.chars().count());
    let (short, long) = (a_chars.min(b_chars), a_chars.max(b_chars));
    if short == 0 {
        return None;
    }
    // A part of a longer name is likelier meant than a name that merely has similar letters.
    let ratio = short as f64 / long as f64;
    if short >= PART_CHARS && (a.contains(b) || b.contains(a)) {
        return Some(0.7 + 0.3 * ratio);
    }
    let edits = strsim::osa_distance(a, b);
    (edits <= (long / 3).max(1)).then(|| 1.0 - edits as f64 / long as f64)
}

/// The beginning of a name: edits cost the product of both lengths.
fn beginning(name: &str) -> &str {
    name.char_indices().nth(LONGEST).map_or(name, |(end, _)| &name[..end])
}

/// The names most like `wanted`, best first, three at most.
pub fn nearest<'a>(wanted: &str, among: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = key(wanted);
    let scored = among.into_iter().filter_map(|name| Some((likeness(&wanted, &key(name))?, name)));
    let mut scored: Vec<(f64, &str)> = scored.collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_and_case_do_not_count() {
        assert_eq!(key("Intel(R) Xeon(R) Platinum 8480+"), "intelxeonplatinum8480+");
        assert_eq!(key("h100_sxm-80 GB"), "h100sxm80gb");
        assert_eq!(key("10DE:2330"), "10de:2330");
    }
}
