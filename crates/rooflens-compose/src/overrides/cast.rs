//! The casts: `int`, `float`, `str`, `bool`, element by element through lists, mappings and sweeps.

use super::call::{Arguments, CallFault};
use super::element::OverrideElement;
use super::functions::simple_choice;
use super::number::{Number, float_from_text, float_to_int, int_from_text, int_to_float};
use super::sweep::{ChoiceSweep, IntervalSweep, RangeSweep, SweepExpression};
use crate::interpolation::span::shortened;
use crate::value::{Int, float_repr};

/// What a cast makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cast {
    Int,
    Float,
    Str,
    Bool,
}

/// `int(x)`, `int(x,y)`, `int(value=x)` and the like.
pub(super) fn cast(target: Cast, arguments: Arguments) -> Result<OverrideElement, CallFault> {
    let (mut positional, [value]) = arguments.collected(["value"])?;
    for argument in positional.iter().chain(&value) {
        // Python's type for a cast's argument includes every sweep but a glob.
        if let OverrideElement::Sweep(sweep) = argument
            && matches!(**sweep, SweepExpression::Glob(_))
        {
            let expected = "a value, a choice, a range or an interval";
            return Err(CallFault::ArgumentKind { found: sweep.kind_name(), expected });
        }
    }
    let value = value.filter(|value| *value != OverrideElement::Null);
    if value.is_some() && !positional.is_empty() {
        return Err(CallFault::RepeatedArgument { name: "value" });
    }
    let element = match (value, positional.len()) {
        (Some(value), _) => value,
        (None, 0) => return Err(CallFault::MissingArgument { name: "value" }),
        (None, 1) => positional.remove(0),
        (None, _) => simple_choice(positional, false)?,
    };
    target.element(element)
}

impl Cast {
    fn name(self) -> &'static str {
        match self {
            Cast::Int => "a whole number",
            Cast::Float => "a floating-point number",
            Cast::Str => "text",
            Cast::Bool => "a truth value",
        }
    }

    fn refused(self, found: impl Into<String>) -> CallFault {
        CallFault::Cast { found: found.into(), target: self.name() }
    }

    fn element(self, element: OverrideElement) -> Result<OverrideElement, CallFault> {
        match element {
            OverrideElement::Quoted(quoted) => self.text(&quoted.text),
            OverrideElement::Str(text) => self.text(&text),
            OverrideElement::List(items) => {
                let cast = items.into_iter().map(|item| self.element(item));
                Ok(OverrideElement::List(cast.collect::<Result<_, _>>()?))
            }
            OverrideElement::Map(pairs) => {
                let cast = pairs.into_iter().map(|(key, value)| Ok((key, self.element(value)?)));
                Ok(OverrideElement::Map(cast.collect::<Result<_, _>>()?))
            }
            OverrideElement::Sweep(sweep) => self.sweep(*sweep),
            OverrideElement::Null if self == Cast::Bool => Ok(OverrideElement::Bool(false)),
            OverrideElement::Null => Err(self.refused("null")),
            OverrideElement::Bool(flag) => self.truth(flag),
            OverrideElement::Int(int) => self.int(int),
            OverrideElement::Float(float) => self.float(float),
        }
    }

    fn truth(self, flag: bool) -> Result<OverrideElement, CallFault> {
        Ok(match self {
            Cast::Int => OverrideElement::Int(Int::Small(i64::from(flag))),
            Cast::Float => OverrideElement::Float(f64::from(u8::from(flag))),
            Cast::Str => OverrideElement::Str(flag.to_string()),
            Cast::Bool => OverrideElement::Bool(flag),
        })
    }

    fn int(self, int: Int) -> Result<OverrideElement, CallFault> {
        Ok(match (self, int) {
            (Cast::Int, int) => OverrideElement::Int(int),
            (Cast::Float, int) => OverrideElement::Float(int_to_float(&int).ok_or(CallFault::Overflow)?),
            (Cast::Str, Int::Small(small)) => OverrideElement::Str(small.to_string()),
            (Cast::Str, Int::Big(digits)) => OverrideElement::Str(digits),
            (Cast::Bool, int) => OverrideElement::Bool(int != Int::Small(0)),
        })
    }

    fn float(self, float: f64) -> Result<OverrideElement, CallFault> {
        Ok(match self {
            Cast::Int => {
                let int = float_to_int(float);
                OverrideElement::Int(int.ok_or_else(|| self.refused(float_repr(float)))?)
            }
            Cast::Float => OverrideElement::Float(float),
            Cast::Str => OverrideElement::Str(float_repr(float)),
            Cast::Bool => OverrideElement::Bool(float != 0.0),
        })
    }

    fn text(self, text: &str) -> Result<OverrideElement, CallFault> {
        let cast = match self {
            Cast::Int => int_from_text(text).map(OverrideElement::Int),
            Cast::Float => float_from_text(text).map(OverrideElement::Float),
            Cast::Str => Some(OverrideElement::Str(text.to_owned())),
            Cast::Bool => match text.to_lowercase().as_str() {
                "true" => Some(OverrideElement::Bool(true)),
                "false" => Some(OverrideElement::Bool(false)),
                _ => None,
            },
        };
        cast.ok_or_else(|| self.refused(format!("'{}'", shortened(text))))
    }

    /// A cast choice or range forgets its tags and that it was shuffled; an interval does not.
    fn sweep(self, sweep: SweepExpression) -> Result<OverrideElement, CallFault> {
        let sweep = match sweep {
            SweepExpression::Choice(choice) => {
                let mut items = Vec::with_capacity(choice.items.len());
                for item in choice.items {
                    let item = self.element(item)?;
                    if let OverrideElement::Sweep(inner) = item {
                        return Err(self.refused(inner.kind_name()));
                    }
                    items.push(item);
                }
                SweepExpression::Choice(ChoiceSweep { items, simple: choice.simple, ..Default::default() })
            }
            SweepExpression::Range(range) => SweepExpression::Range(RangeSweep {
                start: self.number(range.start, "a range")?,
                stop: self.number(range.stop, "a range")?,
                step: self.number(range.step, "a range")?,
                shuffle: false,
                tags: Default::default(),
            }),
            SweepExpression::Interval(interval) => SweepExpression::Interval(IntervalSweep {
                start: self.number(interval.start, "an interval")?,
                end: self.number(interval.end, "an interval")?,
                tags: interval.tags,
            }),
            // Inside a list Python asks only whether the object is something, and it is.
            SweepExpression::Glob(_) if self == Cast::Bool => return Ok(OverrideElement::Bool(true)),
            SweepExpression::Glob(_) => return Err(self.refused("a glob")),
        };
        Ok(OverrideElement::Sweep(Box::new(sweep)))
    }

    fn number(self, number: Number, sweep: &'static str) -> Result<Number, CallFault> {
        match self {
            Cast::Int => {
                let int = number.to_int();
                Ok(Number::Int(int.ok_or_else(|| self.refused("an infinite or undefined number"))?))
            }
            Cast::Float => Ok(Number::Float(number.to_float().ok_or(CallFault::Overflow)?)),
            Cast::Str | Cast::Bool => Err(self.refused(sweep)),
        }
    }
}
