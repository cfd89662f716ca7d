//! The values of a sweep, one after the other.

use std::cmp::Ordering;

use super::decimal::Decimal;
use super::element::OverrideElement;
use super::error::SweepError;
use super::number::{Number, int_is_negative, int_sum};
use super::pattern::fits;
use super::shuffle::Generator;
use super::sweep::{Glob, RangeSweep, SweepExpression};
use super::text::Spacing;
use crate::value::Int;

/// The most numbers of a range that is shuffled, since they must all be held at once.
const SHUFFLE_LIMIT: usize = 1_000_000;

/// What the values of a sweep depend on beside the sweep itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct SweepContext<'a> {
    /// The options of the config group the override names, sorted: a glob chooses among them.
    pub group_options: &'a [String],
    /// The seed of random order. The same seed gives the same order, here and in Python.
    pub shuffle_seed: u64,
}

/// A value of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct SweepValue {
    /// The value.
    pub element: OverrideElement,
    /// The value as it is written into the overrides of the job that gets it.
    pub text: String,
}

/// The values of a sweep, in Hydra's order. Ranges are counted out as they are asked for.
#[derive(Debug)]
pub struct SweepValues<'a> {
    source: Source<'a>,
}

#[derive(Debug)]
enum Source<'a> {
    Items(std::slice::Iter<'a, OverrideElement>),
    Shuffled(std::vec::IntoIter<OverrideElement>),
    Options { names: std::slice::Iter<'a, String>, glob: &'a Glob },
    Numbers(Numbers),
    Done,
}

impl SweepExpression {
    /// The values it stands for.
    ///
    /// # Errors
    /// [`SweepError`] where they cannot be listed: an interval, a range that has no end.
    pub fn values<'a>(&'a self, context: SweepContext<'a>) -> Result<SweepValues<'a>, SweepError> {
        let mut generator = Generator::new(context.shuffle_seed);
        let source = match self {
            SweepExpression::Choice(choice) if choice.shuffle => {
                let mut items = choice.items.clone();
                generator.shuffle(&mut items);
                Source::Shuffled(items.into_iter())
            }
            SweepExpression::Choice(choice) => Source::Items(choice.items.iter()),
            SweepExpression::Range(range) if range.shuffle => {
                let mut items: Vec<OverrideElement> = Numbers::new(range)?.take(SHUFFLE_LIMIT + 1).collect();
                if items.len() > SHUFFLE_LIMIT {
                    return Err(SweepError::TooLong { limit: SHUFFLE_LIMIT });
                }
                generator.shuffle(&mut items);
                Source::Shuffled(items.into_iter())
            }
            SweepExpression::Range(range) => Source::Numbers(Numbers::new(range)?),
            SweepExpression::Glob(glob) => Source::Options { names: context.group_options.iter(), glob },
            SweepExpression::Interval(_) => return Err(SweepError::Interval),
        };
        Ok(SweepValues { source })
    }
}

impl Iterator for SweepValues<'_> {
    type Item = Result<SweepValue, SweepError>;

    fn next(&mut self) -> Option<Self::Item> {
        let element = match &mut self.source {
            Source::Items(items) => items.next()?.clone(),
            Source::Shuffled(items) => items.next()?,
            Source::Numbers(numbers) => numbers.next()?,
            Source::Options { names, glob } => return next_option(names, glob),
            Source::Done => return None,
        };
        let text = match element.to_text(Spacing::Tight) {
            Ok(text) => text,
            Err(error) => {
                self.source = Source::Done;
                return Some(Err(error.into()));
            }
        };
        Some(Ok(SweepValue { element, text }))
    }
}

/// The next option the glob chooses. Its text is the name as it is, without escapes.
fn next_option(
    names: &mut std::slice::Iter<'_, String>,
    glob: &Glob,
) -> Option<Result<SweepValue, SweepError>> {
    for name in names.by_ref() {
        let chosen = match any_fits(name, &glob.include) {
            Ok(true) => any_fits(name, &glob.exclude).map(|excluded| !excluded),
            other => other,
        };
        match chosen {
            Ok(true) => {
                let element = OverrideElement::Str(name.clone());
                return Some(Ok(SweepValue { element, text: name.clone() }));
            }
            Ok(false) => {}
            Err(error) => {
                *names = [].iter();
                return Some(Err(error));
            }
        }
    }
    None
}

