//! DeepSeek-OCR (arXiv 2510.18234): SAM ViT-B with windows, two strided convolutions, CLIP ViT-L over what
//! they leave, both joined and projected. Read from the model's own code (`deepencoder.py`).

use super::parts::{Block, conv, layer_norm, layers, linear, named, patch, patch_size, table, width};
use super::views::{grid_of, nearest_grid};
use super::{Cut, Images, Seen, StageSpan, Tower, TowerStage, View};
use crate::config::{ConfigError, Keys};
use crate::units::{Dim, Linear, Unit};

/// Pixels of a side of a crop, and how many crops the model's own code makes (`dynamic_preprocess`).
const CROP: u64 = 640;
const CROPS: (u64, u64) = (2, 9);
/// Pixels of a side of what SAM sees in the modes of the model (Tiny, Small and crops, Base, Large).
const OTHER_VIEWS: [(&str, u64); 4] = [
    ("sam.global_rel_pos_512", 512),
    ("sam.global_rel_pos_crop", CROP),
    ("sam.global_rel_pos_1024", 1024),
    ("sam.global_rel_pos_1280", 1280),
];
/// Strides of the convolutions behind SAM.
const SHRINK: u64 = 4;

/// Reads `vision_config`, for a language model of width `hidden`; nothing where there is none, or where it is
/// the tower of DeepSeek-VL2.
pub fn read(root: &Keys, hidden: u64) -> Result<Option<Tower>, ConfigError> {
    let Some(sizes) = root.inside("vision_config").and_then(|vision| vision.inside("width")) else {
        return Ok(None);
    };
    let sam = Sam::read(&sizes.need_inside("sam_vit_b")?)?;
    let clip = sizes.need_inside("clip-l-14-224")?;
    let wide = width(&clip, "width", 1024)?;
    let mut stages = sam.stages(wide);
    stages.extend(clip_stages(&clip, wide)?);
    let joined = StageSpan::blocks(SHRINK);
    let projector = linear("projector", "vision.merge", 2 * wide, hidden, true);
    stages.push(TowerStage::new("projector", 1, joined, vec![projector]));
    // A token that ends a row, and one that stands between views.
    stages.push(TowerStage::new("separators", 1, StageSpan::Never, vec![table("separators", &[2, hidden])]));
    let views = Views { side: sam.side, crop: sam.crop };
    Ok(Some(Tower::new("SAM ViT-B + CLIP ViT-L", stages, views)))
}

/// Segment Anything's image encoder (arXiv 2304.02643).
struct Sam {
    block: Block,
    depth: u64,
    global: u64,
    window: u64,
    patch: u64,
    /// Patches of a side of the whole image and of a crop.
    side: u64,
    crop: u64,
    neck: u64,
    down: u64,
}

impl Sam {
    fn read(keys: &Keys) -> Result<Self, ConfigError> {
        let inner = |hidden: u64| Ok((hidden as f64 * keys.fraction_or("mlp_ratio", 4.0)?) as u64);
        let block = Block::read(keys, ("width", 768), ("heads", 12), inner)?;
        let depth = layers(keys, "layers", 12)?;
        let patch = patch_size(keys, 16)?;
        let side = width(keys, "image_size", 1024)? / patch;
        if CROP / patch == 0 || side == 0 {
            return Err(keys.wrong("patch_size", "at most the image"));
        }
        let window = width(keys, "window_size", 14)?;
        if window > 1 << 12 {
            return Err(keys.wrong("window_size", "at most 4,096"));
        }
        let down = match keys.numbers("downsample_channels")?.as_deref() {
            None => 512,
            Some([first, _]) if (1..=1 << 20).contains(first) => *first,
            Some(_) => return Err(keys.wrong("downsample_channels", "two sizes")),
        };
        Ok(Self {
            block,
            depth,
            global: named(keys, "global_attn_indexes", depth, &[2, 5, 8, 11])?,
            window,
            patch,
            side,
            crop: CROP / patch,
            neck: width(keys, "out_chans", 256)?,
            down,
        })
    }

    /// Positions relative to a window or image of `side` patches: a table for each direction.
    fn positions(&self, side: u64) -> Unit {
        table("rel_pos", &[2, 2 * side - 1, self.block.head_dim])
    }

