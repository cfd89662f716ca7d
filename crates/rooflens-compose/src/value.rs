//! Config values as YAML 1.1 and OmegaConf know them, each with the place it came from.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use indexmap::IndexMap;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// Who wrote it.
    pub source: ValueSource,
    /// Line, from 1; 0 where there are no lines.
    pub line: u32,
    /// Column, from 1; 0 where there are no columns.
    pub column: u32,
}

/// Who wrote a value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ValueSource {
    /// The program itself.
    #[default]
    BuiltIn,
    /// A file, by the name it is shown under.
    File(Arc<str>),
    /// An argument of the command line, as it was typed.
    CommandLine(Arc<str>),
}

/// How deep a config may be nested: what walks it must not run out of stack. A file may have
/// [`yaml::MAX_DEPTH`](crate::yaml::MAX_DEPTH) levels; packages and interpolations add to that.
pub(crate) const MAX_DEPTH: usize = 600;

/// A value with its origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Where it was written.
    pub origin: Origin,
}

impl Node {
    /// A value without a place.
    pub fn new(value: Value) -> Self {
        Self { value, origin: Origin::default() }
    }

    pub(crate) fn forget_origins(&mut self) {
        self.origin = Origin::default();
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(Node::forget_origins),
            Value::Map(map) => map.values_mut().for_each(Node::forget_origins),
            _ => {}
        }
    }

    pub(crate) fn at(value: Value, origin: Origin) -> Self {
        Self { value, origin }
    }

    pub(crate) fn depth(&self) -> usize {
        match &self.value {
            Value::List(items) => 1 + items.iter().map(Node::depth).max().unwrap_or(0),
            Value::Map(map) => 1 + map.values().map(Node::depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// Whether it is left open: `???`.
    pub fn is_missing(&self) -> bool {
        matches!(&self.value, Value::Str(text) if text == "???")
    }

    pub(crate) fn is_interpolation(&self) -> bool {
        matches!(&self.value, Value::Str(text) if is_interpolation(text))
    }

    /// Whether it is a list or a mapping.
    pub fn is_container(&self) -> bool {
        matches!(self.value, Value::List(_) | Value::Map(_))
    }

    /// The mapping, where it is one.
    pub fn as_map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(crate) fn as_map_mut(&mut self) -> Option<&mut Map> {
        match &mut self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The text, where it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The value under a path of text keys; nothing is resolved on the way.
    pub fn get(&self, keys: &[&str]) -> Option<&Node> {
        keys.iter().try_fold(self, |node, key| node.as_map()?.get(&Key::from(*key)))
    }

    pub(crate) fn get_mut(&mut self, keys: &[&str]) -> Option<&mut Node> {
        keys.iter().try_fold(self, |node, key| node.as_map_mut()?.get_mut(&Key::from(*key)))
    }
}

/// Whether OmegaConf treats a text as an interpolation: wherever `${` stands in it, even escaped, since the escape must
/// then be removed.
pub(crate) fn is_interpolation(text: &str) -> bool {
    text.contains("${")
}

/// A value. `???` and interpolations are text until somebody asks for their meaning.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(Int),
    /// A floating-point number.
    Float(f64),
    /// Text.
    Str(String),
    /// A list.
    List(Vec<Node>),
    /// A mapping, in the order of writing.
    Map(Map),
}

impl Value {
    /// What it is, with its article, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a truth value",
            Value::Int(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Str(_) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}

/// A mapping, in the order of writing.
pub type Map = IndexMap<Key, Node>;

/// A whole number of any size: Python's have no bounds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Int {
    /// One that fits.
    Small(i64),
    /// Decimal digits, with a minus where it is negative, of one that does not.
    Big(String),
}

impl Int {
    /// A whole number of decimal digits, with a sign or without; none of any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let sign = if text.starts_with('-') { "-" } else { "" };
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        match digits.trim_start_matches('0') {
            "" => Some(Int::Small(0)),
            digits => {
                let signed = format!("{sign}{digits}");
                Some(signed.parse().map_or(Int::Big(signed), Int::Small))
            }
        }
    }

    /// As [`parse`](Self::parse), of a text that Python's `int` reads: spaces around it, single underscores in it.
    pub(crate) fn from_python(text: &str) -> Option<Self> {
        let text = text.trim();
        let well_formed = text.split('_').all(|run| run.ends_with(|char: char| char.is_ascii_digit()));
        if well_formed { Self::parse(&text.replace('_', "")) } else { None }
    }
}

impl fmt::Display for Int {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Int::Small(small) => write!(out, "{small}"),
            Int::Big(digits) => out.write_str(digits),
        }
    }
}

