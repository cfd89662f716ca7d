//! Bodies that the server compressed, inflated frame by frame.

use std::io::{self, Write};

use flate2::write::GzDecoder;

/// One frame may become this much text: a small body that inflates without end does not fill memory.
const MAX_INFLATED_BYTES: usize = 64 << 20;

#[derive(Debug)]
pub(crate) struct Inflater {
    decoder: GzDecoder<Bounded>,
}

#[derive(Debug, Default)]
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > MAX_INFLATED_BYTES {
            return Err(io::Error::other("a frame inflates to too many bytes"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Default for Inflater {
    fn default() -> Self {
        Inflater { decoder: GzDecoder::new(Bounded::default()) }
    }
}

impl Inflater {
    /// All text that the bytes so far allow to know, since the last call.
    pub(crate) fn inflate(&mut self, frame: &[u8]) -> io::Result<&[u8]> {
        self.decoder.get_mut().0.clear();
        self.decoder.write_all(frame)?;
        self.decoder.flush()?;
        Ok(&self.decoder.get_ref().0)
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn each_flushed_part_is_there_with_its_last_byte() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let mut inflater = Inflater::default();
        for part in ["data: a\n\n", "data: b\n\n", "data: [DONE]\n\n"] {
            encoder.write_all(part.as_bytes()).unwrap();
            encoder.flush().unwrap();
            let packed = std::mem::take(encoder.get_mut());
            let mut text = Vec::new();
            for byte in packed.chunks(1) {
                text.extend_from_slice(inflater.inflate(byte).unwrap());
            }
            assert_eq!(text, part.as_bytes());
        }
    }

    #[test]
    fn other_bytes_are_an_error() {
        assert!(Inflater::default().inflate(b"data: this is no gzip at all\n\n").is_err());
    }
}
