//! Boxes over a picture: an SVG of the picture's own size, stretched over it.

use super::{Picture, Prediction, base64};
use crate::format;
use crate::render::{html, url_path};
use crate::text;

/// Boxes drawn on one picture; more would hide it and make the page slow.
const MOST: usize = 1_000;
/// Characters of a label on the picture, and of the same where the pointer rests.
const LABEL: usize = 40;
const FULL_LABEL: usize = 400;
/// Colours, given to labels in the order in which they first appear.
const COLORS: usize = 8;

/// The boxes that an answer names, on the picture that it is about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overlay {
    /// Pixels of a row of the upright picture.
    pub width: f64,
    /// Rows of the upright picture.
    pub height: f64,
    /// The boxes.
    pub boxes: Vec<MarkedBox>,
}

/// A box at its place.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MarkedBox {
    /// What the answer says is in it.
    pub label: String,
    /// Left, top, right and bottom, in pixels of the upright picture.
    pub at: [f64; 4],
    /// Where the answer's numbers were not usable as they are: what was done to them.
    pub mended: Option<String>,
}

pub(super) fn draw(prediction: &Prediction) -> String {
    let Some(picture) = &prediction.picture else { return String::new() };
    let overlay = prediction.overlay.as_ref().filter(|overlay| !overlay.boxes.is_empty());
    let drawn = overlay.map(svg).unwrap_or_default();
    let (image, path) = match picture {
        Picture::Inside { kind, bytes, path } => {
            (format!("<img alt=\"the image\" src=\"data:{kind};base64,{}\">", base64(bytes)), path)
        }
        // Its boxes alone, and the way to it.
        Picture::Beside { path } if overlay.is_some() => (String::new(), path),
        Picture::Beside { path } => return format!("<p><a href=\"{}\">the image</a></p>", url_path(path)),
    };
    let class = match (overlay.is_some(), image.is_empty()) {
        (false, _) => "",
        (true, false) => " class=\"boxed\"",
        (true, true) => " class=\"boxed alone\"",
    };
    format!("<a{class} href=\"{}\">{image}{drawn}</a>", url_path(path))
}

pub(super) fn count(prediction: &Prediction) -> Option<String> {
    let boxes = prediction.overlay.as_ref().map_or(0, |overlay| overlay.boxes.len());
    let words = |count: usize| format::things(count as i64, "box", "boxes");
    match boxes {
        0 => None,
        1..=MOST => Some(words(boxes)),
        _ => Some(format!("{}, of which the first {} are drawn", words(boxes), format::count(MOST as i64))),
    }
}

fn svg(overlay: &Overlay) -> String {
    let (width, height) = (overlay.width, overlay.height);
    let letters = width.max(height) / 40.0;
    let mut labels: Vec<&str> = Vec::new();
    let mut out = format!(
        "<svg class=\"boxes\" viewBox=\"0 0 {} {}\" preserveAspectRatio=\"none\" font-size=\"{}\">",
        pixels(width),
        pixels(height),
        pixels(letters)
    );
    for (number, it) in overlay.boxes.iter().take(MOST).enumerate() {
        let color = labels.iter().position(|label| *label == it.label).unwrap_or_else(|| {
            labels.push(&it.label);
            labels.len() - 1
        });
        let [left, top, right, bottom] = it.at;
        let class = if it.mended.is_some() { " mended" } else { "" };
        let full = text::clip(&text::clean(&it.label), FULL_LABEL);
        let full = it.mended.as_ref().map_or(full.clone(), |mended| format!("{full} ({mended})"));
        // Above the box, or inside where there is no room above.
        let baseline = if top >= letters * 1.2 { top - letters * 0.25 } else { top + letters };
        out.push_str(&format!(
            "<g class=\"b{}{class}\"><title>{}</title>\
             <rect data-box=\"{number}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\
             <text x=\"{}\" y=\"{}\">{}</text></g>",
            color % COLORS,
            html::escape(&full),
            pixels(left),
            pixels(top),
            pixels(right - left),
            pixels(bottom - top),
            pixels(left),
            pixels(baseline),
            html::escape(&text::elide(&text::clean(&it.label), LABEL)),
        ));
    }
    out.push_str("</svg>");
    out
}

fn pixels(length: f64) -> String {
    let text = format!("{length:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(label: &str, mended: Option<&str>) -> MarkedBox {
        MarkedBox {
            label: label.to_owned(),
            at: [10.0, 20.0, 110.5, 70.0],
            mended: mended.map(str::to_owned),
        }
    }

    fn prediction(boxes: Vec<MarkedBox>, picture: Picture) -> Prediction {
        let overlay = Some(Overlay { width: 200.0, height: 100.0, boxes });
        Prediction { picture: Some(picture), overlay, ..Prediction::default() }
    }

    fn inside() -> Picture {
        Picture::Inside { kind: "image/png", bytes: b"foo".to_vec(), path: "a.png".to_owned() }
    }

    #[test]
    fn parity_123_boxes_lie_over_the_picture() {
        let page = draw(&prediction(vec![boxed("title", None), boxed("text", Some("clipped"))], inside()));
        assert!(page.starts_with("<a class=\"boxed\" href=\"a.png\"><img alt=\"the image\""), "{page}");
        assert!(page.contains("viewBox=\"0 0 200 100\" preserveAspectRatio=\"none\""));
        assert!(page.contains("data-box=\"0\" x=\"10\" y=\"20\" width=\"100.5\" height=\"50\"/>"), "{page}");
        assert!(page.contains("<g class=\"b0\"><title>title</title>"));
        assert!(page.contains("<g class=\"b1 mended\"><title>text (clipped)</title>"));
    }

    #[test]
    fn a_label_is_only_text() {
        let page = draw(&prediction(vec![boxed("</text><script>alert(1)</script>\u{202e}", None)], inside()));
        assert!(!page.contains("<script") && !page.contains('\u{202e}'), "{page}");
    }

    #[test]
    fn a_picture_that_is_not_in_the_page_still_has_its_boxes() {
        let beside = || Picture::Beside { path: "big.png".to_owned() };
        let page = draw(&prediction(vec![boxed("a", None)], beside()));
        assert!(page.starts_with("<a class=\"boxed alone\" href=\"big.png\"><svg"), "{page}");
        assert_eq!(draw(&prediction(vec![], beside())), "<p><a href=\"big.png\">the image</a></p>");
    }

    #[test]
    fn thousands_of_boxes_are_counted_but_not_drawn() {
        let many = prediction(vec![boxed("a", None); MOST + 5], inside());
        assert_eq!(draw(&many).matches("<rect").count(), MOST);
        assert_eq!(count(&many).unwrap(), "1,005 boxes, of which the first 1,000 are drawn");
        assert_eq!(count(&prediction(vec![boxed("a", None)], inside())).unwrap(), "1 box");
    }
}
