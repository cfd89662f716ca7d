//! A model's answers: `predictions.jsonl` in the report, and the page to read them on.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use rooflens_collect::{RunSettings, RunStage};
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_report::predictions::{Picture, Prediction, THUMBNAILS, html, markdown, thumbnails};
use rooflens_schema::tables::Requests;
use rooflens_schema::{Opt, RunDir};
use serde_json::{Value as Json, json};

use super::super::document::RunDocument;
use super::super::workload;
use super::grounding::{self, GroundedImage, Stored};
use super::{device, json_lines, text};
use crate::error::Error;
use crate::project::way;
use crate::saved::{self, read_json};

/// The file, in the folder of a step and in the report.
const FILE: &str = "predictions.jsonl";
/// The page.
pub const PAGE: &str = "predictions.html";

const BOXES: &str = "boxes.jsonl";

/// Bytes of a picture that goes into the page: a scanned page of a document does.
const PICTURE_BYTES: u64 = 4 << 20;
/// Bytes of a picture that are read to find out its size.
const HEADER_BYTES: u64 = 4 * PICTURE_BYTES;
/// Bytes of all of them: a page must open.
const ALL_BYTES: u64 = 48 << 20;

/// Writes them, as the stage that answered wants it: direct inference, or else the profiled one.
pub(crate) fn write(
    run: &RunDir,
    settings: &RunSettings,
    project: &Path,
    numbers: &RunDocument,
) -> Result<(), Error> {
    let has = |stage: &RunStage| run.raw(stage.name()).join(FILE).is_file();
    let Some(stage) = [RunStage::DirectInference, RunStage::TorchProfiler].into_iter().find(has) else {
        return Ok(());
    };
    let kept = settings.pipeline.samples(stage);
    let (folder, report) = (run.raw(stage.name()), run.report());
    if kept.predictions {
        let path = report.join(FILE);
        fs::copy(folder.join(FILE), &path).map_err(|source| Error::unwritable(path, source))?;
    }
    let spec = read_json(&folder.join("spec.json"));
    let ran = workload::of_stage(run, stage);
    let (all, boxes) =
        predictions(&ran, &json_lines(&folder.join(FILE)), Pictures::new(&spec, project, &report));
    if boxes.is_empty() {
        // Of a report that is written again.
        let _ = fs::remove_file(report.join(BOXES));
    } else {
        let lines: String = boxes.iter().map(|line| format!("{line}\n")).collect();
        saved::write(report.join(BOXES), lines.as_bytes())?;
    }
    if !kept.pages {
        return Ok(());
    }
    let title = format!("{}: answers", settings.label());
    let about = about(&settings.label(), stage, numbers);
    let rest = if kept.predictions { FILE.to_owned() } else { format!("../raw/{}/{FILE}", stage.name()) };
    let formats = [
        ("html", PAGE, html as fn(&str, &str, &[Prediction], &str) -> String),
        ("md", "predictions.md", markdown),
    ];
    for (format, name, page) in formats {
        if settings.output.formats.iter().any(|known| known == format) {
            saved::write(report.join(name), page(&title, &about, &all, &rest).as_bytes())?;
        }
    }
    let has_pictures = all.iter().any(|prediction| prediction.picture.is_some());
    if has_pictures && settings.output.formats.iter().any(|known| known == "html") {
        let page = thumbnails(&format!("{}: pictures", settings.label()), &about, &all, &rest, PAGE);
        saved::write(report.join(THUMBNAILS), page.as_bytes())?;
    }
    Ok(())
}

fn about(model: &str, stage: RunStage, run: &RunDocument) -> String {
    let mut words = vec![model];
    words.extend(run.runtime.as_ref().and_then(Json::as_str));
    words.extend(device(run));
    words.extend(text(&run.model, "dtype"));
    words.extend(text(&run.dataset, "name"));
    let how = if stage == RunStage::DirectInference { "without any profiler" } else { "under the profiler" };
    format!("{}, {how}", words.join(", "))
}

