//! Images that are all resized to one square, and perhaps parts of them to another.

use super::{Cut, Images, Seen, View};

/// A square of `side` patches that becomes `tokens` tokens, and crops.
#[derive(Debug)]
pub(super) struct Square {
    pub(crate) side: u64,
    pub(crate) tokens: u64,
    /// Patches of a side of a crop, and its tokens; none where crops are not made.
    pub(crate) crop: Option<(u64, u64)>,
}

impl Cut for Square {
    fn cut(&self, images: &Images) -> Result<Seen, String> {
        images.size()?;
        let square = |images, side| View { images, rows: side, columns: side };
        let mut views = vec![square(images.count, self.side)];
        let mut tokens = self.tokens;
        match self.crop {
            None => images.no_crops()?,
            Some((side, each)) => {
                // How many the processor makes of a size is not told by the config: none unless asked for.
                let crops = images.crops.unwrap_or(0);
                views.push(square(images.count * crops, side));
                tokens += crops * each;
            }
        }
        Ok(Seen { views, tokens: images.count * tokens })
    }
}