/// A key of a mapping. Equal as Python's dictionary keys are: `1`, `1.0` and `true` are one key.
#[derive(Debug, Clone)]
pub enum Key {
    /// Text.
    Str(String),
    /// A whole number.
    Int(Int),
    /// A floating-point number, by its bits.
    Float(u64),
    /// True or false.
    Bool(bool),
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Key::Str(text.to_owned())
    }
}

impl Key {
    /// The key as a value.
    pub fn to_value(&self) -> Value {
        match self {
            Key::Str(text) => Value::Str(text.clone()),
            Key::Int(int) => Value::Int(int.clone()),
            Key::Float(bits) => Value::Float(f64::from_bits(*bits)),
            Key::Bool(flag) => Value::Bool(*flag),
        }
    }

    /// The form two equal keys share: whole numbers lose their type, NaNs their payload.
    fn canonical(&self) -> CanonicalKey<'_> {
        match self {
            Key::Str(text) => CanonicalKey::Str(text),
            Key::Bool(flag) => CanonicalKey::Small(i64::from(*flag)),
            Key::Int(Int::Small(small)) => CanonicalKey::Small(*small),
            Key::Int(Int::Big(digits)) => CanonicalKey::Big(digits.as_str().into()),
            Key::Float(bits) => {
                let float = f64::from_bits(*bits);
                if float.is_nan() {
                    CanonicalKey::Float(f64::NAN.to_bits())
                } else if float.is_finite() && float.fract() == 0.0 {
                    // `{:.0}` prints every digit of a whole float, so 2^53 and above stay exact.
                    let digits = format!("{:.0}", float + 0.0);
                    match digits.parse() {
                        Ok(small) => CanonicalKey::Small(small),
                        Err(_) => CanonicalKey::Big(digits.into()),
                    }
                } else {
                    CanonicalKey::Float(*bits)
                }
            }
        }
    }
}

#[derive(PartialEq, Eq, Hash)]
enum CanonicalKey<'a> {
    Str(&'a str),
    Small(i64),
    Big(std::borrow::Cow<'a, str>),
    Float(u64),
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.canonical() == other.canonical()
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.canonical().hash(state);
    }
}

/// What Python's `str()` gives: text as it is, `None`, `True`, `1e-05`, `['a', 1]`.
pub fn python_str(value: &Value) -> String {
    match value {
        Value::Str(text) => text.clone(),
        other => python_repr(other),
    }
}

/// What Python's `repr()` gives: as [`python_str`], with text in quotes.
pub fn python_repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Int(int) => int.to_string(),
        Value::Float(float) => float_repr(*float),
        Value::Str(text) => quoted(text),
        Value::List(items) => {
            let items: Vec<String> = items.iter().map(|item| python_repr(&item.value)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Map(map) => {
            let pair = |(key, item): (&Key, &Node)| {
                format!("{}: {}", python_repr(&key.to_value()), python_repr(&item.value))
            };
            format!("{{{}}}", map.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Python's `repr()` of a float: the shortest digits that read back, with an exponent below 1e-4
/// and from 1e16 on.
pub fn float_repr(float: f64) -> String {
    if float.is_nan() {
        return "nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = shortest(float);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if float == 0.0 || (-4..16).contains(&exponent) {
        let decimals = mantissa.chars().filter(char::is_ascii_digit).count();
        let decimals = i32::try_from(decimals).unwrap_or(i32::MAX) - 1 - exponent;
        return format!("{float:.*}", usize::try_from(decimals).unwrap_or(0).max(1));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// The fewest digits that read back. Of two such texts equally near, Rust takes the upper one and
/// Python the even one, as rounding to that many digits does.
fn shortest(float: f64) -> String {
    let upper = format!("{float:e}");
    let digits = upper.split('e').next().unwrap_or("").chars().filter(char::is_ascii_digit).count();
    let even = format!("{float:.*e}", digits.saturating_sub(1));
    if even.parse() == Ok(float) { even } else { upper }
}

fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for char in text.chars() {
        let code = u32::from(char);
        match char {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            _ if char == quote => {
                out.push('\\');
                out.push(char);
            }
            _ if is_printable(char) => out.push(char),
            _ if code <= 0xff => out.push_str(&format!("\\x{code:02x}")),
            _ if code <= 0xffff => out.push_str(&format!("\\u{code:04x}")),
            _ => out.push_str(&format!("\\U{code:08x}")),
        }
    }
    out.push(quote);
    out
}

/// Whether a character is shown as it is. Rust's own debug format leaves the same categories
/// alone as Python's `isprintable`; the letter before keeps combining marks from being escaped.
fn is_printable(char: char) -> bool {
    let mut text = String::from("a");
    text.push(char);
    !char.is_control() && !text.escape_debug().skip(1).eq(char.escape_unicode())
}
