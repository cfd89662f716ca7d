//! What holds for every file of the catalog.

use super::super::making::MakingFile;
use super::super::patterns::{FOLD, Found, MIN_LENGTH, WordId};
use super::super::rules::RuleText;
use super::super::short_name::ShortNames;
use super::super::{Catalog, DtypeFile, KernelClass, KernelFile, KernelRules, files};
use std::collections::HashSet;
use std::path::Path;

fn kernel_files() -> Vec<(&'static str, KernelFile)> {
    let read = |text: &'static str, file: &str| {
        toml::from_str(text).unwrap_or_else(|error| panic!("{file}: {error}"))
    };
    files::FILES.iter().map(|&(file, text)| (file, read(text, file))).collect()
}

fn dtype_file() -> DtypeFile {
    toml::from_str(files::DTYPES.1).unwrap_or_else(|error| panic!("{}: {error}", files::DTYPES.0))
}

fn making_file() -> MakingFile {
    toml::from_str(files::MAKING.1).unwrap_or_else(|error| panic!("{}: {error}", files::MAKING.0))
}

#[test]
fn every_file_of_the_folder_is_embedded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog/kernels");
    let mut embedded: HashSet<&str> = files::FILES.iter().map(|(file, _)| *file).collect();
    assert_eq!(embedded.len(), files::FILES.len(), "a file stands in FILES twice");
    embedded.extend([files::DTYPES.0, files::SHORT_NAMES.0, files::MAKING.0]);
    for entry in std::fs::read_dir(&folder).expect("catalog/kernels") {
        let name = entry.expect("an entry").file_name().into_string().expect("a readable name");
        assert!(
            name == "README.md" || embedded.contains(&*name),
            "add {name} to FILES in kernel_catalog/files.rs"
        );
    }
}

#[test]
fn every_file_can_be_read() {
    assert_eq!(kernel_files().len(), files::FILES.len());
    dtype_file();
    making_file();
    let words: ShortNames = toml::from_str(files::SHORT_NAMES.1).unwrap_or_else(|error| panic!("{error}"));
    assert!(format!("{words:?}").len() > 1000, "short-names.toml says nothing");
}

#[test]
fn files_name_their_source_and_library() {
    for (file, content) in kernel_files() {
        assert!(content.source.len() > 20, "{file}: say where the names come from");
        assert_eq!(
            content.library.is_none(),
            file == "fallback.toml",
            "{file}: only the fallback has no library"
        );
    }
    let libraries: Vec<_> = kernel_files().into_iter().filter_map(|(_, content)| content.library).collect();
    let different: HashSet<_> = libraries.iter().collect();
    assert_eq!(different.len(), libraries.len(), "two files have one library");
}

#[test]
fn words_can_be_found() {
    fn check<T>(file: &str, rules: &[RuleText<T>]) {
        for (number, rule) in rules.iter().enumerate() {
            let place = format!("{file}, rule {}", number + 1);
            assert!(
                rule.prefix.len() + rule.any.len() + rule.all.len() > 0,
                "{place} would match every name"
            );
            check_words(&place, [&rule.prefix, &rule.any, &rule.all, &rule.none].into_iter().flatten());
        }
    }
    fn check_words<'a>(place: &str, words: impl Iterator<Item = &'a String>) {
        let mut seen = HashSet::new();
        for word in words {
            let text = word.strip_prefix(FOLD).unwrap_or(word);
            assert!(
                text.len() >= MIN_LENGTH && text.is_ascii(),
                "{place}: {word:?} is too short or not ASCII"
            );
            assert!(seen.insert(word), "{place}: {word:?} stands there twice");
        }
    }
    for (file, content) in kernel_files() {
        check(file, &content.rule);
        check_words(file, content.prefix.iter().chain(&content.any));
    }
    let dtypes = dtype_file();
    check(files::DTYPES.0, &dtypes.rule);
    check_words(files::DTYPES.0, dtypes.token.iter().flat_map(|token| &token.words));
    check(files::MAKING.0, &making_file().rule);
}

#[test]
fn every_class_is_given_by_a_rule() {
    let given: HashSet<_> =
        kernel_files().iter().flat_map(|(_, file)| &file.rule).map(|rule| rule.says).collect();
    for class in KernelClass::ALL {
        assert!(given.contains(class), "no rule gives {class}");
        assert!(class.definition().len() > 10);
        assert_eq!(KernelClass::named(class.as_str()), Some(*class));
        assert_eq!(serde_json::to_value(class).expect("a string"), class.as_str());
    }
}

#[test]
fn every_word_of_every_rule_can_decide() {
    let catalog = Catalog::embedded();
    let mut dead = String::new();
    for ((file, content), compiled) in kernel_files().into_iter().zip(&catalog.kernels) {
        for (number, rule) in content.rule.iter().enumerate() {
            for (word, names) in names_for(&content, rule) {
                if !names.iter().any(|name| decides(&catalog, name, compiled, number)) {
                    dead.push_str(&format!("{file}, rule {} ({}): {word}\n", number + 1, rule.says));
                }
            }
        }
    }
    assert!(dead.is_empty(), "an earlier rule always takes these:\n{dead}");
}

/// Names made of a rule's words, for each word of its `prefix` and `any` (or once, for a rule that has
/// only `all`).
fn names_for(file: &KernelFile, rule: &RuleText<KernelClass>) -> Vec<(String, Vec<String>)> {
    let or_nothing = |words: &[String]| if words.is_empty() { vec![String::new()] } else { words.to_vec() };
    let bare = |word: &str| word.strip_prefix(FOLD).unwrap_or(word).to_owned();
    let (prefixes, anys) = (or_nothing(&rule.prefix), or_nothing(&rule.any));
    let guards = or_nothing(&file.any);
    // A file's prefix need not be repeated where a rule has its own.
    let heads = if rule.prefix.is_empty() { or_nothing(&file.prefix) } else { vec![String::new()] };
    let make = |prefix: &str, any: &str| {
        let mut names = Vec::new();
        for head in &heads {
            for guard in &guards {
                let parts = [bare(head), bare(prefix), bare(any), bare(guard)];
                let all = rule.all.iter().map(|word| bare(word));
                names.push(
                    parts
                        .into_iter()
                        .chain(all)
                        .filter(|part| !part.is_empty())
                        .collect::<Vec<_>>()
                        .join("\u{7f}"),
                );
            }
        }
        names
    };
    let each_prefix = prefixes
        .iter()
        .map(|prefix| (prefix.clone(), anys.iter().flat_map(|any| make(prefix, any)).collect()));
    let each_any =
        anys.iter().map(|any| (any.clone(), prefixes.iter().flat_map(|prefix| make(prefix, any)).collect()));
    each_prefix.chain(each_any).collect()
}

fn decides(catalog: &Catalog, name: &str, file: &KernelRules, number: usize) -> bool {
    let mut found = Found::new(&catalog.patterns);
    catalog.patterns.scan(name, |word: WordId, at| found.insert(word, at == 0));
    let first = catalog.kernels.iter().find_map(|rules| {
        let matching = rules.rules.iter().position(|rule| rule.conditions.matches(&found));
        matching.filter(|_| rules.guard.matches(&found)).map(|number| (rules, number))
    });
    first.is_some_and(|(rules, first)| std::ptr::eq(rules, file) && first == number)
}