/// When a request began, had its first token, and its last; and how long its prompt was.
struct Times {
    prompt_tokens: Option<u64>,
    ttft_ns: Option<f64>,
    latency_ns: Option<f64>,
}

/// Of each request with a sample, by its round; the last first.
fn times(requests: &Requests) -> BTreeMap<(i64, String), Vec<Times>> {
    let mut times: BTreeMap<(i64, String), Vec<Times>> = BTreeMap::new();
    for row in (0..requests.len()).rev() {
        let (Some(round), Some(sample)) = (requests.round[row].get(), &requests.sample[row]) else {
            continue;
        };
        let since = |token: Opt<i64>| token.get()?.checked_sub(requests.sent_ts_ns[row].get()?);
        let time = |token| since(token).filter(|ns| *ns >= 0).map(|ns| ns as f64);
        times.entry((round, sample.clone())).or_default().push(Times {
            prompt_tokens: requests.prompt_tokens[row].get().and_then(|count| u64::try_from(count).ok()),
            ttft_ns: time(requests.first_token_ts_ns[row]),
            latency_ns: time(requests.last_token_ts_ns[row]),
        });
    }
    times
}

/// Answers with their times: those of the same round and sample, the first with the first; and lines of
/// [`BOXES`].
fn predictions(
    ran: &WorkloadRecords,
    answers: &[Json],
    mut pictures: Pictures,
) -> (Vec<Prediction>, Vec<Json>) {
    let mut times = times(&ran.requests);
    let architecture = ran.text("model", "architecture").unwrap_or_default();
    let rounds = ran.epochs();
    let has_epochs = rounds.values().max() > Some(&0);
    let mut boxes = Vec::new();
    let mut prediction = |row: &Json| {
        let sample = row["sample"].as_str()?.to_owned();
        let round = row["round"].as_i64();
        let times = round.and_then(|round| times.get_mut(&(round, sample.clone()))?.pop());
        let (picture, stored) = pictures.of(&sample).unzip();
        let answer = row["answer"].as_str().unwrap_or_default().to_owned();
        let subject = GroundedImage { stored: stored.flatten(), record: row["picture"].clone() };
        let found = if picture.is_some() {
            grounding::boxes(&answer, architecture, &subject)
        } else {
            grounding::Grounding::default()
        };
        for line in found.lines {
            let mut of_sample = json!({"sample": sample, "round": round});
            if let (Some(all), Json::Object(line)) = (of_sample.as_object_mut(), line) {
                all.extend(line);
            }
            boxes.push(of_sample);
        }
        Some(Prediction {
            epoch: round.and_then(|round| u64::try_from(*rounds.get(&round)?).ok()).filter(|_| has_epochs),
            prompt: row["prompt"].as_str().unwrap_or_default().to_owned(),
            answer,
            prompt_tokens: times.as_ref().and_then(|times| times.prompt_tokens),
            tokens: row["tokens"].as_u64(),
            ttft_ns: times.as_ref().and_then(|times| times.ttft_ns),
            latency_ns: times.as_ref().and_then(|times| times.latency_ns),
            picture,
            overlay: found.overlay,
            remarks: found.remarks,
            sample,
        })
    };
    let all = answers.iter().filter_map(&mut prediction).collect();
    (all, boxes)
}

/// The pictures of a dataset, as far as they go into a page.
struct Pictures {
    /// Folder of the samples; nothing where these are texts.
    root: Option<PathBuf>,
    from_report: PathBuf,
    left: u64,
}

impl Pictures {
    fn new(spec: &Json, project: &Path, report: &Path) -> Self {
        let dataset = &spec["config"]["dataset"];
        let is_image = dataset["kind"] == "image";
        let root = dataset["root"].as_str().filter(|_| is_image).map(|root| project.join(root));
        let from_report = root.as_deref().map(|root| way(report, root)).unwrap_or_default();
        Pictures { root, from_report, left: ALL_BYTES }
    }

