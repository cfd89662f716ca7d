//! Overrides of the command line, as Hydra 1.3.8 reads them: `db=mysql`, `+a.b=1`, `~db`,
//! `x=range(1,4)`.
//!
//! ```
//! use rooflens_compose::overrides::{Override, SweepContext};
//!
//! let sweep: Override = "db.port=3306,'3307'".parse()?;
//! let texts: Vec<String> = sweep
//!     .sweep_values(SweepContext::default())?
//!     .map(|value| Ok(value?.text))
//!     .collect::<Result<_, rooflens_compose::overrides::SweepError>>()?;
//! assert_eq!(texts, ["3306", "'3307'"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where Hydra 1.4 differs
//! This module keeps to 1.3.8 also where 1.4 mends it:
//! - `range(0.1,0.5,0.1)` has `0.30000000000000004` in it; 1.4 gives `0.3`;
//! - `sort(range(0,5,2),reverse=true)` gives `3,1,-1`: the last number is taken to be one step
//!   before the stop; 1.4 gives `4,2,0`;
//! - `a[0]=1` and `a.b[c]=1` are errors; 1.4 accepts them;
//! - `json_str` and `extend_list` do not exist; 1.4 has them.
//!
//! # Where this module differs from Hydra
//! - A range that never ends (`range(0.0,inf)`) is an error; Hydra counts for ever.
//! - Values nested deeper than 200 levels are an error; Python's stack ends between 246 and 493.
//! - A glob inside a list has no text; Hydra writes its fields as a mapping.

mod call;
mod cast;
mod decimal;
mod element;
mod error;
mod functions;
mod key;
mod number;
mod order;
mod parser;
mod pattern;
mod shuffle;
mod sweep;
mod sweep_values;
mod text;
mod token;

use std::str::FromStr;

use crate::interpolation::Span;
use crate::value::{Origin, Value, ValueSource};

pub use call::{CallFault, Function};
pub use element::{OverrideElement, Quote, QuotedString};
pub use error::{OverrideError, OverrideFault, SweepError, ValueError};
pub use number::Number;
pub use sweep::{ChoiceSweep, Glob, IntervalSweep, RangeSweep, SweepExpression};
pub use sweep_values::{SweepContext, SweepValue, SweepValues};
pub use text::Spacing;

/// What an override does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OverrideKind {
    /// `key=value`: changes what is there.
    Change,
    /// `+key=value`: adds what is not there.
    Add,
    /// `++key=value`: adds or changes.
    ForceAdd,
    /// `~key` or `~key=value`: removes.
    Delete,
}

impl OverrideKind {
    /// What is written before the key.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            OverrideKind::Change => "",
            OverrideKind::Add => "+",
            OverrideKind::ForceAdd => "++",
            OverrideKind::Delete => "~",
        }
    }

    /// The name that Hydra has for it.
    #[must_use]
    pub fn hydra_name(self) -> &'static str {
        match self {
            OverrideKind::Change => "CHANGE",
            OverrideKind::Add => "ADD",
            OverrideKind::ForceAdd => "FORCE_ADD",
            OverrideKind::Delete => "DEL",
        }
    }
}

/// An override of the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    /// What it does.
    pub kind: OverrideKind,
    /// The path of a value, `a.b`, or of a group, `a/b`. May be empty.
    pub key: String,
    /// The package behind `@`. May be empty, which is not the same as none.
    pub package: Option<String>,
    /// The value; none only where something is removed without naming its value.
    pub value: Option<OverrideValue>,
    /// The override as it was written.
    pub text: String,
    /// Where the key stands in the text, with its package.
    pub key_span: Span,
    /// Where the value stands in the text.
    pub value_span: Option<Span>,
}

/// The value of an override.
#[derive(Debug, Clone, PartialEq)]
pub enum OverrideValue {
    /// One value.
    Element(OverrideElement),
    /// Several, of which each job of a sweep gets one.
    Sweep(SweepExpression),
}

/// The kinds of value Hydra tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// One value.
    Element,
    /// `choice(a,b)`.
    Choice,
    /// `glob(*)`.
    Glob,
    /// `a,b`.
    SimpleChoice,
    /// `range(1,4)`.
    Range,
    /// `interval(0,1)`.
    Interval,
}

impl ValueKind {
    /// The name that Hydra has for it.
    #[must_use]
    pub fn hydra_name(self) -> &'static str {
        match self {
            ValueKind::Element => "ELEMENT",
            ValueKind::Choice => "CHOICE_SWEEP",
            ValueKind::Glob => "GLOB_CHOICE_SWEEP",
            ValueKind::SimpleChoice => "SIMPLE_CHOICE_SWEEP",
            ValueKind::Range => "RANGE_SWEEP",
            ValueKind::Interval => "INTERVAL_SWEEP",
        }
    }
}

