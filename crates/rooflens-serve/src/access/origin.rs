//! Where a request comes from, as browsers tell: a page of a stranger may not act through the browser of who looks at it.

use axum::http::{HeaderMap, Method};

fn told<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// Whether a page of another server asks for this, other than by a link that somebody followed.
pub(crate) fn is_foreign(method: &Method, headers: &HeaderMap) -> bool {
    let is_link = || {
        *method == Method::GET
            && told(headers, "sec-fetch-mode") == Some("navigate")
            && told(headers, "sec-fetch-dest") == Some("document")
    };
    // Another port of this machine is `same-site`, and a stranger all the same.
    match told(headers, "sec-fetch-site") {
        None | Some("same-origin" | "none") => false,
        Some(_) => !is_link(),
    }
}

/// Whether a form that was sent is one of ours: browsers name the page that sends one.
pub(crate) fn is_own_form(headers: &HeaderMap, host: &str) -> bool {
    let Some(origin) = told(headers, "origin") else { return false };
    let of = ["http://", "https://"].iter().find_map(|scheme| origin.strip_prefix(scheme));
    of.is_some_and(|of| of.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn strangers_may_only_link() {
        let link = [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        assert!(!is_foreign(&Method::GET, &headers(&link)));
        assert!(is_foreign(&Method::POST, &headers(&link)));
        let frame =
            [("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
        assert!(is_foreign(&Method::GET, &headers(&frame)));
        assert!(is_foreign(
            &Method::GET,
            &headers(&[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")])
        ));
        assert!(!is_foreign(&Method::GET, &headers(&[("sec-fetch-site", "same-origin")])));
        assert!(!is_foreign(&Method::GET, &headers(&[])));
        for (origin, is_own) in [
            ("http://localhost:1", true),
            ("https://localhost:1", true),
            ("http://localhost:2", false),
            ("http://evil.example", false),
            ("null", false),
        ] {
            assert_eq!(is_own_form(&headers(&[("origin", origin)]), "localhost:1"), is_own, "{origin}");
        }
        assert!(!is_own_form(&headers(&[]), "localhost:1"));
    }
}
