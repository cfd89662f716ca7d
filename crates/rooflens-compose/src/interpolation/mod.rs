//! The grammar of OmegaConf 2.3's interpolations: `${a.b}`, `${.sibling}`, `${oc.env:HOME,none}`.
//!
//! Only the grammar: a text becomes a tree that says what is asked for. Finding the answer is the
//! business of whoever holds the config.
//!
//! ```
//! use rooflens_compose::interpolation::{Interpolation, TextPart, parse};
//!
//! let parts = parse("to ${server.host}")?;
//! let [TextPart::Text { text, .. }, TextPart::Interpolation(Interpolation::Node(node))] = &parts[..] else {
//!     panic!("a text and a node");
//! };
//! assert_eq!(text, "to ");
//! assert_eq!(node.keys.len(), 2);
//! # Ok::<(), rooflens_compose::interpolation::GrammarError>(())
//! ```

mod error;
mod key_path;
pub(crate) mod lexeme;
mod parser;
mod primitive;
pub(crate) mod span;
mod token;
mod tree;

pub use error::{GrammarError, GrammarFault};
pub use key_path::split_key;
pub use span::Span;
pub use tree::{
    Argument, Interpolation, InterpolationElement, Name, NodeReference, PathKey, ResolverCall, TextPart,
};

/// Whether OmegaConf treats a text as an interpolation: wherever `${` stands in it, even escaped,
/// since the escape must then be removed.
#[must_use]
pub fn is_interpolation(text: &str) -> bool {
    text.contains("${")
}

/// The parts of a config value's text. A lone interpolation part stands for its value, of any type;
/// several parts are joined as text.
///
/// # Errors
/// [`GrammarError`] where OmegaConf's grammar does not accept the text; the empty text is not
/// accepted.
pub fn parse(text: &str) -> Result<Vec<TextPart>, GrammarError> {
    parser::Parser::new(text, token::Mode::Text)?.config_value()
}

/// A text read as a resolver's argument is, which is what `oc.decode` does: `1` is a number, `[a]` a
/// list.
///
/// # Errors
/// [`GrammarError`] where OmegaConf's grammar does not accept the text.
pub fn decode(text: &str) -> Result<InterpolationElement, GrammarError> {
    parser::Parser::new(text, token::Mode::Value)?.single_element()
}
