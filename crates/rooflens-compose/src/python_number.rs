//! The characters of a number, as Python's `int()` and `float()` take them.

/// The zeros of Unicode's decimal digits (Unicode 14, as Python 3.11 has it); nine more follow each.
const DIGIT_ZEROS: &[u32] = &[
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6, 0xe50, 0xed0,
    0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0, 0x1c40, 0x1c50,
    0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x10d30, 0x11066, 0x110f0,
    0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0, 0x11950, 0x11c50,
    0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6, 0x1e140,
    0x1e2f0, 0x1e950, 0x1fbf0,
];

/// A number's text without the spaces around it, its digits those of ASCII. Python's wider notion of
/// a space, which has U+001C to U+001F in it, is not asked here.
pub(crate) fn ascii_number(text: &str) -> String {
    let is_space = |char: char| match char {
        '\t'..='\r' | ' ' => true,
        char => !char.is_ascii() && char.is_whitespace(),
    };
    text.trim_matches(is_space).chars().map(ascii_digit).collect()
}

fn ascii_digit(char: char) -> char {
    if char.is_ascii() {
        return char;
    }
    let code = u32::from(char);
    let zero = DIGIT_ZEROS[..DIGIT_ZEROS.partition_point(|zero| *zero <= code)].last();
    zero.and_then(|zero| char::from_digit(code - zero, 10)).unwrap_or(char)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_every_script_and_spaces_around() {
        for (text, ascii) in [
            (" 12\n", "12"),
            ("\u{85}\u{661}\u{662}\u{a0}", "12"),
            ("１.５", "1.5"),
            ("\u{1d7ff}", "9"),
            ("\u{1c}1", "\u{1c}1"),
            ("\u{1c}１", "\u{1c}1"),
            ("²", "²"),
        ] {
            assert_eq!(ascii_number(text), ascii, "{text:?}");
        }
        assert!(DIGIT_ZEROS.is_sorted());
    }
}
