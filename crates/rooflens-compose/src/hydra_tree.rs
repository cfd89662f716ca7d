//! Hydra's own config tree, as built-in data: what `hydra.*` overrides and `${hydra:…}` refer to.
//!
//! Names and values are those of hydra-core 1.3.8, so that a config written for Hydra finds what it
//! expects. The help texts are ours.

pub(crate) const VERSION: &str = "1.3.8";
/// The compatibility level: `hydra.runtime.version_base`.
pub(crate) const VERSION_BASE: &str = "1.3";

pub(crate) const ROOT_CONFIG: &str = "hydra/config";
pub(crate) const EMPTY_CONFIG: &str = "_dummy_empty_config_";

/// The configs that Hydra brings as files.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("hydra/env/default.yaml", ""),
    ("hydra/help/default.yaml", HELP),
    ("hydra/hydra_help/default.yaml", HYDRA_HELP),
    ("hydra/hydra_logging/default.yaml", HYDRA_LOGGING),
    ("hydra/hydra_logging/disabled.yaml", LOGGING_DISABLED),
    ("hydra/hydra_logging/hydra_debug.yaml", HYDRA_LOGGING_DEBUG),
    ("hydra/hydra_logging/none.yaml", LOGGING_NONE),
    ("hydra/job_logging/default.yaml", JOB_LOGGING),
    ("hydra/job_logging/disabled.yaml", LOGGING_DISABLED),
    ("hydra/job_logging/none.yaml", LOGGING_NONE),
    ("hydra/job_logging/stdout.yaml", JOB_LOGGING_STDOUT),
    ("hydra/output/default.yaml", OUTPUT),
];

/// The configs that Hydra makes from classes.
pub(crate) const CLASSES: &[(&str, &str)] = &[
    ("_dummy_empty_config_.yaml", "{}"),
    ("hydra/config.yaml", CONFIG),
    ("hydra/launcher/basic.yaml", LAUNCHER),
    ("hydra/sweeper/basic.yaml", SWEEPER),
];

const OUTPUT: &str = "\
# @package hydra
run:
  dir: outputs/${now:%Y-%m-%d}/${now:%H-%M-%S}
sweep:
  dir: multirun/${now:%Y-%m-%d}/${now:%H-%M-%S}
  subdir: ${hydra.job.num}
";

const LAUNCHER: &str = "_target_: hydra._internal.core_plugins.basic_launcher.BasicLauncher\n";

const SWEEPER: &str = "\
_target_: hydra._internal.core_plugins.basic_sweeper.BasicSweeper
max_batch_size: null
params: null
";

const HELP: &str = r"
app_name: ${hydra.job.name}
header: |
  ${hydra.help.app_name}
footer: |
  Composed by the rules of Hydra.
template: |
  ${hydra.help.header}
  Groups (choose with group=option):

  $APP_CONFIG_GROUPS

  Config (change with key=value):

  $CONFIG

  ${hydra.help.footer}
";

const HYDRA_HELP: &str = r"
template: |
  Flags:

  $FLAGS_HELP

  Groups (choose with group=option):

  $HYDRA_CONFIG_GROUPS
";

const HYDRA_LOGGING: &str = "\
version: 1
formatters:
  simple: {format: '[%(asctime)s][HYDRA] %(message)s'}
handlers:
  console: {class: logging.StreamHandler, formatter: simple, stream: 'ext://sys.stdout'}
root: {level: INFO, handlers: [console]}
loggers:
  logging_example: {level: DEBUG}
disable_existing_loggers: false
";

const HYDRA_LOGGING_DEBUG: &str = "\
version: 1
formatters:
  simple: {format: '[%(asctime)s][%(name)s][%(levelname)s] - %(message)s'}
handlers:
  file:
    class: logging.FileHandler
    mode: w
    formatter: simple
    filename: hydra-${hydra.job.name}.log
    delay: true
root: {level: ERROR, handlers: [file]}
loggers:
  hydra: {level: DEBUG}
disable_existing_loggers: false
";

const JOB_LOGGING: &str = "\
version: 1
formatters:
  simple: {format: '[%(asctime)s][%(name)s][%(levelname)s] - %(message)s'}
handlers:
  console: {class: logging.StreamHandler, formatter: simple, stream: 'ext://sys.stdout'}
  file:
    class: logging.FileHandler
    formatter: simple
    filename: ${hydra.runtime.output_dir}/${hydra.job.name}.log
