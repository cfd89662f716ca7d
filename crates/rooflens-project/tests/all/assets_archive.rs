//! Archives, most of them made to hurt: each is refused, and leaves nothing behind.

use std::fs;
use std::path::Path;

use rooflens_project::assets::archive::{ArchiveProblem, Extracted, Limits, extract};
use rooflens_project::assets::{AssetFault, AssetObserver, StepProgress, Unwatched};
use tempfile::TempDir;

use crate::assets_support::unpack::{problem, unpack};
use crate::assets_support::zip_maker::{file, link, zip};
use crate::assets_support::{everything, tar_maker, write, zip_maker};

#[test]
fn a_zip_is_unpacked() {
    let mut large = file("a b/ünï.bin", vec![7; 200_000]);
    large.is_deflated = true;
    let entries = [
        file("readme.txt", "hello"),
        file("empty/", ""),
        large,
        file("./deep//er/x", "1"),
        link("deep/er/up", "../../readme.txt"),
        link("folder", "deep/er"),
    ];
    let (result, paths) = unpack(&zip(&entries));
    assert_eq!(result.unwrap(), Extracted { entries: 6, bytes: 200_006 });
    assert_eq!(
        paths,
        [
            "in/",
            "in/to/",
            "in/to/a b/",
            "in/to/a b/ünï.bin 200000",
            "in/to/deep/",
            "in/to/deep/er/",
            "in/to/deep/er/up -> ../../readme.txt",
            "in/to/deep/er/x 1",
            "in/to/empty/",
            "in/to/folder -> deep/er",
            "in/to/readme.txt 5",
        ]
    );
}

#[test]
fn tars_are_unpacked() {
    let long = format!("{}/file", "long".repeat(30));
    let entries: &[tar_maker::Entry<'_>] = &[
        ("./", b'5', "", b""),
        ("./d/", b'5', "", b""),
        ("./d/x", b'0', "", b"12345"),
        ("old/", b'0', "", b""),
        ("l", b'2', "d/x", b""),
        ("././@LongLink", b'L', "", long.as_bytes()),
        ("short", b'0', "", b"!"),
    ];
    let bytes = tar_maker::tar(entries);
    for bytes in [tar_maker::gz(&bytes), bytes] {
        let (result, paths) = unpack(&bytes);
        assert_eq!(result.unwrap().bytes, 6);
        let folder = "long".repeat(30);
        let file = format!("in/to/{folder}/file 1");
        let folder = format!("in/to/{folder}/");
        let expected =
            ["in/", "in/to/", "in/to/d/", "in/to/d/x 5", "in/to/l -> d/x", &folder, &file, "in/to/old/"];
        assert_eq!(paths, expected);
    }
}

#[test]
fn real_tools_make_archives_that_are_unpacked() {
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
    for (name, expected) in [
        ("../evil", ArchiveProblem::ParentPath),
        ("a/../../evil", ArchiveProblem::ParentPath),
        ("/tmp/evil", ArchiveProblem::AbsolutePath),
        ("C:\\evil", ArchiveProblem::WindowsPath),
        ("C:/evil", ArchiveProblem::WindowsPath),
        ("..\\..\\evil", ArchiveProblem::WindowsPath),
        ("\\\\server\\share\\evil", ArchiveProblem::WindowsPath),
        ("a\0b", ArchiveProblem::OddName),
        ("a\nb", ArchiveProblem::OddName),
        (".rooflens-extracted.json", ArchiveProblem::ReservedName),
    ] {
        assert_eq!(problem(&zip(&[file("fine", "1"), file(name, "2")])), expected, "{name:?}");
        if !name.contains('\0') {
            let tar = tar_maker::tar(&[("fine", b'0', "", b"1"), (name, b'0', "", b"2")]);
            assert_eq!(problem(&tar), expected, "{name:?}");
            assert_eq!(problem(&tar_maker::tar(&[(name, b'5', "", b"")])), expected, "{name:?}");
        }
    }
}

