//! Archives, most of them made to hurt: each is refused, and leaves nothing behind.

use std::fs;

use rooflens_collect::project::assets::archive::{Extracted, Limits, extract};
use rooflens_collect::project::assets::{AssetObserver, Unwatched};
use rooflens_collect::project::{FaultClass, ProjectError};
use tempfile::TempDir;

use crate::assets_support::zip_maker::{Entry, file, link, zip};
use crate::assets_support::{everything, tar_maker, write};

/// Unpacks an archive. Returns the result, and everything in the folder around.
fn unpack_limited(bytes: &[u8], limits: Limits) -> (Result<Extracted, ProjectError>, Vec<String>) {
    let folder = TempDir::new().unwrap();
    let archive = folder.path().join("archive");
    fs::write(&archive, bytes).unwrap();
    fs::create_dir(folder.path().join("in")).unwrap();
    let result = extract(&archive, &folder.path().join("in/to"), limits, &mut Unwatched);
    fs::remove_file(archive).unwrap();
    let paths = everything(folder.path());
    (result, paths.into_iter().filter(|path| !path.contains(".rooflens-extracted.json")).collect())
}

fn unpack(bytes: &[u8]) -> (Result<Extracted, ProjectError>, Vec<String>) {
    unpack_limited(bytes, Limits::default())
}

/// The message contains the problem, and nothing is left behind.
fn refused_limited(bytes: &[u8], limits: Limits, problem: &str) {
    let (result, left) = unpack_limited(bytes, limits);
    assert_eq!(left, ["in/"], "something is left behind");
    let error = result.expect_err("a refusal");
    assert_eq!(error.class, FaultClass::Data);
    assert!(error.message.contains(problem), "{problem}: {error}");
}

fn refused(bytes: &[u8], problem: &str) {
    refused_limited(bytes, Limits::default(), problem);
}

#[test]
fn zips_and_tars_are_unpacked() {
    let large = Entry { is_deflated: true, ..file("a b/ünï.bin", vec![7; 200_000]) };
    let entries = [
        file("readme.txt", "hello"),
        file("empty/", ""),
        large,
        file("./deep//er/x", "1"),
        link("deep/er/up", "../../readme.txt"),
    ];
    let (result, paths) = unpack(&zip(&entries));
    assert_eq!(result.unwrap(), Extracted { entries: 5, bytes: 200_006 });
    let expected = [
        "in/",
        "in/to/",
        "in/to/a b/",
        "in/to/a b/ünï.bin 200000",
        "in/to/deep/",
        "in/to/deep/er/",
        "in/to/deep/er/up -> ../../readme.txt",
        "in/to/deep/er/x 1",
        "in/to/empty/",
        "in/to/readme.txt 5",
    ];
    assert_eq!(paths, expected);

    let long = format!("{}/file", "long".repeat(30));
    let tar = tar_maker::tar(&[
        ("./", b'5', "", b""),
        ("./d/x", b'0', "", b"12345"),
        ("old/", b'0', "", b""),
        ("l", b'2', "d/x", b""),
        ("././@LongLink", b'L', "", long.as_bytes()),
        ("short", b'0', "", b"!"),
    ]);
    for bytes in [tar_maker::gz(&tar), tar] {
        let (result, paths) = unpack(&bytes);
        assert_eq!(result.unwrap().bytes, 6);
        let (folder, file) = (format!("in/to/{}/", "long".repeat(30)), format!("in/to/{long} 1"));
        let expected =
            ["in/", "in/to/", "in/to/d/", "in/to/d/x 5", "in/to/l -> d/x", &folder, &file, "in/to/old/"];
        assert_eq!(paths, expected);
    }
}

#[test]
fn archives_of_real_tools_are_unpacked() {
    let folder = TempDir::new().unwrap();
    write(&folder.path().join("data/a/b.txt"), "hello");
    write(&folder.path().join("data/c d.bin"), vec![0; 5000]);
    for (tool, arguments) in [
        ("tar", &["-cf", "x", "data"][..]),
        ("tar", &["-czf", "x", "data"]),
        ("tar", &["--format=pax", "-cf", "x", "data"]),
        ("python3", &["-m", "zipfile", "-c", "x", "data"]),
    ] {
        let status = std::process::Command::new(tool).args(arguments).current_dir(folder.path()).status();
        assert!(status.is_ok_and(|status| status.success()), "{tool}");
        let (result, paths) = unpack(&fs::read(folder.path().join("x")).unwrap());
        assert_eq!(result.unwrap().bytes, 5005, "{tool} {arguments:?}");
        assert!(paths.contains(&"in/to/data/c d.bin 5000".to_owned()), "{paths:?}");
    }
}

