//! The parts of an interpolation text.

use super::span::Span;
use crate::value::Int;

/// A part of a text.
#[derive(Debug, Clone, PartialEq)]
pub enum TextPart {
    /// Text, its escapes already removed.
    Text {
        /// The text.
        text: String,
        /// Where it was written.
        span: Span,
    },
    /// An interpolation.
    Interpolation(Interpolation),
}

/// `${…}`.
#[derive(Debug, Clone, PartialEq)]
pub enum Interpolation {
    /// `${a.b}`: the value of another node.
    Node(NodeReference),
    /// `${name:argument,…}`: what a resolver returns.
    Resolver(ResolverCall),
}

impl Interpolation {
    /// Where it was written, from `${` to its brace.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Interpolation::Node(node) => node.span,
            Interpolation::Resolver(call) => call.span,
        }
    }
}

/// `${a.b[c]}`, `${.sibling}`, `${..uncle}`.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeReference {
    /// Dots before the first key: none is absolute, one the parent of the node, two its parent.
    pub dots: usize,
    /// The keys, at least one.
    pub keys: Vec<PathKey>,
    /// Where it was written.
    pub span: Span,
}

/// A key of a path.
#[derive(Debug, Clone, PartialEq)]
pub struct PathKey {
    /// Its name.
    pub name: Name,
    /// Whether it was written `[name]` and not `.name`.
    pub bracketed: bool,
}

/// A name that may come from elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub enum Name {
    /// As it was written.
    Text(String),
    /// The text another interpolation gives.
    Interpolation(Box<Interpolation>),
}

impl NodeReference {
    /// The path as one text, `..a.b[c]`, each nested interpolation replaced by what `resolve` gives.
    ///
    /// OmegaConf splits the path only after this: a nested interpolation whose text has dots in it
    /// counts as several keys. [`split_key`](super::split_key) does the splitting.
    ///
    /// # Errors
    /// What `resolve` returns.
    pub fn path<E>(&self, mut resolve: impl FnMut(&Interpolation) -> Result<String, E>) -> Result<String, E> {
        let mut path = ".".repeat(self.dots);
        for (index, key) in self.keys.iter().enumerate() {
            if key.bracketed {
                path.push('[');
            } else if index > 0 {
                path.push('.');
            }
            key.name.write(&mut path, &mut resolve)?;
            if key.bracketed {
                path.push(']');
            }
        }
        Ok(path)
    }
}

impl Name {
    fn write<E>(
        &self,
        out: &mut String,
        resolve: &mut impl FnMut(&Interpolation) -> Result<String, E>,
    ) -> Result<(), E> {
        match self {
            Name::Text(text) => out.push_str(text),
            Name::Interpolation(nested) => out.push_str(&resolve(nested)?),
        }
        Ok(())
    }
}

/// `${name:argument,…}`.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolverCall {
    /// The words of its name: `oc.env` has two.
    pub name: Vec<Name>,
    /// The arguments.
    pub arguments: Vec<Argument>,
    /// Where it was written.
    pub span: Span,
}

impl ResolverCall {
    /// The name as one text, each nested interpolation replaced by what `resolve` gives.
    ///
    /// # Errors
    /// What `resolve` returns.
    pub fn full_name<E>(
        &self,
        mut resolve: impl FnMut(&Interpolation) -> Result<String, E>,
    ) -> Result<String, E> {
        let mut full = String::new();
        for (index, word) in self.name.iter().enumerate() {
            if index > 0 {
                full.push('.');
            }
            word.write(&mut full, &mut resolve)?;
        }
        Ok(full)
    }
}

/// An argument of a resolver.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// Its value; empty text where nothing stands between two commas.
    pub element: InterpolationElement,
    /// Where it was written.
    pub span: Span,
}

/// An element: an argument, an item of a list, a value or key of a mapping.
#[derive(Debug, Clone, PartialEq)]
pub enum InterpolationElement {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(Int),
    /// A floating-point number.
    Float(f64),
    /// Text without quotes, its escapes already removed.
    Text(String),
    /// Text in quotes: always text, even where it is a lone interpolation.
    Quoted(Vec<TextPart>),
    /// Unquoted text with interpolations in it, two parts at least.
    Joined(Vec<TextPart>),
    /// A lone interpolation: the value keeps its type.
    Interpolation(Interpolation),
    /// `[a, b]`.
    List(Vec<InterpolationElement>),
    /// `{a: b}`, as written: of two equal keys Python keeps the first's place and the last's value.
    Map(Vec<(InterpolationElement, InterpolationElement)>),
}
