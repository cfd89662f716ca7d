//! What turns images into tokens.
//!
//! A tower is read in two halves. Its cut says which views of the images a sequence has, in patches, as the
//! processor resizes and splits them; its stages say what is done with a view, each a run of equal layers
//! made of the same units as a language model, over the rows that its [`StageSpan`] names. Parameters, operators
//! and memory follow from the units.
//!
//! To add one: a file here, a `mod` line, and a call in the family that has it.

pub mod deepseek_ocr;
pub mod gemma;
pub mod kimi_k25;
pub mod lfm2_vl;
pub mod mllama;
mod parts;
pub mod qwen_vl;
pub mod step3p7;
mod views;

pub(crate) use views::StageSpan;

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::step::Step;
use crate::units::Unit;

/// A vision tower: stages that an image goes through.
#[derive(Debug, Clone)]
pub struct Tower {
    /// What it is, as `SAM ViT-B + CLIP ViT-L`.
    pub(crate) name: &'static str,
    /// Its stages, in the order of execution.
    pub stages: Vec<TowerStage>,
    cut: Arc<dyn Cut>,
}

/// Equal layers of a tower.
#[derive(Debug, Clone)]
pub struct TowerStage {
    pub(crate) name: &'static str,
    pub(crate) count: u64,
    /// What a layer is made of.
    pub units: Vec<Unit>,
    pub(crate) span: StageSpan,
    /// Whether it counts with the language model: published counts of vision parameters are of the encoder,
    /// and leave projectors (and towers for sound) to the rest.
    pub(crate) connects: bool,
}

impl TowerStage {
    fn new(name: &'static str, count: u64, span: StageSpan, units: Vec<Unit>) -> Self {
        Self { name, count, units, span, connects: false }
    }

    fn connecting(mut self) -> Self {
        self.connects = true;
        self
    }

    fn parameters(&self) -> u128 {
        u128::from(self.count) * self.units.iter().map(|unit| unit.parameters().stored).sum::<u128>()
    }
}

/// The images of one sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Images {
    /// How many.
    pub count: u64,
    /// Pixels of each in the width, before the processor resizes it; none is the tower's own size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u64>,
    /// Pixels of each in the height, before the processor resizes it; none is the tower's own size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<u64>,
    /// Parts of each that are looked at on their own, beside the whole; none is as many as the processor
    /// makes of the size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crops: Option<u64>,
}

/// The most images and crops of a sequence, and pixels of a side, that are believed: beyond any model, and
/// small enough that nothing overflows.
const MOST_IMAGES: u64 = 4_096;
const MOST_VIEWS: u64 = 65_536;
const MOST_PIXELS: u64 = 65_536;
const MOST_PATCHES: u64 = 1 << 25;

impl Images {
    /// `count` images of the tower's own size.
    pub fn new(count: u64) -> Self {
        Self { count, width: None, height: None, crops: None }
    }

    pub(crate) fn size(&self) -> Result<Option<(u64, u64)>, String> {
        match (self.width, self.height) {
            (None, None) => Ok(None),
            (Some(width), Some(height)) => Ok(Some((width, height))),
            (Some(_), None) => Err("a width without a height".to_owned()),
            (None, Some(_)) => Err("a height without a width".to_owned()),
        }
    }

    fn check(&self) -> Result<(), String> {
        let within = |what: &str, value: Option<u64>, least: u64, most: u64| match value {
            Some(value) if !(least..=most).contains(&value) => {
                Err(format!("{what} is {value}; expected {least} to {most}"))
            }
            _ => Ok(()),
        };
        within("the number of images", Some(self.count), 1, MOST_IMAGES)?;
        within("the width", self.width, 1, MOST_PIXELS)?;
        within("the height", self.height, 1, MOST_PIXELS)?;
        within("the number of crops", self.crops, 0, MOST_IMAGES)
    }

    fn no_crops(&self) -> Result<(), String> {
        match self.crops {
            None | Some(0) => Ok(()),
            Some(_) => Err("this tower does not use crops".to_owned()),
        }
    }
}

/// Pictures of equal size, as a tower sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct View {
    /// How many.
    pub images: u64,
    /// Patches in the height.
    pub rows: u64,
    /// Patches in the width.
    pub columns: u64,
}

impl View {
    fn patches(&self) -> u64 {
        self.rows * self.columns
    }
}

#[derive(Debug)]
struct Seen {
    views: Vec<View>,
    tokens: u64,
}

/// How images become views: what the processor does, which a config does not tell in full.
trait Cut: fmt::Debug + Send + Sync {
    fn cut(&self, images: &Images) -> Result<Seen, String>;
}

impl Tower {
    fn new(name: &'static str, stages: Vec<TowerStage>, cut: impl Cut + 'static) -> Self {
        Self { name, stages, cut: Arc::new(cut) }
    }

    /// Parameters of the encoder.
    pub fn parameters(&self) -> u128 {
        self.stages.iter().filter(|stage| !stage.connects).map(TowerStage::parameters).sum()
    }

    /// Parameters of what joins it to the language model, where they count with that.
    pub fn connector_parameters(&self) -> u128 {
        self.stages.iter().filter(|stage| stage.connects).map(TowerStage::parameters).sum()
    }

    /// What each stage does with the images of one sequence: its number, layers, and step.
    pub fn passes(&self, images: &Images) -> Result<Vec<(usize, u64, Step)>, String> {
        Ok(self.look(&self.see(images)?.views))
    }

    /// Tokens that the images of one sequence become in the language model: what the tower makes and the
    /// model puts between, but not the markers that a prompt's template adds around.
    pub fn tokens(&self, images: &Images) -> Result<u64, String> {
        Ok(self.see(images)?.tokens)
    }

    pub(crate) fn believes(views: &[View]) -> bool {
        let pictures = views.iter().fold(0_u64, |sum, view| sum.saturating_add(view.images));
        let sizes = views.iter().map(|view| view.rows.saturating_mul(view.columns));
        pictures <= MOST_VIEWS && sizes.max().unwrap_or_default() <= MOST_PATCHES
    }

    /// What each stage does with views that are cut already.
    pub fn look(&self, views: &[View]) -> Vec<(usize, u64, Step)> {
        let stages = |view| {
            self.stages.iter().enumerate().flat_map(move |(number, stage)| {
                stage.span.steps(view).into_iter().map(move |step| (number, stage.count, step))
            })
        };
        views.iter().filter(|view| view.images > 0).flat_map(stages).collect()
    }

    fn see(&self, images: &Images) -> Result<Seen, String> {
        images.check()?;
        let seen = self.cut.cut(images)?;
        let pictures: u64 = seen.views.iter().map(|view| view.images).sum();
        if pictures > MOST_VIEWS {
            return Err(format!("{pictures} images and crops; at most {MOST_VIEWS} are supported"));
        }
        let patches = seen.views.iter().map(View::patches).max().unwrap_or_default();
        if patches > MOST_PATCHES {
            return Err(format!("{patches} patches in one image; at most {MOST_PATCHES} are supported"));
        }
        Ok(seen)
    }
}
