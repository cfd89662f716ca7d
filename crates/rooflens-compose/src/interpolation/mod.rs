//! The grammar of OmegaConf 2.3's interpolations: `${a.b}`, `${.sibling}`, `${oc.env:HOME,none}`. A text becomes a tree
//! that says what is asked for; [`resolve`](crate::resolve) finds the answer.

mod parser;
mod token;

use crate::grammar::GrammarError;
use crate::value::Int;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TextPart {
    /// Text, its escapes already removed.
    Text(String),
    Interpolation(Interpolation),
}

/// `${…}`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Interpolation {
    /// `${a.b}`: the value of another node.
    Node(NodeReference),
    /// `${name:argument,…}`: what a resolver returns.
    Resolver(ResolverCall),
}

/// `${a.b[c]}`, `${.sibling}`, `${..uncle}`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NodeReference {
    /// Dots before the first key: none is absolute, one the parent of the node, two its parent.
    pub(crate) dots: usize,
    /// At least one.
    pub(crate) keys: Vec<PathKey>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PathKey {
    pub(crate) name: Name,
    /// Whether it was written `[name]` and not `.name`.
    pub(crate) bracketed: bool,
}

/// A name that may come from elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Name {
    Text(String),
    Interpolation(Box<Interpolation>),
}

/// `${name:argument,…}`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ResolverCall {
    pub(crate) name: Vec<Name>,
    pub(crate) arguments: Vec<InterpolationElement>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum InterpolationElement {
    Null,
    Bool(bool),
    Int(Int),
    Float(f64),
    /// Text without quotes, its escapes already removed.
    Text(String),
    /// Text in quotes: always text, even where it is a lone interpolation.
    Quoted(Vec<TextPart>),
    /// Unquoted text with interpolations in it, two parts at least.
    Joined(Vec<TextPart>),
    /// A lone interpolation: the value keeps its type.
    Interpolation(Interpolation),
    List(Vec<InterpolationElement>),
    Map(Vec<(InterpolationElement, InterpolationElement)>),
}

impl NodeReference {
    /// The path as one text, `..a.b[c]`, each nested interpolation replaced by what `resolve` gives. OmegaConf splits
    /// the path only after this: a nested interpolation whose text has dots in it counts as several keys.
    pub(crate) fn path<E>(
        &self,
        mut resolve: impl FnMut(&Interpolation) -> Result<String, E>,
    ) -> Result<String, E> {
        let mut path = ".".repeat(self.dots);
        for (index, key) in self.keys.iter().enumerate() {
            let name = key.name.text(&mut resolve)?;
            match key.bracketed {
                true => path.push_str(&format!("[{name}]")),
                false if index > 0 => path.push_str(&format!(".{name}")),
                false => path.push_str(&name),
            }
        }
        Ok(path)
    }
}

impl ResolverCall {
    /// The name as one text, each nested interpolation replaced by what `resolve` gives.
    pub(crate) fn full_name<E>(
        &self,
        mut resolve: impl FnMut(&Interpolation) -> Result<String, E>,
    ) -> Result<String, E> {
        let words = self.name.iter().map(|word| word.text(&mut resolve));
        Ok(words.collect::<Result<Vec<_>, _>>()?.join("."))
    }
}

impl Name {
    fn text<E>(&self, resolve: &mut impl FnMut(&Interpolation) -> Result<String, E>) -> Result<String, E> {
        match self {
            Name::Text(text) => Ok(text.clone()),
            Name::Interpolation(nested) => resolve(nested),
        }
    }
}

/// The parts of a config value's text. A lone interpolation part stands for its value, of any type; several parts are
/// joined as text. The empty text is not accepted.
pub fn parse(text: &str) -> Result<Vec<TextPart>, GrammarError> {
    parser::Parser::new(text, token::tokens(text, token::Mode::Text)?).config_value()
}

/// A text read as a resolver's argument is, which is what `oc.decode` does: `1` is a number, `[a]` a list.
pub(crate) fn decode(text: &str) -> Result<InterpolationElement, GrammarError> {
    parser::Parser::new(text, token::tokens(text, token::Mode::Value)?).single_element()
}

