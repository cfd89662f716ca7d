//! Base64 as Python's `base64.decodebytes` and `encodebytes` have it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes of one encoded line.
const LINE_BYTES: usize = 57;

/// Decodes, passing over characters outside the alphabet; none where the padding is wrong.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut place, mut pads) = (0u8, 0u8, 0u8);
    for byte in text.bytes() {
        if byte == b'=' {
            if place >= 2 {
                pads += 1;
                if place + pads >= 4 {
                    return Some(out);
                }
            }
            continue;
        }
        let Some(six) = ALPHABET.iter().position(|known| *known == byte) else { continue };
        let six = u8::try_from(six).unwrap_or(0);
        pads = 0;
        match place {
            0 => held = six,
            1 => {
                out.push(held << 2 | six >> 4);
                held = six & 0xf;
            }
            2 => {
                out.push(held << 4 | six >> 2);
                held = six & 0x3;
            }
            _ => out.push(held << 6 | six),
        }
        place = (place + 1) % 4;
    }
    (place == 0).then_some(out)
}

/// Encodes in lines of 76 characters, each ended.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() / 3 * 4 + bytes.len() / LINE_BYTES + 5);
    for line in bytes.chunks(LINE_BYTES) {
        for group in line.chunks(3) {
            let at = |index: usize| group.get(index).copied().unwrap_or(0);
            let sixes =
                [at(0) >> 2, at(0) << 4 & 0x30 | at(1) >> 4, at(1) << 2 & 0x3c | at(2) >> 6, at(2) & 0x3f];
            for (index, six) in sixes.into_iter().enumerate() {
                let letter = ALPHABET[usize::from(six)];
                out.push(if index <= group.len() { char::from(letter) } else { '=' });
            }
        }
        out.push('\n');
    }
    out
}
