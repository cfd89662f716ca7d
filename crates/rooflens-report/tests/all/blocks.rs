//! Blocks travel: a server or a page that takes them as JSON gets what the renderers get.

use rooflens_analyze::Findings;
use rooflens_report::block::{Block, Cell};
use rooflens_report::sections::{self, Detail};

use crate::sample;

#[test]
fn the_blocks_of_every_section_are_read_back_as_they_were() {
    let details = [Detail::Screen { rows: 5 }, Detail::Page { rows: 20 }, Detail::Full];
    let mut kinds = std::collections::BTreeSet::new();
    for findings in
        [sample::decode(), sample::cpu_only(), sample::fleet(), sample::hostile(), Findings::default()]
    {
        for (section, detail) in
            sections::ALL.iter().flat_map(|section| details.map(|detail| (section, detail)))
        {
            let blocks = section.blocks(&findings, detail);
            let json = serde_json::to_string(&blocks).unwrap();
            let read: Vec<Block> =
                serde_json::from_str(&json).unwrap_or_else(|error| panic!("{}: {error}", section.name));
            // JSON has no infinity: what is not finite is null there, and read back as NaN.
            let shown = format!("{blocks:?}").replace("-inf", "NaN").replace("inf)", "NaN)");
            assert_eq!(format!("{read:?}"), shown, "{}", section.name);
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
            kinds.extend(
                blocks.iter().map(|block| format!("{block:?}").split('(').next().unwrap().to_owned()),
            );
        }
    }
    assert!(kinds.contains("Table") && kinds.contains("Chart") && kinds.contains("Remarks"), "{kinds:?}");
}

#[test]
fn a_block_is_an_object_under_its_kind() {
    let written = |block: &Block| serde_json::to_string(block).unwrap();
    assert_eq!(written(&Block::Lead("All is well.".to_owned())), r#"{"lead":"All is well."}"#);
    assert_eq!(serde_json::to_string(&Cell::Time(1_500)).unwrap(), r#"{"time":1500}"#);
    assert_eq!(serde_json::to_string(&Cell::missing("no device")).unwrap(), r#"{"missing":"no device"}"#);
    assert_eq!(serde_json::to_string(&Cell::amount(2.5, "FLOP/s")).unwrap(), r#"{"amount":[2.5,"FLOP/s"]}"#);
}

#[test]
fn numbers_that_are_none_are_read_back() {
    let json = serde_json::to_string(&Cell::Mean(f64::NAN)).unwrap();
    assert_eq!(json, r#"{"mean":null}"#);
    assert!(matches!(serde_json::from_str(&json).unwrap(), Cell::Mean(value) if value.is_nan()));
}
