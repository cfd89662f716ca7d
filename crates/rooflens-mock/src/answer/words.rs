//! The text of tokens.

const PLAIN: [&str; 16] = [
    " ba", " ko", " ri", " tu", " se", " no", " mi", " la", " vo", " pe", " du", " fi", " ga", " hu", " je",
    " za",
];
const WIDE: [&str; 8] = [" né", " 🚀a", " ñu", " 漢字", " ça", " 👩‍🔬", " ö", " я"];

/// Text of token `number`; needs no escape in JSON.
pub(super) fn word(number: u64, wide: bool) -> &'static str {
    let words: &[&'static str] = if wide { &WIDE } else { &PLAIN };
    words[(number % words.len() as u64) as usize]
}

/// Its id.
pub(super) fn token_id(number: u64, wide: bool) -> u64 {
    if wide { 2000 + number % WIDE.len() as u64 } else { 1000 + number % PLAIN.len() as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_need_no_escape() {
        for text in PLAIN.iter().chain(&WIDE) {
            assert_eq!(serde_json::to_string(text).unwrap(), format!("\"{text}\""));
        }
        assert!(WIDE.iter().all(|text| text.len() > text.chars().count()));
    }
}
