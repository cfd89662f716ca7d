//! Archives that swell, and archives that are damaged.

use std::fs;

use rooflens_project::assets::Unwatched;
use rooflens_project::assets::archive::{ArchiveProblem, Limits, extract};
use tempfile::TempDir;

use crate::assets_support::unpack::{problem, problem_limited, unpack, unpack_limited};
use crate::assets_support::zip_maker::{file, link, zip};
use crate::assets_support::{tar_maker, zip_maker};

#[test]
fn bombs_are_refused() {
    let mut zeros = file("zeros", vec![0; 24 << 20]);
    zeros.is_deflated = true;
    let bomb = zip(&[zeros]);
    assert!(bomb.len() < 100_000);
    assert_eq!(problem(&bomb), ArchiveProblem::TooDense { limit: 200 });
    assert_eq!(
        problem(&tar_maker::gz(&tar_maker::tar(&[("z", b'0', "", &vec![0; 24 << 20])]))),
        ArchiveProblem::TooDense { limit: 200 }
    );

    let limits = Limits { max_bytes: 1000, ..Limits::default() };
    assert_eq!(
        problem_limited(&zip(&[file("a", [0; 600]), file("b", [0; 600])]), limits),
        ArchiveProblem::TooManyBytes { limit: 1000 }
    );

    // Entries that share one body, as in the bombs of David Fifield.
    let shared = zip_maker::Entry { header_of: Some(0), ..file("b", "body") };
    assert_eq!(problem(&zip(&[file("a", "body"), shared])), ArchiveProblem::Overlapping);
}

#[test]
fn a_crowd_of_entries_is_refused_before_it_is_read() {
    let million = zip_maker::crowded(1_000_000);
    assert_eq!(problem(&million), ArchiveProblem::TooManyEntries { limit: 500_000 });

    // A claim with nothing behind it.
    let mut claim = b"PK\x03\x04".to_vec();
    zip_maker::large_end(&mut claim, 1_000_000, 46_000_000, 4);
    assert_eq!(problem(&claim), ArchiveProblem::TooManyEntries { limit: 500_000 });

    // A claim that is too low does not help: no more than that are read.
    let limits = Limits { max_entries: 2, ..Limits::default() };
    assert_eq!(
        problem_limited(&zip(&[file("a", ""), file("b", ""), file("c", "")]), limits),
        ArchiveProblem::TooManyEntries { limit: 2 }
    );
    let tar = tar_maker::tar(&[("a", b'0', "", b""), ("b", b'0', "", b""), ("c", b'0', "", b"")]);
    assert_eq!(problem_limited(&tar, limits), ArchiveProblem::TooManyEntries { limit: 2 });
}

#[test]
fn a_long_header_is_not_kept_in_memory() {
    let name = vec![b'a'; 8 << 20];
    let tar = tar_maker::tar(&[("././@LongLink", b'L', "", &name), ("x", b'0', "", b"")]);
    assert!(
        matches!(problem(&tar_maker::gz(&tar)), ArchiveProblem::Malformed { message } if message.contains("too long"))
    );
    // A directory whose entries are all extra field.
    let limits = Limits { max_entries: 1, ..Limits::default() };
    let mut bytes = zip(&[file("a", "")]);
    bytes.splice(4..4, vec![b'P'; 3 << 20]);
    let (result, left) = unpack_limited(&bytes, limits);
    assert!(result.is_err());
    assert_eq!(left, ["in/"]);
}

#[test]
fn damage_is_refused() {
    let whole = zip(&[file("a", "hello hello hello")]);
    let mut flipped = whole.clone();
    flipped[35] ^= 1;
    assert!(matches!(problem(&flipped), ArchiveProblem::Malformed { .. }));
    for length in (4..whole.len()).step_by(7) {
        let (result, left) = unpack(&whole[..length]);
        assert!(result.is_err(), "{length}");
        assert_eq!(left, ["in/"]);
    }
    let tar = tar_maker::tar(&[("a", b'0', "", &[1; 3000])]);
    assert!(
        matches!(problem(&tar[..2000]), ArchiveProblem::Malformed { message } if message == "it ends early")
    );
    let gz = tar_maker::gz(&tar);
    assert!(matches!(problem(&gz[..gz.len() - 9]), ArchiveProblem::Malformed { .. }));
    let doubled = [&tar[..], &tar[..]].concat();
    assert!(matches!(problem(&doubled), ArchiveProblem::Malformed { .. }));
    assert_eq!(problem(b"hello"), ArchiveProblem::UnknownFormat);
    assert_eq!(problem(b""), ArchiveProblem::UnknownFormat);
    // A size beyond every disk.
    let mut huge = tar_maker::header("a", b'0', "", 0o77_777_777_777);
    huge.extend([0; 1024]);
    assert!(matches!(problem(&huge), ArchiveProblem::Malformed { .. }));
}

/// Any damage at all: an error or an archive, never a panic, never a path outside.
#[test]
fn random_damage_does_no_harm() {
    let mut deflated = file("d/deflated", vec![b'x'; 300]);
    deflated.is_deflated = true;
    let zipped = zip(&[file("d/a", "hello"), deflated, link("l", "d/a"), file("e/", "")]);
    let tar = tar_maker::tar(&[("d/", b'5', "", b""), ("d/a", b'0', "", b"hello"), ("l", b'2', "d/a", b"")]);
    let folder = TempDir::new().unwrap();
    let archive = folder.path().join("archive");
    let into = folder.path().join("to");
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
