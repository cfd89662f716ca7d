use rooflens_schema::{Opt, RankTables};

use crate::error::IngestError;
use crate::testing;

const NEW: &str = include_str!("../../../../../fixtures/trtexec/dump-profile-10.log");
const OLD: &str = include_str!("../../../../../fixtures/trtexec/dump-profile-8.log");

fn read(log: &str) -> (Result<RankTables, IngestError>, Vec<String>) {
    let (tables, notes) = testing::read(log.as_bytes());
    let mut codes = testing::codes(&notes);
    codes.sort();
    (tables, codes)
}

/// Name, runs, total and median of a layer.
type Told<'a> = (&'a str, Option<i64>, Option<i64>, Option<i64>);

fn layers(tables: &RankTables) -> Vec<Told<'_>> {
    let of = &tables.engine_layers;
    let row = |i: usize| {
        let name = tables.names.get(of.name_id[i]);
        (name, of.runs[i].get(), of.total_ns[i].get(), of.median_ns[i].get())
    };
    (0..of.len()).map(row).collect()
}

const REFORMAT: &str = "Reformatting CopyNode for Input Tensor 0 to /conv1/Conv + /relu/Relu";
const FOREIGN: &str = "{ForeignNode[/blocks.0/attn/MatMul...(Unnamed Layer* 12) [Shuffle]]}";

#[test]
fn parity_135_a_log_of_dump_profile_with_names_last() {
    let (tables, codes) = read(NEW);
    let tables = tables.unwrap();
    // 20 runs: the average to 0.0001 ms says the total to 1 µs, the total itself to 5 µs only.
    let expected = [
        (REFORMAT, Some(20), Some(42_000), Some(2_000)),
        ("/conv1/Conv + /relu/Relu", Some(20), Some(2_468_000), Some(122_900)),
        (FOREIGN, Some(20), Some(20_100_000), Some(1_004_100)),
    ];
    assert_eq!(layers(&tables), expected);
    assert_eq!(codes, ["rounded_times 1"]);
    assert_eq!((tables.meta.format.as_str(), tables.meta.events), ("tensorrt", 3));
    assert!(tables.engine_layers.type_id.iter().all(|id| *id == Opt::NONE), "a log does not tell kinds");
}

#[test]
fn parity_135_a_log_of_dump_profile_with_names_first() {
    let (tables, codes) = read(OLD);
    // 1000 runs: the total has more digits than the average. Medians came with a later version.
    let expected = [
        ("conv1 + relu1", Some(1000), Some(84_110_000), None),
        ("pool1/3x3_s2", Some(1000), Some(26_460_000), None),
        ("(Unnamed Layer* 3) [Shuffle]", Some(1000), Some(9_430_000), None),
    ];
    assert_eq!(layers(&tables.unwrap()), expected);
    assert_eq!(codes, ["no_median 1", "rounded_times 1"]);
}

#[test]
fn parity_135_line_ends_and_prefixes_do_not_matter() {
    let bare: String =
        NEW.lines().map(|line| line.split("[I] ").last().unwrap_or("").to_owned() + "\r\n").collect();
    let between = NEW.replace("   Total", "   Total\u{0}").replace("\u{0}", "");
    let warned: String = between
        .lines()
        .flat_map(|line| [line, "[03/14/2026-09:26:54] [W] * GPU compute time is unstable"])
        .map(|line| format!("{line}\n"))
        .collect();
    let prefixed: String = NEW.lines().map(|line| format!("worker-0 | {line}\n")).collect();
    let expected =
        layers(&read(NEW).0.unwrap()).into_iter().map(|row| format!("{row:?}")).collect::<Vec<_>>();
    for log in [bare, NEW.replace('\n', "\r\n"), warned, prefixed] {
        let (tables, codes) = read(&log);
        let rows: Vec<String> = layers(&tables.unwrap()).iter().map(|row| format!("{row:?}")).collect();
        assert_eq!((rows, codes), (expected.clone(), vec!["rounded_times 1".to_owned()]), "{log}");
    }
}

#[test]
fn parity_135_several_profiles_of_one_engine_are_added_up() {
    let (tables, codes) = read(&format!("{NEW}{NEW}"));
    let tables = tables.unwrap();
    assert_eq!(layers(&tables)[1], ("/conv1/Conv + /relu/Relu", Some(40), Some(4_936_000), None));
    assert_eq!(
        (layers(&tables).len(), codes),
        (3, vec!["rounded_times 1".into(), "several_profiles 2".into()])
    );
}

#[test]
fn parity_135_profiles_of_different_engines_are_listed_with_a_note() {
    let (tables, codes) = read(&format!("{OLD}{NEW}"));
    let tables = tables.unwrap();
    assert_eq!(layers(&tables).len(), 6);
    assert_eq!(layers(&tables)[4].3, Some(122_900), "medians of different engines stay");
    assert_eq!(codes, ["no_median 1", "rounded_times 1", "several_profiles 2"]);
}

#[test]
fn parity_135_a_log_that_is_cut_says_so_at_every_place() {
    let whole = layers(&read(NEW).0.unwrap()).iter().map(|row| format!("{row:?}")).collect::<Vec<_>>();
    let table = NEW.find("=== Profile").unwrap();
    let total = NEW.find("   Total\n").unwrap() + "   Total".len();
    for cut in table..=total {
        let (tables, codes) = read(&NEW[..cut]);
        let Ok(tables) = tables else { continue };
        let rows: Vec<String> = layers(&tables).iter().map(|row| format!("{row:?}")).collect();
        assert!(whole.starts_with(&rows), "a layer that is not there, cut at {cut}: {rows:?}");
        assert!(codes.contains(&"truncated 1".to_owned()), "cut at {cut}: {codes:?}");
    }
}

#[test]
fn parity_135_a_log_without_a_profile_names_the_flags() {
    let without = &NEW[..NEW.find("=== Profile").unwrap()];
    let error = read(without).0.unwrap_err().to_string();
    assert!(error.contains("--dumpProfile") && error.contains("--exportProfile=FILE"), "{error}");
    let cut = &NEW[..NEW.find("   Time(ms)").unwrap()];
    let error = read(cut).0.unwrap_err().to_string();
    assert!(error.contains("truncated before its first layer"), "{error}");
}

#[test]
fn parity_135_hostile_tables_are_notes() {
    let table = |rows: &str| {
        let head = "   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer";
        format!(
            "=== Profile (10 iterations ) ===\n{head}\n{rows}       1.00       0.1000       0.1000     100.0   Total\n"
        )
    };
    for bad in ["nan 0.1 0.1 50.0 x\n", "-1.00 0.1 0.1 50.0 x\n", "1e300 1 1 1 x\n", "1.00 0.1 0.1\n", "x\n"]
    {
        let (tables, codes) = read(&table(&format!("1.00 0.1000 0.1000 100.0 good\n{bad}")));
        assert_eq!(layers(&tables.unwrap()), [("good", Some(10), Some(1_000_000), Some(100_000))], "{bad}");
        assert_eq!(codes, ["event_without_time 1", "rounded_times 1"], "{bad}");
    }
    // Layers that do not make the total; iterations that are no number.
    let (_, codes) = read(&table("0.20 0.0200 0.0200 100.0 little\n"));
    assert_eq!(codes, ["rounded_times 1", "total_disagrees 1"]);
    let odd = table("1.00 0.1000 0.1000 50.0 Total\n").replace("(10 ", "(99999999999999999999 ");
    assert_eq!(layers(&read(&odd).0.unwrap()), [("Total", None, Some(1_000_000), Some(100_000))]);
}
