//! Metrics that somebody asked for by name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Profile, ProfiledLaunch};

/// Columns at most.
pub const MOST_ASKED: usize = 50;

/// A metric of a launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestedMetric {
    /// The number, in base units; null for a text.
    pub value: Option<f64>,
    /// The text; null for a number.
    pub text: Option<String>,
    /// The unit, where it has one that is known.
    pub(crate) unit: Option<String>,
}

/// The names of metrics that a wish stands for: the metric itself, else all that it begins, up to a dot
/// (`dram__bytes` for `dram__bytes.sum`); the wish itself where no launch has it.
pub fn expanded(wish: &str, launches: &[ProfiledLaunch]) -> Vec<String> {
    let has = |launch: &ProfiledLaunch| launch.numbers.contains_key(wish) || launch.texts.contains_key(wish);
    if launches.iter().any(has) {
        return vec![wish.to_owned()];
    }
    let begun = format!("{wish}.");
    let names = launches.iter().flat_map(|launch| launch.numbers.keys().chain(launch.texts.keys()));
    let mut found: Vec<String> = names.filter(|name| name.starts_with(&begun)).cloned().collect();
    found.sort();
    found.dedup();
    if found.is_empty() { vec![wish.to_owned()] } else { found }
}

impl Profile {
    /// Adds metrics by name to every launch; `launches` are those that the profile was made of.
    pub fn ask(&mut self, launches: &[ProfiledLaunch], names: Vec<&'static str>) {
        for kernel in &mut self.kernels {
            let Some(launch) = launches.get(kernel.launch) else { continue };
            kernel.metrics =
                names.iter().filter_map(|name| Some(((*name).to_owned(), launch.asked(name)?))).collect();
        }
        self.asked = names;
    }
}

impl ProfiledLaunch {
    fn asked(&self, name: &str) -> Option<RequestedMetric> {
        let (value, text) = (self.number(name), self.texts.get(name).cloned());
        let unit = self.units.get(name).cloned();
        (value.is_some() || text.is_some()).then_some(RequestedMetric { value, text, unit })
    }
}
