//! Where this crate differs from hydra-core 1.3.8 on purpose, one test each. The reasons stand in
//! `docs/decisions/0012-our-own-hydra.md`; what is not listed here is held to Hydra by the oracles.

use rooflens_compose::value::Value;
use rooflens_compose::{ComposeError, ComposeRequest, Composer, Composition, yaml};

use super::compose_behaviour::composer as composer_of;

fn composer(text: &str) -> Composer {
    composer_of(&[("config.yaml", text)])
}

fn compose(text: &str, overrides: &[&str]) -> Result<Composition, ComposeError> {
    composer(text).compose(&ComposeRequest::new("config", overrides.iter().copied()))
}

fn resolved(text: &str) -> String {
    yaml::dump(&compose(text, &[]).unwrap().resolved().unwrap())
}

#[test]
fn help_texts_are_ours() {
    let made = compose("a: 1\n", &[]).unwrap();
    let footer = made.value_at("hydra.help.footer").unwrap().unwrap();
    assert_eq!(footer.value, Value::Str("Composed by the rules of Hydra.\n".into()));
}

#[test]
fn the_hydra_node_is_there_while_a_job_is_resolved() {
    // Hydra would make text of the number, since the field is text. Its `--cfg job --resolve` looks for `hydra.job.num` in a config that has no hydra node by then.
    assert_eq!(resolved("a: ${hydra:sweep.subdir}\nhydra:\n  job: {num: 7}\n"), "a: 7\n");
}

#[test]
fn the_mode_within_a_text_is_its_name() {
    assert_eq!(resolved("a: in ${hydra:mode}\nhydra: {mode: RUN}\n"), "a: in RUN\n");
}

#[test]
fn a_job_without_a_folder_is_an_error() {
    // Hydra makes a folder named None.
    let mut made = compose("a: 1\n", &["hydra.run.dir='???'"]).unwrap();
    assert!(made.begin(false).unwrap_err().to_string().contains("hydra.run.dir"));
}

#[test]
fn endless_work_is_refused() {
    let plan = |line: &str| {
        composer("a: 1\n").multirun(&ComposeRequest::new("config", [line])).unwrap_err().to_string()
    };
    for line in ["a=range(0,1,0.000001)", "a=range(1,1000000000)"] {
        assert_eq!(plan(line), "the sweep has more than 100000 jobs");
    }
    let deep = format!("a: {}1{}\n", "[".repeat(10_000), "]".repeat(10_000));
    let error = compose(&deep, &[]).unwrap_err().to_string();
    assert!(error.contains("recursion limit"), "{error}");
    let circle = compose("a: ${b}\nb: ${a}\n", &[]).unwrap().resolved();
    assert!(circle.unwrap_err().to_string().contains("refers to itself"));
}

#[test]
fn ranges_count_in_decimals() {
    let plan = composer("a: 1\n").multirun(&ComposeRequest::new("config", ["a=range(0,0.4,0.1)"])).unwrap();
    let jobs: Vec<String> = plan.batches.concat().into_iter().map(|job| job.overrides.concat()).collect();
    // Hydra 1.3 adds binary fractions up and ends one step late; 1.4 counts so.
    assert_eq!(jobs, ["a=0.0", "a=0.1", "a=0.2", "a=0.3"]);
}

#[test]
fn functions_that_no_config_needs_are_errors() {
    for function in ["int(1.5)", "sort(b,a)", "shuffle(1,2)", "tag(t,x)", "interval(0,1)"] {
        let error = compose("a: 1\n", &[&format!("a={function}")]).unwrap_err().to_string();
        assert!(error.contains("there are choice, glob, range"), "{error}");
    }
}