fn any_fits(name: &str, patterns: &[OverrideElement]) -> Result<bool, SweepError> {
    for pattern in patterns {
        match pattern {
            OverrideElement::Str(pattern) if fits(name, pattern) => return Ok(true),
            OverrideElement::Str(_) => {}
            other => return Err(SweepError::Pattern { found: other.kind_name() }),
        }
    }
    Ok(false)
}

/// The numbers of a range.
#[derive(Debug)]
enum Numbers {
    Whole { next: Int, stop: Int, step: Int },
    Decimal { next: Decimal, stop: Decimal, step: Decimal },
    None,
}

impl Numbers {
    fn new(range: &RangeSweep) -> Result<Self, SweepError> {
        if let (Number::Int(start), Number::Int(stop), Number::Int(step)) =
            (&range.start, &range.stop, &range.step)
        {
            if *step == Int::Small(0) {
                return Err(SweepError::ZeroStep);
            }
            return Ok(Numbers::Whole { next: start.clone(), stop: stop.clone(), step: step.clone() });
        }
        Self::decimal(range)
    }

    fn decimal(range: &RangeSweep) -> Result<Self, SweepError> {
        let undefined = |number: &Number| matches!(number, Number::Float(float) if float.is_nan());
        let zero = Number::Int(Int::Small(0));
        let forwards = match range.step.compare(&zero) {
            None => return Err(SweepError::NotANumber),
            Some(Ordering::Equal) => return Err(SweepError::ZeroStep),
            Some(order) => order == Ordering::Greater,
        };
        if undefined(&range.start) || undefined(&range.stop) {
            return Err(SweepError::NotANumber);
        }
        let wanted = if forwards { Ordering::Less } else { Ordering::Greater };
        if range.start.compare(&range.stop) != Some(wanted) {
            return Ok(Numbers::None);
        }
        // An infinite start never moves, and an infinite stop is never reached by finite steps.
        let next = range.start.to_decimal().ok_or(SweepError::Endless)?;
        let Some(step) = range.step.to_decimal() else {
            // The first step already leads to infinity, so only the start is in the range.
            let step = Decimal::from_int(&Int::Small(if forwards { 1 } else { -1 }));
            return Ok(Numbers::Decimal { stop: next.plus(&step), next, step });
        };
        let stop = range.stop.to_decimal().ok_or(SweepError::Endless)?;
        // A step so small that a sum loses it is never taken. The start itself may have more digits
        // than a sum keeps, so what counts is the number after it.
        let second = next.plus(&step).rounded();
        let third = second.plus(&step).rounded();
        if second.compare(&stop) == wanted && third.compare(&second) == Ordering::Equal {
            return Err(SweepError::Endless);
        }
        Ok(Numbers::Decimal { next, stop, step })
    }
}

impl Iterator for Numbers {
    type Item = OverrideElement;

    fn next(&mut self) -> Option<OverrideElement> {
        match self {
            Numbers::None => None,
            Numbers::Whole { next, stop, step } => {
                let (one, other) = (Number::Int(next.clone()), Number::Int(stop.clone()));
                let wanted = if int_is_negative(step) { Ordering::Greater } else { Ordering::Less };
                if one.compare(&other) != Some(wanted) {
                    return None;
                }
                let current = next.clone();
                *next = int_sum(next, step);
                Some(OverrideElement::Int(current))
            }
            Numbers::Decimal { next, stop, step } => {
                let wanted = if step.is_negative() { Ordering::Greater } else { Ordering::Less };
                if next.compare(stop) != wanted {
                    return None;
                }
                let current = next.to_float();
                *next = next.plus(step).rounded();
                Some(OverrideElement::Float(current))
            }
        }
    }
}
