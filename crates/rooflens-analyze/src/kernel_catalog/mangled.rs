//! The identifiers in a mangled C++ name.
//!
//! Kineto demangles what it can; names that are too long, and many of AMD's, stay as the compiler wrote
//! them. No demangler is needed to read them: the Itanium scheme writes every identifier as its length
//! and its letters (`_ZN5aiter12rmsnorm_quant…`), and what stands between can be stepped over.

/// The identifiers of a name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Identifiers<'a> {
    pub(super) path: Vec<&'a str>,
    pub(super) rest: Vec<&'a str>,
}

/// Reads a mangled name; `None` if it is not one.
pub(super) fn identifiers(name: &str) -> Option<Identifiers<'_>> {
    let text = name.strip_prefix("_Z")?;
    let mut found = Identifiers { path: Vec::new(), rest: Vec::new() };
    let bytes = text.as_bytes();
    let nested = bytes.first() == Some(&b'N');
    let mut in_path = true;
    let mut at = usize::from(nested);
    while let Some(&byte) = bytes.get(at) {
        if byte.is_ascii_digit() {
            let (identifier, next) = length_prefixed(text, at);
            at = next;
            match identifier {
                Some(word) if word.starts_with("_GLOBAL__") => {}
                Some(word) if in_path => found.path.push(word),
                // One identifier right after another is inside it: a namespace says little.
                Some(word) if !bytes.get(at).is_some_and(u8::is_ascii_digit) => found.rest.push(word),
                Some(_) | None => {}
            }
            in_path &= nested;
        } else {
            // The path ends where template arguments begin (I) or the nested name ends (E).
            if matches!(byte, b'I' | b'E') && !found.path.is_empty() {
                in_path = false;
            }
            at = step_over(bytes, at);
        }
    }
    (!found.path.is_empty()).then_some(found)
}

/// Reads `<length><letters>` at a digit: the letters if they are an identifier, and where to go on.
fn length_prefixed(text: &str, at: usize) -> (Option<&str>, usize) {
    let digits = text.as_bytes()[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let start = at + digits;
    let word =
        text[at..start].parse::<usize>().ok().and_then(|length| text.get(start..start.checked_add(length)?));
    let is_identifier = |word: &&str| {
        word.bytes().next().is_some_and(|first| first == b'_' || first.is_ascii_alphabetic())
            && word.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
    };
    match word.filter(is_identifier) {
        Some(word) => (Some(word), start + word.len()),
        None => (None, start),
    }
}

/// Where to go on after something that is no identifier, so that its digits are not taken for a length.
fn step_over(bytes: &[u8], at: usize) -> usize {
    let run =
        |from: usize, accept: fn(&u8) -> bool| bytes[from..].iter().take_while(|byte| accept(byte)).count();
    let next = bytes.get(at + 1).copied().unwrap_or(0);
    match bytes[at] {
        // Substitutions: S_, S1_, SA_; St and others are two letters.
        b'S' if next.is_ascii_lowercase() => at + 2,
        b'S' | b'T' => at + 1 + run(at + 1, |byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()),
        // Literals of a built-in type: Li128E, Lb0E, Lm4E, Lin1E.
        b'L' if next.is_ascii_lowercase() => {
            let digits = at + 2 + run(at + 2, |byte| byte.is_ascii_digit() || *byte == b'n');
            digits + usize::from(bytes.get(digits) == Some(&b'E'))
        }
        // Literals of an enum end in E<value>E.
        b'E' if next.is_ascii_digit() => {
            let digits = at + 1 + run(at + 1, |byte| byte.is_ascii_digit());
            if bytes.get(digits) == Some(&b'E') { digits + 1 } else { at + 1 }
        }
        // _Float16 and __bf16: DF16_ and DF16b.
        b'D' if next == b'F' => at + 2 + run(at + 2, |byte| byte.is_ascii_digit()),
        _ => at + 1,
    }
}
