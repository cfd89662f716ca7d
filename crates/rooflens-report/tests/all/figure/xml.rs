//! What a figure's text must be.

/// The marks, without the style that all figures share.
pub fn marks(svg: &str) -> String {
    let (before, rest) = svg.split_once("<style>").unwrap_or((svg, ""));
    let (_, after) = rest.split_once("</style>").unwrap_or_default();
    format!("{before}<style/>{after}")
}

/// Elements nest, attributes are quoted, and there is no bare `<` or `&` nor anything XML forbids.
pub fn assert_well_formed(svg: &str) {
    let mut open: Vec<&str> = vec![];
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        assert_text(&rest[..start]);
        let Some((tag, after)) = rest[start + 1..].split_once('>') else { panic!("a tag does not end") };
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
            continue;
        }
        let (body, closed) = tag.strip_suffix('/').map_or((tag, false), |body| (body, true));
        assert!(!body.contains('<') && body.matches('"').count() % 2 == 0, "{tag}");
        for value in body.split('"').skip(1).step_by(2) {
            assert_text(value);
            assert!(!value.contains("NaN") && !value.contains("inf"), "{tag}");
        }
        if !closed {
            open.push(body.split_once(' ').map_or(body, |(name, _)| name));
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
    let forbidden = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{fffe}' | '\u{ffff}');
    assert!(!svg.contains(forbidden));
    for word in ["<script", "<a ", "<image", "href", "url(", "@import"] {
        assert!(!svg.contains(word), "{word}");
    }
    assert_eq!(svg.matches("http").count(), 1, "the name space");
}

fn assert_text(text: &str) {
    for piece in text.split('&').skip(1) {
        let name = piece.split_once(';').map_or("nothing", |(name, _)| name);
        assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name), "{name}");
    }
}
