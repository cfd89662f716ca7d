//! What is wrong with a config, with the line it stands in.

use rooflens_collect::PlanError;
use rooflens_compose::value::ValueSource;
use rooflens_compose::{ComposeError, ProblemPlace};

use crate::config::origins;

/// The fact, and below it the place: file, line and column, the line as it is written, and a caret.
pub(crate) fn described(error: &ComposeError) -> String {
    placed(&error.to_string(), error.place.as_deref())
}

/// The same of a config that no plan can be made of. The planner reads no files; the line is looked
/// up here.
pub(crate) fn planned(error: &PlanError) -> String {
    let place = error.place.as_deref().map(|place| {
        let mut place = place.clone();
        if let ValueSource::File(file) = &place.origin.source
            && let Some(line) = usize::try_from(place.origin.line).ok().and_then(|line| line.checked_sub(1))
        {
            let text = std::fs::read_to_string(file.as_ref()).unwrap_or_default();
            place.excerpt = text.lines().nth(line).unwrap_or_default().to_owned();
        }
        place
    });
    placed(&error.to_string(), place.as_ref())
}

pub(crate) fn placed(fact: &str, place: Option<&ProblemPlace>) -> String {
    match place {
        Some(place) if !is_told(fact, place) => format!("{fact}\n{}", shown(place)),
        _ => fact.to_owned(),
    }
}

fn is_told(fact: &str, place: &ProblemPlace) -> bool {
    match &place.origin.source {
        ValueSource::CommandLine(argument) => fact.contains(argument.as_ref()),
        ValueSource::BuiltIn => true,
        ValueSource::File(_) => false,
    }
}

fn shown(place: &ProblemPlace) -> String {
    let line = place.origin.line;
    if let ValueSource::CommandLine(argument) = &place.origin.source {
        return format!("  --> command line: {argument}");
    }
    if line == 0 || place.excerpt.is_empty() {
        return format!("  --> {}", origins::place(&place.origin));
    }
    let number = line.to_string();
    let margin = " ".repeat(number.len());
    // A tab is as wide as a terminal makes it: the caret would miss.
    let text = place.excerpt.replace('\t', " ");
    let before = usize::try_from(place.origin.column).unwrap_or(1).saturating_sub(1);
    let caret = if before <= text.chars().count() {
        format!("\n {margin} | {}^", " ".repeat(before))
    } else {
        String::new()
    };
    let place = origins::place(&place.origin);
    format!(" {margin}--> {place}\n {margin} |\n {number} | {}{caret}", text.trim_end())
}
