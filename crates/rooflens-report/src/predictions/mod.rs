//! A model's answers, as a page and as Markdown. What a model says is hostile text: it is shown, never
//! obeyed.

mod boxes;

pub use self::boxes::{MarkedBox, Overlay};

use crate::format;
use crate::render::{html, url_path};
use crate::text;

/// Answers on a page; the others are in the file beside it.
const MOST: usize = 500;
/// Characters of a prompt or an answer.
const LONGEST: usize = 20_000;
/// A name in the list of samples.
const NAME: usize = 28;
/// The file of [`thumbnails()`], beside that of [`html()`].
pub const THUMBNAILS: &str = "thumbnails.html";
/// What these pages may load: pictures that are inside.
const PICTURES: &str = "; img-src data:";

/// What was asked and answered.
#[derive(Debug, Clone, Default)]
pub struct Prediction {
    /// Path of the sample from the dataset's root.
    pub sample: String,
    /// Which time through the dataset it was, where there are several.
    pub epoch: Option<u64>,
    /// What was asked.
    pub prompt: String,
    /// What was answered.
    pub answer: String,
    /// Tokens of the prompt.
    pub prompt_tokens: Option<u64>,
    /// Tokens of the answer.
    pub tokens: Option<u64>,
    /// From the prompt to the first token.
    pub ttft_ns: Option<f64>,
    /// From the prompt to the last token.
    pub latency_ns: Option<f64>,
    /// What was looked at.
    pub picture: Option<Picture>,
    /// Boxes that the answer names in it.
    pub overlay: Option<Overlay>,
    /// What is to be said of these: boxes that were mended, or not drawn, and why.
    pub remarks: Vec<String>,
}

/// A picture that a question is about.
#[derive(Debug, Clone)]
pub enum Picture {
    /// In the page itself.
    Inside {
        /// Its media type, as `image/png`.
        kind: &'static str,
        /// Its bytes.
        bytes: Vec<u8>,
        /// Path of its file, from the page's own folder.
        path: String,
    },
    /// Too large for that, or of a kind that browsers do not draw.
    Beside {
        /// Path of its file, from the page's own folder.
        path: String,
    },
}

impl Prediction {
    fn numbers(&self) -> String {
        let tokens = |count: u64, noun: &str| {
            format!("{} {noun}", format::plural(i64::try_from(count).unwrap_or(i64::MAX), "token"))
        };
        let mut words: Vec<String> = Vec::new();
        words.extend(self.epoch.map(|epoch| format!("epoch {epoch}")));
        words.extend(self.prompt_tokens.map(|count| tokens(count, "asked")));
        words.extend(self.tokens.map(|count| tokens(count, "answered")));
        words.extend(self.ttft_ns.map(|ns| format!("first token after {}", format::time(ns))));
        words.extend(self.latency_ns.map(|ns| format!("all after {}", format::time(ns))));
        words.extend(boxes::count(self));
        words.join(" · ")
    }
}

/// The page. `about` is what was run, in a line; `rest` names the file that has all of it.
pub fn html(title: &str, about: &str, all: &[Prediction], rest: &str) -> String {
    let shown = &all[..all.len().min(MOST)];
    let has_pictures = shown.iter().any(|prediction| prediction.picture.is_some());
    let mut links =
        if has_pictures { format!("<a href=\"{THUMBNAILS}\">All images</a>") } else { String::new() };
    let mut body = format!(
        "<section id=\"about\" aria-labelledby=\"about-title\">\n<h2 id=\"about-title\">{}</h2>\n<p>{}</p>\n</section>\n",
        html::escape(&heading(all.len())),
        html::escape(about)
    );
    for (number, prediction) in shown.iter().enumerate() {
        let name = html::escape(&text::elide(&text::clean(&prediction.sample), NAME));
        links.push_str(&format!("<a href=\"#s{number}\">{name}</a>"));
        body.push_str(&section(number, prediction));
    }
    if shown.len() < all.len() {
        body.push_str(&format!("<section><p>{}</p></section>\n", html::escape(&left_out(all.len(), rest))));
    }
    let footer = "Times are from the pass that produced the answer.";
    let allowed = PICTURES;
    html::Shell { title, links: &links, body: &body, footer, allowed, ..html::Shell::default() }.html()
}

