//! What turns images into tokens.

use crate::step::Step;
use crate::units::Unit;

/// A vision tower: stages that an image goes through.
#[derive(Debug, Clone)]
pub struct Tower {
    /// What it is, as `SAM ViT-B + CLIP ViT-L`.
    pub name: &'static str,
    /// Its stages.
    pub stages: Vec<Stage>,
    /// How an image becomes sequences.
    pub geometry: Geometry,
}

/// Equal layers of a tower.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Name, as `clip`.
    pub name: &'static str,
    /// How many layers.
    pub count: u64,
    /// What a layer is made of.
    pub units: Vec<Unit>,
}

/// How an image becomes sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Geometry {
    /// To be told by the family.
    Unknown,
}

impl Tower {
    /// Its parameters.
    #[must_use]
    pub fn parameters(&self) -> u128 {
        let of = |stage: &Stage| stage.units.iter().map(|unit| unit.parameters().stored).sum::<u128>();
        self.stages.iter().map(|stage| u128::from(stage.count) * of(stage)).sum()
    }

    /// The passes through each stage for `images` images.
    #[must_use]
    pub fn passes(&self, _images: u64) -> Vec<(&Stage, Step)> {
        Vec::new()
    }
}
