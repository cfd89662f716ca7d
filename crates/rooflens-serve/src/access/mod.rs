//! Who may ask for what: the name that the server is reached by, where a request comes from, and a token.

mod hosts;
mod origin;
mod token;

pub use self::hosts::HostNames;
pub use self::origin::{is_foreign, is_own_form};
pub use self::token::{COOKIE, Tokens};
