//! LFM2-VL: SigLIP 2 over images of their own shape, large ones in tiles beside a thumbnail; four patches
//! become a token. As `Lfm2VlModel` and `Lfm2VlImageProcessor` of Transformers have it.

use super::parts::{layer_norm, siglip, two_layers, width};
use super::qwen_vl::merge_size;
use super::views::{nearest_grid, to_multiple};
use super::{Cut, Images, Seen, StageSpan, Tower, TowerStage, View};
use crate::config::{ConfigError, Keys};

/// Reads `vision_config`, for a language model of width `hidden`; nothing where there is none.
pub fn read(root: &Keys, hidden: u64) -> Result<Option<Tower>, ConfigError> {
    let Some(keys) = root.inside("vision_config") else { return Ok(None) };
    let encoder = siglip(&keys, |_| keys.size_or("num_patches", 256))?;
    let merge = merge_size(root, "downsample_factor")?;
    let joined = encoder.hidden * merge * merge;
    let mut units = Vec::new();
    if root.flag_or("projector_use_layernorm", true)? {
        units.push(layer_norm("layer_norm", joined));
    }
    let inner = width(root, "projector_hidden_size", 2560)?;
    let bias = root.flag_or("projector_bias", true)?;
    units.extend(two_layers("vision.merge", joined, inner, hidden, bias));
    let mut stages = encoder.stages;
    let projector = TowerStage::new("multi_modal_projector", 1, StageSpan::blocks(merge), units);
    stages.push(projector.connecting());
    let cut = Tiles {
        patch: encoder.patch,
        merge,
        least: root.size_or("min_image_tokens", 64)?,
        most: root.size_or("max_image_tokens", 256)?,
        tolerance: root.fraction_or("max_pixels_tolerance", 2.0)?,
        tile: width(root, "tile_size", 512)?,
        splits: root.flag_or("do_image_splitting", true)?,
        tiles: (root.size_or("min_tiles", 2)?, root.size_or("max_tiles", 10)?),
        thumbnail: root.flag_or("use_thumbnail", true)?,
    };
    Ok(Some(Tower::new("SigLIP 2", stages, cut)))
}

/// Whole images up to a number of tokens, tiles beyond it. Transformers fills the last ones up to the size of
/// a tile; what is filled in is not counted here.
#[derive(Debug)]
struct Tiles {
    patch: u64,
    merge: u64,
    least: u64,
    most: u64,
    tolerance: f64,
    tile: u64,
    splits: bool,
    tiles: (u64, u64),
    thumbnail: bool,
}

impl Tiles {
    fn factor(&self) -> u64 {
        self.patch * self.merge
    }

    fn resized(&self, width: u64, height: u64) -> (u64, u64) {
        let factor = self.factor();
        let pixels = |tokens: u64| tokens as f64 * (factor * factor) as f64;
        let (across, down) = (to_multiple(width, factor), to_multiple(height, factor));
        let area = width as f64 * height as f64;
        let found = across as f64 * down as f64;
        // In the order of the processor's own divisions, since sizes fall on the edge.
        if found > pixels(self.most) {
            let by = (area / pixels(self.most)).sqrt();
            let fit = |side: u64| ((side as f64 / by / factor as f64).floor() as u64).max(1) * factor;
            (fit(width), fit(height))
        } else if found < pixels(self.least) {
            let by = (pixels(self.least) / area).sqrt();
            let fit = |side: u64| ((side as f64 * by / factor as f64).ceil() as u64).max(1) * factor;
            (fit(width), fit(height))
        } else {
            (across, down)
        }
    }

    fn is_large(&self, width: u64, height: u64) -> bool {
        let factor = self.factor();
        let found = to_multiple(width, factor) as f64 * to_multiple(height, factor) as f64;
        found > self.most as f64 * (factor * factor) as f64 * self.tolerance
    }
}

impl Cut for Tiles {
    fn cut(&self, images: &Images) -> Result<Seen, String> {
        let (width, height) = images.size()?.unwrap_or((self.tile, self.tile));
        let (across, down) = self.resized(width, height);
        let whole = View { images: images.count, rows: down / self.patch, columns: across / self.patch };
        let side = self.tile / self.patch;
        let crops = match images.crops {
            Some(crops) => crops,
            None if self.splits && self.is_large(width, height) => {
                let (columns, rows) = nearest_grid(width, height, self.tile, self.tiles.0, self.tiles.1);
                columns * rows
            }
            None => 0,
        };
        let mut views = Vec::new();
        if crops > 0 {
            views.push(View { images: images.count * crops, rows: side, columns: side });
        }
        if crops <= 1 || self.thumbnail {
            views.push(whole);
        }
        let blocks = |view: &View| view.images * (view.rows / self.merge) * (view.columns / self.merge);
        let tokens = views.iter().map(blocks).sum();
        Ok(Seen { views, tokens })
    }
}
