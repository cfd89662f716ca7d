//! Linked sources, submodules in `.gitmodules`, and updates to the newest commit; with real git.

use super::externals::World;
use super::*;

fn gitmodules(world: &World, key: &str) -> String {
    let key = format!("submodule.third_party/github/upstream.{key}");
    git(&world.project(), &["config", "--file", ".gitmodules", "--get", &key])
}

fn lock(world: &World) -> String {
    std::fs::read_to_string(world.project().join("third_party/externals.lock")).unwrap()
}

fn advance(world: &World, text: &str) -> String {
    world.folder.write("upstream/src/kernel.cu", text.as_bytes());
    let upstream = world.folder.path("upstream");
    git(&upstream, &["commit", "--quiet", "-a", "-m", text.trim()]);
    git(&upstream, &["rev-parse", "HEAD"])
}

#[test]
fn parity_145_a_link_is_recorded_ignored_and_verified_without_a_warning() {
    let world = World::new();
    let added = world.externals(&["add", "../upstream", "--kind", "link"]).fine();
    assert!(added.starts_with("upstream  link  HEAD (") && added.contains("licence LICENSE"), "{added}");
    let place = world.project().join("third_party/github/upstream");
    assert_eq!(
        std::fs::read_link(&place).unwrap(),
        std::fs::canonicalize(world.folder.path("upstream")).unwrap()
    );
    let status = world.externals(&["status"]);
    assert_eq!(status.stderr, "");
    assert!(status.fine().contains("  in sync  "));
    assert!(world.externals(&["sync"]).fine().contains("in sync"));
    world.commit("link");
    assert!(!git(&world.project(), &["ls-files"]).contains("third_party/github/upstream"));
    assert_eq!(git(&world.project(), &["status", "--porcelain"]), "");
    // What is behind the link stays its owner's: writable, and edits are only told.
    world.folder.write("upstream/src/kernel.cu", b"mine\n");
    let edited = world.externals(&["status"]);
    assert_eq!(edited.stderr, "upstream: src/kernel.cu edited in the linked checkout\n");
    assert!(edited.fine().contains("  in sync  "));
    assert!(world.externals(&["sync", "--force"]).fine().contains("in sync"));
    assert_eq!(std::fs::read(world.folder.path("upstream/src/kernel.cu")).unwrap(), b"mine\n");
    // It comes back where it is missing.
    std::fs::remove_file(&place).unwrap();
    assert!(world.externals(&["status"]).fine().contains("  missing  "));
    assert!(world.externals(&["sync"]).fine().contains("fetched"));
    assert!(place.join("LICENSE").is_file());
}

#[test]
fn parity_145_a_link_to_another_state_is_told() {
    let world = World::new();
    world.externals(&["add", "../upstream", "--kind", "link"]).fine();
    advance(&world, "two\n");
    assert!(world.externals(&["status"]).fine().contains("  at another commit  "));
    world.externals(&["sync"]).fails(5, "").hints("rooflens externals update upstream");
    assert!(world.externals(&["update", "--yes"]).fine().contains("updated"));
    assert!(world.externals(&["status"]).fine().contains("  in sync  "));
    // On another machine the checkout is elsewhere: the same name leads there.
    git(world.folder.0.path(), &["clone", "--quiet", "upstream", "other"]);
    world.externals(&["add", "../other", "--kind", "link", "--name", "upstream"]).fine();
    let place = world.project().join("third_party/github/upstream");
    assert_eq!(
        std::fs::read_link(place).unwrap(),
        std::fs::canonicalize(world.folder.path("other")).unwrap()
    );
    std::fs::remove_dir_all(world.folder.path("other")).unwrap();
    world.externals(&["sync"]).fails(3, "is not a git checkout");
    for (args, fact) in [
        (&["add", "https://example.invalid/x", "--kind", "link"][..], "absolute path"),
        (&["add", "../upstream", "--kind", "link", "--name", "x", "--revision", "v1"], "what is checked out"),
        (&["add", "../upstream", "--kind", "link", "--name", "x", "--path", "src"], "takes paths"),
    ] {
        world.externals(args).fails(2, fact);
    }
}

