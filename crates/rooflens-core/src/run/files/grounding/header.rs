//! The size of a picture and how it is to be turned, from the first bytes of its file.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The orientation of EXIF: 1 is upright, 6 is to be turned to the right.
    pub(crate) orientation: u8,
}

impl Stored {
    /// What the bytes of a PNG, JPEG, GIF or WebP file say; nothing of other files or damaged ones.
    pub(crate) fn of(bytes: &[u8]) -> Option<Stored> {
        let stored = match bytes {
            [0x89, b'P', b'N', b'G', ..] => png(bytes),
            [0xff, 0xd8, ..] => jpeg(bytes),
            [b'G', b'I', b'F', b'8', ..] => gif(bytes),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => webp(bytes),
            _ => None,
        };
        stored.filter(|stored| stored.width > 0 && stored.height > 0)
    }
}

fn take<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn png(bytes: &[u8]) -> Option<Stored> {
    let side = |at: usize| take(bytes, at).map(u32::from_be_bytes);
    let mut orientation = 1;
    let mut at = 8;
    while let (Some(length), Some(kind)) = (side(at), take::<4>(bytes, at + 4)) {
        let end = at.checked_add(8)?.checked_add(length as usize)?;
        match &kind {
            b"eXIf" => orientation = bytes.get(at + 8..end).and_then(tiff_orientation).unwrap_or(1),
            b"IEND" => break,
            _ => {}
        }
        at = end.checked_add(4)?;
    }
    (take::<4>(bytes, 12)? == *b"IHDR").then_some(())?;
    Some(Stored { width: side(16)?, height: side(20)?, orientation })
}

fn jpeg(bytes: &[u8]) -> Option<Stored> {
    let mut orientation = 1;
    let mut at = 2;
    loop {
        let [mark, kind] = take(bytes, at)?;
        if mark != 0xff {
            return None;
        }
        if kind == 0xff || matches!(kind, 0x01 | 0xd0..=0xd8) {
            at += if kind == 0xff { 1 } else { 2 };
            continue;
        }
        let length = usize::from(u16::from_be_bytes(take(bytes, at + 2)?));
        let segment = at + 4..at + 2 + length.max(2);
        match kind {
            0xe1 => {
                let exif = bytes.get(segment.clone()).and_then(|data| data.strip_prefix(b"Exif\0\0"));
                orientation = exif.and_then(tiff_orientation).unwrap_or(orientation);
            }
            // The start of a frame, of whatever coding; C4, C8 and CC are tables.
            0xc0..=0xcf if !matches!(kind, 0xc4 | 0xc8 | 0xcc) => {
                let side = |at: usize| take(bytes, at).map(u16::from_be_bytes).map(u32::from);
                return Some(Stored { height: side(at + 5)?, width: side(at + 7)?, orientation });
            }
            0xd9 | 0xda => return None,
            _ => {}
        }
        at = segment.end;
    }
}

fn gif(bytes: &[u8]) -> Option<Stored> {
    let side = |at: usize| take(bytes, at).map(u16::from_le_bytes).map(u32::from);
    Some(Stored { width: side(6)?, height: side(8)?, orientation: 1 })
}

fn webp(bytes: &[u8]) -> Option<Stored> {
    let mut size = None;
    let mut orientation = 1;
    let mut at = 12;
    while let (Some(kind), Some(length)) = (take::<4>(bytes, at), take(bytes, at + 4).map(u32::from_le_bytes))
    {
        let data = at + 8;
        let short = |offset: usize| take(bytes, data + offset).map(u16::from_le_bytes).map(u32::from);
        let three = |offset: usize| {
            let [a, b, c] = take(bytes, data + offset)?;
            Some(u32::from_le_bytes([a, b, c, 0]) + 1)
        };
        let end = data.checked_add(length as usize)?;
        match &kind {
            b"VP8X" => size = size.or(three(4).zip(three(7))),
            b"VP8L" => {
                let bits = u32::from_le_bytes(take(bytes, data + 1)?);
                size = size.or(Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)));
            }
            b"VP8 " => {
                let side = |offset: usize| short(offset).map(|side| side & 0x3fff);
                size = size.or(side(6).zip(side(8)));
            }
            b"EXIF" => {
                let exif = bytes.get(data..end).unwrap_or_default();
                let exif = exif.strip_prefix(b"Exif\0\0").unwrap_or(exif);
                orientation = tiff_orientation(exif).unwrap_or(1);
            }
            _ => {}
        }
        at = end.checked_add(end % 2)?;
    }
    let (width, height) = size?;
    Some(Stored { width, height, orientation })
}

