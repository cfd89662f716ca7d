//! What stands around every page, and pieces of HTML that blocks do not have. All text goes through [`text`].

use rooflens_report::{PageFrame, Part, format, linked_parts};
pub(crate) use rooflens_report::{escape_html as text, sentence_html as sentence};

use crate::assets::ADDRESSES;

/// The pages: name and address.
const SITE: &[(&str, &str)] =
    &[("Runs", "/"), ("Trend", "/trend"), ("Queries", "/queries"), ("SQL", "/sql"), ("Live", "/live")];

/// A whole page. `here` is the address of the page in the list of pages; `before` and `after` are HTML.
pub(crate) fn page(title: &str, here: &str, before: &str, parts: &[Part], after: &str) -> String {
    with_frame(title, here, before, after, |frame| linked_parts(parts, &[], frame))
}

pub(crate) fn with_frame(
    title: &str,
    here: &str,
    before: &str,
    after: &str,
    draw: impl FnOnce(&PageFrame<'_>) -> String,
) -> String {
    let site: Vec<(&str, &str, bool)> = SITE.iter().map(|(name, to)| (*name, *to, *to == here)).collect();
    draw(&PageFrame { title, assets: &ADDRESSES, site: &site, before, after, footer: "" })
}

/// A moment since 1970, to the minute, in UTC: the server and who looks at it may be far apart.
pub(crate) fn minute(unix_ns: i64) -> String {
    format!("{} UTC", &format::date(unix_ns)[.."2024-02-29 00:00".len()])
}

pub(crate) fn section(id: &str, title: &str, html: &str) -> String {
    format!(
        "<section id=\"{id}\" aria-labelledby=\"{id}-title\">\n<h2 id=\"{id}-title\">{}</h2>\n{html}</section>\n",
        text(title)
    )
}

pub(crate) fn select(
    name: &str,
    title: &str,
    none: &str,
    values: &[(String, String)],
    chosen: &str,
) -> String {
    let option = |(value, words): &(String, String)| {
        let is_chosen = if value == chosen { " selected" } else { "" };
        format!("<option value=\"{}\"{is_chosen}>{}</option>", text(value), text(words))
    };
    let mut options: String = values.iter().map(option).collect();
    // What was chosen may be gone by now; it still narrows.
    if !chosen.is_empty() && !values.iter().any(|(value, _)| value == chosen) {
        options.push_str(&option(&(chosen.to_owned(), chosen.to_owned())));
    }
    let none = match none.is_empty() {
        true => String::new(),
        false => format!("<option value=\"\">{}</option>", text(none)),
    };
    format!("<label>{}<select name=\"{name}\">{none}{options}</select></label>", text(title))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates() {
        assert_eq!(minute(1_709_164_800_000_000_000), "2024-02-29 00:00 UTC");
        assert_eq!(minute(-1), "1969-12-31 23:59 UTC");
    }
}
