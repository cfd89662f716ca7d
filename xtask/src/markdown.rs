//! The few things that tasks need to know of a Markdown file: its code blocks, links and named paths.

/// A fenced block of code.
#[derive(Debug, PartialEq, Eq)]
pub struct CodeBlock {
    /// The word behind the fence: `sh`, `rust` …
    pub language: String,
    /// What stands behind it, as `file=src/toy.rs`.
    pub attributes: Vec<String>,
    /// The lines, each ended.
    pub text: String,
}

impl CodeBlock {
    /// The value of `name=value` behind the fence.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find_map(|attribute| attribute.strip_prefix(name)?.strip_prefix('='))
    }
}

/// The fenced blocks, and the lines outside them with their numbers.
pub fn split(text: &str) -> (Vec<CodeBlock>, Vec<(usize, &str)>) {
    let (mut blocks, mut prose) = (Vec::new(), Vec::new());
    let mut open: Option<CodeBlock> = None;
    // In a list, a block is indented as its fence is.
    let mut indent = 0;
    for (number, line) in (1..).zip(text.lines()) {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, None) => prose.push((number, line)),
            (None, Some(info)) => {
                indent = line.len() - line.trim_start().len();
                let mut words = info.split_whitespace().map(str::to_owned);
                let language = words.next().unwrap_or_default();
                open = Some(CodeBlock { language, attributes: words.collect(), text: String::new() });
            }
            (Some(block), None) => {
                let blank = line.bytes().take(indent).take_while(|byte| *byte == b' ').count();
                block.text.push_str(&line[blank..]);
                block.text.push('\n');
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
        }
    }
    (blocks, prose)
}

/// The targets of links and images in a line.
pub fn links(line: &str) -> Vec<&str> {
    let behind = line.split("](").skip(1);
    behind.filter_map(|rest| rest.split(')').next()).map(|target| target.trim()).collect()
}

/// What stands between single backticks in a line.
pub fn spans(line: &str) -> Vec<&str> {
    line.split('`').skip(1).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_and_prose_are_told_apart() {
        let (blocks, prose) =
            split("a [x](b.md) and `c/d`\n  ```rust file=e.rs\n  fn f() {\n    }\n\n  ```\nend\n");
        assert_eq!(blocks.len(), 1);
        assert_eq!((blocks[0].language.as_str(), blocks[0].attribute("file")), ("rust", Some("e.rs")));
        assert_eq!(blocks[0].text, "fn f() {\n  }\n\n");
        assert_eq!(prose, [(1, "a [x](b.md) and `c/d`"), (7, "end")]);
        assert_eq!(links(prose[0].1), ["b.md"]);
        assert_eq!(spans(prose[0].1), ["c/d"]);
    }
}