#[test]
fn parity_146_a_submodule_is_quiet_frozen_and_shallow() {
    let world = World::new();
    advance(&world, "two\n");
    // Git clones a plain path whole; a server, or file://, sends one commit.
    world.externals(&["add", &format!("file://{}", world.folder.text("upstream"))]).fine();
    assert_eq!(["ignore", "update", "shallow"].map(|key| gitmodules(&world, key)), ["dirty", "none", "true"]);
    let place = world.project().join("third_party/github/upstream");
    assert_eq!(git(&place, &["rev-list", "--count", "HEAD"]), "1");
    world.commit("pin");
    // Local edits do not show in `git status`; `rooflens externals status` tells them.
    world.edit("third_party/github/upstream/src/kernel.cu");
    assert_eq!(git(&world.project(), &["status", "--porcelain"]), "");
    assert!(world.externals(&["status"]).fine().contains("  edited  "));
    assert!(world.externals(&["sync", "--force"]).fine().contains("repaired"));
    // In a clone, git leaves it alone and `sync` brings it.
    git(world.folder.0.path(), &["clone", "--quiet", "project", "clone"]);
    let clone = world.folder.path("clone");
    git(&clone, &["submodule", "update", "--init"]);
    assert!(!clone.join("third_party/github/upstream/LICENSE").exists());
    world.externals_in(&clone, &["sync"]).fine();
    assert!(clone.join("third_party/github/upstream/LICENSE").is_file());
    assert_eq!(git(&clone, &["status", "--porcelain"]), "");
    // What the user has set stays.
    let key = "submodule.third_party/github/upstream.ignore";
    git(&world.project(), &["config", "--file", ".gitmodules", key, "none"]);
    advance(&world, "three\n");
    world.externals(&["update", "--yes"]).fine();
    assert_eq!(["ignore", "update"].map(|key| gitmodules(&world, key)), ["none", "none"]);
}

#[test]
fn parity_147_update_moves_to_the_newest_commit_and_records_both() {
    let world = World::new();
    let one = git(&world.folder.path("upstream"), &["rev-parse", "HEAD"]);
    world.externals(&["add", "../upstream", "--revision", "main"]).fine();
    world.externals(&["add", "../upstream", "--kind", "subtree", "--name", "tree"]).fine();
    world.externals(&["add", "../upstream", "--path", "src", "--name", "some"]).fine();
    world
        .externals(&["add", "../upstream", "--kind", "subtree", "--name", "fixed", "--revision", &one])
        .fine();
    world.externals(&["add", "../upstream", "--kind", "subtree", "--name", "tag", "--revision", "v1"]).fine();
    world.commit("pin");
    let current = world.externals(&["update"]).fine();
    assert_eq!(current.matches("up to date").count(), 4, "{current}");
    assert!(!lock(&world).contains("previous: "), "{}", lock(&world));

    let two = advance(&world, "two\n");
    let before = tree(&world.project());
    let dry = world.externals(&["update", "--dry-run"]);
    assert_eq!(dry.stderr, "nothing was done\n");
    let arrow = format!("{} -> {}", &one[..12], &two[..12]);
    let plan = dry.fine();
    assert_eq!(plan.matches(&format!("behind      {arrow}")).count(), 3, "{plan}");
    let refused = world.externals(&["update"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
    assert!(refused.hint().contains("--yes"), "{}", refused.stderr);
    assert_eq!(tree(&world.project()), before);

    let json = world.externals(&["update", "--yes", "--format", "json"]).json();
    assert_eq!(json["schema"]["name"], "rooflens.externals-update");
    assert_eq!(json["changes"], 3);
    let states: Vec<&str> =
        json["sources"].as_array().unwrap().iter().map(|row| row["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["fixed", "updated", "current", "updated", "updated"]);
    for name in ["upstream", "tree", "some"] {
        let file = world.project().join(format!("third_party/github/{name}/src/kernel.cu"));
        assert_eq!(std::fs::read(file).unwrap(), b"two\n", "{name}");
    }
    assert_eq!(
        std::fs::read(world.project().join("third_party/github/tag/src/kernel.cu")).unwrap(),
        b"one\n"
    );
    assert_eq!(lock(&world).matches(&format!("previous: {one}")).count(), 3, "{}", lock(&world));
    assert_eq!(world.externals(&["status", "--format", "json"]).json()["in_sync"], true);
    world.commit("update");
    assert!(world.externals(&["update"]).fine().matches("up to date").count() == 4);
}

#[test]
fn parity_147_update_refuses_a_dirty_checkout_and_goes_on_with_the_others() {
    let world = World::new();
    world.externals(&["add", "../upstream"]).fine();
    world.externals(&["add", "../upstream", "--kind", "subtree", "--name", "tree"]).fine();
    world.commit("pin");
    advance(&world, "two\n");
    world.edit("third_party/github/upstream/src/kernel.cu");
    world.externals(&["update", "upstream", "--yes"]).fails(2, "has local edits: src/kernel.cu");
    let both = world.externals(&["update", "--yes"]);
    assert_eq!(both.code, 2);
    assert!(both.stdout.contains("failed") && both.stdout.contains("updated"), "{}", both.stdout);
    let kept = world.project().join("third_party/github/upstream/src/kernel.cu");
    assert_eq!(std::fs::read(kept).unwrap(), b"mine\n");
    let unknown = world.externals(&["update", "upstraem"]);
    assert!(unknown.hint().contains("did you mean 'upstream'?"), "{}", unknown.stderr);
    // A remote out of reach fails its row alone.
    std::fs::rename(world.folder.path("upstream"), world.folder.path("away")).unwrap();
    world.externals(&["update", "tree", "--yes"]).fails(3, "cannot be reached");
}
