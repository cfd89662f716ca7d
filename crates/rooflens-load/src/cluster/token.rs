//! The secret that a coordinator and its workers share.

use std::fmt;
use std::path::Path;

use ring::{hmac, rand};

use super::error::ClusterError;

pub(super) const NONCE_BYTES: usize = 32;
pub(super) const CODE_BYTES: usize = 32;
/// Shorter ones could be guessed.
const FEWEST_BYTES: usize = 16;

/// The secret that a coordinator and its workers share.
#[derive(Clone)]
pub struct SharedToken(hmac::Key);

impl fmt::Debug for SharedToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("SharedToken(…)")
    }
}

impl SharedToken {
    /// The token of a file, without white space around it.
    pub fn read(path: &Path) -> Result<Self, ClusterError> {
        let error =
            |problem: String| ClusterError(format!("cannot use the token of {}: {problem}", path.display()));
        let bytes = std::fs::read(path).map_err(|source| error(source.to_string()))?;
        Self::new(bytes.trim_ascii()).map_err(error)
    }

    pub(crate) fn new(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() < FEWEST_BYTES {
            return Err(format!("a token should have at least {FEWEST_BYTES} bytes"));
        }
        Ok(SharedToken(hmac::Key::new(hmac::HMAC_SHA256, bytes)))
    }

    /// Keys for one connection, one for each direction. Nonces from both sides make them new every time.
    pub(super) fn keys(&self, worker_nonce: &[u8], coordinator_nonce: &[u8]) -> DirectionKeys {
        let key = |direction: &[u8]| {
            let text = [b"rooflens bench 1 ", direction, worker_nonce, coordinator_nonce].concat();
            hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&self.0, &text).as_ref())
        };
        DirectionKeys { to_worker: key(b"to worker "), to_coordinator: key(b"to coordinator ") }
    }
}

pub(super) struct DirectionKeys {
    pub(super) to_worker: hmac::Key,
    pub(super) to_coordinator: hmac::Key,
}

/// A key and the number of the next message, which the code includes: no message can be repeated or left out.
pub(super) struct Sealer {
    key: hmac::Key,
    next: u64,
}

impl Sealer {
    pub(super) fn new(key: hmac::Key) -> Self {
        Sealer { key, next: 0 }
    }

    fn numbered(&mut self, payload: &[u8]) -> Vec<u8> {
        let number = self.next;
        self.next += 1;
        [&number.to_be_bytes()[..], payload].concat()
    }

    pub(super) fn code(&mut self, payload: &[u8]) -> hmac::Tag {
        let numbered = self.numbered(payload);
        hmac::sign(&self.key, &numbered)
    }

    pub(super) fn check(&mut self, payload: &[u8], code: &[u8]) -> Result<(), ClusterError> {
        let numbered = self.numbered(payload);
        hmac::verify(&self.key, &numbered, code).map_err(|_| ClusterError::wrong_code())
    }
}

/// A number that was never used before.
pub(super) fn nonce() -> Result<[u8; NONCE_BYTES], ClusterError> {
    rand::generate(&rand::SystemRandom::new())
        .map(|random: rand::Random<[u8; NONCE_BYTES]>| random.expose())
        .map_err(|_| ClusterError::protocol("the system has no random numbers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealers(worker: &[u8], coordinator: &[u8]) -> (Sealer, Sealer) {
        let keys = SharedToken::new(b"0123456789abcdef").unwrap().keys(worker, coordinator);
        (Sealer::new(keys.to_worker), Sealer::new(keys.to_coordinator))
    }

    #[test]
    fn messages_cannot_be_changed_repeated_reflected_or_replayed() {
        let (mut sender, _) = sealers(b"a", b"b");
        let code = sender.code(b"hello");
        assert!(sealers(b"a", b"b").0.check(b"hello", code.as_ref()).is_ok());
        assert!(sealers(b"a", b"b").0.check(b"hellp", code.as_ref()).is_err());
        assert!(sealers(b"a", b"b").1.check(b"hello", code.as_ref()).is_err());
        assert!(sealers(b"a", b"c").0.check(b"hello", code.as_ref()).is_err());
        let mut receiver = sealers(b"a", b"b").0;
        receiver.check(b"hello", code.as_ref()).unwrap();
        assert!(receiver.check(b"hello", code.as_ref()).is_err());
    }

    #[test]
    fn tokens_are_read_without_their_line_end_and_must_be_long() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "0123456789abcdef\n").unwrap();
        let read = SharedToken::read(&path).unwrap();
        let code = Sealer::new(read.keys(b"a", b"b").to_worker).code(b"x");
        assert!(sealers(b"a", b"b").0.check(b"x", code.as_ref()).is_ok());
        assert!(!format!("{read:?}").contains("0123"));
        std::fs::write(&path, "short\n\n\n\n\n\n\n\n\n\n\n\n\n").unwrap();
        assert!(SharedToken::read(&path).is_err());
        assert!(SharedToken::read(&folder.path().join("none")).is_err());
    }
}
