//! A token that everybody must know, and the cookies of those who gave it. Compared by their HMACs, whose comparison
//! takes the same time whatever is given.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// Name of the cookie.
pub(crate) const COOKIE: &str = "rooflens_session";
/// How long one is good for.
const LASTS: Duration = Duration::from_secs(12 * 3600);
/// Cookies at once; the oldest goes.
const MOST: usize = 256;

pub(crate) struct Tokens {
    key: hmac::Key,
    token: Option<hmac::Tag>,
    sessions: Mutex<VecDeque<(hmac::Tag, Instant)>>,
}

impl Tokens {
    pub(crate) fn new(token: Option<&str>) -> std::io::Result<Self> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new());
        let key = key.map_err(|_| std::io::Error::other("the system gives no random numbers"))?;
        let token = token.map(|token| hmac::sign(&key, token.as_bytes()));
        Ok(Tokens { key, token, sessions: Mutex::default() })
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.token.is_some()
    }

    pub(crate) fn is_token(&self, given: &str) -> bool {
        self.token.as_ref().is_some_and(|token| self.is_same(given, token))
    }

    pub(crate) fn admits(&self, headers: &HeaderMap) -> bool {
        if self.token.is_none() {
            return true;
        }
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
        bearer.is_some_and(|given| self.is_token(given.trim()))
            || cookies(headers).any(|given| self.is_session(given))
    }

    pub(crate) fn begin(&self) -> Option<String> {
        let mut bytes = [0; 32];
        SystemRandom::new().fill(&mut bytes).ok()?;
        let value: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|(_, begun)| begun.elapsed() < LASTS);
        while sessions.len() >= MOST {
            sessions.pop_front();
        }
        sessions.push_back((hmac::sign(&self.key, value.as_bytes()), Instant::now()));
        Some(value)
    }

    pub(crate) fn lasts_s() -> u64 {
        LASTS.as_secs()
    }

    fn is_session(&self, given: &str) -> bool {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.iter().any(|(tag, begun)| begun.elapsed() < LASTS && self.is_same(given, tag))
    }

    fn is_same(&self, given: &str, tag: &hmac::Tag) -> bool {
        hmac::verify(&self.key, given.as_bytes(), tag.as_ref()).is_ok()
    }
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| *name == COOKIE).map(|(_, value)| value).take(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_and_its_cookies_are_let_in() {
        let tokens = Tokens::new(Some("a-long-enough-token")).unwrap();
        let admits = |name: header::HeaderName, value: &str| {
            tokens.admits(&HeaderMap::from_iter([(name, value.parse().unwrap())]))
        };
        assert!(admits(header::AUTHORIZATION, "Bearer a-long-enough-token"));
        for bad in
            ["Bearer ", "Bearer a-long-enough-toke", "a-long-enough-token", "Basic a-long-enough-token"]
        {
            assert!(!admits(header::AUTHORIZATION, bad), "{bad}");
        }
        let cookie = tokens.begin().unwrap();
        assert!(admits(header::COOKIE, &format!("other=1; {COOKIE}={cookie}")));
        assert!(!admits(header::COOKIE, &format!("{COOKIE}=a-long-enough-token")));
        assert!(!admits(header::COOKIE, &format!("{COOKIE}={}", &cookie[1..])));
        assert!(!tokens.admits(&HeaderMap::new()));
        assert!(Tokens::new(None).unwrap().admits(&HeaderMap::new()));
        // Only so many are remembered.
        (0..MOST).for_each(|_| drop(tokens.begin()));
        assert!(!admits(header::COOKIE, &format!("{COOKIE}={cookie}")));
    }
}
