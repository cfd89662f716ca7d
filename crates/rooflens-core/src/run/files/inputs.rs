//! `inputs.yaml`: every sample that was run, with the digest of its file, so that a run can be repeated
//! on the same inputs, or be seen to have had others. It is YAML, to be read and compared by `diff`: it has no
//! JSON Schema.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rooflens_collect::RunStage;
use rooflens_collect::execute::digest;
use rooflens_compose::value::{Int, Map, Node, Value};
use rooflens_compose::yaml;
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_schema::{RunDir, SCHEMA_VERSION};

use super::super::config::at;
use super::super::workload;

/// What was run, of a config with nothing left to resolve; in `located`, the dataset is where its variant
/// is.
pub(crate) fn inputs(run: &RunDir, config: &Node, located: &Node, project: &Path) -> Node {
    let root = project.join(at(located, "dataset.root").and_then(word).unwrap_or_default());
    let metadata = metadata(located, project, &root);
    let mut dataset = Map::new();
    for key in ["name", "kind", "field", "root", "variant", "filelist", "patterns", "prompt", "sampling"] {
        if let Some(found) = at(config, &format!("dataset.{key}")) {
            dataset.insert(key.into(), found.clone());
        }
    }
    dataset.insert("metadata".into(), metadata.unwrap_or_else(null));
    let seed = at(config, "seed").cloned().unwrap_or_else(null);
    let seeds = [
        ("weights_and_tokens", seed),
        ("order_of_samples", at(config, "dataset.sampling.seed").cloned().unwrap_or_else(null)),
    ];
    let has_lines = at(config, "dataset.kind").and_then(word) == Some("jsonl");
    let mut digests = Digests { root, has_lines, known: BTreeMap::new() };
    let steps: Vec<Node> = RunStage::ALL.iter().filter_map(|stage| step(run, *stage, &mut digests)).collect();
    let why = "no step ran a workload that reports its samples";
    let mut not_computed = Map::new();
    if steps.is_empty() {
        not_computed.insert("steps".into(), text(why));
    }
    map([
        ("schema", map([("name", text("rooflens.inputs")), ("version", text(SCHEMA_VERSION))])),
        ("dataset", Node::new(Value::Map(dataset))),
        ("seeds", map(seeds)),
        ("steps", Node::new(Value::List(steps))),
        ("not_computed", Node::new(Value::Map(not_computed))),
    ])
}

struct Digests {
    root: PathBuf,
    /// Whether a sample is a line of a file, named `file:line`; the digest is that of the file.
    has_lines: bool,
    known: BTreeMap<String, Option<(u64, String)>>,
}

impl Digests {
    fn of(&mut self, sample: &str) -> Option<(u64, String)> {
        let line = sample.rsplit_once(':').filter(|_| self.has_lines);
        let file = line.map_or(sample, |(file, _)| file);
        let read = || digest(&self.root.join(file)).ok();
        self.known.entry(file.to_owned()).or_insert_with(read).clone()
    }
}

struct Sample {
    path: String,
    prompt_tokens: Option<i64>,
    output_tokens: Vec<Option<i64>>,
}

/// What a step ran, warm-up left out: it runs what counts, too.
fn step(run: &RunDir, stage: RunStage, digests: &mut Digests) -> Option<Node> {
    let epochs = epochs(&workload::of_stage(run, stage));
    let epochs: Vec<Node> = epochs.into_iter().map(|(epoch, found)| found.node(epoch, digests)).collect();
    (!epochs.is_empty())
        .then(|| map([("step", text(stage.name())), ("epochs", Node::new(Value::List(epochs)))]))
}

#[derive(Default)]
struct Epoch {
    rounds: Vec<i64>,
    samples: Vec<Sample>,
}

/// By epoch; where the workload does not tell which a round was of, all of it is one.
fn epochs(workload: &WorkloadRecords) -> BTreeMap<Option<i64>, Epoch> {
    let of_round = workload.epochs();
    let mut epochs: BTreeMap<Option<i64>, Epoch> = BTreeMap::new();
    let mut place = (None, 0);
    let requests = &workload.requests;
    for row in 0..requests.len() {
        let (Some(round), Some(path)) = (requests.round[row].get(), &requests.sample[row]) else { continue };
        if requests.round_kind[row].as_deref() == Some("warmup") {
            continue;
        }
        let epoch = epochs.entry(of_round.get(&round).copied()).or_default();
        if place.0 != Some(round) {
            place = (Some(round), 0);
            epoch.rounds.push(round);
        }
        let (asked, answered) = (requests.prompt_tokens[row].get(), requests.output_tokens[row].get());
        // Every round of an epoch goes through the same samples in the same order.
        match epoch.samples.get_mut(place.1).filter(|sample| &sample.path == path) {
            Some(sample) if epoch.rounds.len() > 1 => sample.output_tokens.push(answered),
            _ => epoch.samples.push(Sample {
                path: path.clone(),
                prompt_tokens: asked,
                output_tokens: vec![answered],
            }),
        }
        place.1 += 1;
    }
    epochs
}