#[test]
fn names_that_lead_out_are_refused() {
    let odd = "has a name that is empty, not UTF-8 or has control characters";
    for (name, problem) in [
        ("../evil", "has '..' in its path"),
        ("a/../../evil", "has '..' in its path"),
        ("a/..", "has '..' in its path"),
        ("/tmp/evil", "has an absolute path"),
        ("C:\\evil", "has a Windows path"),
        ("c:evil", "has a Windows path"),
        ("..\\..\\evil", "has a Windows path"),
        ("\\\\server\\share\\evil", "has a Windows path"),
        ("a\0b", odd),
        ("a\nb", odd),
        (".Rooflens-extracted.json", "has a name that is reserved"),
    ] {
        refused(&zip(&[file("fine", "1"), file(name, "2")]), problem);
        if !name.contains('\0') {
            refused(&tar_maker::tar(&[("fine", b'0', "", b"1"), (name, b'0', "", b"2")]), problem);
            refused(&tar_maker::tar(&[(name, b'5', "", b"")]), problem);
        }
    }
}

#[test]
fn links_that_lead_out_are_refused() {
    let outside = |target: &str| format!("is a link to '{target}', which is not inside the archive");
    for target in ["/etc/passwd", "../x", "d/../../x", "..", "", "missing", "me"] {
        refused(&zip(&[file("d/f", "1"), link("me", target)]), &outside(target));
        refused(&tar_maker::tar(&[("d/f", b'0', "", b"1"), ("me", b'2', target, b"")]), &outside(target));
    }
    // Each looks harmless; together they climb.
    let chain = [file("d/e/f", "1"), link("d/here", "."), link("out", "d/here/../..")];
    refused(&zip(&chain), &outside("d/here/../.."));
    refused(&zip(&[link("a", "b"), link("b", "a")]), &outside("b"));
}

#[test]
fn entries_that_meet_are_refused() {
    let inside = "is inside something that is not a folder";
    // The link comes first, and what is to go through it second.
    refused(&zip(&[file("d/f", "1"), link("l", "d"), file("l/evil", "2")]), inside);
    refused(&zip(&[file("d/f", "1"), link("l", "d/f"), file("l", "2")]), "two entries with one name");
    let over = [("d", b'0', "", &b"1"[..]), ("l", b'2', "d", b""), ("l", b'0', "", b"2")];
    refused(&tar_maker::tar(&over), "is listed twice");
    refused(&zip(&[file("a", "1"), file("a", "2")]), "two entries with one name");
    refused(&zip(&[file("a", "1"), file("./a", "2")]), "is listed twice");
    refused(&zip(&[file("a", "1"), file("a/b", "2")]), inside);
    refused(&zip(&[file("a/b", "1"), file("a", "2")]), "is listed twice");
}

#[test]
fn devices_and_hard_links_are_refused() {
    let special = "is neither a file, a folder nor a link";
    for kind in [b'3', b'4', b'6', b'7' + 60] {
        refused(&tar_maker::tar(&[("x", kind, "", b"")]), special);
    }
    refused(&tar_maker::tar(&[("a", b'0', "", b"1"), ("b", b'1', "a", b"")]), "is a hard link");
    refused(&tar_maker::tar(&[("b", b'1', "/etc/passwd", b"")]), "is a hard link");
    for mode in [0o010_644, 0o020_644, 0o060_644, 0o140_644] {
        refused(&zip(&[Entry { mode, ..file("x", "1") }]), special);
    }
}

#[test]
fn existing_files_are_never_replaced() {
    let folder = TempDir::new().unwrap();
    let archive = write(&folder.path().join("a.zip"), zip(&[file("x", "1")]));
    let [full, empty, plain, link] = ["full", "empty", "file", "link"].map(|name| folder.path().join(name));
    write(&full.join("mine"), "mine");
    fs::create_dir(&empty).unwrap();
    fs::write(&plain, "mine").unwrap();
    std::os::unix::fs::symlink(&empty, &link).unwrap();
    let all = everything(folder.path());
    for path in [&full, &empty, &plain, &link] {
        let error = extract(&archive, path, Limits::default(), &mut Unwatched).unwrap_err();
        assert!(error.message.contains("has changed"), "{error}");
    }
    assert_eq!(everything(folder.path()), all);
}

