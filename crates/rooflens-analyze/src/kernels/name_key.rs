//! One kernel, three spellings. Nsight Systems writes `(int)7` and whole paths, Nsight Compute `7` and
//! last parts only, Kineto as Nsight Systems but without casts.

/// A name with what differs between tools taken out: casts of numbers, paths, blanks, unnamed namespaces.
/// Names that differ in more stay different.
pub fn name_key(name: &str) -> String {
    // Nsight Compute cuts paths at their last colons, and with `at::(lambda) const::[` a part of the name.
    let name = mended(name).replace("const::[", "").replace("const [", "");
    let mut key = String::with_capacity(name.len());
    let mut rest = name.as_str();
    while let Some(char) = rest.chars().next() {
        if let Some(after) = cast(rest) {
            rest = after;
        } else if is_word(char) {
            let end = rest.find(|char| !is_word(char)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            match after.strip_prefix("::") {
                Some(inner) if inner.starts_with(|next: char| is_word(next)) => rest = inner,
                _ => {
                    key.push_str(word);
                    rest = after;
                }
            }
        } else {
            if !char.is_whitespace() {
                key.push(char);
            }
            rest = &rest[char.len_utf8()..];
        }
    }
    key
}

/// An expression that the name matches in each of the three spellings, and other kernels do not. It holds no
/// colon, at which `ncu --kernel-id` would split it: what joins a path is any two signs.
pub fn name_pattern(name: &str) -> String {
    const PATH: &str = r"([\w<>() ]*[^\w ,<>()]{2})*";
    const CAST: &str = r"(\([\w ]+\))?";
    let mut pattern = String::with_capacity(2 * name.len());
    let name = mended(name);
    let mut rest = name.as_str();
    while let Some(char) = rest.chars().next() {
        if let Some(after) = cast(rest).or(Some(rest).filter(|_| begins_number(rest, &pattern))) {
            let end = after.find(|char: char| char != '-' && !is_word(char)).unwrap_or(after.len());
            pattern.push_str(CAST);
            pattern.push_str(&after[..end]);
            rest = &after[end..];
        } else if let Some(after) = [" const::[", "const::["].iter().find_map(|cut| rest.strip_prefix(cut)) {
            pattern.push_str(r"( *const..\[| *const \[)? *");
            rest = after;
        } else if is_word(char) {
            let end = rest.find(|char| !is_word(char)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            match after.strip_prefix("::") {
                Some(inner) if inner.starts_with(is_word) => rest = inner,
                _ => {
                    pattern.push_str(PATH);
                    pattern.push_str(word);
                    rest = after;
                }
            }
        } else {
            match char {
                ':' => pattern.push('.'),
                char if char.is_whitespace() => pattern.push_str(" *"),
                // `> >` and `>>` are the same.
                '>' => pattern.push_str(" *>"),
                // Only what is special: `\<` would be the beginning of a word.
                '.' | '^' | '$' | '|' | '(' | ')' | '[' | ']' | '{' | '}' | '*' | '+' | '?' | '\\' => {
                    pattern.extend(['\\', char]);
                }
                char => pattern.push(char),
            }
            rest = &rest[char.len_utf8()..];
        }
    }
    pattern
}

/// A name without unnamed namespaces, also where a tool cut the path before one and left `unnamed>::`.
pub fn mended(name: &str) -> String {
    const CUT: &str = "unnamed>::";
    let name = name.replace("(anonymous namespace)::", "");
    let mut out = String::with_capacity(name.len());
    let mut rest = name.as_str();
    while let Some((before, after)) = rest.split_once(CUT) {
        let whole = before.strip_suffix('<');
        // `Name<unnamed>::Type` is `Name<` and a path that was cut; `at::<unnamed>::Type` is whole.
        let is_cut = whole.is_some_and(|before| before.ends_with(is_word));
        out.push_str(whole.filter(|_| !is_cut).unwrap_or(before));
        rest = after;
    }
    out + rest
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// Whether a number begins here: a digit that goes on no word, or a minus before one.
fn begins_number(text: &str, before: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.starts_with(|next: char| next.is_ascii_digit()) && !before.ends_with(is_word)
}

fn cast(text: &str) -> Option<&str> {
    let (inside, after) = text.strip_prefix('(')?.split_once(')')?;
    let is_type = !inside.is_empty() && inside.chars().all(|char| is_word(char) || matches!(char, ' ' | ':'));
    let number = after.strip_prefix('-').unwrap_or(after).starts_with(|next: char| next.is_ascii_digit());
    (is_type && number).then_some(after)
}
