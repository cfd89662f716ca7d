//! What a text has, in one look: most have nothing that could be private.

/// Signs of what may be private.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Signs {
    /// `=` right behind a name, `--`, or a zero: values of the environment or of options.
    pub(crate) assigns: bool,
    /// The longest run of letters, digits, `_`, `-` and `.`.
    pub(crate) longest_word: usize,
    /// `@` or `://`.
    pub(crate) points_elsewhere: bool,
    /// Three dots or colons in one run of hexadecimal digits.
    pub(crate) numbers_apart: bool,
    /// `/` or `\`.
    pub(crate) slashes: bool,
}

impl Signs {
    /// The signs of a text.
    pub(crate) fn of(text: &str) -> Self {
        let mut signs = Signs::default();
        let (mut word, mut marks, mut before) = (0, 0, b' ');
        for &byte in text.as_bytes() {
            word = if byte.is_ascii_alphanumeric() || b"_-.".contains(&byte) { word + 1 } else { 0 };
            signs.longest_word = signs.longest_word.max(word);
            match byte {
                b'.' | b':' => marks += 1,
                _ if byte.is_ascii_hexdigit() => {}
                _ => marks = 0,
            }
            signs.numbers_apart |= marks >= 3;
            match byte {
                b'=' => signs.assigns |= before.is_ascii_alphanumeric() || before == b'_',
                b'-' => signs.assigns |= before == b'-',
                0 => signs.assigns = true,
                b'@' => signs.points_elsewhere = true,
                b'/' => {
                    signs.slashes = true;
                    signs.points_elsewhere |= before == b'/';
                }
                b'\\' => signs.slashes = true,
                _ => {}
            }
            before = byte;
        }
        signs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_have_none() {
        let signs = Signs::of("aten::mul, seq = 4, op_id = 12, sizes = [[1, 4096], []]");
        assert_eq!(signs, Signs { longest_word: 5, ..Signs::default() });
        assert!(Signs::of("10.0.0.1").numbers_apart && Signs::of("fe80:0:0:1").numbers_apart);
        assert!(!Signs::of("c10::BFloat16").numbers_apart);
    }
}
