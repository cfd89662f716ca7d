//! Names, urls and trees by somebody who means harm.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use rooflens_project::externals::{AddRequest, ExternalsError, SourceKind, SyncRequest};

use super::support::{GIT_KINDS, World, files, git, read, write};

#[test]
fn names_that_are_no_folder_of_their_own_are_refused() {
    let world = World::new();
    let long = "x".repeat(300);
    for name in [
        "../x",
        "-x",
        "--help",
        "/tmp/x",
        ".git",
        ".GIT",
        ".gitmodules",
        "..",
        ".",
        "",
        "a/b",
        "a\\b",
        "git~1",
        "GIT~1",
        " x",
        "x ",
        "x.",
        "a\nb",
        "a\0b",
        "c:x",
        &long,
    ] {
        for kind in GIT_KINDS {
            let request = AddRequest { name: Some(name.to_owned()), ..world.request(kind) };
            let error = world.externals().add(&request).unwrap_err();
            assert!(matches!(error, ExternalsError::BadName { .. }), "{name:?}: {error}");
        }
    }
    assert_eq!(files(&world.project), ["README.md"]);
}

#[test]
fn urls_that_are_options_programs_or_passwords_are_refused() {
    let world = World::new();
    let witness = world.dir.path().join("witness");
    let program = format!("touch {}", witness.display());
    for url in [
        "-x",
        &format!("--upload-pack={program}"),
        &format!("ext::sh -c {program}"),
        "fd::17/foo",
        "ssh://-oProxyCommand=x/y",
        "-oProxyCommand=x:y",
        "user@-oProxyCommand=x:y",
        "https://user:secret@example.invalid/x",
        "https://token@example.invalid/x",
        "ssh://user:secret@example.invalid/x",
        "ftp://example.invalid/x",
        "file://relative",
        "relative/path",
        "../up stream",
        "",
        " https://example.invalid/x",
        "https://example.invalid/x\n[core]",
    ] {
        for kind in [SourceKind::Submodule, SourceKind::Subtree, SourceKind::Sparse, SourceKind::Hub] {
            if kind == SourceKind::Hub && url == "relative/path" {
                continue; // There, it is a repository's name.
            }
            let request = AddRequest { url: url.to_owned(), ..world.request(kind) };
            let error = world.externals().add(&request).unwrap_err();
            assert!(matches!(error, ExternalsError::BadUrl { .. }), "{kind} {url:?}: {error}");
            assert!(kind == SourceKind::Hub || !error.to_string().contains("secret"), "{error}");
        }
    }
    assert!(!witness.exists());
    assert_eq!(files(&world.project), ["README.md"]);
}

#[test]
fn paths_that_leave_the_source_are_refused() {
    let world = World::new();
    for path in ["../x", "/etc", "-x", "a/../b", "a//b", ".git/config", "a/.GIT/x", "", ".", "a\nb", "a\\b"] {
        let request = AddRequest { paths: vec![path.to_owned()], ..world.request(SourceKind::Sparse) };
        let error = world.externals().add(&request).unwrap_err();
        assert!(matches!(error, ExternalsError::BadPath { .. }), "{path:?}: {error}");
    }
}

#[test]
fn a_lock_by_a_stranger_is_checked_line_by_line() {
    let world = World::new();
    world.add(SourceKind::Sparse);
    let lock = read(&world.project, "third_party/externals.lock");
    let head = world.head();
    for (from, to, line) in [
        ("flash attention:", "../../x:", 6),
        ("flash attention:", ".git:", 6),
        ("- src/deep", "- ../../../x", 12),
        (world.url(), "ext::sh -c id", 7),
        (world.url(), "--upload-pack=id", 7),
        (&head, "HEAD", 9),
        ("kind: sparse", "kind: magic", 6),
        ("kind: sparse", "kind: sparse\n    shell: id", 7),
        ("- LICENSE", "- ../../../../etc/passwd", 14),
        ("version: 1", "version: 2", 3),
    ] {
        write(&world.project, "third_party/externals.lock", &lock.replace(from, to));
        let error = world.externals().sync(&SyncRequest::default()).unwrap_err();
        match &error {
            ExternalsError::LockShape { line: found, .. } => assert_eq!(*found, line, "{to}: {error}"),
            other => panic!("{to}: {other}"),
        }
    }
    assert_eq!(files(&world.project).len(), 5);
}

#[test]
fn nothing_is_written_through_a_link() {
    for (link, is_folder) in [("third_party", true), ("third_party/github", true), (".gitmodules", false)] {
        let world = World::new();
        let outside = world.dir.path().join("outside");
        if is_folder {
            fs::create_dir(&outside).unwrap()
        } else {
            fs::write(&outside, "").unwrap()
        }
        let path = world.project.join(link);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(&outside, path).unwrap();
        let error = world.externals().add(&world.request(SourceKind::Submodule)).unwrap_err();
        assert!(matches!(error, ExternalsError::LinkedFolder { .. }), "{link}: {error}");
        if is_folder {
            assert!(files(&outside).is_empty());
        } else {
            assert_eq!(read(world.dir.path(), "outside"), "");
        }
    }
    let world = World::new();
    let outside = world.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::create_dir_all(world.project.join("third_party/github")).unwrap();
    for kind in GIT_KINDS {
        drop(fs::remove_file(world.place()));
        symlink(&outside, world.place()).unwrap();
        let error = world.externals().add(&world.request(kind)).unwrap_err();
        assert!(
            matches!(error, ExternalsError::InTheWay { found: "a symbolic link", .. }),
            "{kind}: {error}"
        );
    }
    assert!(files(&outside).is_empty());
}

#[test]
fn hooks_of_the_project_are_not_run() {
    let world = World::new();
    let witness = world.dir.path().join("witness");
    for hook in
        ["reference-transaction", "post-index-change", "post-checkout", "pre-auto-gc", "fsmonitor-watchman"]
    {
        let path = world.project.join(".git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\necho {hook} >> '{}'\n", witness.display())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for kind in GIT_KINDS {
        let request = AddRequest { name: Some(kind.name().into()), ..world.request(kind) };
        world.externals().add(&request).unwrap();
    }
    world.externals().status().unwrap();
    assert!(!witness.exists(), "{}", fs::read_to_string(&witness).unwrap());
    git(&world.project, &["add", "README.md"]);
    git(&world.project, &["commit", "--quiet", "-m", "x"]);
    assert!(witness.exists(), "the witness must be able to speak");
}

#[test]
fn a_network_url_never_leads_to_a_local_repository() {
    let world = World::new();
    let url = "https://example.invalid/x";
    git(&world.project, &["config", &format!("url.{}.insteadOf", world.url()), url]);
    let request = AddRequest { url: url.to_owned(), ..world.request(SourceKind::Subtree) };
    let error = world.externals().add(&request).unwrap_err();
    assert!(error.to_string().contains("transport 'file' not allowed"), "{error}");
    assert_eq!(files(&world.project), ["README.md"]);
}
