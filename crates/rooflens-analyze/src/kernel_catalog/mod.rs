//! What a device activity's name tells: its class, its library, its data type, and a short form to read.
//!
//! The knowledge stands in `catalog/kernels/*.toml`, embedded at compile time and read once; this
//! module only applies it. A catalog file that cannot be read is left out (a test makes sure that all
//! can be), and a name no rule knows is [`KernelClass::Other`]: never a panic, never a guess.

mod class;
mod demangled;
mod files;
mod making;
mod mangled;
mod patterns;
mod rules;
mod short_name;
#[cfg(test)]
mod tests;

pub(crate) use class::Dtype;
pub use class::KernelClass;
pub(crate) use making::made_by;

use making::MakingRules;
use patterns::{Found, Patterns, WordId};
use rules::{Matcher, Rule, RuleText};
use serde::Deserialize;
use short_name::{Name, ShortNames};
use std::cmp::Reverse;
use std::sync::OnceLock;

/// What the trace says an activity is, apart from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActivityHint {
    /// Code that ran on the device.
    Kernel,
    /// A copy made by the driver.
    Memcpy,
    /// A fill made by the driver.
    Memset,
}

/// What a name tells of a device activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelInfo {
    /// What the activity does.
    pub class: KernelClass,
    /// Whose code it is, in the catalog's words; absent for memory operations and for names of no known
    /// library.
    pub(crate) library: Option<&'static str>,
    /// The type it computes on; absent where the name does not tell.
    pub(crate) dtype: Option<Dtype>,
    /// The name, cut down for people: at most [`SHORT_NAME_CHARS`] characters. Different names may
    /// share one.
    pub short_name: String,
}

/// The length limit of [`KernelInfo::short_name`], in characters.
pub(crate) const SHORT_NAME_CHARS: usize = 60;

/// Tells class, library, data type and short name of a device activity from its name.
///
/// Takes time linear in the name's length, whatever the name.
pub fn describe(name: &str, kind: ActivityHint) -> KernelInfo {
    let class = match kind {
        ActivityHint::Kernel => return catalog().describe(name),
        ActivityHint::Memcpy => KernelClass::Memcpy,
        ActivityHint::Memset => KernelClass::Memset,
    };
    KernelInfo { class, library: None, dtype: None, short_name: short_name::clip(name) }
}

fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(Catalog::embedded)
}

/// The catalog, ready for use.
#[derive(Debug, Default)]
struct Catalog {
    patterns: Patterns,
    kernels: Vec<KernelRules>,
    dtypes: Vec<Rule<Dtype>>,
    /// The data type that a word tells, by word; `Some(None)` for a word that hides others.
    tokens: Vec<Option<Option<Dtype>>>,
    short_names: ShortNames,
    making: MakingRules,
}

/// The rules of one file.
#[derive(Debug)]
struct KernelRules {
    library: Option<String>,
    guard: Matcher,
    rules: Vec<Rule<KernelClass>>,
}

impl KernelRules {
    fn says(&self, found: &Found) -> Option<KernelClass> {
        let mut rules = self.rules.iter().filter(|_| self.guard.matches(found));
        rules.find(|rule| rule.conditions.matches(found)).map(|rule| rule.says)
    }
}

/// A file of kernel rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelFile {
    library: Option<String>,
    #[allow(dead_code, reason = "for the readers of the file, and demanded of its writers by a test")]
    source: String,
    #[serde(default)]
    prefix: Vec<String>,
    #[serde(default)]
    any: Vec<String>,
    rule: Vec<RuleText<KernelClass>>,
}

/// `dtypes.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DtypeFile {
    #[expect(dead_code, reason = "for the readers of the file, and demanded of its writers")]
    source: String,
    rule: Vec<RuleText<Dtype>>,
    token: Vec<DtypeToken>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DtypeToken {
    dtype: Option<Dtype>,
    words: Vec<String>,
}

