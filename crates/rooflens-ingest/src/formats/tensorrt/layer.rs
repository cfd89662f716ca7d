//! What a layer is.

use serde_json::Value;

/// A layer of `--exportLayerInfo`; with `--profilingVerbosity=layer_names_only` it is its name alone.
pub(super) struct Layer {
    pub(crate) name: String,
    pub(crate) kind: Option<String>,
    pub(crate) dtype: Option<String>,
    pub(crate) tactic: Option<String>,
    pub(crate) inputs: Option<String>,
    pub(crate) outputs: Option<String>,
}

/// Words in `Format/Datatype`, as in `Row major linear FP16 format`.
const DTYPES: &[(&str, &str)] = &[
    ("FP32", "fp32"),
    ("FP16", "fp16"),
    ("BF16", "bf16"),
    ("FP8", "fp8"),
    ("FP4", "fp4"),
    ("INT8", "int8"),
    ("INT32", "int32"),
    ("INT64", "int64"),
    ("INT4", "int4"),
    ("BOOL", "bool"),
    ("HALF", "fp16"),
    ("FLOAT", "fp32"),
];

impl Layer {
    pub fn read(value: &Value) -> Option<Layer> {
        let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let name = value.as_str().or_else(|| text("Name"))?.to_owned();
        let tensors = |key: &str| value.get(key).and_then(Value::as_array).filter(|list| !list.is_empty());
        let outputs = tensors("Outputs");
        Some(Layer {
            name,
            kind: text("LayerType").map(str::to_owned),
            dtype: outputs.and_then(|list| dtype(list.first()?)),
            tactic: text("TacticName")
                .or_else(|| text("TacticValue").filter(|word| !is_zero(word)))
                .map(str::to_owned),
            inputs: tensors("Inputs").map(|list| shapes(list)),
            outputs: outputs.map(|list| shapes(list)),
        })
    }
}

fn is_zero(word: &str) -> bool {
    word.trim_start_matches("0x").bytes().all(|byte| byte == b'0')
}

fn dtype(tensor: &Value) -> Option<String> {
    let words = tensor.get("Format/Datatype")?.as_str()?;
    let known = words.split_whitespace().find_map(|word| {
        let (_, name) = DTYPES.iter().find(|(known, _)| word.eq_ignore_ascii_case(known))?;
        Some((*name).to_owned())
    });
    known.or_else(|| words.split_whitespace().next().map(str::to_lowercase))
}

/// `[32,3,224,224] fp32, [64] fp16`.
fn shapes(tensors: &[Value]) -> String {
    let shape = |tensor: &Value| {
        let sizes = tensor.get("Dimensions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let sizes: Vec<String> = sizes.iter().map(Value::to_string).collect();
        let dtype = dtype(tensor).map_or(String::new(), |dtype| format!(" {dtype}"));
        format!("[{}]{dtype}", sizes.join(","))
    };
    tensors.iter().map(shape).collect::<Vec<String>>().join(", ")
}