/// Tag 0x0112 of the first directory.
fn tiff_orientation(tiff: &[u8]) -> Option<u8> {
    let is_little = match tiff.get(..4)? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let short = |at: usize| {
        let bytes = take(tiff, at)?;
        Some(if is_little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    };
    let first: [u8; 4] = take(tiff, 4)?;
    let first = if is_little { u32::from_le_bytes(first) } else { u32::from_be_bytes(first) } as usize;
    let entries = usize::from(short(first)?);
    let entry = (0..entries)
        .map(|index| first.saturating_add(2 + 12 * index))
        .take_while(|at| *at < tiff.len())
        .find(|at| short(*at) == Some(0x0112))?;
    short(entry + 8).and_then(|value| u8::try_from(value).ok()).filter(|value| (1..=8).contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiff(is_little: bool, orientation: u16) -> Vec<u8> {
        let short = |value: u16| if is_little { value.to_le_bytes() } else { value.to_be_bytes() };
        let long = |value: u32| if is_little { value.to_le_bytes() } else { value.to_be_bytes() };
        let mut out = if is_little { b"II*\0".to_vec() } else { b"MM\0*".to_vec() };
        out.extend(long(8));
        out.extend(short(1));
        for half in [short(0x0112), short(3)] {
            out.extend(half);
        }
        out.extend(long(1));
        out.extend(short(orientation));
        out.extend([0; 6]);
        out
    }

    fn jpeg_of(orientation: u16, is_little: bool) -> Vec<u8> {
        let exif = [b"Exif\0\0".to_vec(), tiff(is_little, orientation)].concat();
        let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
        let mut out = vec![0xff, 0xd8, 0xff, 0xe1];
        out.extend(length);
        out.extend(exif);
        out.extend([0xff, 0xc2, 0, 11, 8, 0, 200, 1, 144, 1, 1, 0x11, 0]);
        out
    }

    #[test]
    fn sizes_and_orientations_of_each_kind() {
        for orientation in 1..=8 {
            let stored = Some(Stored { width: 400, height: 200, orientation });
            for is_little in [true, false] {
                assert_eq!(Stored::of(&jpeg_of(u16::from(orientation), is_little)), stored);
            }
            let exif = tiff(false, u16::from(orientation));
            let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x01\x90\0\0\0\xc8\x08\x02\0\0\0crc!".to_vec();
            png.extend(u32::try_from(exif.len()).unwrap().to_be_bytes());
            png.extend(b"eXIf");
            png.extend(&exif);
            assert_eq!(Stored::of(&png), stored);
            let mut webp = b"RIFF????WEBPVP8X\x0a\0\0\0\x08\0\0\0\x8f\x01\0\xc7\0\0EXIF".to_vec();
            webp.extend(u32::try_from(exif.len()).unwrap().to_le_bytes());
            webp.extend(&exif);
            assert_eq!(Stored::of(&webp), stored);
        }
        // An orientation that does not exist is none.
        assert_eq!(Stored::of(&jpeg_of(9, true)).unwrap().orientation, 1);
        assert_eq!(
            Stored::of(b"GIF89a\x90\x01\xc8\0"),
            Some(Stored { width: 400, height: 200, orientation: 1 })
        );
    }

    #[test]
    fn a_broken_file_is_no_picture() {
        let whole = jpeg_of(6, true);
        for end in 0..whole.len() - 4 {
            let _ = Stored::of(&whole[..end]);
        }
        for bytes in
            [&b""[..], b"\x89PNG", b"\xff\xd8\xff", b"RIFF????WEBPVP8L\xff\xff\xff\xff", b"GIF89a", b"<svg"]
        {
            assert_eq!(Stored::of(bytes), None, "{bytes:?}");
        }
    }
}
