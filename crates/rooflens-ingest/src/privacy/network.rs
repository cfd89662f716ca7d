//! Accounts, links and addresses: where a machine stands, and who is on it.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::{begins, replace, run};

/// The text without `user@host.domain`, `user@host:/path` and `scheme://…`.
pub(crate) fn accounts_and_links(text: &str) -> Option<String> {
    if !text.contains('@') && !text.contains("://") {
        return None;
    }
    replace(text, |text, at| {
        if !begins(text, at, ".-") {
            return None;
        }
        let rest = &text[at..];
        let word = &rest[..run(rest, |letter| !letter.is_whitespace() && !"\"'<>()[]{},;".contains(letter))];
        if let Some((scheme, behind)) = word.split_once("://")
            && !scheme.is_empty()
            && scheme.chars().all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter))
            && !behind.is_empty()
        {
            return Some((word.len(), "<link>".to_owned()));
        }
        let (user, behind) = word.split_once('@')?;
        let named = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        let host = &behind[..run(behind, named)];
        // `name@2` is a version and `range@domain` a range; a host has a domain, or a place behind it.
        let is_host = host.trim_end_matches('.').contains('.')
            || behind[host.len()..].starts_with(":/")
            || behind[host.len()..].starts_with(":~");
        let is_account = !user.is_empty()
            && user.chars().all(named)
            && host.starts_with(|letter: char| letter.is_ascii_alphabetic());
        (is_account && is_host).then(|| (user.len() + 1 + host.len(), "<account>".to_owned()))
    })
}

/// The text without network addresses. A machine's own (`127.0.0.1`, `0.0.0.0`, `::1`) tells nothing.
pub(crate) fn addresses(text: &str) -> Option<String> {
    if !text.contains(['.', ':']) {
        return None;
    }
    replace(text, |text, at| {
        if !begins(text, at, ".:-") {
            return None;
        }
        let rest = &text[at..];
        let word = &rest[..run(rest, |letter| letter.is_alphanumeric() || "._:".contains(letter))];
        let digits = &word[..run(word, |letter| letter.is_ascii_digit() || letter == '.')];
        let whole = digits.len() == word.len() || word[digits.len()..].starts_with(':');
        if let Ok(address) = digits.trim_end_matches('.').parse::<Ipv4Addr>()
            && whole
        {
            let own = address.is_loopback() || address.is_unspecified();
            return (!own).then(|| (digits.trim_end_matches('.').len(), "<address>".to_owned()));
        }
        let address = word.parse::<Ipv6Addr>().ok()?;
        // `c10::detail` reads as hexadecimal, too; a real address has more parts than names have.
        let parts = word.split(':').filter(|part| !part.is_empty()).count();
        (parts >= 4 && !address.is_loopback()).then(|| (word.len(), "<address>".to_owned()))
    })
}
