//! Sweeps: values that stand for several.

use glob::Pattern;

use super::element::Element;
use crate::value::{Int, float_repr};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sweep {
    /// `a,b,c` or `choice(a,b,c)`.
    Choice {
        items: Vec<Element>,
        /// Whether it was written without `choice`.
        simple: bool,
    },
    /// `range(1,10)`: whole numbers at equal distances, up to one that is no longer in it.
    Whole { start: i64, stop: i64, step: i64 },
    /// `range(0,1,0.1)`.
    Decimal { start: f64, stop: f64, step: f64 },
    /// `glob(*)`: the options of a config group that fit one of the patterns and none of the exceptions.
    Glob { include: Vec<String>, exclude: Vec<String> },
}

const FUNCTIONS: &[(&str, &[&str])] =
    &[("choice", &[]), ("glob", &["include", "exclude"]), ("range", &["start", "stop", "step"])];

pub(super) fn call(name: &str, arguments: Vec<(Option<&str>, Element)>) -> Result<Sweep, String> {
    let Some((_, names)) = FUNCTIONS.iter().find(|(known, _)| *known == name) else {
        let names: Vec<&str> = FUNCTIONS.iter().map(|(name, _)| *name).collect();
        return Err(format!("there is no function '{name}'; there are {}", names.join(", ")));
    };
    if name == "choice" {
        return choice(arguments);
    }
    let mut slots: Vec<Option<Element>> = vec![None; names.len()];
    let mut any_named = false;
    for (index, (argument, element)) in arguments.into_iter().enumerate() {
        any_named |= argument.is_some();
        let slot = match argument {
            Some(argument) => names.iter().position(|known| *known == argument),
            None if any_named => {
                return Err(format!("{name}: a positional argument cannot follow a named one"));
            }
            None => Some(index),
        };
        let slot = slot.and_then(|slot| slots.get_mut(slot));
        let slot = slot.ok_or_else(|| format!("{name}: its arguments are {}", names.join(", ")))?;
        if slot.replace(element).is_some() {
            return Err(format!("{name}: an argument is given twice"));
        }
    }
    let mut slots = slots.into_iter();
    let mut next = || slots.next().flatten().filter(|element| *element != Element::Null);
    match name {
        "glob" => glob(next(), next()),
        _ => range(next(), next(), next()),
    }
}

fn choice(arguments: Vec<(Option<&str>, Element)>) -> Result<Sweep, String> {
    if arguments.iter().any(|(name, _)| name.is_some()) {
        return Err("choice: its arguments have no names".to_owned());
    }
    let items: Vec<Element> = arguments.into_iter().map(|(_, element)| unquoted(element)).collect();
    if items.is_empty() || items.contains(&Element::Null) {
        return Err("choice: a value is missing or null".to_owned());
    }
    Ok(Sweep::Choice { items, simple: false })
}

/// Quotes around an argument do not reach the function; those inside a list do.
fn unquoted(element: Element) -> Element {
    match element {
        Element::Quoted { text, .. } => Element::Str(text),
        other => other,
    }
}

/// `range(stop)`, `range(start,stop)`, `range(start,stop,step)`.
fn range(start: Option<Element>, stop: Option<Element>, step: Option<Element>) -> Result<Sweep, String> {
    let zero = Element::Int(Int::Small(0));
    let (start, stop) = match (start, stop) {
        (Some(start), Some(stop)) => (start, stop),
        (Some(stop), None) | (None, Some(stop)) => (zero, stop),
        (None, None) => return Err("range: its stop is missing".to_owned()),
    };
    let step = step.unwrap_or(Element::Int(Int::Small(1)));
    if let (Element::Int(Int::Small(start)), Element::Int(Int::Small(stop)), Element::Int(Int::Small(step))) =
        (&start, &stop, &step)
    {
        return Ok(Sweep::Whole { start: *start, stop: *stop, step: *step });
    }
    let number = |element: &Element| match element {
        Element::Int(Int::Small(small)) => Ok(*small as f64),
        Element::Float(float) if float.is_finite() => Ok(*float),
        other => Err(format!("range: {} is not a number that it can count with", other.to_text())),
    };
    Ok(Sweep::Decimal { start: number(&start)?, stop: number(&stop)?, step: number(&step)? })
}

/// `glob(pattern)`, `glob([pattern,…],exclude=pattern)`.
fn glob(include: Option<Element>, exclude: Option<Element>) -> Result<Sweep, String> {
    let text = |element: Element| match unquoted(element) {
        Element::Str(text) => Ok(text),
        other => Err(format!("glob: {} is not a pattern", other.to_text())),
    };
    let patterns = |element| match element {
        Element::List(items) => items.into_iter().map(text).collect(),
        other => Ok(vec![text(other)?]),
    };
    let include = patterns(include.ok_or("glob: a pattern is missing")?)?;
    let exclude = exclude.map_or(Ok(Vec::new()), patterns)?;
    Ok(Sweep::Glob { include, exclude })
}

const ZERO_STEP: &str = "the step of a range cannot be zero";

impl Sweep {
    pub(super) fn texts<'a>(
        &'a self,
        options: &'a [String],
    ) -> Result<Box<dyn Iterator<Item = String> + 'a>, String> {
        Ok(match self {
            Sweep::Choice { items, .. } => Box::new(items.iter().map(Element::to_text)),
            Sweep::Whole { step: 0, .. } => return Err(ZERO_STEP.to_owned()),
            Sweep::Whole { start, stop, step } => {
                let numbers = std::iter::successors(Some(*start), |number| number.checked_add(*step));
                let is_before = |number: &i64| if *step > 0 { number < stop } else { number > stop };
                Box::new(numbers.take_while(is_before).map(|number| number.to_string()))
            }
            Sweep::Decimal { start, stop, step } => {
                if *step == 0.0 {
                    return Err(ZERO_STEP.to_owned());
                }
                let decimals = decimals(*start).max(decimals(*step));
                let number = move |count: u64| {
                    let number = start + count as f64 * step;
                    format!("{number:.decimals$}").parse().unwrap_or(number)
                };
                let is_before = |number: &f64| if *step > 0.0 { number < stop } else { number > stop };
                Box::new((0..).map(number).take_while(is_before).map(float_repr))
            }
            Sweep::Glob { include, exclude } => {
                let (include, exclude) = (compiled(include)?, compiled(exclude)?);
                let fits = |name: &str, patterns: &[Pattern]| patterns.iter().any(|it| it.matches(name));
                let chosen = move |name: &&String| fits(name, &include) && !fits(name, &exclude);
                Box::new(options.iter().filter(chosen).cloned())
            }
        })
    }
}

fn decimals(number: f64) -> usize {
    number.to_string().split_once('.').map_or(0, |(_, digits)| digits.len())
}

fn compiled(patterns: &[String]) -> Result<Vec<Pattern>, String> {
    let compile = |pattern: &String| {
        Pattern::new(pattern).map_err(|error| format!("'{pattern}' is not a pattern: {}", error.msg))
    };
    patterns.iter().map(compile).collect()
}
