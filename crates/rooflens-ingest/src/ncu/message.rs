//! The messages of a `.ncu-rep` file, as far as they are read. The numbers of the fields are those of the
//! documented format. What would name people or machines (system, command line, environment) is left out,
//! so that it is never decoded.

/// Begins the file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FileHeader {
    #[prost(uint32, optional, tag = "1")]
    pub version: Option<u32>,
}

/// Begins a block: how many messages follow, and what they share.
#[derive(Clone, PartialEq, prost::Message)]
pub struct BlockHeader {
    #[prost(uint32, optional, tag = "1")]
    pub sources: Option<u32>,
    #[prost(uint32, optional, tag = "2")]
    pub results: Option<u32>,
    #[prost(message, optional, tag = "3")]
    pub session: Option<Session>,
    #[prost(message, optional, tag = "4")]
    pub strings: Option<StringTable>,
    #[prost(uint32, optional, tag = "5")]
    pub payload_bytes: Option<u32>,
    #[prost(uint32, optional, tag = "7")]
    pub range_results: Option<u32>,
    #[prost(uint32, optional, tag = "8")]
    pub command_list_results: Option<u32>,
    #[prost(uint32, optional, tag = "9")]
    pub graph_results: Option<u32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Session {
    #[prost(message, repeated, tag = "8")]
    pub versions: Vec<Version>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct Version {
    #[prost(string, optional, tag = "1")]
    pub provider: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub version: Option<String>,
}

/// Names of metrics; those of all blocks form one list.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StringTable {
    #[prost(string, repeated, tag = "1")]
    pub strings: Vec<String>,
}

/// A profiled launch.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Result {
    #[prost(uint32, optional, tag = "1")]
    pub thread: Option<u32>,
    #[prost(string, optional, tag = "5")]
    pub mangled_name: Option<String>,
    #[prost(string, optional, tag = "6")]
    pub function_name: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub demangled_name: Option<String>,
    #[prost(message, optional, tag = "10")]
    pub grid: Option<SizeMessage>,
    #[prost(message, optional, tag = "11")]
    pub block: Option<SizeMessage>,
    #[prost(message, repeated, tag = "13")]
    pub metrics: Vec<MetricMessage>,
    #[prost(message, repeated, tag = "19")]
    pub rules: Vec<RuleResult>,
    #[prost(message, optional, tag = "21")]
    pub nvtx: Option<NvtxState>,
    #[prost(uint32, optional, tag = "22")]
    pub context: Option<u32>,
    #[prost(uint32, optional, tag = "23")]
    pub stream: Option<u32>,
}

/// A range, a command list or a graph that was profiled as a whole: their first fields are the same.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GroupResult {
    #[prost(uint32, optional, tag = "1")]
    pub thread: Option<u32>,
    #[prost(message, repeated, tag = "4")]
    pub metrics: Vec<MetricMessage>,
    #[prost(message, optional, tag = "10")]
    pub nvtx: Option<NvtxState>,
    #[prost(uint32, optional, tag = "11")]
    pub context: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct SizeMessage {
    #[prost(uint64, optional, tag = "1")]
    pub x: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    pub y: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub z: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct MetricMessage {
    /// Its place in the list of strings.
    #[prost(uint32, optional, tag = "1")]
    pub name: Option<u32>,
    #[prost(message, optional, tag = "2")]
    pub value: Option<ValueMessage>,
    #[prost(message, repeated, tag = "3")]
    pub instances: Vec<Instance>,
}

/// A part of a metric: for an opcode, a line of code, a unit.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Instance {
    #[prost(message, optional, tag = "1")]
    pub of: Option<ValueMessage>,
    #[prost(message, optional, tag = "2")]
    pub value: Option<ValueMessage>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueMessage {
    #[prost(string, optional, tag = "1")]
    pub text: Option<String>,
    #[prost(float, optional, tag = "2")]
    pub float: Option<f32>,
    #[prost(double, optional, tag = "3")]
    pub double: Option<f64>,
    #[prost(uint32, optional, tag = "4")]
    pub small: Option<u32>,
    #[prost(uint64, optional, tag = "5")]
    pub large: Option<u64>,
}

/// What a rule of Nsight Compute found.
#[derive(Clone, PartialEq, prost::Message)]
pub struct RuleResult {
    #[prost(string, optional, tag = "1")]
    pub id: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub body: Option<RuleBody>,
    #[prost(string, optional, tag = "4")]
    pub section: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RuleBody {
    #[prost(message, repeated, tag = "1")]
    pub items: Vec<RuleItem>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RuleItem {
    #[prost(message, optional, tag = "1")]
    pub message: Option<RuleMessage>,
    #[prost(message, optional, tag = "10")]
    pub speedup: Option<SpeedupMessage>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct RuleMessage {
    #[prost(string, optional, tag = "1")]
    pub text: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub kind: Option<i32>,
    #[prost(string, optional, tag = "4")]
    pub title: Option<String>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub struct SpeedupMessage {
    #[prost(int32, optional, tag = "1")]
    pub kind: Option<i32>,
    #[prost(double, optional, tag = "2")]
    pub percent: Option<f64>,
}

/// The NVTX ranges that were open at a launch.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NvtxState {
    #[prost(message, repeated, tag = "1")]
    pub domains: Vec<NvtxDomain>,
    #[prost(message, repeated, tag = "2")]
    pub threads: Vec<NvtxThread>,
    #[prost(message, repeated, tag = "3")]
    pub start_end: Vec<NvtxRanges>,
    #[prost(uint64, optional, tag = "4")]
    pub default_domain: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct NvtxDomain {
    #[prost(uint64, optional, tag = "1")]
    pub id: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct NvtxThread {
    #[prost(uint32, optional, tag = "1")]
    pub thread: Option<u32>,
    #[prost(message, repeated, tag = "2")]
    pub domains: Vec<NvtxStack>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct NvtxStack {
    #[prost(uint64, optional, tag = "1")]
    pub domain: Option<u64>,
    #[prost(message, repeated, tag = "3")]
    pub ranges: Vec<NvtxPushed>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct NvtxPushed {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct NvtxRanges {
    #[prost(uint64, optional, tag = "1")]
    pub domain: Option<u64>,
    #[prost(message, repeated, tag = "3")]
    pub ranges: Vec<NvtxStarted>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub struct NvtxStarted {
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}