/// The keys of a path, as OmegaConf splits it: `a.b[c]` has three, and each leading dot gives an
/// empty one first.
///
/// There is no wrong path: what OmegaConf cannot read between two keys it passes over, and so does
/// this.
pub(crate) fn split_key(path: &str) -> Vec<String> {
    let find = |from: usize, wanted: [char; 2]| path[from..].find(wanted).map_or(path.len(), |at| from + at);
    let dots = path.len() - path.trim_start_matches('.').len();
    let mut at = find(dots, ['.', '[']);
    let mut keys: Vec<String> = path[..at].split('.').map(str::to_owned).collect();
    if path[at..].starts_with('[') && keys.last().is_some_and(String::is_empty) {
        // A path that begins with a bracket has no key before it.
        keys.pop();
    }
    // Where the next bracket would end, kept so that many open ones do not each look for it.
    let mut stop = 0;
    while at < path.len() {
        let inside = at + 1;
        if path[at..].starts_with('.') {
            at = find(inside, ['.', '[']);
            keys.push(path[inside..at].to_owned());
            continue;
        }
        if stop < inside {
            stop = find(inside, [']', '\n']);
        }
        // A bracket that is not closed on its line is no key.
        let closed = path[stop..].starts_with(']');
        if closed {
            keys.push(path[inside..stop].to_owned());
        }
        at = find(if closed { stop + 1 } else { inside }, ['.', '[']);
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolver(text: &str) -> ResolverCall {
        match parse(text).unwrap().remove(0) {
            TextPart::Interpolation(Interpolation::Resolver(call)) => call,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_node_keeps_its_path() {
        let parts = parse("x ${ ..a[b].${c} }").unwrap();
        let TextPart::Interpolation(Interpolation::Node(node)) = &parts[1] else { panic!("{parts:?}") };
        let path = node.path(|_| Ok::<_, ()>("d.e".to_owned())).unwrap();
        assert_eq!(path, "..a[b].d.e");
        assert_eq!(split_key(&path), ["", "", "a", "b", "d", "e"]);
    }

    #[test]
    fn a_resolver_has_typed_arguments() {
        let call = resolver("${oc.env: 1 , 'a b', [x,], {k: ${v}}, p-${q}}");
        assert_eq!(call.name, [Name::Text("oc".into()), Name::Text("env".into())]);
        let text = |text: &str| InterpolationElement::Text(text.into());
        assert_eq!(call.arguments[0], InterpolationElement::Int(Int::Small(1)));
        assert_eq!(call.arguments[2], InterpolationElement::List(vec![text("x"), text("")]));
        assert!(matches!(&call.arguments[4], InterpolationElement::Joined(parts) if parts.len() == 2));
        assert!(resolver("${now:}").arguments.is_empty());
        assert_eq!(resolver("${a:,}").arguments.len(), 2);
    }

    #[test]
    fn backslashes_count_only_before_an_interpolation() {
        for (written, read) in [(r"\${a}", "${a}"), (r"\\\${a}", r"\${a}"), (r"a\\b\", r"a\\b\")] {
            assert_eq!(parse(written).unwrap(), [TextPart::Text(read.into())]);
        }
        assert_eq!(parse(r"\\${a}").unwrap()[0], TextPart::Text(r"\".into()));
    }

    #[test]
    fn decode_reads_one_element() {
        assert_eq!(decode("1_000").unwrap(), InterpolationElement::Int(Int::Small(1000)));
        assert_eq!(decode("NULL").unwrap(), InterpolationElement::Null);
        assert_eq!(decode(r"a\, b").unwrap(), InterpolationElement::Text("a, b".into()));
        assert!(["  ", "", "a,b", "}"].iter().all(|text| decode(text).is_err()));
    }

    #[test]
    fn an_error_shows_the_place() {
        for (text, shown) in [
            ("é ${a b}", "column 6: unexpected character ' '\n    é ${a b}\n         ^"),
            ("${a", "column 4: unexpected end of text: expected '.', '[', ':' or '}'\n    ${a\n       ^"),
            ("${a:{'k': 1}}", "column 6: expected an unquoted key, found '''\n    ${a:{'k': 1}}\n         ^"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), shown);
        }
    }

    #[test]
    fn keys_are_split_as_omegaconf_splits_them() {
        for (path, keys) in [
            ("a.b[0].c", "a|b|0|c"),
            (".a.b[c]", "|a|b|c"),
            ("..[a]", "||a"),
            ("", ""),
            ("a[b", "a"),
            ("a[b.c]d.e", "a|b.c|e"),
        ] {
            assert_eq!(split_key(path).join("|"), keys);
        }
    }

    /// Much input is read, or refused, in a time that grows with its length.
    #[test]
    fn hostile_input_neither_hangs_nor_panics() {
        let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(10_000), close.repeat(10_000));
        for text in [deep("${", "}"), deep("${f:", "}"), deep("${f:'", "'}"), deep("${f:[", "]}")] {
            assert!(parse(&text).unwrap_err().message.contains("deeper than 200"));
        }
        assert!(decode(&deep("[", "]")).is_err() && decode(&deep("{a:", "}")).is_err());
        for piece in [
            "[", "(", "{", "${", "$", "\\", "\\\\", "'", "\"", "1", "1e", "1_", ".", " ", "\t:", "a,",
            "${a}", "${a:1}", "}", "]", "=", ",", "é", "\\'", "\\${", "[\n", "[.", "$\\", "x", "a.", "[a]",
            "${a:'",
        ] {
            let long = piece.repeat(300_000 / piece.len());
            let _ = (parse(&long), split_key(&long));
            let short = piece.repeat(30_000 / piece.len());
            let _ = (decode(&short), parse(&format!("${{{short}")), parse(&format!("${{a:{short}")));
            let _ = (parse(&format!("${{a:'{short}")), parse(&format!("${{a:{short}}}")));
        }
    }
}
