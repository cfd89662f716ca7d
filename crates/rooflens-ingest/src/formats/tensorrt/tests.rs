use std::path::PathBuf;

use rooflens_schema::{Opt, RankTables};

use super::keep_one;
use crate::testing::{self, codes, names, read_file, read_whole};

fn fixture(name: &str) -> PathBuf {
    testing::fixture("tensorrt").join(name)
}

fn alone(name: &str) -> RankTables {
    read_whole(&std::fs::read(fixture(name)).unwrap()).0
}

#[test]
fn files_of_one_engine_are_joined_by_name() {
    for name in ["made.profile.json", "made.graph.json", "made.timing.json"] {
        let (tables, notes) = read_file(fixture(name));
        assert_eq!(codes(&notes), ["event_without_time 1", "joined_files 2"]);
        let layers = &tables.engine_layers;
        let word = |id: Opt<_>| id.get().map_or("-", |id| tables.names.get(id));
        assert_eq!(names(&tables, &layers.name_id), ["conv", "pool", "added", "gone"]);
        assert_eq!(layers.total_ns, [Some(800_000), Some(200_000), Some(0), None].map(Opt::from));
        assert_eq!(layers.median_ns[0], Opt::some(190_000));
        assert_eq!(layers.runs, [Some(4), Some(4), Some(4), None].map(Opt::from));
        let kinds: Vec<&str> = layers.type_id.iter().map(|id| word(*id)).collect();
        assert_eq!(kinds, ["CaskConvolution", "CudaPooling", "-", "NoOp"]);
        let dtypes: Vec<&str> = layers.dtype_id.iter().map(|id| word(*id)).collect();
        assert_eq!(dtypes, ["fp16", "int8", "-", "-"]);
        assert_eq!(
            (word(layers.tactic_id[0]), word(layers.tactic_id[1])),
            ("made_tactic_fp16", "0xfffffffffffffffe")
        );
        assert_eq!((word(layers.inputs_id[0]), word(layers.tactic_id[3])), ("[1,3,8,8] fp32", "-"));
        // Times count from the first moment, 2.5 ms.
        assert_eq!(tables.inferences.ts_ns, [0, 1_000_000]);
        assert_eq!(tables.inferences.enqueue_ns, [10_000, 30_000]);
        assert_eq!(tables.inferences.compute_ts_ns, [200_000, 1_200_000]);
        assert_eq!(tables.inferences.latency_ns, [650_000, 900_000]);
        assert_eq!(tables.inferences.end_ns, [750_000, 2_000_000]);
        assert_eq!(tables.meta.events, 9);
    }
}

#[test]
fn each_file_tells_what_it_holds() {
    let profile = alone("made.profile.json");
    assert_eq!((profile.engine_layers.len(), profile.inferences.len()), (3, 0));
    assert!(profile.engine_layers.type_id.iter().all(|id| !id.is_some()));
    assert_eq!(alone("made.graph.json").engine_layers.total_ns, [Opt::NONE; 3]);
    assert_eq!(alone("made.timing.json").inferences.len(), 2);
}

#[test]
fn one_file_stands_for_its_set() {
    let mut paths = ["made.graph.json", "made.timing.json", "made.profile.json"].map(fixture).to_vec();
    paths.push(PathBuf::from("other.profile.json"));
    keep_one(&mut paths, |path| Some(path));
    assert_eq!(paths, [fixture("made.profile.json"), PathBuf::from("other.profile.json")]);
}

#[test]
fn a_cut_file_is_an_error() {
    let bytes = b"[ { \"count\" : 4 } , { \"name\" : \"conv\", \"timeMs\" :";
    let error = testing::read(bytes).0.unwrap_err();
    assert!(error.to_string().contains("EOF"), "{error}");
}
