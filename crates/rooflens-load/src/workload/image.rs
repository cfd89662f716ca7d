//! Images as data URLs.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use rand::Rng as _;
use rand_chacha::ChaCha8Rng;

use super::error::{OpenWorkloadError, unreadable};

const SIGNATURE: [u8; 8] = [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n'];

pub(super) fn file_url(path: &Path) -> Result<Arc<str>, OpenWorkloadError> {
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    let kind =
        media_type(&bytes).ok_or_else(|| format!("{}: not a PNG, JPEG, WebP or GIF", path.display()))?;
    Ok(data_url(kind, &bytes).into())
}

fn media_type(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(&SIGNATURE) {
        Some("image/png")
    } else if bytes.starts_with(&[0xff, 0xd8, 0xff]) {
        Some("image/jpeg")
    } else if bytes.starts_with(b"GIF8") {
        Some("image/gif")
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else {
        None
    }
}

fn data_url(kind: &str, bytes: &[u8]) -> String {
    let mut url = format!("data:{kind};base64,");
    STANDARD.encode_string(bytes, &mut url);
    url
}

pub(super) fn noise_url(width: u32, height: u32, rng: &mut ChaCha8Rng) -> Arc<str> {
    data_url("image/png", &noise_png(width, height, rng)).into()
}

/// A PNG of 8-bit RGB noise. Noise does not compress, so it is stored.
fn noise_png(width: u32, height: u32, rng: &mut ChaCha8Rng) -> Vec<u8> {
    let row_bytes = width as usize * 3;
    let mut rows = vec![0; (row_bytes + 1) * height as usize];
    for row in rows.chunks_exact_mut(row_bytes + 1) {
        // The first byte of a row is its filter: 0, none.
        rng.fill_bytes(&mut row[1..]);
    }
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    // Bit depth, RGB, and the only compression, filter and interlacing.
    header.extend([8, 2, 0, 0, 0]);
    let mut png = SIGNATURE.to_vec();
    append_chunk(&mut png, b"IHDR", &header);
    append_chunk(&mut png, b"IDAT", &deflated(&rows));
    append_chunk(&mut png, b"IEND", &[]);
    png
}

fn deflated(rows: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(rows.len() + 64), Compression::none());
    // Writing to memory cannot fail; were it to, the picture would be empty, not wrong.
    encoder.write_all(rows).and_then(|()| encoder.finish()).unwrap_or_default()
}

fn append_chunk(png: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    png.extend((data.len() as u32).to_be_bytes());
    png.extend(kind);
    png.extend(data);
    let mut crc = Crc::new();
    crc.update(kind);
    crc.update(data);
    png.extend(crc.sum().to_be_bytes());
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use rand::SeedableRng;

    use super::*;

    #[test]
    fn a_png_holds_its_size_and_as_many_bytes_as_pixels_need() {
        let png = noise_png(5, 3, &mut ChaCha8Rng::seed_from_u64(1));
        assert_eq!(&png[..8], SIGNATURE);
        assert_eq!(
            &png[8..29],
            [&13_u32.to_be_bytes()[..], b"IHDR", &[0, 0, 0, 5, 0, 0, 0, 3, 8, 2, 0, 0, 0]].concat()
        );
        let data_len = u32::from_be_bytes(png[33..37].try_into().unwrap()) as usize;
        assert_eq!(&png[37..41], b"IDAT");
        let mut rows = Vec::new();
        flate2::read::ZlibDecoder::new(&png[41..41 + data_len]).read_to_end(&mut rows).unwrap();
        assert_eq!(rows.len(), 3 * (1 + 5 * 3));
        assert!(rows.chunks(16).all(|row| row[0] == 0));
        // The checksum of an empty IEND is known to everyone who ever looked at a PNG.
        assert!(png.ends_with(b"IEND\xae\x42\x60\x82"));
    }

    #[test]
    fn every_image_has_its_own_noise() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let urls = [noise_url(2, 2, &mut rng), noise_url(2, 2, &mut rng)];
        assert!(urls[0].starts_with("data:image/png;base64,iVBOR"));
        assert_ne!(urls[0], urls[1]);
    }

    #[test]
    fn files_that_are_no_images_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        std::fs::write(&path, "text").unwrap();
        assert!(file_url(&path).is_err());
    }
}