fn heading(count: usize) -> String {
    format::plural(count as i64, "answer")
}

fn left_out(count: usize, rest: &str) -> String {
    format!("The first {MOST} of {} are shown; {rest} has all of them.", heading(count))
}

fn section(number: usize, prediction: &Prediction) -> String {
    let (picture, remarks) = (boxes::draw(prediction), remarks(prediction));
    format!(
        "<section id=\"s{number}\" aria-labelledby=\"s{number}-title\">\n<h2 id=\"s{number}-title\">{}</h2>\n\
         <p class=\"numbers\">{}</p>\n{remarks}<div class=\"sample\">\n\
         <div><h3>Asked</h3>{picture}<pre class=\"said\" dir=\"auto\">{}</pre></div>\n\
         <div class=\"answer\"><h3>Answered</h3><pre class=\"said\" dir=\"auto\">{}</pre></div>\n</div>\n</section>\n",
        html::escape(&prediction.sample),
        html::escape(&prediction.numbers()),
        html_text(&prediction.prompt),
        html_text(&prediction.answer),
    )
}

fn remarks(prediction: &Prediction) -> String {
    let line = |remark: &String| format!("<li>{}</li>\n", html::escape(remark));
    let lines: String = prediction.remarks.iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("<ul class=\"numbers\">\n{lines}</ul>\n") }
}

/// The answers as Markdown.
pub fn markdown(title: &str, about: &str, all: &[Prediction], rest: &str) -> String {
    let line = |words: &str| text::clip(&text::clean(words), LONGEST);
    let mut out = format!("# {}\n\n{}: {}\n", line(title), heading(all.len()), line(about));
    for prediction in all.iter().take(MOST) {
        out.push_str(&format!("\n## {}\n\n{}\n\n", code(&prediction.sample), prediction.numbers()));
        if let Some(Picture::Inside { path, .. } | Picture::Beside { path }) = &prediction.picture {
            out.push_str(&format!("![the picture]({})\n\n", url_path(path)));
        }
        for remark in &prediction.remarks {
            out.push_str(&format!("- {}\n", line(remark)));
        }
        if !prediction.remarks.is_empty() {
            out.push('\n');
        }
        out.push_str(&format!("Asked:\n\n{}\nAnswered:\n\n", fenced(&prediction.prompt)));
        out.push_str(&fenced(&prediction.answer));
    }
    if all.len() > MOST {
        out.push_str(&format!("\n{}\n", left_out(all.len(), rest)));
    }
    out
}

fn code(name: &str) -> String {
    format!("`{}`", text::clip(&text::clean(name), LONGEST).replace('`', "'"))
}

fn fenced(words: &str) -> String {
    let words = visible(words);
    let longest = words.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}text\n{words}\n{fence}\n")
}

fn html_text(words: &str) -> String {
    let out = text::without_markup(&visible(words));
    // A browser drops the first line break of such an element.
    if out.starts_with('\n') { format!("\n{out}") } else { out }
}

/// The words as they are, but what would steer the reader's screen is shown instead: control characters,
/// and marks that turn text round.
fn visible(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in text::clip(words, LONGEST).chars() {
        match c {
            '\n' | '\t' => out.push(c),
            '\0'..='\u{1f}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
            '\u{7f}' => out.push('\u{2421}'),
            '\u{80}'..='\u{9f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{200e}'
            | '\u{200f}' => {
                out.push_str(&format!("⟨U+{:04X}⟩", c as u32));
            }
            c => out.push(c),
        }
    }
    out
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            if place > three.len() {
                out.push('=');
            } else {
                out.push(char::from(ALPHABET[(bits >> (18 - 6 * place) & 63) as usize]));
            }
        }
    }
    out
}

