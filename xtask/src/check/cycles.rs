//! Files of a crate that import each other in a cycle cannot be read, tested or moved one at a time.
//!
//! A path such as `crate::a::b` leads to the file of its last module, a re-export to the file that defines the item.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;

use super::source;
use crate::workspace;

/// The largest cycle that is allowed, in files.
const MAX_FILES: usize = 4;

/// The names of a path, from the root of its crate.
type ModulePath = Vec<String>;

pub(crate) fn broken() -> Result<Vec<String>> {
    let mut crates: BTreeMap<String, Crate> = BTreeMap::new();
    for file in workspace::files()? {
        let name = file.to_string_lossy();
        let Some((folder, inner)) = name.split_once("/src/") else { continue };
        // Programs next to a library are separate crates.
        let is_module = inner.ends_with(".rs") && !inner.ends_with("tests.rs") && !inner.starts_with("bin/");
        if is_module && !inner.contains("tests/") && (folder.starts_with("crates/") || folder == "xtask") {
            let code = source::code(&workspace::read(&file)?);
            crates.entry(folder.to_owned()).or_default().add(inner, &code);
        }
    }
    let mut broken = Vec::new();
    for (folder, modules) in &crates {
        for cycle in modules.cycles().into_iter().filter(|cycle| cycle.len() > MAX_FILES) {
            let files: Vec<&str> = cycle.iter().map(|path| modules.0[*path].file.as_str()).collect();
            broken.push(format!(
                "{folder}/src: {} files import each other: {}",
                files.len(),
                files.join(" ")
            ));
        }
    }
    Ok(broken)
}

#[derive(Default)]
struct Crate(BTreeMap<ModulePath, Module>);

#[derive(Default)]
struct Module {
    file: String,
    /// Names that `use` brings into the module, and the paths they stand for.
    names: BTreeMap<String, ModulePath>,
    uses: Vec<ModulePath>,
}

impl Crate {
    /// Adds the module of `file`, which is relative to `src`.
    fn add(&mut self, file: &str, code: &str) {
        let path = Path::new(file).with_extension("");
        let mut path: ModulePath = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        if path.last().is_some_and(|last| last == "mod") || matches!(file, "lib.rs" | "main.rs") {
            path.pop();
        }
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        let tokens = tokens(code);
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at] == "use" {
                let is_public = at > 0 && matches!(tokens[at - 1], "pub" | ")");
                at = module.import(&tokens, at + 1, &[], is_public);
            } else if tokens[at].contains("::") {
                module.uses.push(names(tokens[at]).collect());
            }
            at += 1;
        }
        self.0.insert(path, module);
    }

    /// The module that defines what `path`, written in the module `from`, stands for; none outside of the crate.
    fn resolve(&self, from: &[String], path: &[String], depth: usize) -> Option<&ModulePath> {
        let mut place = from.to_vec();
        for (at, name) in path.iter().enumerate() {
            match name.as_str() {
                "crate" => place.clear(),
                "self" => {}
                "super" => drop(place.pop()),
                _ => {
                    place.push(name.clone());
                    if self.0.contains_key(&place) {
                        continue;
                    }
                    place.pop();
                    let stands_for = self.0.get(&place)?.names.get(name).filter(|_| depth < 8);
                    match stands_for {
                        Some(other) => {
                            let whole = [other, &path[at + 1..]].concat();
                            return self.resolve(&place, &whole, depth + 1);
                        }
                        // The first name of another crate's path.
                        None if at == 0 => return None,
                        None => break,
                    }
                }
            }
        }
        Some(self.0.get_key_value(&place)?.0)
    }

    fn cycles(&self) -> Vec<Vec<&ModulePath>> {
        let mut uses: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> = BTreeMap::new();
        for (path, module) in &self.0 {
            let used = module.uses.iter().filter_map(|used| self.resolve(path, used, 0));
            uses.insert(path, used.filter(|used| *used != path).collect());
        }
        let mut reached: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> = BTreeMap::new();
        for path in uses.keys() {
            let (seen, mut rest) = (reached.entry(path).or_default(), vec![*path]);
            while let Some(next) = rest.pop() {
                rest.extend(uses[next].iter().filter(|other| seen.insert(**other)));
            }
        }
        let mut cycles: Vec<Vec<&ModulePath>> = Vec::new();
        for (path, seen) in &reached {
            let is_listed = cycles.iter().any(|cycle| cycle.contains(path));
            if seen.contains(path) && !is_listed {
                cycles.push(seen.iter().filter(|other| reached[**other].contains(path)).copied().collect());
            }
        }
        cycles
    }
}

impl Module {
    /// Reads the tree of a `use` after `prefix`. Returns the index of the token that ends it.
    fn import(&mut self, tokens: &[&str], mut at: usize, prefix: &[String], is_public: bool) -> usize {
        let mut path = prefix.to_vec();
        let mut alias = None;
        while let Some(token) = tokens.get(at).filter(|token| !matches!(**token, "}" | "," | ";")) {
            match *token {
                "{" => {
                    at = self.import(tokens, at + 1, &path, is_public);
                    while tokens.get(at) == Some(&",") {
                        at = self.import(tokens, at + 1, &path, is_public);
                    }
                    return at + 1;
                }
                "as" => alias = tokens.get(at + 1).map(|name| (*name).to_owned()),
                _ if alias.is_none() => path.extend(names(token)),
                _ => {}
            }
            at += 1;
        }
        if path.len() > prefix.len() {
            // `a::{self}` stands for `a`.
            path.pop_if(|last| last == "self" && !prefix.is_empty());
            if !is_public {
                self.uses.push(path.clone());
            }
            self.names.insert(alias.or(path.last().cloned()).unwrap_or_default(), path);
        }
        at
    }
}

fn names(path: &str) -> impl Iterator<Item = String> {
    path.split("::").filter(|name| !name.is_empty() && *name != "*").map(str::to_owned)
}

fn tokens(code: &str) -> Vec<&str> {
    let is_other = |letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | ':');
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = rest.find(is_other).unwrap_or(rest.len()).max(first.len_utf8());
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_found_through_a_re_export() {
        let mut modules = Crate::default();
        modules.add("lib.rs", "mod a; pub use a::{A, self as first}; mod c;");
        modules.add("a/mod.rs", "mod b; pub(crate) use b::B; use crate::c; fn f() { c::g() }");
        modules.add("a/b.rs", "use std::fmt; use super::super::c::{C, d::*};");
        modules.add("c.rs", "fn g() -> crate::a::B { }");
        let cycles = modules.cycles();
        let [cycle] = &cycles[..] else { panic!("{cycles:?}") };
        assert_eq!(cycle.iter().map(|path| path.join("::")).collect::<Vec<_>>(), ["a::b", "c"]);
    }
}
