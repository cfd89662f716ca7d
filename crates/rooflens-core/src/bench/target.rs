//! The server that answers: which model it has.

use rooflens_load::scrape::{PlainClient, PlainUrl};

use crate::error::BenchError;

/// The first model that the server lists.
pub(crate) fn first_model(url: &str, client: &PlainClient) -> Result<String, BenchError> {
    let path = format!("{url}/v1/models");
    let unreachable = |why: String| BenchError::Unreachable { url: url.to_owned(), why };
    let address = PlainUrl::parse(&path).map_err(|error| unreachable(error.to_string()))?;
    let answer = client.get(&address).map_err(|error| unreachable(error.to_string()))?;
    let none = |why: &str| BenchError::NoModel { url: path.clone(), why: why.to_owned() };
    if answer.status != 200 {
        return Err(none(&format!("status {}", answer.status)));
    }
    let list: serde_json::Value =
        serde_json::from_str(&answer.text()).map_err(|_| none("the answer is not JSON"))?;
    let first =
        list["data"].as_array().and_then(|models| models.first()).and_then(|model| model["id"].as_str());
    first.map(str::to_owned).ok_or_else(|| none("the list is empty"))
}