/// All pictures on one page, small, with their boxes, each with a link to its answer; `answers` is the address of the page that [`html()`] made of the same predictions.
pub fn thumbnails(title: &str, about: &str, all: &[Prediction], rest: &str, answers: &str) -> String {
    let shown = all.iter().enumerate().take(MOST).filter(|(_, prediction)| prediction.picture.is_some());
    let figures: Vec<String> =
        shown.map(|(number, prediction)| figure(number, prediction, answers)).collect();
    let more = if all.len() > MOST {
        format!("<p>{}</p>\n", html::escape(&left_out(all.len(), rest)))
    } else {
        String::new()
    };
    let body = format!(
        "<section id=\"pictures\" aria-labelledby=\"pictures-title\">\n\
         <h2 id=\"pictures-title\">{}</h2>\n<p>{}</p>\n<div class=\"thumbs\">\n{}</div>\n{more}</section>\n",
        format::plural(figures.len() as i64, "picture"),
        html::escape(about),
        figures.concat(),
    );
    let links = format!("<a href=\"{answers}\">Answers</a><a href=\"#pictures\">Images</a>");
    let (footer, allowed) = ("A box with a dashed outline was corrected: see the answer.", PICTURES);
    html::Shell { title, links: &links, body: &body, footer, allowed, ..html::Shell::default() }.html()
}

fn figure(number: usize, prediction: &Prediction, answers: &str) -> String {
    let name = html::escape(&text::elide(&text::clean(&prediction.sample), NAME));
    let boxes = boxes::count(prediction).map(|count| format!(" · {count}")).unwrap_or_default();
    format!(
        "<figure>{}<figcaption><a href=\"{answers}#s{number}\">{name}</a>{boxes}</figcaption></figure>\n",
        boxes::draw(prediction)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_the_standard() {
        // RFC 4648, section 10.
        let pairs = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (plain, coded) in pairs {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    fn hostile() -> Prediction {
        Prediction {
            sample: "<img src=x onerror=alert(1)>.txt".to_owned(),
            prompt: "</pre><script>alert(1)</script>".to_owned(),
            answer: "a\u{1b}[31m\u{c}\u{202e}b\n````\n# no heading\n<b onclick='x'>&amp;".to_owned(),
            tokens: Some(1),
            picture: Some(Picture::Beside { path: "\"><script>.png".to_owned() }),
            ..Prediction::default()
        }
    }

    #[test]
    fn what_is_said_is_only_text() {
        let page = html("<title>", "a & b", &[hostile()], "x");
        // The two scripts are the page's own.
        assert_eq!(page.matches("<script").count(), 2);
        for markup in ["<img src=x", "<b onclick", "<title><", "\u{1b}", "\u{202e}", "\u{c}"] {
            assert!(!page.contains(markup), "{markup:?}");
        }
        assert!(
            page.contains("a␛[31m␌⟨U+202E⟩b\n````\n# no heading\n&lt;b onclick=&#39;x&#39;&gt;&amp;amp;")
        );
        assert!(page.contains("href=\"%22%3E%3Cscript%3E.png\""));
    }

    #[test]
    fn in_markdown_nothing_gets_out_of_its_block() {
        let page = markdown("t", "a", &[hostile()], "x");
        assert!(page.contains("`````text\na␛[31m␌⟨U+202E⟩b\n````\n# no heading\n"), "{page}");
        assert!(page.contains("Answered:\n\n`````text\n"));
    }

    #[test]
    fn numbers_that_are_not_known_are_not_there() {
        let none = Prediction::default();
        assert_eq!(none.numbers(), "");
        let some = Prediction { tokens: Some(1), latency_ns: Some(2_500_000.0), ..Prediction::default() };
        assert_eq!(some.numbers(), "1 token answered · all after 2.50 ms");
    }

    #[test]
    fn a_long_page_says_what_it_leaves_out() {
        let all = vec![Prediction::default(); MOST + 1];
        for page in [html("t", "a", &all, "all.jsonl"), markdown("t", "a", &all, "all.jsonl")] {
            assert!(page.contains("The first 500 of 501 answers are shown; all.jsonl has all of them."));
        }
    }

    #[test]
    fn each_picture_leads_to_its_answer() {
        let picture = |sample: &str| Prediction {
            sample: sample.to_owned(),
            picture: Some(Picture::Beside { path: format!("{sample}.png") }),
            ..Prediction::default()
        };
        let all = [picture("<a>"), Prediction::default(), picture("b")];
        let page = thumbnails("t", "a & b", &all, "all.jsonl", "predictions.html");
        assert!(page.contains("<a href=\"predictions.html#s0\">&lt;a&gt;</a>"), "{page}");
        assert!(page.contains("<a href=\"predictions.html#s2\">b</a>"));
        assert!(page.contains(">2 pictures</h2>\n<p>a &amp; b</p>"));
        assert!(!page.contains("#s1"));
    }
}
