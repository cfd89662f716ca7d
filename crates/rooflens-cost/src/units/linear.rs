//! Matrices.

use super::dim::Dim;
use super::{Parameters, Part, Unit, tiles};
use crate::operator::{Bytes, Flops, Operator, Work};
use crate::pass::Pass;
use crate::precision::Storage;

/// Which rows go through a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinearRows {
    /// Every new token.
    Tokens,
    /// The tokens whose logits are needed; frameworks' counts take all.
    Sampled,
    /// The tokens of the sequences' images, or the positions of the encoder, once, when they are first read.
    Media,
    /// So many rows of every token: frames of sound, of which a position is made of several.
    Several(u64),
}

/// Matrices with the same input, read together: `2·rows·in·out` operations.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Linear {
    pub name: &'static str,
    pub(crate) class: &'static str,
    /// Path below the layer in the checkpoint; none for what is never quantised.
    pub(crate) module: Option<&'static str>,
    pub(crate) input: Dim,
    pub(crate) outputs: Vec<Dim>,
    pub(crate) bias: bool,
    /// Which output has none though the others do, as the keys of Whisper.
    pub(crate) unbiased: Option<usize>,
    /// Inputs of a row that the row before has as well: windows of a convolution that overlap, read once.
    pub(crate) overlap: u64,
    /// Whether the weights are another operator's, as a head that shares the embedding: read, not stored.
    pub(crate) shared: bool,
    /// Whether every unit of the output has an input of its own, of the width of `input`: blocks on the
    /// diagonal.
    pub(crate) diagonal: bool,
    pub(crate) rows: LinearRows,
    /// Operations of the vector units that are done on the way, for each row in the whole model:
    /// activations, rotations.
    pub(crate) vector_flops: u64,
    pub storage: Storage,
    pub(crate) formula: &'static str,
}

impl Linear {
    pub(crate) fn new(
        name: &'static str,
        class: &'static str,
        input: Dim,
        outputs: impl Into<Vec<Dim>>,
    ) -> Self {
        Self {
            name,
            class,
            module: None,
            input,
            outputs: outputs.into(),
            bias: false,
            unbiased: None,
            overlap: 0,
            shared: false,
            diagonal: false,
            rows: LinearRows::Tokens,
            vector_flops: 0,
            storage: Storage::plain(crate::precision::Dtype::Bf16),
            formula: "2·T·in·out",
        }
    }

    /// Stands at `module` below the layer and may be quantised.
    pub(crate) fn at(mut self, module: &'static str) -> Self {
        self.module = Some(module);
        self
    }

    pub(crate) fn bias(mut self, bias: bool) -> Self {
        self.bias = bias;
        self
    }

    pub(crate) fn unbiased(mut self, output: Option<usize>) -> Self {
        self.unbiased = output;
        self
    }

    /// As a convolution whose rows have `overlap` inputs in common with the row before.
    pub(crate) fn overlapping(mut self, overlap: u64) -> Self {
        self.overlap = overlap;
        self
    }

    pub(crate) fn unit(mut self, formula: &'static str) -> Unit {
        self.formula = formula;
        Unit::Linear(self)
    }

    /// With `flops` operations of the vector units for each row.
    pub(crate) fn vector(mut self, flops: u64) -> Self {
        self.vector_flops = flops;
        self
    }

    pub(crate) fn rows(mut self, rows: LinearRows) -> Self {
        self.rows = rows;
        self
    }

    pub(crate) fn diagonal(mut self) -> Self {
        self.diagonal = true;
        self
    }

    fn read_elements(&self, pass: &Pass) -> u128 {
        let blocks: u64 = self.outputs.iter().map(|output| output.local_units(pass.tp)).sum();
        let read = self.input.local(pass.tp).saturating_sub(self.overlap.into());
        read * if self.diagonal { u128::from(blocks) } else { 1 }
    }

    fn out_elements(&self) -> u128 {
        self.outputs.iter().map(Dim::elements).sum()
    }

    fn biases(&self, elements: impl Fn(&Dim) -> u128) -> u128 {
        let biased = |(number, _): &(usize, &Dim)| self.bias && self.unbiased != Some(*number);
        self.outputs.iter().enumerate().filter(biased).map(|(_, output)| elements(output)).sum()
    }

    fn local_out(&self, pass: &Pass) -> u128 {
        self.outputs.iter().map(|output| output.local(pass.tp)).sum()
    }

    fn is_replicated(&self) -> bool {
        !self.input.is_dealt() && !self.outputs.iter().any(Dim::is_dealt)
    }

    /// Outputs whose products another device makes as well.
    fn copied_out(&self, pass: &Pass) -> u128 {
        if self.input.is_dealt() || self.is_replicated() && pass.sequence_parallel {
            return 0;
        }
        self.outputs.iter().filter(|output| output.is_copy(pass.tp)).map(|output| output.local(pass.tp)).sum()
    }
}

impl Part for Linear {
    fn parameters(&self) -> Parameters {
        let stored = if self.shared {
            0
        } else {
            self.input.elements() * self.out_elements() + self.biases(Dim::elements)
        };
        Parameters { stored, ..Parameters::default() }
    }

    fn weight_bytes(&self, pass: &Pass) -> u128 {
        if self.shared {
            return 0;
        }
        let out = self.local_out(pass);
        self.storage.bytes(self.input.local(pass.tp) * out)
            + pass.activation_bytes(self.biases(|output| output.local(pass.tp)))
    }

    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let step = &pass.step;
        let (counted, rows) = match self.rows {
            LinearRows::Tokens if self.is_replicated() => {
                (step.tokens(), pass.replicated_rows(step.tokens()))
            }
            LinearRows::Tokens => (step.tokens(), step.tokens()),
            LinearRows::Sampled => (step.tokens(), u128::from(step.sequences) * u128::from(step.sampled)),
            LinearRows::Several(each) => {
                let all = step.tokens() * u128::from(each);
                (all, if self.is_replicated() { pass.replicated_rows(all) } else { all })
            }
            LinearRows::Media => {
                let rows =
                    if step.past == 0 { u128::from(step.sequences) * u128::from(step.media) } else { 0 };
                (rows, rows)
            }
        };
        if rows == 0 && self.rows == LinearRows::Media {
            // Made in an earlier pass: nothing runs.
            return;
        }
        let input = self.input.local(pass.tp);
        let out = self.local_out(pass);
        let per_row = 2 * input * out;
        let all = self.out_elements().max(1);
        let biases = pass.activation_bytes(self.biases(|output| output.local(pass.tp)));
        let weights = self.storage.bytes(input * out) + biases;
        into.push(Operator {
            name: self.name,
            class: self.class,
            work: Work {
                flops: Flops {
                    as_counted: counted * per_row,
                    useful: rows * per_row,
                    issued: tiles::rows(rows) * per_row,
                },
                vector_flops: rows * (u128::from(self.vector_flops) * out / all),
                bytes: Bytes {
                    weights: if rows == 0 { 0 } else { weights },
                    activations: pass.activation_bytes(rows * (self.read_elements(pass) + out)),
                    ..Bytes::default()
                },
                copied_flops: 2 * rows * input * self.copied_out(pass),
                ..Work::default()
            },
            storage: self.storage,
            formula: self.formula,
        });
    }
}