#[test]
fn links_that_lead_out_are_refused() {
    let outside = |target: &str| ArchiveProblem::LinkOutside { target: target.to_owned() };
    for target in ["/etc/passwd", "../x", "d/../../x", "..", "", "missing", "me"] {
        assert_eq!(problem(&zip(&[file("d/f", "1"), link("me", target)])), outside(target), "{target}");
        let tar = tar_maker::tar(&[("d/f", b'0', "", b"1"), ("me", b'2', target, b"")]);
        assert_eq!(problem(&tar), outside(target), "{target}");
    }
    // Each looks harmless; together they climb.
    let chain = [file("d/e/f", "1"), link("d/here", "."), link("out", "d/here/../..")];
    assert_eq!(problem(&zip(&chain)), outside("d/here/../.."));
    let circle = [link("a", "b"), link("b", "a")];
    assert_eq!(problem(&zip(&circle)), outside("b"));
}

#[test]
fn nothing_is_written_through_a_link() {
    // The link comes first, what is to go through it second.
    let through = [file("d/f", "1"), link("l", "d"), file("l/evil", "2")];
    assert_eq!(problem(&zip(&through)), ArchiveProblem::ParentNotFolder);
    let over = [file("d/f", "1"), link("l", "d/f"), file("l", "2")];
    assert_eq!(problem(&zip(&over)), ArchiveProblem::DuplicateNames);
    let over = tar_maker::tar(&[("d", b'0', "", b"1"), ("l", b'2', "d", b""), ("l", b'0', "", b"2")]);
    assert_eq!(problem(&over), ArchiveProblem::Duplicate);
}

#[test]
fn names_that_come_twice_are_refused() {
    assert_eq!(problem(&zip(&[file("a", "1"), file("a", "2")])), ArchiveProblem::DuplicateNames);
    assert_eq!(problem(&zip(&[file("a", "1"), file("./a", "2")])), ArchiveProblem::Duplicate);
    assert_eq!(problem(&zip(&[file("a", "1"), file("a/b", "2")])), ArchiveProblem::ParentNotFolder);
    assert_eq!(problem(&zip(&[file("a/b", "1"), file("a", "2")])), ArchiveProblem::Duplicate);
}

#[test]
fn devices_and_hard_links_are_refused() {
    for kind in [b'3', b'4', b'6', b'7' + 60] {
        assert_eq!(problem(&tar_maker::tar(&[("x", kind, "", b"")])), ArchiveProblem::SpecialFile);
    }
    let hard = tar_maker::tar(&[("a", b'0', "", b"1"), ("b", b'1', "a", b"")]);
    assert_eq!(problem(&hard), ArchiveProblem::HardLink);
    let hard = tar_maker::tar(&[("b", b'1', "/etc/passwd", b"")]);
    assert_eq!(problem(&hard), ArchiveProblem::HardLink);
    for mode in [0o010_644, 0o020_644, 0o060_644, 0o140_644] {
        let entry = zip_maker::Entry { mode, ..file("x", "1") };
        assert_eq!(problem(&zip(&[entry])), ArchiveProblem::SpecialFile, "{mode:o}");
    }
}

#[test]
fn what_is_there_is_never_replaced() {
    let folder = TempDir::new().unwrap();
    let archive = folder.path().join("a.zip");
    fs::write(&archive, zip(&[file("x", "1")])).unwrap();
    let before = |path: &Path| extract(&archive, path, Limits::default(), &mut Unwatched);
    let full = folder.path().join("full");
    write(&full.join("mine"), "mine");
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let plain = folder.path().join("file");
    fs::write(&plain, "mine").unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&empty, &link).unwrap();
    let all = everything(folder.path());
    for path in [&full, &empty, &plain, &link] {
        assert!(matches!(*before(path).unwrap_err().fault, AssetFault::Changed { .. }), "{path:?}");
    }
    assert_eq!(everything(folder.path()), all);
}

#[test]
fn a_stop_leaves_nothing_behind() {
    struct Impatient(u64);
    impl AssetObserver for Impatient {
        fn goes_on(&mut self, progress: StepProgress) {
            self.0 = progress.bytes;
        }
        fn should_stop(&self) -> bool {
            self.0 > 3 << 20
        }
    }
    let folder = TempDir::new().unwrap();
    let archive = folder.path().join("a.zip");
    fs::write(&archive, zip(&[file("x", vec![1; 20 << 20])])).unwrap();
    let mut watch = Impatient(0);
    let error = extract(&archive, &folder.path().join("to"), Limits::default(), &mut watch).unwrap_err();
    assert!(matches!(*error.fault, AssetFault::Stopped));
    assert!(watch.0 < 5 << 20);
    assert_eq!(everything(folder.path()).len(), 1);
}
