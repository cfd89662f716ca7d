//! `/login`: the token, once; then a cookie.

use std::sync::Arc;
use std::time::Duration;

use axum::Form;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use serde::Deserialize;

use crate::access::{COOKIE, Tokens};
use crate::app::App;
use crate::fault::PageFault;
use crate::frame::{page, section};

/// Guessing takes its time.
const AFTER_A_GUESS: Duration = Duration::from_millis(500);

#[derive(Deserialize)]
pub(crate) struct Given {
    token: String,
}

pub(crate) async fn get(State(app): State<Arc<App>>) -> Response {
    match app.tokens.is_wanted() {
        true => form("").into_response(),
        false => Redirect::to("/").into_response(),
    }
}

pub(crate) async fn enter(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Form(given): Form<Given>,
) -> Result<Response, PageFault> {
    if !app.tokens.is_token(given.token.trim()) {
        tokio::time::sleep(AFTER_A_GUESS).await;
        return Ok((StatusCode::UNAUTHORIZED, form("This is not the token.")).into_response());
    }
    let value = app.tokens.begin().ok_or_else(PageFault::bug)?;
    // A proxy with TLS says so; the cookie then never travels without.
    let is_private = headers.get("x-forwarded-proto").is_some_and(|scheme| scheme == "https");
    let secure = if is_private { "; Secure" } else { "" };
    let lasts_s = Tokens::lasts_s();
    let cookie = format!("{COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={lasts_s}{secure}");
    Ok(([(header::SET_COOKIE, cookie)], Redirect::to("/")).into_response())
}

pub(crate) async fn leave() -> Response {
    let cookie = format!("{COOKIE}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
    ([(header::SET_COOKIE, cookie)], Redirect::to("/login")).into_response()
}

fn form(problem: &str) -> Html<String> {
    let problem = match problem {
        "" => String::new(),
        problem => format!("<p role=\"alert\">{problem}</p>"),
    };
    let html = format!(
        "{problem}<form class=\"form\" method=\"post\" action=\"/login\"><label>Token\
         <input type=\"password\" name=\"token\" autocomplete=\"current-password\" required></label>\
         <div><button class=\"go\">Enter</button></div></form>\n"
    );
    Html(page("Token", "", &section("token", "This server asks for a token", &html), &[], ""))
}