impl OverrideValue {
    /// What kind of value it is.
    #[must_use]
    pub fn kind(&self) -> ValueKind {
        match self {
            OverrideValue::Element(_) => ValueKind::Element,
            OverrideValue::Sweep(SweepExpression::Choice(choice)) if choice.simple => ValueKind::SimpleChoice,
            OverrideValue::Sweep(SweepExpression::Choice(_)) => ValueKind::Choice,
            OverrideValue::Sweep(SweepExpression::Range(_)) => ValueKind::Range,
            OverrideValue::Sweep(SweepExpression::Interval(_)) => ValueKind::Interval,
            OverrideValue::Sweep(SweepExpression::Glob(_)) => ValueKind::Glob,
        }
    }

    /// The config value it stands for.
    ///
    /// # Errors
    /// [`ValueError`] where it is a sweep, or no config can hold it.
    pub fn to_value(&self) -> Result<Value, ValueError> {
        self.element()?.to_value()
    }

    /// The value as text again, as Hydra writes it.
    ///
    /// # Errors
    /// [`ValueError`] where it is a sweep, or has one in it.
    pub fn to_text(&self, spacing: Spacing) -> Result<String, ValueError> {
        self.element()?.to_text(spacing)
    }

    fn element(&self) -> Result<&OverrideElement, ValueError> {
        match self {
            OverrideValue::Element(element) => Ok(element),
            OverrideValue::Sweep(sweep) => Err(ValueError::IsSweep { kind: sweep.kind_name() }),
        }
    }
}

/// Reads an override. `shuffle([…])` puts its list into random order while it is read; `seed` says
/// which, and the same seed gives the order Python has after `random.seed(seed)`.
///
/// # Errors
/// [`OverrideError`] where Hydra would not accept it either.
pub fn parse(text: &str, seed: u64) -> Result<Override, OverrideError> {
    let head = key::head(text)?;
    let mut value = None;
    if let Some(at) = head.value {
        value = Some(match parser::Parser::new(text, at, seed)?.value()? {
            OverrideElement::Sweep(sweep) => OverrideValue::Sweep(*sweep),
            element => OverrideValue::Element(element),
        });
    }
    let key_end = head.package.map_or(head.key.end, |package| package.end);
    Ok(Override {
        kind: head.kind,
        key: head.key.of(text).to_owned(),
        package: head.package.map(|package| package.of(text).to_owned()),
        value,
        text: text.to_owned(),
        key_span: Span::new(head.key.start, key_end),
        value_span: head.value.map(|at| Span::new(at, text.len())),
    })
}

impl FromStr for Override {
    type Err = OverrideError;

    /// As [`parse`] with the seed 0.
    fn from_str(text: &str) -> Result<Self, OverrideError> {
        parse(text, 0)
    }
}

impl Override {
    /// The key as it is written: `+group/sub@package`.
    #[must_use]
    pub fn key_text(&self) -> String {
        let at = if self.package.is_some() { "@" } else { "" };
        let package = self.package.as_deref().unwrap_or("");
        format!("{}{}{at}{package}", self.kind.prefix(), self.key)
    }

    /// What stands after the first `=`, unchanged.
    #[must_use]
    pub fn value_text(&self) -> Option<&str> {
        self.text.split_once('=').map(|(_, value)| value)
    }

    /// Whether it names something of Hydra's own: `hydra.run.dir`, `hydra/launcher`.
    #[must_use]
    pub fn is_hydra(&self) -> bool {
        self.key.starts_with("hydra.") || self.key.starts_with("hydra/")
    }

    /// Whether its value stands for several.
    #[must_use]
    pub fn is_sweep(&self) -> bool {
        matches!(self.value, Some(OverrideValue::Sweep(_)))
    }

    /// The values its jobs get, in Hydra's order.
    ///
    /// # Errors
    /// [`SweepError`] where it is no sweep, or one whose values cannot be listed.
    pub fn sweep_values<'a>(&'a self, context: SweepContext<'a>) -> Result<SweepValues<'a>, SweepError> {
        match &self.value {
            Some(OverrideValue::Sweep(sweep)) => sweep.values(context),
            _ => Err(SweepError::NotASweep),
        }
    }

    /// Where the value came from, for the nodes it is put into.
    #[must_use]
    pub fn origin(&self) -> Origin {
        let column = self.value_span.unwrap_or(self.key_span).column(&self.text);
        Origin {
            source: ValueSource::CommandLine(self.text.as_str().into()),
            line: 0,
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }
}
