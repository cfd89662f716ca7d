//! How images become views, and over which rows of a view a stage runs.

use super::{Cut, Images, Seen, View};
use crate::step::Step;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StageSpan {
    /// Over none: it is stored, and images do not need it.
    Never,
    /// All patches of an image and `class` tokens of its own.
    Patches { class: u64 },
    /// Blocks of `by` × `by` patches, each one row, and `class` tokens: what merges or strides.
    Blocks { by: u64, class: u64 },
    /// Windows of `side` × `side` patches, the last of them cut off.
    Windows { side: u64 },
    /// Windows of `side` × `side` patches, the last of them filled up, each patch as `heads` rows.
    FilledWindows { side: u64, heads: u64 },
    /// All patches of images of `side` × `side` patches, of others none; each as `heads` rows.
    Heads { side: u64, heads: u64 },
    /// `tiles` images as one sequence, each with `class` tokens and filled up to a multiple of `fill`.
    Tiles { tiles: u64, class: u64, fill: u64 },
    /// Blocks of `by` × `by` patches as queries, with all patches as keys.
    Pooled { by: u64 },
    /// One query an image, with all patches as keys.
    Summary,
}

impl StageSpan {
    pub(crate) const PATCHES: StageSpan = StageSpan::Patches { class: 0 };

    pub(crate) fn blocks(by: u64) -> Self {
        StageSpan::Blocks { by, class: 0 }
    }

    pub(crate) fn steps(&self, view: &View) -> Vec<Step> {
        let View { images, rows, columns } = *view;
        let blocks = |by: u64| rows.div_ceil(by.max(1)) * columns.div_ceil(by.max(1));
        let of_all = |step| Step { media: rows * columns, ..step };
        match *self {
            StageSpan::Never => Vec::new(),
            StageSpan::Patches { class } => vec![Step::vision(images, rows * columns + class)],
            StageSpan::Blocks { by, class } => vec![Step::vision(images, blocks(by) + class)],
            StageSpan::Windows { side } => windows(view, side.max(1)),
            StageSpan::FilledWindows { side, heads } => {
                vec![Step::vision(images * blocks(side), side * side * heads)]
            }
            StageSpan::Heads { side, heads } if (rows, columns) == (side, side) => {
                vec![Step::vision(images, side * side * heads)]
            }
            StageSpan::Heads { .. } => Vec::new(),
            StageSpan::Tiles { tiles, class, fill } => {
                let each = (rows * columns + class).next_multiple_of(fill.max(1));
                vec![Step::vision(images.div_ceil(tiles.max(1)), tiles * each)]
            }
            StageSpan::Pooled { by } => vec![of_all(Step::vision(images, blocks(by)))],
            StageSpan::Summary => vec![of_all(Step::vision(images, 1))],
        }
    }
}

/// Whole windows, those cut off on the right, those cut off below, and the one in the corner.
fn windows(view: &View, side: u64) -> Vec<Step> {
    let parts =
        |length: u64| [(length / side, side), (u64::from(!length.is_multiple_of(side)), length % side)];
    let mut steps = Vec::new();
    for (down, height) in parts(view.rows) {
        for (across, width) in parts(view.columns) {
            if down * across > 0 {
                steps.push(Step::vision(view.images * down * across, height * width));
            }
        }
    }
    steps
}

/// The grid (columns, rows) of `least` to `most` crops whose shape is nearest to the image's; of equally near
/// ones the largest that is not more than twice the image's area. `side` is the pixels of a crop.
///
/// As `find_closest_aspect_ratio` of InternVL, which DeepSeek-OCR and LFM2-VL took over.
pub(super) fn nearest_grid(width: u64, height: u64, side: u64, least: u64, most: u64) -> (u64, u64) {
    // Crops a side are few: the bound only keeps a wild config from taking long.
    let most = most.clamp(1, 1 << 10);
    let mut grids: Vec<(u64, u64)> = (1..=most)
        .flat_map(|columns| (1..=most / columns).map(move |rows| (columns, rows)))
        .filter(|(columns, rows)| columns * rows >= least)
        .collect();
    grids.sort_by_key(|(columns, rows)| columns * rows);
    let shape = width as f64 / height.max(1) as f64;
    let mut best = ((1, 1), f64::INFINITY);
    for (columns, rows) in grids {
        let apart = (shape - columns as f64 / rows as f64).abs();
        let roomy = u128::from(side * side) * u128::from(columns * rows);
        let is_larger = apart == best.1 && 2 * u128::from(width) * u128::from(height) > roomy;
        if apart < best.1 || is_larger {
            best = ((columns, rows), apart);
        }
    }
    best.0
}

/// The grid (columns, rows) of exactly `crops` crops whose shape is nearest to the image's; without an image
/// the squarest, lying.
pub(super) fn grid_of(crops: u64, size: Option<(u64, u64)>) -> (u64, u64) {
    let crops = crops.max(1);
    let (width, height) = size.unwrap_or((1, 1));
    // In the logarithm, so that lying and standing images are treated alike.
    let apart = |(columns, rows): (u64, u64)| {
        let shape = width as f64 / height.max(1) as f64;
        (columns as f64 / rows as f64 / shape).ln().abs()
    };
    (1..=crops)
        .filter(|rows| crops.is_multiple_of(*rows))
        .map(|rows| (crops / rows, rows))
        .filter(|(columns, rows)| size.is_some() || columns >= rows)
        .min_by(|a, b| apart(*a).total_cmp(&apart(*b)))
        .unwrap_or((crops, 1))
}

/// The next multiple of `factor`, half to even as Python rounds, at least one.
pub(super) fn to_multiple(pixels: u64, factor: u64) -> u64 {
    let factor = factor.max(1);
    let times = (pixels as f64 / factor as f64).round_ties_even() as u64;
    times.max(1) * factor
}

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
