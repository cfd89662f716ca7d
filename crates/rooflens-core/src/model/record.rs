//! The model that a run is compared with, decided once and saved in the run as `model.json`: every later report has the
//! same lower bounds, wherever the run and the model's files are by then.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::Ledger;
use rooflens_cost::blueprint::Blueprint;
use rooflens_cost::hardware::Device;
use rooflens_cost::precision::Dtype;
use rooflens_cost::{Model, Parallel, Setup};
use rooflens_schema::RunDir;
use rooflens_schema::parquet_io::edit_run_row;
use rooflens_schema::tables::RunRow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::steps::passes_of;
use super::{ModelContext, ResolvedModel};
use crate::disk;
use crate::document::SchemaTag;
use crate::error::Error;

const MODEL: &str = "model.json";

/// The model that ran: its config, its formats, how devices share it, and the device. Where only a device was named, the
/// device alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ModelRecord {
    /// `rooflens.model`.
    pub(crate) schema: SchemaTag,
    /// Its name: that of its folder or config; null without a model.
    pub(crate) name: Option<String>,
    /// Its `config.json`; null without a model.
    pub(crate) config: Option<Map<String, Json>>,
    /// The `hf_quant_config.json` beside it; null where there is none.
    pub(crate) quantization: Option<Map<String, Json>>,
    /// Format of all weights, as `rooflens cost --dtype` takes it; null: as the config says.
    pub(crate) dtype: Option<String>,
    /// Format of cached keys and values; null: that of the activations.
    pub(crate) kv_dtype: Option<Dtype>,
    /// Devices that share each layer.
    pub(crate) tensor_parallel: u64,
    /// The device, with its peaks; null where none is known.
    pub(crate) device: Option<Device>,
    /// Whether the device was named, or told by the workload; otherwise it is the one that the trace names.
    pub(crate) is_device_named: bool,
    /// Why no device is known.
    pub(crate) no_device: Option<String>,
    /// Batch size of steps whose trace does not record it.
    pub(crate) batch: Option<u64>,
    /// Tokens in the KV cache per sequence, of steps whose trace does not record them.
    pub(crate) context: Option<u64>,
    /// Whether the model is taken even if the trace contradicts it.
    pub(crate) is_forced: bool,
}

impl ModelRecord {
    pub(crate) fn new(name: String, blueprint: &Blueprint) -> Self {
        ModelRecord {
            name: Some(name),
            config: Some(blueprint.config().clone()),
            quantization: blueprint.side().cloned(),
            ..Self::without_model()
        }
    }

    pub(crate) fn of_device(device: Device) -> Self {
        ModelRecord { device: Some(device), is_device_named: true, ..Self::without_model() }
    }

    fn without_model() -> Self {
        ModelRecord {
            schema: SchemaTag::new("model"),
            name: None,
            config: None,
            quantization: None,
            dtype: None,
            kv_dtype: None,
            tensor_parallel: 1,
            device: None,
            is_device_named: false,
            no_device: None,
            batch: None,
            context: None,
            is_forced: false,
        }
    }

    /// The one that a run was compared with; nothing where there was none.
    pub fn read(run: &RunDir) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(run.root().join(MODEL)).ok()?).ok()
    }

    /// Saves it in a run, and names the model in the run's row.
    pub fn save(&self, run: &RunDir) -> Result<(), Error> {
        disk::make(run.root())?;
        disk::write_json(run.root().join(MODEL), self)?;
        if !RunDir::has_trace(run.root()) {
            return Ok(());
        }
        edit_run_row(run, "trace", |row| self.complete(row)).map_err(Error::unwritable_tables)
    }

    /// Names the model in the row of a run, where that does not know it.
    pub(crate) fn complete(&self, row: &mut RunRow) {
        let dtype = self.model().ok().map(|(model, _)| model.dtype.as_str().to_owned());
        let degrees = self.config.as_ref().map(|_| json!({"tp": self.tensor_parallel}).to_string());
        let device = || self.device.as_ref().map(|device| device.name.clone());
        row.model = row.model.take().or_else(|| self.name.clone());
        row.dtype = row.dtype.take().or(dtype);
        row.parallelism = row.parallelism.take().or(degrees);
        row.hardware = row.hardware.take().or_else(device);
    }

    /// Removes what an older run of the same folder was compared with.
    pub fn remove(run: &RunDir) -> Result<(), Error> {
        disk::remove(&run.root().join(MODEL))
    }

    /// Its config, with the formats that it ran in.
    pub fn blueprint(&self) -> Result<Blueprint, String> {
        let config = self.config.clone().ok_or("no model was given")?;
        let mut blueprint = Blueprint::of(config, self.quantization.clone());
        match self.dtype.as_deref().filter(|format| !blueprint.weights(format)) {
            Some(format) => Err(format!("weights in {format} are not known")),
            None => Ok(blueprint),
        }
    }

    pub(crate) fn model(&self) -> Result<(Model, Setup), String> {
        self.model_of(&self.blueprint()?)
    }

    fn model_of(&self, blueprint: &Blueprint) -> Result<(Model, Setup), String> {
        let model = blueprint.model().map_err(|error| error.to_string())?;
        let parallel = Parallel { tp: self.tensor_parallel, ..Parallel::NONE };
        match parallel.fault(model.depth) {
            Some(reason) => Err(reason),
            None => Ok((model, Setup { parallel, kv: self.kv_dtype, ..Setup::default() })),
        }
    }

    pub(crate) fn resolve(&self) -> Result<ResolvedModel, String> {
        let blueprint = self.blueprint()?;
        let (model, setup) = self.model_of(&blueprint)?;
        let unknown = || self.no_device.clone().unwrap_or_else(|| "the device is not known".to_owned());
        let device = self.device.clone().ok_or_else(unknown)?;
        Ok(ResolvedModel { blueprint, model, name: self.name.clone().unwrap_or_default(), setup, device })
    }

    /// The device, where it was named: then the trace is not asked.
    pub(crate) fn named_device(&self) -> Option<&Device> {
        self.device.as_ref().filter(|_| self.is_device_named)
    }

    pub(crate) fn join(&self, findings: &mut Findings) -> Result<Option<ModelContext>, Error> {
        if self.config.is_none() {
            return Ok(None);
        }
        let known = self.resolve().map_err(Error::no_floor)?;
        let Some(ledger) = findings.get_mut::<Ledger>() else { return Ok(None) };
        let sizes = passes_of(ledger, self.batch, self.context);
        let joined = sizes.map(|(passes, told)| ModelContext { known, passes, told });
        ModelContext::give(joined, ledger, self.is_forced)
    }
}
