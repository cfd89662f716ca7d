//! All pictures on one page, small, with their boxes; each leads to its answer.

use super::{MOST, NAME, Prediction, boxes, left_out};
use crate::format;
use crate::render::html;
use crate::text;

/// The page; `answers` is the address of the page that [`super::html()`] made of the same predictions.
#[must_use]
pub fn thumbnails(title: &str, about: &str, all: &[Prediction], rest: &str, answers: &str) -> String {
    let shown = all.iter().enumerate().take(MOST).filter(|(_, prediction)| prediction.picture.is_some());
    let figures: Vec<String> =
        shown.map(|(number, prediction)| figure(number, prediction, answers)).collect();
    let count = i64::try_from(figures.len()).unwrap_or(i64::MAX);
    let more = if all.len() > MOST {
        format!("<p>{}</p>\n", html::escape(&left_out(all.len(), rest)))
    } else {
        String::new()
    };
    let body = format!(
        "<section id=\"pictures\" aria-labelledby=\"pictures-title\">\n\
         <h2 id=\"pictures-title\">{}</h2>\n<p>{}</p>\n<div class=\"thumbs\">\n{}</div>\n{more}</section>\n",
        format::plural(count, "picture"),
        html::escape(about),
        figures.concat(),
    );
    let links = format!("<a href=\"{answers}\">Answers</a><a href=\"#pictures\">Images</a>");
    html::shell(
        title,
        &links,
        &body,
        "A box with a dashed outline was corrected: see the answer.",
        super::PICTURES,
    )
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
    use super::super::Picture;
    use super::*;

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
