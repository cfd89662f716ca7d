//! The casts: `int`, `float`, `str`, `bool`, element by element through lists, mappings and sweeps.

use super::call::{Arguments, CallFault};
use super::element::Element;
use super::functions::simple_choice;
use super::number::{Number, float_from_text, float_to_int, int_from_text, int_to_float};
use super::sweep::{ChoiceSweep, IntervalSweep, RangeSweep, Sweep};
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
pub(super) fn cast(target: Cast, arguments: Arguments) -> Result<Element, CallFault> {
    let (mut positional, [value]) = arguments.collected(["value"])?;
    for argument in positional.iter().chain(&value) {
        // Python's type for a cast's argument includes every sweep but a glob.
        if let Element::Sweep(sweep) = argument
            && matches!(**sweep, Sweep::Glob(_))
        {
            let expected = "a value, a choice, a range or an interval";
            return Err(CallFault::ArgumentKind { found: sweep.kind_name(), expected });
        }
    }
    let value = value.filter(|value| *value != Element::Null);
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

    fn element(self, element: Element) -> Result<Element, CallFault> {
        match element {
            Element::Quoted(quoted) => self.text(&quoted.text),
            Element::Str(text) => self.text(&text),
            Element::List(items) => {
                let cast = items.into_iter().map(|item| self.element(item));
                Ok(Element::List(cast.collect::<Result<_, _>>()?))
            }
            Element::Map(pairs) => {
                let cast = pairs.into_iter().map(|(key, value)| Ok((key, self.element(value)?)));
                Ok(Element::Map(cast.collect::<Result<_, _>>()?))
            }
            Element::Sweep(sweep) => self.sweep(*sweep),
            Element::Null if self == Cast::Bool => Ok(Element::Bool(false)),
            Element::Null => Err(self.refused("null")),
            Element::Bool(flag) => self.truth(flag),
            Element::Int(int) => self.int(int),
            Element::Float(float) => self.float(float),
        }
    }

    fn truth(self, flag: bool) -> Result<Element, CallFault> {
        Ok(match self {
            Cast::Int => Element::Int(Int::Small(i64::from(flag))),
            Cast::Float => Element::Float(f64::from(u8::from(flag))),
            Cast::Str => Element::Str(flag.to_string()),
            Cast::Bool => Element::Bool(flag),
        })
    }

    fn int(self, int: Int) -> Result<Element, CallFault> {
        Ok(match (self, int) {
            (Cast::Int, int) => Element::Int(int),
            (Cast::Float, int) => Element::Float(int_to_float(&int).ok_or(CallFault::Overflow)?),
            (Cast::Str, Int::Small(small)) => Element::Str(small.to_string()),
            (Cast::Str, Int::Big(digits)) => Element::Str(digits),
            (Cast::Bool, int) => Element::Bool(int != Int::Small(0)),
        })
    }

    fn float(self, float: f64) -> Result<Element, CallFault> {
        Ok(match self {
            Cast::Int => {
                let int = float_to_int(float);
                Element::Int(int.ok_or_else(|| self.refused(float_repr(float)))?)
            }
            Cast::Float => Element::Float(float),
            Cast::Str => Element::Str(float_repr(float)),
            Cast::Bool => Element::Bool(float != 0.0),
        })
    }

    fn text(self, text: &str) -> Result<Element, CallFault> {
        let cast = match self {
            Cast::Int => int_from_text(text).map(Element::Int),
            Cast::Float => float_from_text(text).map(Element::Float),
            Cast::Str => Some(Element::Str(text.to_owned())),
            Cast::Bool => match text.to_lowercase().as_str() {
                "true" => Some(Element::Bool(true)),
                "false" => Some(Element::Bool(false)),
                _ => None,
            },
        };
        cast.ok_or_else(|| self.refused(format!("'{}'", shortened(text))))
    }

    /// A cast choice or range forgets its tags and that it was shuffled; an interval does not.
    fn sweep(self, sweep: Sweep) -> Result<Element, CallFault> {
        let sweep = match sweep {
            Sweep::Choice(choice) => {
                let mut items = Vec::with_capacity(choice.items.len());
                for item in choice.items {
                    let item = self.element(item)?;
                    if let Element::Sweep(inner) = item {
                        return Err(self.refused(inner.kind_name()));
                    }
                    items.push(item);
                }
                Sweep::Choice(ChoiceSweep { items, simple: choice.simple, ..Default::default() })
            }
            Sweep::Range(range) => Sweep::Range(RangeSweep {
                start: self.number(range.start, "a range")?,
                stop: self.number(range.stop, "a range")?,
                step: self.number(range.step, "a range")?,
                shuffle: false,
                tags: Default::default(),
            }),
            Sweep::Interval(interval) => Sweep::Interval(IntervalSweep {
                start: self.number(interval.start, "an interval")?,
                end: self.number(interval.end, "an interval")?,
                tags: interval.tags,
            }),
            // Inside a list Python asks only whether the object is something, and it is.
            Sweep::Glob(_) if self == Cast::Bool => return Ok(Element::Bool(true)),
            Sweep::Glob(_) => return Err(self.refused("a glob")),
        };
        Ok(Element::Sweep(Box::new(sweep)))
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
