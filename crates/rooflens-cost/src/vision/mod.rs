//! What turns images into tokens.
//!
//! A tower is a list of stages, each of equal layers made of the same units as a language model, and a
//! geometry that says how the images of a sequence become sequences of patches in each stage. Parameters,
//! operators and memory follow from the units; nothing about a tower is counted twice.
//!
//! To add one: a file here, a `mod` line, a variant of [`Geometry`].

use serde::Serialize;

use crate::step::Step;
use crate::units::Unit;

/// A vision tower: stages that an image goes through.
#[derive(Debug, Clone)]
pub struct Tower {
    /// What it is, as `SAM ViT-B + CLIP ViT-L`.
    pub name: &'static str,
    /// Its stages.
    pub stages: Vec<Stage>,
    /// How images become sequences.
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

/// The images of one sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Images {
    /// How many.
    pub count: u64,
    /// Pixels of each in the width; none is the tower's own size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u64>,
    /// Pixels of each in the height; none is the tower's own size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub height: Option<u64>,
    /// Parts of each that are looked at on their own; none is as many as the tower takes by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crops: Option<u64>,
}

/// How images become sequences.
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

    /// What each stage does with the images of one sequence: its number, layers, and step.
    pub fn passes(&self, _images: &Images) -> Result<Vec<(usize, u64, Step)>, String> {
        Ok(Vec::new())
    }

    /// Tokens that the images of one sequence become in the language model.
    pub fn tokens(&self, _images: &Images) -> Result<u64, String> {
        Ok(0)
    }
}
