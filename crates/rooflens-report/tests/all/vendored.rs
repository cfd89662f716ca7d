//! The library that living charts are drawn with is the one that was built.

use sha2::{Digest, Sha256};

const LIBRARY: &str = include_str!("../../vendor/echarts/echarts.min.js");
const SUMS: &str = include_str!("../../vendor/echarts/SHA256SUMS");

#[test]
fn the_library_has_its_checksum() {
    let sum: String = Sha256::digest(LIBRARY.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        SUMS,
        format!("{sum}  echarts.min.js\n"),
        "vendor/echarts/build/README.md says how to build it"
    );
}

#[test]
fn the_library_can_stand_in_a_page() {
    assert!(LIBRARY.is_ascii(), "any encoding reads it");
    for word in
        ["</script", "<!--", "eval(", "new Function", "XMLHttpRequest", "fetch(", "import(", "WebSocket"]
    {
        assert!(!LIBRARY.contains(word), "{word}");
    }
    let addresses: Vec<&str> = LIBRARY.match_indices("http").map(|(at, _)| &LIBRARY[at..at + 18]).collect();
    assert!(addresses.iter().all(|address| address.starts_with("http://www.w3.org/")), "{addresses:?}");
}
