//! Over which rows of a view a stage runs.

use super::View;
use crate::step::Step;

/// Over which rows of a view a stage runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StageSpan {
    /// Over none: it is stored, and images do not need it.
    Never,
    /// All patches of an image and `class` tokens of its own.
    Patches {
        /// Further tokens: those that stand for the whole image.
        class: u64,
    },
    /// Blocks of `by` × `by` patches, each one row, and `class` tokens: what merges or strides.
    Blocks {
        /// Side of a block.
        by: u64,
        /// Further tokens.
        class: u64,
    },
    /// Windows of `side` × `side` patches, the last of them cut off.
    Windows {
        /// Side of a window.
        side: u64,
    },
    /// Windows of `side` × `side` patches, the last of them filled up.
    FilledWindows {
        /// Side of a window.
        side: u64,
        /// Rows of each patch: more than one where heads are rows.
        heads: u64,
    },
    /// All patches of images of `side` × `side` patches, of others none; each as `heads` rows.
    Heads {
        /// Side of the images.
        side: u64,
        /// Rows of each patch.
        heads: u64,
    },
    /// `tiles` images as one sequence, each with `class` tokens and filled up to a multiple of `fill`.
    Tiles {
        /// Images of a sequence.
        tiles: u64,
        /// Further tokens of each.
        class: u64,
        /// What the tokens of each are filled up to a multiple of.
        fill: u64,
    },
    /// Blocks of `by` × `by` patches as queries, with all patches as keys.
    Pooled {
        /// Side of a block.
        by: u64,
    },
    /// One query an image, with all patches as keys.
    Summary,
}

impl StageSpan {
    /// The steps for a view: several where sequences differ in length.
    #[must_use]
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
