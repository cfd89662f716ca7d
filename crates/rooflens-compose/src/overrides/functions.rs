//! The functions that make and change sweeps.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::call::{Arguments, CallFault};
use super::element::OverrideElement;
use super::number::Number;
use super::order::{number, sorted};
use super::shuffle::Generator;
use super::sweep::{ChoiceSweep, Glob, IntervalSweep, RangeSweep, SweepExpression};
use crate::value::Int;

fn swept(sweep: SweepExpression) -> OverrideElement {
    OverrideElement::Sweep(Box::new(sweep))
}

fn wrong(element: &OverrideElement, expected: &'static str) -> CallFault {
    CallFault::ArgumentKind { found: element.kind_name(), expected }
}

/// `choice(a,b)`; `choice(sort(b,a))` turns the simple choice inside into a full one.
pub(super) fn choice(arguments: Arguments) -> Result<OverrideElement, CallFault> {
    let (mut items, []) = arguments.collected([])?;
    for item in &items {
        let fits = match item {
            OverrideElement::Null => false,
            OverrideElement::Sweep(sweep) => matches!(**sweep, SweepExpression::Choice(_)),
            _ => true,
        };
        if !fits {
            return Err(wrong(item, "a value that is not null, or a choice"));
        }
    }
    if items.is_empty() {
        return Err(CallFault::MissingArgument { name: "items" });
    }
    if let [OverrideElement::Sweep(sweep)] = &mut items[..]
        && let SweepExpression::Choice(inner) = &mut **sweep
    {
        if !inner.simple {
            return Err(CallFault::NestedChoice);
        }
        inner.simple = false;
        return Ok(items.remove(0));
    }
    Ok(swept(SweepExpression::Choice(ChoiceSweep { items, ..Default::default() })))
}

/// Several arguments as a choice written without `choice`.
pub(super) fn simple_choice(
    items: Vec<OverrideElement>,
    shuffle: bool,
) -> Result<OverrideElement, CallFault> {
    if let Some(sweep) = items.iter().find(|item| matches!(item, OverrideElement::Sweep(_))) {
        return Err(wrong(sweep, "values, or a single sweep"));
    }
    let simple = true;
    Ok(swept(SweepExpression::Choice(ChoiceSweep { items, simple, shuffle, tags: BTreeSet::new() })))
}

fn required(slot: Option<OverrideElement>, name: &'static str) -> Result<Number, CallFault> {
    let element = slot.ok_or(CallFault::MissingArgument { name })?;
    number(&element).ok_or_else(|| wrong(&element, "a number"))
}

/// `range(stop)`, `range(start,stop)`, `range(start,stop,step)`.
pub(super) fn range(arguments: Arguments) -> Result<OverrideElement, CallFault> {
    let [start, stop, step] = arguments.bound(["start", "stop", "step"])?;
    let start = required(start, "start")?;
    let step = match step {
        Some(step) => required(Some(step), "step")?,
        None => Number::Int(Int::Small(1)),
    };
    let (start, stop) = match stop {
        None | Some(OverrideElement::Null) => (Number::Int(Int::Small(0)), start),
        stop => (start, required(stop, "stop")?),
    };
    Ok(swept(SweepExpression::Range(RangeSweep { start, stop, step, shuffle: false, tags: BTreeSet::new() })))
}

/// `interval(start,end)`.
pub(super) fn interval(arguments: Arguments) -> Result<OverrideElement, CallFault> {
    let [start, end] = arguments.bound(["start", "end"])?;
    let float = |slot, name| required(slot, name)?.to_float().ok_or(CallFault::Overflow);
    let start = Number::Float(float(start, "start")?);
    let end = Number::Float(float(end, "end")?);
    Ok(swept(SweepExpression::Interval(IntervalSweep { start, end, tags: BTreeSet::new() })))
}

/// `tag(name,…,sweep)`: the names replace those it had.
pub(super) fn tag(arguments: Arguments) -> Result<OverrideElement, CallFault> {
    const EXPECTED: &str = "names, and a choice, range or interval as the last";
    let (mut positional, [named]) = arguments.collected(["sweep"])?;
    if positional.is_empty() {
        return Err(CallFault::MissingArgument { name: "sweep" });
    }
    match named {
        Some(OverrideElement::Null) | None => {}
        Some(sweep) => positional.push(sweep),
    }
    let mut tags = BTreeSet::new();
    let last = positional.pop().unwrap_or(OverrideElement::Null);
    for name in positional {
        match name {
            OverrideElement::Str(name) => tags.insert(name),
            other => return Err(wrong(&other, EXPECTED)),
        };
    }
    let OverrideElement::Sweep(mut sweep) = last else {
        return Err(wrong(&last, EXPECTED));
    };
    match &mut *sweep {
        SweepExpression::Choice(choice) => choice.tags = tags,
        SweepExpression::Range(range) => range.tags = tags,
        SweepExpression::Interval(interval) => interval.tags = tags,
        SweepExpression::Glob(_) => {
            return Err(CallFault::ArgumentKind { found: "a glob", expected: EXPECTED });
        }
    }
    Ok(OverrideElement::Sweep(sweep))
}