    /// Queries times the positions of `side` rows and `side` columns; heads are rows here.
    fn rel_pos(&self, name: &'static str, count: u64, side: u64, span: StageSpan) -> TowerStage {
        let (input, outputs) = (Dim::whole(self.block.head_dim), [Dim::whole(2 * side)]);
        // The tables count with the layer; in a crop they are stretched.
        let product = Linear { shared: true, ..Linear::new("rel_pos", "vision.rel_pos", input, outputs) };
        TowerStage::new(name, count, span, vec![product.unit("2·N·H·d·(r + c)")])
    }

    fn stages(&self, wide: u64) -> Vec<TowerStage> {
        let Self { block, depth, global, window, side, neck, down, .. } = *self;
        let patches = StageSpan::PATCHES;
        let windows = |heads| StageSpan::FilledWindows { side: window, heads };
        let pixels = 3 * self.patch * self.patch;
        let mut attention = block.qkv();
        attention.push(block.core());
        attention.extend(block.output());
        attention.push(self.positions(window));
        let mut whole = block.units();
        whole.push(self.positions(side));
        let embed = vec![patch(pixels, block.hidden, true), table("pos_embed", &[side, side, block.hidden])];
        let necks = vec![
            conv("neck.0", 1, block.hidden, neck, false),
            layer_norm("neck.1", neck),
            conv("neck.2", 3, neck, neck, false),
            layer_norm("neck.3", neck),
        ];
        let heads = |side| StageSpan::Heads { side, heads: block.heads };
        let mut stages = vec![
            TowerStage::new("sam.patch_embed", 1, patches, embed),
            TowerStage::new("sam.window_attention", depth - global, windows(1), attention),
            self.rel_pos("sam.window_rel_pos", depth - global, window, windows(block.heads)),
            TowerStage::new("sam.window_mlp", depth - global, patches, block.mlp()),
            TowerStage::new("sam.global_block", global, patches, whole),
            self.rel_pos("sam.global_rel_pos", global, side, heads(side)),
        ];
        for (name, pixels) in OTHER_VIEWS {
            let other = pixels / self.patch;
            if other != side && other > 0 {
                stages.push(self.rel_pos(name, global, other, heads(other)));
            }
        }
        stages.extend([
            TowerStage::new("sam.neck", 1, patches, necks),
            TowerStage::new("sam.net_2", 1, StageSpan::blocks(2), vec![conv("net_2", 3, neck, down, false)]),
            TowerStage::new(
                "sam.net_3",
                1,
                StageSpan::blocks(SHRINK),
                vec![conv("net_3", 3, down, wide, false)],
            ),
        ]);
        stages
    }
}

/// CLIP (arXiv 2103.00020) takes SAM's results for patches: its own convolution is stored and never runs.
fn clip_stages(keys: &Keys, wide: u64) -> Result<Vec<TowerStage>, ConfigError> {
    let block = Block::read(keys, ("width", 1024), ("heads", 16), |wide| width(keys, "ffn", 4 * wide))?;
    let patch_size = patch_size(keys, 14)?;
    let side = width(keys, "image_size", 224)? / patch_size;
    let span = StageSpan::Blocks { by: SHRINK, class: 1 };
    let embed = vec![
        table("class_embedding", &[wide]),
        table("patch_embedding", &[3, patch_size, patch_size, wide]),
        table("position_embedding", &[side * side + 1, wide]),
        layer_norm("pre_layrnorm", wide),
    ];
    Ok(vec![
        TowerStage::new("clip.embeddings", 1, span, embed),
        TowerStage::new("clip.layer", layers(keys, "layers", 24)?, span, block.units()),
    ])
}

#[derive(Debug)]
struct Views {
    side: u64,
    crop: u64,
}

impl Cut for Views {
    fn cut(&self, images: &Images) -> Result<Seen, String> {
        let size = images.size()?;
        let grid = match (images.crops, size) {
            (Some(0), _) | (None, None) => None,
            (Some(crops), _) => Some(grid_of(crops, size)),
            (None, Some((width, height))) if width <= CROP && height <= CROP => None,
            (None, Some((width, height))) => Some(nearest_grid(width, height, CROP, CROPS.0, CROPS.1)),
        };
        let square = |images, side| View { images, rows: side, columns: side };
        let mut views = vec![square(images.count, self.side)];
        // Each row of tokens ends with a separator, and one more stands behind the whole image.
        let side = self.side.div_ceil(SHRINK);
        let mut tokens = side * (side + 1) + 1;
        if let Some((columns, rows)) = grid {
            let side = self.crop.div_ceil(SHRINK);
            views.push(square(images.count * columns * rows, self.crop));
            tokens += side * rows * (side * columns + 1);
        }
        Ok(Seen { views, tokens: images.count * tokens })
    }
}
