//! What YAML 1.2 reads and YAML 1.1 refuses.
//!
//! The event parser is one of YAML 1.2, wider in a few places. A config that Hydra refuses must
//! not be read here as something, so these places are looked up in the text behind the events.

use granit_parser::{Event, ScalarStyle, Span, StructureStyle};

use super::error::YamlProblem;

/// A collection that is still open.
struct Open {
    is_flow: bool,
    is_mapping: bool,
    /// Whether the next node of a mapping is a key.
    expects_key: bool,
}

/// Watches the events of one text.
pub(super) struct Dialect<'a> {
    text: &'a str,
    open: Vec<Open>,
    /// Where tabs may stand: quoted texts, the lines of blocks, comments.
    tab_spans: Vec<(usize, usize)>,
}

impl<'a> Dialect<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, open: Vec::new(), tab_spans: Vec::new() }
    }

    /// Whether the text begins with the end of a document.
    pub(super) fn ends_first(&self) -> bool {
        let mut lines = self.text.lines().filter(|line| {
            let line = line.trim_start();
            !line.is_empty() && !line.starts_with('#')
        });
        lines
            .next()
            .and_then(|line| line.strip_prefix("..."))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }

    /// Looks at one event.
    pub(super) fn check(&mut self, event: &Event<'_>, span: Span) -> Result<(), YamlProblem> {
        match event {
            Event::Comment(..) => self.allow_tabs(span),
            Event::Scalar(value, style, ..) => {
                self.check_scalar(value, *style, span)?;
                self.pass_node();
            }
            Event::Alias(_) => {
                self.check_key(span)?;
                self.pass_node();
            }
            Event::SequenceStart(style, ..) => self.open(*style, false),
            Event::MappingStart(style, ..) => self.open(*style, true),
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
                self.pass_node();
            }
            _ => {}
        }
        Ok(())
    }

    /// Once all events are seen: the place of a tab outside quotes, blocks and comments.
    pub(super) fn stray_tab(&mut self) -> Option<usize> {
        self.tab_spans.sort_unstable();
        let mut spans = self.tab_spans.iter().peekable();
        let mut tabs = self.text.match_indices('\t').map(|(at, _)| at);
        tabs.find(|tab| {
            while spans.next_if(|(_, end)| end <= tab).is_some() {}
            spans.peek().is_none_or(|(start, _)| tab < start)
        })
    }

    fn open(&mut self, style: StructureStyle, is_mapping: bool) {
        let is_flow = style == StructureStyle::Flow || self.in_flow();
        self.open.push(Open { is_flow, is_mapping, expects_key: true });
    }

    fn in_flow(&self) -> bool {
        self.open.last().is_some_and(|open| open.is_flow)
    }

    fn pass_node(&mut self) {
        if let Some(open) = self.open.last_mut() {
            open.expects_key = !open.expects_key;
        }
    }

    fn check_scalar(&mut self, value: &str, style: ScalarStyle, span: Span) -> Result<(), YamlProblem> {
        let after_tag = span.tag_span().and_then(|tag| tag.end.byte_offset());
        if self.in_flow()
            && after_tag.is_some_and(|at| self.text[at..].starts_with([',', '[', ']', '{', '}']))
        {
            return Err(YamlProblem::FlowTag);
        }
        match style {
            ScalarStyle::Plain if self.in_flow() => {
                let source = span.slice(self.text).unwrap_or("");
                if source.contains('?') || source.starts_with(':') {
                    let text = super::error::excerpt(value);
                    return Err(YamlProblem::FlowIndicator { text });
                }
            }
            ScalarStyle::Plain => {}
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => self.allow_tabs(span),
            // The span of a block begins after its header, which takes no tabs.
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let has_text = !value.trim_matches('\n').is_empty();
                if self.open.is_empty() && span.start.col() == 0 && has_text {
                    return Err(YamlProblem::UnindentedBlock);
                }
                // The span of a block without text is its header.
                if has_text {
                    self.allow_tabs(span);
                }
            }
        }
        self.check_key(span)
    }

    /// In brackets, a key and its `:` stand on one line.
    fn check_key(&self, span: Span) -> Result<(), YamlProblem> {
        let is_key = self.open.last().is_some_and(|open| open.is_flow && open.is_mapping && open.expects_key);
        let (Some(start), Some(end)) = (span.start.byte_offset(), span.end.byte_offset()) else {
            return Ok(());
        };
        if !is_key || self.text[..start].trim_end().ends_with('?') {
            return Ok(());
        }
        let colon = end + self.text[end..].len() - self.text[end..].trim_start().len();
        if self.text[colon..].starts_with(':') && self.text[start..colon].contains('\n') {
            return Err(YamlProblem::MultilineKey);
        }
        Ok(())
    }

    fn allow_tabs(&mut self, span: Span) {
        if let (Some(start), Some(end)) = (span.start.byte_offset(), span.end.byte_offset()) {
            self.tab_spans.push((start, end));
        }
    }
}
