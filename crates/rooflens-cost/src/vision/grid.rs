//! Images of any size, cut into as many patches as they have.

use super::crops::to_multiple;
use super::{Cut, Images, Seen, View};

/// What becomes of sides that are no whole number of merged patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// They are resized to the nearest that is.
    Resized,
    /// They are filled up.
    Filled,
}

/// Patches of `patch` pixels, of which `merge` × `merge` become a token.
///
/// As `smart_resize` of Qwen2-VL's processor and `navit_resize` of Kimi-K2.5's, without their limits on the
/// number of pixels, which stand in the processor's config.
#[derive(Debug)]
pub(super) struct Grid {
    pub(crate) patch: u64,
    pub(crate) merge: u64,
    pub(crate) fit: Fit,
    /// Patches of a side of the images that positions were learnt for; none where there are none.
    pub(crate) side: Option<u64>,
}

impl Cut for Grid {
    fn cut(&self, images: &Images) -> Result<Seen, String> {
        images.no_crops()?;
        let factor = self.patch * self.merge;
        let patches = |pixels: u64| match self.fit {
            Fit::Resized => to_multiple(pixels, factor) / self.patch,
            Fit::Filled => pixels.next_multiple_of(factor) / self.patch,
        };
        let (rows, columns) = match (images.size()?, self.side) {
            (Some((width, height)), _) => (patches(height), patches(width)),
            (None, Some(side)) => (patches(side * self.patch), patches(side * self.patch)),
            (None, None) => {
                return Err("the tower takes any size: a width and a height are needed".to_owned());
            }
        };
        let tokens = (rows / self.merge) * (columns / self.merge);
        let view = View { images: images.count, rows, columns };
        Ok(Seen { views: vec![view], tokens: images.count * tokens })
    }
}
