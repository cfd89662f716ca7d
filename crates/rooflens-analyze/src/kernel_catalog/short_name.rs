//! Short forms of kernel names.

use super::class::Dtype;
use super::demangled::{ANONYMOUS, Function, cute_tile, identifiers};
use super::{SHORT_NAME_CHARS, mangled};
use serde::Deserialize;
use std::collections::HashSet;

/// `short-names.toml`: which identifiers tell something. The file explains the fields.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShortNames {
    #[expect(dead_code, reason = "for the readers of the file, and demanded of its writers")]
    source: String,
    wrappers: HashSet<String>,
    shells: HashSet<String>,
    vague: HashSet<String>,
    noise: HashSet<String>,
    trim_prefix: Vec<String>,
    trim_suffix: Vec<String>,
    flat: Vec<Flat>,
}

/// How to cut a name without brackets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Flat {
    prefix: String,
    until: Vec<String>,
    tile: Option<String>,
    #[serde(default)]
    also: Vec<String>,
    #[serde(default)]
    cut_prefix: bool,
}

impl ShortNames {
    pub(super) fn shorten(&self, name: &Name<'_>, dtype: Option<Dtype>) -> String {
        let short = match name {
            Name::Mangled(found, _) => self.compose(&found.path, found.rest.iter().copied()),
            Name::Templated(function, _) => {
                let short = self.compose(&function.path, identifiers(function.arguments));
                match (short, cute_tile(function.arguments), dtype) {
                    (Some(short), Some(tile), Some(dtype)) => Some(format!("{short}_{tile}_{dtype}")),
                    (Some(short), Some(tile), None) => Some(format!("{short}_{tile}")),
                    (short, _, _) => short,
                }
            }
            Name::Flat(name) => self.cut_flat(name),
        };
        clip(short.as_deref().unwrap_or(name.text()))
    }

    fn compose<'a>(&self, path: &[&str], mut arguments: impl Iterator<Item = &'a str>) -> Option<String> {
        let (&function, namespaces) = path.split_last()?;
        let mut telling = || arguments.find(|word| !self.noise.contains(*word) && !is_placeholder(word));
        if self.shells.contains(function)
            && let Some(inner) = telling()
        {
            return Some(inner.to_owned());
        }
        if self.wrappers.contains(function)
            && let Some(inner) = telling()
        {
            let function = function.strip_suffix("_kernel").unwrap_or(function);
            return Some(format!("{function}({})", self.trim(inner)));
        }
        match namespaces.last() {
            Some(namespace) if self.vague.contains(function) => Some(format!("{namespace}::{function}")),
            _ => Some(function.to_owned()),
        }
    }

    /// `CUDAFunctorOnSelf_add` → `add`, `direct_copy_kernel_cuda` → `direct_copy`, `CompareEqFunctor` →
    /// `compare_eq`.
    fn trim(&self, word: &str) -> String {
        let suffix =
            self.trim_suffix.iter().find(|suffix| word.len() > suffix.len() && word.ends_with(*suffix));
        let word = &word[..word.len() - suffix.map_or(0, String::len)];
        let prefix =
            self.trim_prefix.iter().find(|prefix| word.len() > prefix.len() && word.starts_with(*prefix));
        let word = &word[prefix.map_or(0, String::len)..];
        if !word.starts_with(|first: char| first.is_ascii_uppercase()) {
            return word.to_owned();
        }
        let mut snake = String::with_capacity(word.len() + 4);
        let mut after_small = false;
        for letter in word.chars() {
            if letter.is_ascii_uppercase() && after_small {
                snake.push('_');
            }
            after_small = letter.is_ascii_lowercase() || letter.is_ascii_digit();
            snake.push(letter.to_ascii_lowercase());
        }
        snake
    }

    fn cut_flat(&self, name: &str) -> Option<String> {
        if name.len() <= SHORT_NAME_CHARS {
            return None;
        }
        let flat = self.flat.iter().find(|flat| name.starts_with(&flat.prefix))?;
        let end = flat.until.iter().filter_map(|word| name.find(word.as_str())).min()?;
        let begin = if flat.cut_prefix { flat.prefix.len().min(end) } else { 0 };
        let mut short = name.get(begin..end)?.to_owned();
        if let Some(tile) = &flat.tile
            && let Some(start) = name.get(end..)?.find(tile.as_str()).map(|offset| end + offset)
        {
            let length = name[start + tile.len()..].find('_').unwrap_or(name.len() - start - tile.len());
            short.push_str(&name[start..start + tile.len() + length]);
        }
        for word in flat.also.iter().filter(|word| name.contains(word.as_str())) {
            short.push_str(word);
        }
        Some(short)
    }
}

/// nsys writes a template parameter that it met before as T1, T2, ….
fn is_placeholder(word: &str) -> bool {
    word.strip_prefix('T')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A kernel's name, taken apart.
#[derive(Debug)]
pub(super) enum Name<'a> {
    Mangled(mangled::Identifiers<'a>, &'a str),
    Templated(Function<'a>, &'a str),
    Flat(&'a str),
}

impl<'a> Name<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let text = text.trim();
        let text = text.strip_suffix(".kd").unwrap_or(text);
        if let Some(found) = mangled::identifiers(text) {
            Self::Mangled(found, text)
        } else if text.contains(['<', '(', ' ']) || text.contains("::") {
            Self::Templated(Function::of(text), text)
        } else {
            Self::Flat(text)
        }
    }

    /// The name without surrounding spaces and the mark of AMD's kernel descriptors.
    pub(super) fn text(&self) -> &'a str {
        match self {
            Self::Mangled(_, text) | Self::Templated(_, text) | Self::Flat(text) => text,
        }
    }

    /// A mangled name's identifiers as a demangler would write them: `namespace::function<arguments>`.
    pub(super) fn readable(&self) -> Option<String> {
        match self {
            Self::Mangled(found, _) => Some(format!("{}<{}>", found.path.join("::"), found.rest.join(", "))),
            Self::Templated(..) | Self::Flat(_) => None,
        }
    }

    /// Where the name begins, after `void` and anonymous namespaces.
    pub(super) fn start(&self) -> usize {
        let text = self.text();
        let mut rest = text.strip_prefix("void ").unwrap_or(text);
        while let Some(after) = ANONYMOUS.iter().find_map(|word| rest.strip_prefix(word)?.strip_prefix("::"))
        {
            rest = after;
        }
        text.len() - rest.len()
    }

    /// Where the part ends that tells the data type: at the parameters of a function that has template
    /// arguments.
    pub(super) fn types_end(&self) -> usize {
        match self {
            Self::Templated(function, _) if !function.arguments.is_empty() => function.end,
            _ => self.text().len(),
        }
    }
}

pub(super) fn clip(text: &str) -> String {
    /// The head tells more than the tail.
    const TAIL: usize = SHORT_NAME_CHARS / 3;
    const HEAD: usize = SHORT_NAME_CHARS - TAIL - 1;
    let text = text.trim();
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    if text.char_indices().nth(SHORT_NAME_CHARS).is_none() {
        return text.chars().map(plain).collect();
    }
    let tail = text.char_indices().rev().nth(TAIL - 1).map_or(text.len(), |(start, _)| start);
    text.chars().take(HEAD).chain(std::iter::once('…')).chain(text[tail..].chars()).map(plain).collect()
}