/// The arguments of `sort` and `shuffle`: `list` goes before `sweep`, and that before the others.
fn list_or_sweep(
    positional: Vec<OverrideElement>,
    sweep: Option<OverrideElement>,
    list: Option<OverrideElement>,
) -> Result<Vec<OverrideElement>, CallFault> {
    let listable = |element: &OverrideElement| match element {
        OverrideElement::Sweep(sweep) => {
            matches!(**sweep, SweepExpression::Choice(_) | SweepExpression::Range(_))
        }
        _ => false,
    };
    for item in &positional {
        if *item == OverrideElement::Null || (matches!(item, OverrideElement::Sweep(_)) && !listable(item)) {
            return Err(wrong(item, "a value that is not null, a choice or a range"));
        }
    }
    let list = list.filter(|list| *list != OverrideElement::Null);
    let sweep = sweep.filter(|sweep| *sweep != OverrideElement::Null);
    match (&list, &sweep) {
        (Some(list), _) if !matches!(list, OverrideElement::List(_)) => return Err(wrong(list, "a list")),
        (_, Some(sweep)) if !listable(sweep) => return Err(wrong(sweep, "a choice or a range")),
        _ => {}
    }
    Ok(list.or(sweep).map_or(positional, |single| vec![single]))
}

/// `shuffle(a,b)`, `shuffle([a,b])`, `shuffle(sweep)`.
pub(super) fn shuffle(arguments: Arguments, generator: &mut Generator) -> Result<OverrideElement, CallFault> {
    let (positional, [sweep, list]) = arguments.collected(["sweep", "list"])?;
    let mut items = list_or_sweep(positional, sweep, list)?;
    if items.len() != 1 {
        return simple_choice(items, true);
    }
    match &mut items[0] {
        OverrideElement::List(list) => generator.shuffle(list),
        OverrideElement::Sweep(sweep) => match &mut **sweep {
            SweepExpression::Choice(choice) => choice.shuffle = true,
            SweepExpression::Range(range) => range.shuffle = true,
            SweepExpression::Interval(_) | SweepExpression::Glob(_) => {}
        },
        // A lone value becomes a list of one.
        _ => return Ok(OverrideElement::List(items)),
    }
    Ok(items.remove(0))
}

/// `sort(b,a)`, `sort([b,a])`, `sort(sweep)`, each with `reverse=true`.
pub(super) fn sort(arguments: Arguments) -> Result<OverrideElement, CallFault> {
    let (positional, [sweep, list, reverse]) = arguments.collected(["sweep", "list", "reverse"])?;
    let reverse = match reverse {
        None => false,
        Some(OverrideElement::Bool(reverse)) => reverse,
        Some(other) => return Err(wrong(&other, "true or false")),
    };
    let mut items = list_or_sweep(positional, sweep, list)?;
    match items.len() {
        0 => Err(CallFault::MissingArgument { name: "list" }),
        1 => match items.remove(0) {
            OverrideElement::List(list) => Ok(OverrideElement::List(sorted(list, reverse)?)),
            OverrideElement::Sweep(sweep) => Ok(swept(sorted_sweep(*sweep, reverse)?)),
            single => Ok(single),
        },
        _ => {
            let container =
                |item: &&OverrideElement| matches!(item, OverrideElement::List(_) | OverrideElement::Map(_));
            if let Some(container) = items.iter().find(container) {
                return Err(wrong(container, "strings, numbers and booleans, or a single list"));
            }
            let OverrideElement::Sweep(choice) = simple_choice(items, false)? else {
                return Err(CallFault::MissingArgument { name: "list" });
            };
            Ok(swept(sorted_sweep(*choice, reverse)?))
        }
    }
}

fn sorted_sweep(sweep: SweepExpression, reverse: bool) -> Result<SweepExpression, CallFault> {
    match sweep {
        SweepExpression::Choice(mut choice) => {
            choice.items = sorted(choice.items, reverse)?;
            Ok(SweepExpression::Choice(choice))
        }
        SweepExpression::Range(range) => Ok(SweepExpression::Range(sorted_range(range, reverse)?)),
        other => Ok(other),
    }
}

/// A range turned around where it runs the other way. As in Hydra 1.3 the last number is taken to be
/// one step before the stop, which is wrong where the steps do not end there.
fn sorted_range(range: RangeSweep, reverse: bool) -> Result<RangeSweep, CallFault> {
    let order = range.start.compare(&range.stop);
    let turned = if reverse { Ordering::Less } else { Ordering::Greater };
    if order != Some(turned) {
        return Ok(range);
    }
    let step = range.step.absolute();
    let shift = if reverse { step.negated() } else { step };
    let start = range.stop.plus(&shift).ok_or(CallFault::Overflow)?;
    let stop = range.start.plus(&shift).ok_or(CallFault::Overflow)?;
    Ok(RangeSweep { start, stop, step: range.step.negated(), ..range })
}

/// `glob(pattern)`, `glob([pattern,…],exclude=pattern)`.
pub(super) fn glob(arguments: Arguments) -> Result<OverrideElement, CallFault> {
    let [include, exclude] = arguments.bound(["include", "exclude"])?;
    let patterns = |element| match element {
        OverrideElement::Str(_) => Ok(vec![element]),
        OverrideElement::List(list) => Ok(list),
        other => Err(wrong(&other, "a pattern or a list of patterns")),
    };
    let include = patterns(include.ok_or(CallFault::MissingArgument { name: "include" })?)?;
    let exclude = match exclude {
        None | Some(OverrideElement::Null) => Vec::new(),
        Some(exclude) => patterns(exclude)?,
    };
    Ok(swept(SweepExpression::Glob(Glob { include, exclude })))
}
