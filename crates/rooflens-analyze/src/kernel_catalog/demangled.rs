//! The function and the identifiers in a demangled C++ name.

/// How demanglers write a namespace without a name.
pub(super) const ANONYMOUS: [&str; 2] = ["(anonymous namespace)", "<unnamed>"];

/// The function in a demangled name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function<'a> {
    /// Namespaces and the function, without template arguments.
    pub(super) path: Vec<&'a str>,
    pub(super) arguments: &'a str,
    pub(super) end: usize,
}

impl<'a> Function<'a> {
    /// Reads `type namespace::function<arguments>(parameters)`. Brackets that do not match are taken as
    /// they come.
    pub(super) fn of(name: &'a str) -> Self {
        let bytes = name.as_bytes();
        let mut path = Vec::new();
        // The bracket pairs open at this place, innermost last; `parentheses` counts the round ones
        // among them.
        let mut open: Vec<u8> = Vec::new();
        let mut parentheses = 0usize;
        let mut part = 0;
        let mut part_end = None;
        let mut arguments = "";
        let mut arguments_start = 0;
        let mut at = 0;
        while at < bytes.len() {
            if matches!(bytes[at], b'(' | b'<')
                && let Some(word) = ANONYMOUS.iter().find(|word| bytes[at..].starts_with(word.as_bytes()))
            {
                at += word.len();
                if open.is_empty() {
                    part_end = Some(part);
                }
                continue;
            }
            let outside = open.is_empty();
            match bytes[at] {
                b'(' if outside => break,
                b'<' | b'(' => {
                    if outside {
                        part_end = part_end.or(Some(at));
                        arguments_start = at + 1;
                    }
                    parentheses += usize::from(bytes[at] == b'(');
                    open.push(bytes[at]);
                }
                b'>' if open.last() == Some(&b'<') && bytes[at - 1] != b'-' => {
                    open.pop();
                    if open.is_empty() {
                        arguments = &name[arguments_start..at];
                    }
                }
                b')' if parentheses > 0 => {
                    parentheses -= 1;
                    while open.pop().is_some_and(|bracket| bracket != b'(') {}
                }
                b':' if outside && bytes.get(at + 1) == Some(&b':') => {
                    push_part(&mut path, name, part, part_end.unwrap_or(at));
                    at += 1;
                    (part, part_end, arguments) = (at + 1, None, "");
                }
                // What stood before a space was the return type.
                b' ' if outside => {
                    path.clear();
                    (part, part_end, arguments) = (at + 1, None, "");
                }
                _ => {}
            }
            at += 1;
        }
        if !open.is_empty() {
            arguments = &name[arguments_start.min(at)..at];
        }
        push_part(&mut path, name, part, part_end.unwrap_or(at));
        Self { path, arguments, end: at }
    }
}

fn push_part<'a>(path: &mut Vec<&'a str>, name: &'a str, start: usize, end: usize) {
    if let Some(part) = name.get(start..end).filter(|part| !part.is_empty()) {
        path.push(part);
    }
}

pub(super) fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |letter: char| letter == '_' || letter.is_ascii_alphanumeric();
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(is_part)?;
            let word = &rest[start..];
            let end = word.find(|letter| !is_part(letter)).unwrap_or(word.len());
            let word = &word[..end];
            rest = &rest[start + end..];
            if !word.starts_with(|first: char| first.is_ascii_digit()) && !rest.starts_with("::") {
                return Some(word);
            }
        }
    })
}

/// The tile of a CUTLASS 3 kernel: its first `tuple<C<128>, C<128>, C<64>>`. Smaller tuples are cluster
/// shapes.
pub(super) fn cute_tile(arguments: &str) -> Option<String> {
    const SMALLEST: u32 = 8;
    arguments.split("tuple<").skip(1).find_map(|tuple| {
        let mut rest = tuple;
        let mut sides = [0u32; 3];
        for side in &mut sides {
            rest = rest.trim_start_matches([',', ' ']);
            rest = rest.strip_prefix("cute::").unwrap_or(rest);
            rest = rest.strip_prefix("C<")?;
            rest = rest.strip_prefix("(int)").unwrap_or(rest);
            let (number, after) = rest.split_once('>')?;
            *side = number.parse().ok()?;
            rest = after;
        }
        let [m, n, k] = sides;
        let whole = rest.trim_start().starts_with('>') && sides.iter().all(|side| *side >= SMALLEST);
        whole.then(|| format!("{m}x{n}x{k}"))
    })
}