impl Epoch {
    fn node(self, epoch: Option<i64>, digests: &mut Digests) -> Node {
        let samples = self.samples.into_iter().map(|sample| sample.node(digests)).collect();
        let rounds = self.rounds.into_iter().map(|round| number(Some(round))).collect();
        map([
            ("epoch", number(epoch)),
            ("rounds", Node::new(Value::List(rounds))),
            ("samples", Node::new(Value::List(samples))),
        ])
    }
}

impl Sample {
    fn node(self, digests: &mut Digests) -> Node {
        let (bytes, sha256) = digests.of(&self.path).unzip();
        let is_same = self.output_tokens.windows(2).all(|pair| pair[0] == pair[1]);
        let output_tokens = match self.output_tokens.as_slice() {
            [first, ..] if is_same => number(*first),
            all => Node::new(Value::List(all.iter().map(|count| number(*count)).collect())),
        };
        map([
            ("path", text(&self.path)),
            ("bytes", number(bytes.and_then(|bytes| i64::try_from(bytes).ok()))),
            ("sha256", sha256.as_deref().map_or_else(null, text)),
            ("prompt_tokens", number(self.prompt_tokens)),
            ("output_tokens", output_tokens),
        ])
    }
}

/// What is known of the dataset: beside the list of a variant, or with the samples or above them.
fn metadata(config: &Node, project: &Path, root: &Path) -> Option<Node> {
    let list = at(config, "dataset.filelist").and_then(word).map(|list| project.join(list));
    let beside_list = list.as_deref().and_then(Path::parent);
    let folders = beside_list.into_iter().chain([root]).chain(root.parent());
    folders.map(|folder| folder.join("metadata.yaml")).find_map(|path| {
        let text = fs::read_to_string(path).ok()?;
        yaml::load(&text, Arc::from("metadata.yaml")).ok()
    })
}

fn word(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Str(text) => Some(text),
        _ => None,
    }
}

fn map<const N: usize>(entries: [(&str, Node); N]) -> Node {
    Node::new(Value::Map(entries.into_iter().map(|(key, node)| (key.into(), node)).collect()))
}

fn text(text: &str) -> Node {
    Node::new(Value::Str(text.to_owned()))
}

fn number(number: Option<i64>) -> Node {
    number.map_or_else(null, |number| Node::new(Value::Int(Int::Small(number))))
}

fn null() -> Node {
    Node::new(Value::Null)
}

#[cfg(test)]
mod tests {
    use rooflens_ingest::formats::workload::Round;
    use rooflens_schema::Opt;
    use rooflens_schema::tables::{RequestRow, RequestStatus};

    use super::*;

    #[test]
    fn samples_by_epoch_and_round() {
        let mut workload = WorkloadRecords::default();
        for (round, epoch) in [(0, 0), (1, 0), (2, 1), (3, 0), (4, 1)] {
            let times =
                Round { round, kind: None, epoch: Some(epoch), ts_ns: None, end_ts_ns: None, dur_ns: None };
            workload.rounds.push(times);
        }
        // Epoch 0 in rounds 1 and 3 with a sample that stands twice; epoch 1 in rounds 2 and 4.
        let requests = [
            (0, "warmup", "a", 9),
            (1, "measured", "a", 1),
            (1, "measured", "b", 2),
            (1, "measured", "a", 3),
            (2, "measured", "b", 4),
            (3, "measured", "a", 1),
            (3, "measured", "b", 7),
            (3, "measured", "a", 3),
            (4, "measured", "b", 4),
        ];
        for (id, (round, kind, sample, output_tokens)) in (0..).zip(requests) {
            workload.requests.push(RequestRow {
                round: Opt::some(round),
                round_kind: Some(kind.to_owned()),
                sample: Some(sample.to_owned()),
                prompt_tokens: Opt::some(5),
                output_tokens: Opt::some(output_tokens),
                ..RequestRow::new(id, RequestStatus::Completed)
            });
        }
        let found = epochs(&workload);
        assert_eq!(found[&Some(0)].rounds, [1, 3]);
        let told = |epoch: i64| -> Vec<(&str, Vec<i64>)> {
            let samples = &found[&Some(epoch)].samples;
            samples
                .iter()
                .map(|sample| {
                    (sample.path.as_str(), sample.output_tokens.iter().flatten().copied().collect())
                })
                .collect()
        };
        assert_eq!(told(0), [("a", vec![1, 1]), ("b", vec![2, 7]), ("a", vec![3, 3])]);
        assert_eq!(told(1), [("b", vec![4, 4])]);
    }

    #[test]
    fn a_file_is_told_by_its_digest() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "abc").unwrap();
        let mut digests =
            Digests { root: folder.path().to_owned(), has_lines: false, known: BTreeMap::new() };
        let sample = |path: &str| Sample {
            path: path.to_owned(),
            prompt_tokens: None,
            output_tokens: vec![Some(1), Some(2)],
        };
        // The example of FIPS 180-2.
        let known = "path: a\nbytes: 3\nsha256: ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n\
                     prompt_tokens: null\noutput_tokens:\n- 1\n- 2\n";
        assert_eq!(yaml::dump(&sample("a").node(&mut digests)), known);
        assert!(yaml::dump(&sample("gone").node(&mut digests)).contains("bytes: null\nsha256: null\n"));
        digests.has_lines = true;
        assert_eq!(
            yaml::dump(&sample("a:12").node(&mut digests)),
            known.replace("path: a\n", "path: a:12\n")
        );
    }
}
