//! Kernels one by one: which take the time, and what their launches lose.

mod analyze;
mod by_range;
mod list;
mod profile;
mod save;
mod top;

use rooflens_collect::kernel_regex::{KernelRegex, RegexError};

use crate::error::Error;

pub use analyze::{ProfiledDocument, ProfiledKernels, ProfiledRequest, analyze, save_profile};
pub use by_range::{RangeDocument, RangeKernels, by_range};
pub use profile::{ProfileRequest, Profiling, profile};
pub use top::{TopDocument, TopKernels, TopRequest, filter, matching, top};
pub(crate) use top::{is_table, read_timeline};

pub(crate) fn regexes(texts: &[String]) -> Result<Vec<KernelRegex>, Error> {
    let read = |text: &String| KernelRegex::new(text).map_err(|error| bad_regex("--kernel", text, &error));
    texts.iter().map(read).collect()
}

/// `place`: the option, or the file and entry.
fn bad_regex(place: &str, regex: &str, error: &RegexError) -> Error {
    Error::usage(format!("{place}: '{regex}' is not a supported regular expression, {error}")).words(
        "it is matched as Python's re.search does, against the demangled name: 'gemm', '^void flash::', \
         '(?i)softmax|norm'",
    )
}

/// The items whose name one of the expressions matches; all of them if there is no expression.
fn selected<T>(items: Vec<T>, regexes: &[KernelRegex], name: impl Fn(&T) -> &str) -> Result<Vec<T>, Error> {
    let mut kept = Vec::new();
    for item in items {
        let mut is_match = regexes.is_empty();
        for regex in regexes {
            let found = regex.is_match(name(&item));
            is_match |= found.map_err(|error| bad_regex("--kernel", regex.text(), &error))?;
        }
        if is_match {
            kept.push(item);
        }
    }
    Ok(kept)
}
