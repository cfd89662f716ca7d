//! The lock file.

use rooflens_project::externals::{ExternalsError, Lock, SourceKind};

use super::support::{World, read, told};

const LOCK: &str = "\
# Reference sources, pinned. `rooflens externals add` writes this file, `rooflens externals sync` makes
# third_party equal to it. `commit` is what is fetched, `tree` the git tree of the content.
version: 1
sources:
  '123':
    kind: hub
    url: hf://org/tiny
    revision: main
    commit: '0000000000000000000000000000000000000001'
    tree: '1e00000000000000000000000000000000000000'
    licences: []
  flash attention:
    kind: sparse
    url: https://github.com/org/flash-attention
    revision: v2.6.3
    commit: 9d3c9350a8b086e5cc87d0e368fd92966d325ef2
    tree: 107c2104e8af42b1bb9540626f0c98a830b566bf
    paths:
    - csrc/flash_attn
    licences:
    - LICENSE
    previous: ad3c9350a8b086e5cc87d0e368fd92966d325ef2
";

#[test]
fn what_is_written_is_read_back_and_sorted() {
    let lock = Lock::parse(LOCK).unwrap();
    let names: Vec<_> = lock.sources.keys().map(|name| name.as_str()).collect();
    assert_eq!(names, ["123", "flash attention"]);
    assert_eq!(lock.sources.values().last().unwrap().pin.kind, SourceKind::Sparse);
    let text = lock.to_text();
    assert_eq!(Lock::parse(&text).unwrap(), lock);
    assert_eq!(text, LOCK);
    assert_eq!(Lock::parse("").unwrap(), Lock::default());
}

#[test]
fn problems_name_their_line() {
    let problem = |from: &str, to: &str| told(&Lock::parse(&LOCK.replace(from, to)).unwrap_err());
    let conflict = problem("sources:", "<<<<<<< HEAD\nsources:");
    assert!(conflict.contains("externals.lock") && conflict.contains("git checkout"), "{conflict}");
    let number =
        problem("'0000000000000000000000000000000000000001'", "0000000000000000000000000000000000000001");
    assert!(number.contains("externals.lock:9") && number.contains("put it in quotes"), "{number}");
    let missing = problem("    revision: main\n", "");
    assert!(missing.contains("must have revision"), "{missing}");
    let version = problem("version: 1\n", "");
    assert!(version.contains("no version"), "{version}");
    let case = problem("'123'", "Flash Attention");
    assert!(case.contains("differ by case only"), "{case}");
    assert!(problem("    paths:\n    - csrc/flash_attn\n", "").contains("needs paths"));
}

#[test]
fn a_huge_lock_is_not_read() {
    let world = World::new();
    std::fs::create_dir(world.project.join("third_party")).unwrap();
    std::fs::write(world.project.join("third_party/externals.lock"), "#".repeat(5 << 20)).unwrap();
    assert!(matches!(world.externals().status().unwrap_err(), ExternalsError::LockShape { .. }));
}

#[test]
fn it_is_the_same_whatever_the_order_of_adding() {
    let texts: Vec<String> = [["b", "a"], ["a", "b"]]
        .into_iter()
        .map(|names| {
            let world = World::new();
            for name in names {
                let mut request = world.request(SourceKind::Sparse);
                request.name = Some(name.to_owned());
                world.externals().add(&request).unwrap();
            }
            let text = read(&world.project, "third_party/externals.lock");
            text.replace(world.url(), "URL").replace(&world.head(), "COMMIT")
        })
        .collect();
    assert_eq!(texts[0], texts[1]);
}
