//! The messages of a `.ncu-rep` file, as far as they are read. The numbers of the fields are those of the
//! documented format. What would name people or machines (system, command line, environment) is left out,
//! so that it is never decoded.

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct FileHeader {
    #[prost(uint32, optional, tag = "1")]
    pub(crate) version: Option<u32>,
}

/// Begins a block: how many messages follow, and what they share.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct BlockHeader {
    #[prost(uint32, optional, tag = "1")]
    pub(crate) sources: Option<u32>,
    #[prost(uint32, optional, tag = "2")]
    pub(crate) results: Option<u32>,
    #[prost(message, optional, tag = "4")]
    pub(crate) strings: Option<StringTable>,
    #[prost(uint32, optional, tag = "7")]
    pub(crate) range_results: Option<u32>,
    #[prost(uint32, optional, tag = "8")]
    pub(crate) command_list_results: Option<u32>,
    #[prost(uint32, optional, tag = "9")]
    pub(crate) graph_results: Option<u32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct StringTable {
    #[prost(string, repeated, tag = "1")]
    pub(crate) strings: Vec<String>,
}

/// A profiled launch.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Result {
    #[prost(string, optional, tag = "5")]
    pub(crate) mangled_name: Option<String>,
    #[prost(string, optional, tag = "6")]
    pub(crate) function_name: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub(crate) demangled_name: Option<String>,
    #[prost(message, optional, tag = "10")]
    pub(crate) grid: Option<SizeMessage>,
    #[prost(message, optional, tag = "11")]
    pub(crate) block: Option<SizeMessage>,
    #[prost(message, repeated, tag = "13")]
    pub(crate) metrics: Vec<MetricMessage>,
    #[prost(message, repeated, tag = "19")]
    pub(crate) rules: Vec<RuleResult>,
}

/// A range, a command list or a graph that was profiled as a whole: their first fields are the same.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct GroupResult {
    #[prost(message, repeated, tag = "4")]
    pub(crate) metrics: Vec<MetricMessage>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct SizeMessage {
    #[prost(uint64, optional, tag = "1")]
    pub(crate) x: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    pub(crate) y: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub(crate) z: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct MetricMessage {
    #[prost(uint32, optional, tag = "1")]
    pub(crate) name: Option<u32>,
    #[prost(message, optional, tag = "2")]
    pub(crate) value: Option<ValueMessage>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ValueMessage {
    #[prost(string, optional, tag = "1")]
    pub(crate) text: Option<String>,
    #[prost(float, optional, tag = "2")]
    pub(crate) float: Option<f32>,
    #[prost(double, optional, tag = "3")]
    pub(crate) double: Option<f64>,
    #[prost(uint32, optional, tag = "4")]
    pub(crate) small: Option<u32>,
    #[prost(uint64, optional, tag = "5")]
    pub(crate) large: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct RuleResult {
    #[prost(string, optional, tag = "1")]
    pub(crate) id: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub(crate) body: Option<RuleBody>,
    #[prost(string, optional, tag = "4")]
    pub(crate) section: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct RuleBody {
    #[prost(message, repeated, tag = "1")]
    pub(crate) items: Vec<RuleItem>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct RuleItem {
    #[prost(message, optional, tag = "1")]
    pub(crate) message: Option<RuleMessage>,
    #[prost(message, optional, tag = "10")]
    pub(crate) speedup: Option<SpeedupMessage>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct RuleMessage {
    #[prost(string, optional, tag = "1")]
    pub(crate) text: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub(crate) kind: Option<i32>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct SpeedupMessage {
    #[prost(int32, optional, tag = "1")]
    pub(crate) kind: Option<i32>,
    #[prost(double, optional, tag = "2")]
    pub(crate) percent: Option<f64>,
}
