//! Device properties.

use crate::cell::Opt;
use crate::table::table;

table! {
    /// A device that the trace describes.
    Devices(DeviceRow) = "devices", per_rank: true {
        /// Device index.
        device: i32 => "id" Dictionary,
        /// Name as the driver gives it; may be empty.
        name: String => "text" Dictionary,
        /// Memory size.
        memory_bytes: Opt<i64> => "bytes" Dictionary,
        /// Streaming multiprocessors or compute units.
        units: Opt<i32> => "count" Dictionary,
        /// Compute capability or architecture, as `9.0` or `gfx942`.
        architecture: Option<String> => "text" Dictionary,
    }
}