    fn of(&mut self, sample: &str) -> Option<(Picture, Option<Stored>)> {
        let file = self.root.as_ref()?.join(sample);
        let path = self.from_report.join(sample).to_string_lossy().into_owned();
        let length = fs::metadata(&file).ok()?.len();
        let mut bytes = Vec::new();
        fs::File::open(&file).ok()?.take(HEADER_BYTES).read_to_end(&mut bytes).ok()?;
        let stored = Stored::of(&bytes);
        // Browsers do not turn all of them upright that say so of themselves; boxes would lie elsewhere.
        let is_doubtful = stored.is_some_and(|stored| stored.orientation != 1);
        let picture = match kind(&bytes).filter(|kind| !(is_doubtful && *kind == "image/webp")) {
            Some(kind) if length <= PICTURE_BYTES.min(self.left) => {
                self.left = self.left.saturating_sub(length);
                Picture::Inside { kind, bytes, path }
            }
            _ => Picture::Beside { path },
        };
        Some((picture, stored))
    }
}

/// Kinds that every browser draws and that hold no script, by their first bytes.
fn kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rooflens_ingest::formats::workload::read_folder;
    use rooflens_schema::Notes;

    use super::*;

    #[test]
    fn answers_find_their_times() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, lines: &[Json]| {
            let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            fs::write(folder.path().join(name), text).unwrap();
        };
        let request = |round: u64, sample: &str, tokens: [u64; 2]| json!({"round": round, "kind": "predicted", "sample": sample, "prompt_tokens": 5, "output_tokens": 2, "start_ns": 100, "token_ns": tokens});
        // One sample stands twice in the first epoch.
        write(
            "requests.jsonl",
            &[request(0, "a", [110, 120]), request(0, "a", [130, 140]), request(1, "a", [150, 99])],
        );
        let answer = |round: u64, words: &str| json!({"round": round, "sample": "a", "prompt": "p", "answer": words, "tokens": 2});
        write(
            FILE,
            &[
                answer(0, "first"),
                answer(0, "second"),
                answer(1, "third"),
                answer(2, "timeless"),
                json!({"no": 1}),
            ],
        );
        let round = |round: u64| json!({"event": "round_begin", "round": round, "epoch": round});
        write("events.jsonl", &[round(0), round(1)]);
        let ran = read_folder(folder.path(), "direct_inference", &Notes::default());
        let pictures = Pictures::new(&Json::Null, Path::new("/p"), Path::new("/p/r"));
        let (found, _) = predictions(&ran, &json_lines(&folder.path().join(FILE)), pictures);
        let told: Vec<_> =
            found.iter().map(|it| (it.answer.as_str(), it.epoch, it.ttft_ns, it.latency_ns)).collect();
        let expected = [
            ("first", Some(0), Some(10.0), Some(20.0)),
            ("second", Some(0), Some(30.0), Some(40.0)),
            // A last token before the prompt is no time.
            ("third", Some(1), Some(50.0), None),
            ("timeless", None, None, None),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_picture_is_known_by_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.png"), b"\x89PNG\r\n\x1a\nrest").unwrap();
        fs::write(folder.path().join("b.png"), b"<svg onload=alert(1)>").unwrap();
        fs::write(folder.path().join("c.jpg"), vec![0xff; 5 << 20]).unwrap();
        let turned = b"RIFF????WEBPVP8X\x0a\0\0\0\x08\0\0\0\x8f\x01\0\xc7\0\0EXIF\x1a\0\0\0\
                       MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        fs::write(folder.path().join("d.webp"), turned).unwrap();
        let spec = json!({"config": {"dataset": {"kind": "image", "root": "."}}});
        let mut pictures = Pictures::new(&spec, folder.path(), &folder.path().join("report"));
        assert!(
            matches!(pictures.of("a.png"), Some((Picture::Inside { kind: "image/png", path, .. }, _)) if path == "../a.png")
        );
        let stored = pictures.of("d.webp").unwrap().1.unwrap();
        assert_eq!((stored.width, stored.height, stored.orientation), (400, 200, 6));
        for name in ["b.png", "c.jpg", "d.webp"] {
            assert!(matches!(pictures.of(name), Some((Picture::Beside { .. }, _))), "{name}");
        }
        assert!(pictures.of("gone.png").is_none());
    }
}
