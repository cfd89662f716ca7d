//! Kernels one by one: which take the time, and what their launches lose.

mod analyze;
mod by_range;
mod device;
mod estimate;
mod list;
mod ncu_log;
mod profile;
mod save;
mod timeline;
mod top;

use rooflens_collect::kernel_regex::KernelRegex;

use crate::error::Error;

pub use analyze::{ProfiledDocument, ProfiledKernels, ProfiledRequest, analyze, save_profile};
pub use by_range::{RangeDocument, RangeKernels, by_range};
pub use profile::{ProfileRequest, Profiling, profile};
pub(crate) use timeline::{is_table, read as read_timeline};
pub use top::{TopDocument, TopKernels, TopRequest, filter, matching, top};

/// The values of `--kernel`.
pub(crate) fn regexes(texts: &[String]) -> Result<Vec<KernelRegex>, Error> {
    let read = |text: &String| {
        let place = "--kernel".to_owned();
        KernelRegex::new(text).map_err(|error| Error::KernelRegex { place, regex: text.clone(), error })
    };
    texts.iter().map(read).collect()
}

/// The items whose name one of the expressions matches; all of them if there is no expression.
fn selected<T>(items: Vec<T>, regexes: &[KernelRegex], name: impl Fn(&T) -> &str) -> Result<Vec<T>, Error> {
    let mut kept = Vec::new();
    for item in items {
        let mut is_match = regexes.is_empty();
        for regex in regexes {
            is_match |= regex.is_match(name(&item)).map_err(|error| Error::KernelRegex {
                place: "--kernel".to_owned(),
                regex: regex.text().to_owned(),
                error,
            })?;
        }
        if is_match {
            kept.push(item);
        }
    }
    Ok(kept)
}