root: {level: INFO, handlers: [console, file]}
disable_existing_loggers: false
";

const JOB_LOGGING_STDOUT: &str = "\
version: 1
formatters:
  simple: {format: '%(message)s'}
handlers:
  console: {class: logging.StreamHandler, formatter: simple, stream: 'ext://sys.stdout'}
root: {level: INFO, handlers: [console]}
disable_existing_loggers: false
";

const LOGGING_NONE: &str = "version: 1\nroot: null\ndisable_existing_loggers: false\n";

const LOGGING_DISABLED: &str = "\
version: 1
root: {level: ERROR}
disable_existing_loggers: true
";

const CONFIG: &str = "\
defaults:
  - output: default
  - launcher: basic
  - sweeper: basic
  - help: default
  - hydra_help: default
  - hydra_logging: default
  - job_logging: default
  - callbacks: null
  - env: default
mode: null
searchpath: []
run: {dir: '???'}
sweep: {dir: '???', subdir: '???'}
hydra_logging: ???
job_logging: ???
sweeper: ???
launcher: ???
callbacks: {}
help: {app_name: '???', header: '???', footer: '???', template: '???'}
hydra_help: {hydra_help: '???', template: '???'}
output_subdir: .hydra
overrides: {hydra: [], task: []}
job:
  name: ???
  chdir: null
  override_dirname: ???
  id: ???
  num: ???
  config_name: ???
  env_set: {}
  env_copy: []
  config:
    override_dirname: {kv_sep: '=', item_sep: ',', exclude_keys: []}
runtime:
  version: ???
  version_base: ???
  cwd: ???
  config_sources: ???
  output_dir: ???
  choices: {}
verbose: false
";

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Any,
    Text {
        optional: bool,
    },
    /// A truth value or null.
    OptionalFlag,
    Count {
        optional: bool,
    },
    /// `RUN`, `MULTIRUN` or null.
    OptionalMode,
    TextList,
    TextMap {
        optional: bool,
    },
    AnyMap,
    /// A mapping with these keys only.
    Record(&'static [(&'static str, Kind)]),
}

const TEXT: Kind = Kind::Text { optional: false };

pub(crate) const LAUNCHER_KIND: Kind = Kind::Record(&[("_target_", TEXT)]);

pub(crate) const SWEEPER_KIND: Kind = Kind::Record(&[
    ("_target_", TEXT),
    ("max_batch_size", Kind::Count { optional: true }),
    ("params", Kind::TextMap { optional: true }),
]);

pub(crate) const HYDRA_KIND: Kind = Kind::Record(&[
    ("mode", Kind::OptionalMode),
    ("searchpath", Kind::TextList),
    ("run", Kind::Record(&[("dir", TEXT)])),
    ("sweep", Kind::Record(&[("dir", TEXT), ("subdir", TEXT)])),
    ("hydra_logging", Kind::AnyMap),
    ("job_logging", Kind::AnyMap),
    ("sweeper", Kind::Any),
    ("launcher", Kind::Any),
    ("callbacks", Kind::AnyMap),
    ("help", Kind::Record(&[("app_name", TEXT), ("header", TEXT), ("footer", TEXT), ("template", TEXT)])),
    ("hydra_help", Kind::Record(&[("hydra_help", TEXT), ("template", TEXT)])),
    ("output_subdir", Kind::Text { optional: true }),
    ("overrides", Kind::Record(&[("hydra", Kind::TextList), ("task", Kind::TextList)])),
    ("job", JOB_KIND),
    (
        "runtime",
        Kind::Record(&[
            ("version", TEXT),
            ("version_base", TEXT),
            ("cwd", TEXT),
            ("config_sources", Kind::Any),
            ("output_dir", TEXT),
            ("choices", Kind::AnyMap),
        ]),
    ),
    ("verbose", Kind::Any),
]);

const JOB_KIND: Kind = Kind::Record(&[
    ("name", TEXT),
    ("chdir", Kind::OptionalFlag),
    ("override_dirname", TEXT),
    ("id", TEXT),
    ("num", Kind::Count { optional: false }),
    ("config_name", Kind::Text { optional: true }),
    ("env_set", Kind::TextMap { optional: false }),
    ("env_copy", Kind::TextList),
    (
        "config",
        Kind::Record(&[(
            "override_dirname",
            Kind::Record(&[("kv_sep", TEXT), ("item_sep", TEXT), ("exclude_keys", Kind::TextList)]),
        )]),
    ),
]);
