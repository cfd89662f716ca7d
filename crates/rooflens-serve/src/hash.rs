//! Short names of content.

use sha2::{Digest, Sha256};

/// The first bytes of the SHA-256 of something, in hexadecimal.
pub(crate) fn hex_of(bytes: &[u8], length: usize) -> String {
    Sha256::digest(bytes).iter().take(length).map(|byte| format!("{byte:02x}")).collect()
}
