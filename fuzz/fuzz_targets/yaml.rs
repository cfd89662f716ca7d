//! Any bytes as a config file: reading it ends, without a panic, and what was read is written so
//! that it is read again as the same.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use rooflens_compose::sources::{ConfigSource, SearchPath};
use rooflens_compose::{ComposeRequest, Composer, yaml};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let name: Arc<str> = "config.yaml".into();
    if let Ok(node) = yaml::load(text, Arc::clone(&name)) {
        let written = yaml::dump(&node);
        let again = yaml::load(&written, name).map(|again| yaml::dump(&again));
        assert_eq!(again.as_deref().ok(), Some(written.as_str()), "{text:?}");
    }
    // The same bytes as the primary config: its defaults list, packages and interpolations.
    let files = ConfigSource::memory([("config.yaml", text), ("group/option.yaml", "# @package _global_\nx: ${y}\n")]);
    let composer = Composer::new(SearchPath::new(files));
    match composer.compose(&ComposeRequest::new("config", [""; 0])) {
        Ok(made) => drop(made.resolved()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