#[test]
fn a_stop_leaves_nothing_behind() {
    struct Impatient(u64);
    impl AssetObserver for Impatient {
        fn goes_on(&mut self, bytes: u64, _: Option<u64>) {
            self.0 = bytes;
        }
        fn should_stop(&self) -> bool {
            self.0 > 3 << 20
        }
    }
    let folder = TempDir::new().unwrap();
    let archive = write(&folder.path().join("a.zip"), zip(&[file("x", vec![1; 20 << 20])]));
    let mut watch = Impatient(0);
    let error = extract(&archive, &folder.path().join("to"), Limits::default(), &mut watch).unwrap_err();
    assert_eq!(error.class, FaultClass::Interrupted);
    assert!(watch.0 < 5 << 20);
    assert_eq!(everything(folder.path()).len(), 1);
}

#[test]
fn bombs_are_refused() {
    let dense = "unpacks to more than 200 times its size";
    let bomb = zip(&[Entry { is_deflated: true, ..file("zeros", vec![0; 24 << 20]) }]);
    assert!(bomb.len() < 100_000);
    refused(&bomb, dense);
    refused(&tar_maker::gz(&tar_maker::tar(&[("z", b'0', "", &vec![0; 24 << 20])])), dense);
    let limits = Limits { max_bytes: 1000, ..Limits::default() };
    let two = zip(&[file("a", [0; 600]), file("b", [0; 600])]);
    refused_limited(&two, limits, "unpacks to more than 1000 bytes");
    // Entries that share one body, as in the bombs of David Fifield.
    let shared = Entry { header_of: Some(0), ..file("b", "body") };
    refused(&zip(&[file("a", "body"), shared]), "has overlapping entries");

    let limits = Limits { max_entries: 2, ..Limits::default() };
    refused_limited(&zip(&[file("a", ""), file("b", ""), file("c", "")]), limits, "more than 2 entries");
    let tar = tar_maker::tar(&[("a", b'0', "", b""), ("b", b'0', "", b""), ("c", b'0', "", b"")]);
    refused_limited(&tar, limits, "more than 2 entries");

    // Long headers are not kept in memory.
    let name = vec![b'a'; 8 << 20];
    let tar = tar_maker::tar(&[("././@LongLink", b'L', "", &name), ("x", b'0', "", b"")]);
    refused(&tar_maker::gz(&tar), "too long");
}

#[test]
fn damage_is_refused() {
    let whole = zip(&[file("a", "hello hello hello")]);
    let mut flipped = whole.clone();
    flipped[35] ^= 1;
    refused(&flipped, "is damaged");
    for length in (4..whole.len()).step_by(7) {
        refused(&whole[..length], "");
    }
    let tar = tar_maker::tar(&[("a", b'0', "", &[1; 3000])]);
    refused(&tar[..2000], "it ends early");
    let gz = tar_maker::gz(&tar);
    refused(&gz[..gz.len() - 9], "is damaged");
    refused(b"hello", "is neither a zip, a tar nor a tar.gz");
    refused(b"", "is neither a zip, a tar nor a tar.gz");
    // A size beyond every disk.
    let mut huge = tar_maker::header("a", b'0', "", 0o77_777_777_777);
    huge.extend([0; 1024]);
    refused(&huge, "is damaged");
}

/// Any damage at all: an error or an archive, never a panic, never a path outside.
#[test]
fn random_damage_does_no_harm() {
    let deflated = Entry { is_deflated: true, ..file("d/deflated", vec![b'x'; 300]) };
    let zipped = zip(&[file("d/a", "hello"), deflated, link("l", "d/a"), file("e/", "")]);
    let tar = tar_maker::tar(&[("d/", b'5', "", b""), ("d/a", b'0', "", b"hello"), ("l", b'2', "d/a", b"")]);
    let folder = TempDir::new().unwrap();
    let (archive, into) = (folder.path().join("archive"), folder.path().join("to"));
    let mut state = 20_261_115u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut unpacked = 0;
    for round in 0..600 {
        let mut bytes = if round % 2 == 0 { zipped.clone() } else { tar.clone() };
        for _ in 0..=next(4) {
            let at = next(bytes.len());
            bytes[at] = u8::try_from(next(256)).unwrap();
        }
        fs::write(&archive, &bytes).unwrap();
        if extract(&archive, &into, Limits::default(), &mut Unwatched).is_ok() {
            unpacked += 1;
            fs::remove_dir_all(&into).unwrap();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "round {round}");
    }
    // Damage in padding and times is no damage; in names, sizes and sums it is.
    assert!((20..580).contains(&unpacked), "{unpacked}");
}