impl Catalog {
    fn embedded() -> Self {
        let mut catalog = Self::default();
        for (_, text) in files::FILES {
            if let Ok(file) = toml::from_str(text) {
                catalog.add_kernels(file);
            }
        }
        if let Ok(file) = toml::from_str(files::DTYPES.1) {
            catalog.add_dtypes(file);
        }
        if let Ok(file) = toml::from_str(files::MAKING.1) {
            catalog.making = MakingRules::new(file, &mut catalog.patterns);
        }
        catalog.short_names = toml::from_str(files::SHORT_NAMES.1).unwrap_or_default();
        catalog.patterns.index();
        catalog
    }

    fn add_kernels(&mut self, file: KernelFile) {
        let guard = Matcher::guard(&file.prefix, &file.any, &mut self.patterns);
        let rules = file.rule.into_iter().map(|rule| Rule::new(rule, &mut self.patterns)).collect();
        self.kernels.push(KernelRules { library: file.library, guard, rules });
    }

    fn add_dtypes(&mut self, file: DtypeFile) {
        for rule in file.rule {
            self.dtypes.push(Rule::new(rule, &mut self.patterns));
        }
        for token in file.token {
            for word in token.words {
                let number = self.patterns.add(&word);
                self.tokens.resize(self.patterns.len().max(self.tokens.len()), None);
                self.tokens[number] = Some(token.dtype);
            }
        }
    }

    fn describe(&'static self, name: &str) -> KernelInfo {
        let name = Name::of(name);
        let types_end = name.types_end();
        let mut tokens = Vec::new();
        let found = self.words(&name, |word, at| {
            if at < types_end
                && let Some(Some(dtype)) = self.tokens.get(word)
            {
                tokens.push((at, word, *dtype));
            }
        });

        let (class, library) = self.kernel(&found).unwrap_or((KernelClass::Other, None));
        let dtype = self.dtypes.iter().find(|rule| rule.conditions.matches(&found)).map(|rule| rule.says);
        let dtype = dtype.or_else(|| self.leftmost(tokens));
        KernelInfo { class, library, dtype, short_name: self.short_names.shorten(&name, dtype) }
    }

    /// The catalog's words in a name. `each` is called with every word of the name as it is written, and
    /// where it begins.
    fn words(&self, name: &Name<'_>, mut each: impl FnMut(WordId, usize)) -> Found {
        let start = name.start();
        let mut found = Found::new(&self.patterns);
        self.patterns.scan(name.text(), |word, at| {
            found.insert(word, at == start);
            each(word, at);
        });
        // Rules are written for demangled names; a mangled one has the same identifiers.
        if let Some(readable) = name.readable() {
            self.patterns.scan(&readable, |word, at| found.insert(word, at == 0));
        }
        found
    }

    /// What the first rule that matches says, with its file's library.
    ///
    /// A rule that knows only whose kernel it is (class `other`) leaves what it does to the files after
    /// it, down to the common words of the fallback.
    fn kernel(&self, found: &Found) -> Option<(KernelClass, Option<&str>)> {
        let mut matches = self.kernels.iter().filter_map(|file| Some((file.says(found)?, &file.library)));
        let (first, library) = matches.next()?;
        let class = match first {
            KernelClass::Other => {
                matches.map(|(class, _)| class).find(|class| *class != first).unwrap_or(first)
            }
            known => known,
        };
        Some((class, library.as_deref()))
    }

    fn leftmost(&self, mut tokens: Vec<(usize, WordId, Option<Dtype>)>) -> Option<Dtype> {
        tokens.sort_by_key(|&(start, word, _)| (start, Reverse(self.patterns.length(word))));
        let mut covered = 0;
        for (start, word, dtype) in tokens {
            if start < covered {
                continue;
            }
            if dtype.is_some() {
                return dtype;
            }
            covered = start + self.patterns.length(word);
        }
        None
    }
}
