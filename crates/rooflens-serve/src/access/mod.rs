//! Who may ask for what: the name that the server is reached by, where a request comes from, and a token.

mod hosts;
mod origin;
mod token;

pub(crate) use self::hosts::HostNames;
pub(crate) use self::origin::{is_foreign, is_own_form};
pub(crate) use self::token::{COOKIE, Tokens};
