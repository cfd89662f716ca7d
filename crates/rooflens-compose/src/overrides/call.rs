//! Function calls: who there is, and who gets which argument.

use indexmap::IndexMap;

use super::cast::{Cast, cast};
use super::element::OverrideElement;
use super::functions;
use super::shuffle::Generator;

/// A function of the override grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// Truth values.
    Bool,
    /// One of several values.
    Choice,
    /// Floating-point numbers.
    Float,
    /// Options of a config group.
    Glob,
    /// Whole numbers.
    Int,
    /// Every number between two.
    Interval,
    /// Numbers at equal distances.
    Range,
    /// Random order.
    Shuffle,
    /// Ascending or descending order.
    Sort,
    /// Text.
    Str,
    /// Names for a sweep.
    Tag,
}

impl Function {
    /// All of them, by name.
    pub const ALL: &[Function] = &[
        Function::Bool,
        Function::Choice,
        Function::Float,
        Function::Glob,
        Function::Int,
        Function::Interval,
        Function::Range,
        Function::Shuffle,
        Function::Sort,
        Function::Str,
        Function::Tag,
    ];

    /// The name it is called by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Function::Bool => "bool",
            Function::Choice => "choice",
            Function::Float => "float",
            Function::Glob => "glob",
            Function::Int => "int",
            Function::Interval => "interval",
            Function::Range => "range",
            Function::Shuffle => "shuffle",
            Function::Sort => "sort",
            Function::Str => "str",
            Function::Tag => "tag",
        }
    }

    /// The function of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|function| function.name() == name).copied()
    }

    /// What it gives.
    pub(super) fn call(
        self,
        arguments: Arguments,
        generator: &mut Generator,
    ) -> Result<OverrideElement, CallFault> {
        match self {
            Function::Bool => cast(Cast::Bool, arguments),
            Function::Float => cast(Cast::Float, arguments),
            Function::Int => cast(Cast::Int, arguments),
            Function::Str => cast(Cast::Str, arguments),
            Function::Choice => functions::choice(arguments),
            Function::Range => functions::range(arguments),
            Function::Interval => functions::interval(arguments),
            Function::Tag => functions::tag(arguments),
            Function::Sort => functions::sort(arguments),
            Function::Shuffle => functions::shuffle(arguments, generator),
            Function::Glob => functions::glob(arguments),
        }
    }
}

/// Why a function cannot do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallFault {
    /// A positional argument after a named one.
    #[error("a positional argument cannot follow a named one")]
    PositionalAfterNamed,
    /// An argument the function does not know.
    #[error("there is no argument '{name}'")]
    UnknownArgument {
        /// Its name.
        name: String,
    },
    /// More positional arguments than the function takes.
    #[error("at most {most} arguments are allowed")]
    TooManyArguments {
        /// How many it takes.
        most: usize,
    },
    /// An argument given by position and by name.
    #[error("the argument '{name}' is given twice")]
    RepeatedArgument {
        /// Its name.
        name: &'static str,
    },
    /// An argument left out.
    #[error("the argument '{name}' is missing")]
    MissingArgument {
        /// Its name.
        name: &'static str,
    },
    /// An argument of the wrong kind.
    #[error("an argument is {found}; expected {expected}")]
    ArgumentKind {
        /// What it is.
        found: &'static str,
        /// What it could be.
        expected: &'static str,
    },
    /// A choice inside a choice.
    #[error("a choice cannot be the only item of a choice")]
    NestedChoice,
    /// A value that the cast does not know.
    #[error("{found} cannot become {target}")]
    Cast {
        /// The value, or what it is.
        found: String,
        /// What it should become.
        target: &'static str,
    },
    /// A whole number too large for a float.
    #[error("the number is too large for a float")]
    Overflow,
    /// Two values of which neither is less.
    #[error("{left} and {right} cannot be compared")]
    Incomparable {
        /// The one.
        left: &'static str,
        /// The other.
        right: &'static str,
    },
}

/// The arguments of a call. Quotes around an argument are gone; those inside a list are kept.
#[derive(Debug, Default)]
pub(super) struct Arguments {
    positional: Vec<OverrideElement>,
    named: IndexMap<String, OverrideElement>,
}

impl Arguments {
    pub(super) fn push(&mut self, element: OverrideElement) -> Result<(), CallFault> {
        if !self.named.is_empty() {
            return Err(CallFault::PositionalAfterNamed);
        }
        self.positional.push(unquoted(element));
        Ok(())
    }

    /// Of two with one name the last counts.
    pub(super) fn push_named(&mut self, name: &str, element: OverrideElement) {
        self.named.insert(name.to_owned(), unquoted(element));
    }

    /// All positional arguments, and the named ones in the order of `names`.
    pub(super) fn collected<const N: usize>(
        self,
        names: [&'static str; N],
    ) -> Result<(Vec<OverrideElement>, [Option<OverrideElement>; N]), CallFault> {
        let mut slots = [const { None }; N];
        fill(&mut slots, &names, self.named)?;
        Ok((self.positional, slots))
    }

    /// The arguments in the order of `names`, by position or by name.
    pub(super) fn bound<const N: usize>(
        self,
        names: [&'static str; N],
    ) -> Result<[Option<OverrideElement>; N], CallFault> {
        if self.positional.len() > N {
            return Err(CallFault::TooManyArguments { most: N });
        }
        let mut slots = [const { None }; N];
        for (slot, element) in slots.iter_mut().zip(self.positional) {
            *slot = Some(element);
        }
        fill(&mut slots, &names, self.named)?;
        Ok(slots)
    }
}

fn fill(
    slots: &mut [Option<OverrideElement>],
    names: &[&'static str],
    named: IndexMap<String, OverrideElement>,
) -> Result<(), CallFault> {
    for (name, element) in named {
        let Some(at) = names.iter().position(|known| *known == name) else {
            return Err(CallFault::UnknownArgument { name });
        };
        if slots[at].is_some() {
            return Err(CallFault::RepeatedArgument { name: names[at] });
        }
        slots[at] = Some(element);
    }
    Ok(())
}

fn unquoted(element: OverrideElement) -> OverrideElement {
    match element {
        OverrideElement::Quoted(quoted) => OverrideElement::Str(quoted.text),
        other => other,
    }
}
