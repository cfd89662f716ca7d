//! Columns of tables as Spark's JSON schema.

use rooflens_engine_protocol::{Fault, Kind};
use serde_json::{Value, json};

/// The schema of columns, followed by text columns of the given names.
///
/// All are nullable to Spark, as columns of files always are.
pub(crate) fn json_schema(columns: &[(String, String, bool)], texts: &[&str]) -> Result<String, Fault> {
    let mut fields = Vec::with_capacity(columns.len() + texts.len());
    for (name, kind, _) in columns {
        fields.push(field(name, spark_type(name, kind)?));
    }
    fields.extend(texts.iter().map(|name| field(name, "string")));
    Ok(json!({"type": "struct", "fields": fields}).to_string())
}

fn field(name: &str, kind: &str) -> Value {
    json!({"name": name, "type": kind, "nullable": true, "metadata": {}})
}

/// Spark's name of an Arrow type, of those that tables of a store have.
fn spark_type(name: &str, kind: &str) -> Result<&'static str, Fault> {
    match kind.to_ascii_lowercase().as_str() {
        "utf8" | "text" | "string" => Ok("string"),
        "int64" | "bigint" => Ok("long"),
        "int32" | "int" => Ok("integer"),
        "int16" => Ok("short"),
        "int8" => Ok("byte"),
        "float64" | "double" => Ok("double"),
        "float32" | "float" => Ok("float"),
        "bool" | "boolean" => Ok("boolean"),
        _ => Err(Fault::new(
            Kind::Engine,
            format!("column {name} has the type {kind}, which is not mapped to Spark"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_follow_the_files() {
        let columns =
            [("run_id".to_owned(), "utf8".to_owned(), false), ("tp".to_owned(), "int32".to_owned(), true)];
        let schema: Value = serde_json::from_str(&json_schema(&columns, &["day"]).unwrap()).unwrap();
        let types: Vec<_> =
            schema["fields"].as_array().unwrap().iter().map(|f| f["type"].as_str().unwrap()).collect();
        assert_eq!(types, ["string", "integer", "string"]);
        let unknown = [("a".to_owned(), "uint64".to_owned(), false)];
        assert_eq!(json_schema(&unknown, &[]).unwrap_err().kind, Kind::Engine);
    }
}
