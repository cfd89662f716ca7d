//! Who is let in.

use rooflens_serve::Dashboard;

use crate::common::{Site, settings};
use crate::runs_made::row_run;

const TOKEN: &str = "correct-horse-battery-staple";

fn guarded() -> Site {
    Site::with(
        |root| row_run(&root.join("secret-run"), "a", 1e6, 0),
        |settings| settings.token = Some(TOKEN.to_owned()),
    )
}

#[test]
fn without_the_token_nothing_is_told() {
    let site = guarded();
    for path in ["/", "/metrics", "/sql", "/live", "/trend", "/runs/0", "/compare?run=1&run=2", "/nowhere"] {
        let answer = site.get(path);
        assert_eq!(answer.status, 401, "{path}");
        assert!(!answer.body.contains("secret-run"), "{path}");
    }
    for line in [
        ("Authorization", "Bearer wrong-horse-battery-staple"),
        ("Authorization", "Bearer "),
        ("Authorization", "Basic Y29ycmVjdA=="),
        ("Cookie", "rooflens_session=0000"),
        ("Cookie", "rooflens_session="),
    ] {
        assert_eq!(site.ask("GET", "/", &[line], "").status, 401, "{line:?}");
    }
    // A browser is led to the form.
    let browser = site.ask("GET", "/", &[("Accept", "text/html")], "");
    assert_eq!((browser.status, browser.header("location")), (303, Some("/login")));
    assert_eq!(site.post("/login", "token=wrong").status, 401);
    site.check();
}

#[test]
fn the_token_lets_in_and_so_does_its_cookie() {
    let site = guarded();
    let bearer = ("Authorization", &*format!("Bearer {TOKEN}"));
    assert!(site.ask("GET", "/", &[bearer], "").body.contains("secret-run"));
    let login = site.get("/login");
    assert!(
        login.status == 200 && login.body.contains("type=\"password\"") && !login.body.contains("secret-run")
    );
    let entered = site.post("/login", &format!("token={TOKEN}"));
    assert_eq!((entered.status, entered.header("location")), (303, Some("/")));
    let cookie = entered.header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict; Path=/;") && !cookie.contains(TOKEN), "{cookie}");
    let value = cookie.split(';').next().unwrap();
    assert!(site.ask("GET", "/", &[("Cookie", value)], "").body.contains("secret-run"));
    // The token is given by our own form, not by one of a stranger.
    let origin = ("Origin", "http://evil.example");
    assert_eq!(site.ask("POST", "/login", &[origin], &format!("token={TOKEN}")).status, 403);
}

#[test]
fn an_address_for_others_needs_a_token_and_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let start = |token: Option<&str>, hosts: &[&str]| {
        let mut settings = settings(folder.path());
        settings.listen = "0.0.0.0:0".parse().unwrap();
        settings.token = token.map(str::to_owned);
        settings.hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        Dashboard::start(settings)
    };
    for (token, hosts, fact) in [
        (None, "box", "needs a token"),
        (Some(TOKEN), "", "needs the name"),
        (Some("short"), "box", "too short"),
        (Some(TOKEN), "http://box", "cannot be the name"),
    ] {
        let error = start(token, hosts.split_whitespace().collect::<Vec<_>>().as_slice()).err().unwrap();
        assert!(error.to_string().contains(fact) && error.hint().is_some(), "{error}");
    }
    assert!(start(Some(TOKEN), &["box"]).is_ok());
}

#[test]
fn only_known_names_are_answered() {
    let site = Site::with(
        |root| row_run(&root.join("secret-run"), "a", 1e6, 0),
        |settings| settings.hosts = vec!["dash.example".to_owned()],
    );
    let port = site.address().port();
    for host in [format!("localhost:{port}"), format!("[::1]:{port}"), "dash.example".to_owned()] {
        assert_eq!(site.ask("GET", "/", &[("Host", &host)], "").status, 200, "{host}");
    }
    for host in [
        "evil.example",
        "localhost",
        "127.0.0.1:1",
        "",
        "dash.example.evil.example",
        "127.0.0.1@evil.example",
    ] {
        let answer = site.ask("GET", "/", &[("Host", host)], "");
        assert!([400, 421].contains(&answer.status), "{host}: {}", answer.status);
        assert!(!answer.body.contains("secret-run"));
    }
    // A name in the line of the request, a second one, and none.
    let own = site.host();
    for request in [
        format!("GET http://evil.example/ HTTP/1.1\r\nHost: {own}\r\nConnection: close\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"),
        "GET / HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(),
        "GET / HTTP/1.0\r\n\r\n".to_owned(),
    ] {
        let answer = site.send(request.as_bytes());
        assert!([400, 421].contains(&answer.status), "{request}: {}", answer.head);
    }
    site.check();
}
