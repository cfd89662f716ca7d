//! Lines of inked text, and how they become characters for a terminal: here a line is cut to the
//! width, here alone are escape codes written, and here everything becomes ASCII if it must.

use crate::block::{Grade, Tone};
use crate::render::terminal::TerminalOptions;
use crate::text;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Strong,
    Faint,
    Tone(Tone),
    Grade(Grade),
}

impl Ink {
    /// Only the sixteen colours that follow the user's theme. Blue, green, cyan and yellow against
    /// grey: each also differs in its character or word.
    fn code(self) -> Option<&'static str> {
        match self {
            Ink::Plain | Ink::Grade(Grade::Info) => None,
            Ink::Strong => Some("1"),
            Ink::Faint | Ink::Tone(Tone::Idle | Tone::Dependency | Tone::Dispatch | Tone::OtherIdle) => {
                Some("2")
            }
            Ink::Tone(
                Tone::Compute | Tone::Attention | Tone::Moe | Tone::Norm | Tone::OtherKernels | Tone::Plain,
            ) => Some("34"),
            Ink::Tone(Tone::Communication) | Ink::Grade(Grade::Ok) => Some("32"),
            Ink::Tone(Tone::Copy) => Some("36"),
            Ink::Tone(Tone::Floor) => Some("32"),
            Ink::Tone(Tone::Unneeded) => Some("35"),
            Ink::Tone(Tone::LaunchBound | Tone::CpuBound | Tone::Sync | Tone::RankWait)
            | Ink::Grade(Grade::Warning) => Some("33"),
            Ink::Grade(Grade::DataLoss) => Some("1;31"),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct StyledText {
    pub(crate) text: String,
    pub(crate) ink: Ink,
}

impl StyledText {
    /// Text in an ink. Cleaned here, so that no trace ever writes an escape code.
    pub(crate) fn new(text: impl AsRef<str>, ink: Ink) -> Self {
        StyledText { text: text::clean(text.as_ref()), ink }
    }

    pub(crate) fn width(&self) -> usize {
        text::width(&self.text)
    }
}

pub(crate) type TextLine = Vec<StyledText>;

pub(crate) fn line_width(line: &[StyledText]) -> usize {
    line.iter().map(StyledText::width).sum()
}

pub(crate) fn paint(lines: &[TextLine], options: &TerminalOptions) -> String {
    let mut out = String::new();
    for line in lines {
        let mut left = options.width;
        let last = line.iter().rposition(|span| !span.text.trim_end().is_empty());
        for (index, span) in line.iter().enumerate().take(last.map_or(0, |last| last + 1)) {
            let mut shown = text::elide(&span.text, left);
            if Some(index) == last {
                shown.truncate(shown.trim_end().len());
            }
            left -= text::width(&shown);
            if !options.unicode {
                shown = ascii(&shown);
            }
            match span.ink.code().filter(|_| options.color && !shown.trim().is_empty()) {
                Some(code) => out.push_str(&format!("\u{1b}[{code}m{shown}\u{1b}[0m")),
                None => out.push_str(&shown),
            }
        }
        out.push('\n');
    }
    out
}

fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' '..='~' => out.push(c),
            '█' | '▉' | '▊' | '▋' | '▌' => out.push('#'),
            '▓' => out.push('='),
            '▒' => out.push('+'),
            '░' | '▏' | '▎' | '▍' | '–' => out.push('-'),
            '·' => out.push('.'),
            '▁' | '▂' => out.push('_'),
            '▃' | '▄' => out.push(':'),
            '▅' | '▆' => out.push('*'),
            '▇' => out.push('@'),
            '…' => out.push('~'),
            'µ' => out.push('u'),
            '×' => out.push('x'),
            other => (0..text::char_width(other)).for_each(|_| out.push('?')),
        }
    }
    out
}
