//! Paths of keys: `a.b[0].c`.

/// The keys of a path, as OmegaConf splits it: `a.b[c]` has three, and each leading dot gives an
/// empty one first.
///
/// There is no wrong path: what OmegaConf cannot read between two keys it passes over, and so does
/// this.
#[must_use]
pub fn split_key(path: &str) -> Vec<String> {
    let find = |from: usize, wanted: [char; 2]| path[from..].find(wanted).map_or(path.len(), |at| from + at);
    let dots = path.len() - path.trim_start_matches('.').len();
    let mut at = find(dots, ['.', '[']);
    let mut keys: Vec<String> = path[..at].split('.').map(str::to_owned).collect();
    if path[at..].starts_with('[') && keys.last().is_some_and(String::is_empty) {
        // A path that begins with a bracket has no key before it.
        keys.pop();
    }
    // Where the next bracket would end, kept so that many open ones do not each look for it.
    let mut stop = 0;
    while at < path.len() {
        let inside = at + 1;
        if path[at..].starts_with('.') {
            at = find(inside, ['.', '[']);
            keys.push(path[inside..at].to_owned());
            continue;
        }
        if stop < inside {
            stop = find(inside, [']', '\n']);
        }
        // A bracket that is not closed on its line is no key.
        let closed = path[stop..].starts_with(']');
        if closed {
            keys.push(path[inside..stop].to_owned());
        }
        at = find(if closed { stop + 1 } else { inside }, ['.', '[']);
    }
    keys
}
