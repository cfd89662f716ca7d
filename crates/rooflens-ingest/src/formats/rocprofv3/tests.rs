//! The whole reader, on a made set of files and on damaged ones.

use std::path::Path;

use rooflens_schema::tables::ActivityKind;
use rooflens_schema::{Notes, RankTables, Severity};

use crate::error::IngestError;
use crate::rank_files;
use crate::testing::{codes, cuts, fixture, names, read, turned};

fn read_file(name: &str) -> (RankTables, Notes) {
    crate::testing::read_file(fixture("rocprofv3").join(name))
}

#[test]
fn a_folder_of_files_of_one_process_is_one_rank() {
    let notes = Notes::default();
    let files = rank_files(&fixture("rocprofv3"), &notes).unwrap();
    let names: Vec<&str> = files.iter().filter_map(|file| file.path.file_name()?.to_str()).collect();
    assert_eq!(names, ["42_kernel_trace.csv"]);
    assert!(notes.rows().is_empty(), "the description of the agents is not passed over");
}

#[test]
fn the_set() {
    let (tables, notes) = read_file("42_kernel_trace.csv");
    let kernels = &tables.kernels;
    // The first record of all, a call, starts at 1000000.
    assert_eq!(kernels.ts_ns, [400, 1100, 1100, 200, 1200]);
    assert_eq!(kernels.dur_ns, [600, 50, 60, 100, 30]);
    assert_eq!(kernels.device, [4, 4, 5, 4, 4]);
    assert_eq!(kernels.stream, [1, 1, 2, -1, -1]);
    assert_eq!(kernels.kind[3], ActivityKind::Memcpy);
    assert_eq!(kernels.bytes[3].get(), None, "the file does not tell");
    let names = names(&tables, &kernels.kernel_id);
    assert_eq!(names[0], "void gemm<float, 2>(float const*, float*)");
    assert_eq!(&names[3..], ["Memcpy HtoD (Host -> Device)", "Memcpy DtoH (Device -> Host)"]);
    // 2048 × 3 work-items in workgroups of 256 × 1; 100 in workgroups of 64.
    assert_eq!((kernels.grid_x[0].get(), kernels.grid_y[0].get()), (Some(8), Some(3)));
    assert_eq!((kernels.grid_x[1].get(), kernels.block_x[1].get()), (Some(2), Some(64)));
    assert_eq!(kernels.shared_memory_bytes[0].get(), Some(8192));
    assert_eq!(kernels.registers[0].get(), Some(32));
    assert_eq!(tables.api.len(), 6);
    assert_eq!(tables.api.corr_id[1], kernels.corr_id[0]);
    assert_eq!(tables.phases.len(), 1);
    assert_eq!(tables.devices.device, [4, 5], "only those that were used");
    assert_eq!(tables.devices.architecture[0].as_deref(), Some("gfx942"));
    assert_eq!((tables.meta.events, tables.meta.last_ns), (13, 1300));
    assert_eq!(codes(&notes), ["joined_files 1", "unread_roctx_marks 1"]);
    assert!(notes.rows()[0].message.contains("42_marker_api_trace.csv"));
}

#[test]
fn any_file_stands_for_its_set() {
    let (of_kernels, of_calls) = (read_file("42_kernel_trace.csv").0, read_file("42_hip_api_trace.csv").0);
    let sum = |tables: &RankTables| tables.kernels.dur_ns.iter().sum::<i64>();
    assert_eq!(sum(&of_kernels), sum(&of_calls));
    assert_eq!(of_kernels.meta.events, of_calls.meta.events);
}

#[test]
fn columns_of_another_version() {
    let old = "\"Kind\",\"Agent_Id\",\"Dispatch_Id\",\"Kernel_Name\",\"Start_Timestamp\",\"End_Timestamp\",\"Group_Segment_Size\"\r\n\
               \"KERNEL_DISPATCH\",1,1,\"k\",10,30,64\r\n\"KERNEL_DISPATCH\",1,2,\"k\",30,20,64\r\n";
    let (tables, notes) = read(old.as_bytes());
    let tables = tables.unwrap();
    assert_eq!((tables.kernels.dur_ns[0], tables.kernels.device[0]), (20, 1));
    assert_eq!(tables.kernels.shared_memory_bytes[0].get(), Some(64));
    assert_eq!(tables.kernels.grid_x[0].get(), None);
    assert_eq!(codes(&notes), ["event_without_time 1"]);
}

#[test]
fn other_tables_are_not_taken_for_traces() {
    for header in
        ["a,b\n1,2\n", "\"Name\",\"Calls\",\"TotalDurationNs\"\n", "Start_Timestamp,End_Timestamp\n1,2\n"]
    {
        assert!(matches!(read(header.as_bytes()).0, Err(IngestError::Unknown { .. })), "{header}");
    }
}

#[test]
fn damage_is_told() {
    for name in ["42_kernel_trace.csv", "42_memory_copy_trace.csv", "42_hip_api_trace.csv"] {
        let whole = std::fs::read(fixture("rocprofv3").join(name)).unwrap();
        let all = read(&whole).0.unwrap().meta.events;
        for bytes in cuts(&whole, 7).chain(turned(&whole, 5, 0x95)) {
            let (tables, notes) = read(&bytes);
            let Ok(tables) = tables else { continue };
            let rows = (tables.kernels.len() + tables.api.len()) as i64;
            let told = notes.rows().iter().any(|note| note.severity != Severity::Info);
            // Cut between two lines, a file is as whole as a shorter one.
            let between = whole.starts_with(&bytes) && bytes.ends_with(b"\n");
            assert!(rows == all || told || between, "{}", String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn numbers_of_agents_and_of_large_identifiers() {
    let found = ["4", "Agent 4", "", "x"].map(super::trailing_number);
    assert_eq!(found, [Some(4), Some(4), None, None]);
    assert_eq!(super::trailing_number("8819330200067564"), Some(8_819_330_200_067_564));
}

#[test]
fn the_kernels_stand_for_their_set() {
    let mut paths: Vec<&Path> = [
        "a/7_hip_api_trace.csv",
        "a/7_kernel_trace.csv",
        "b/7_hip_api_trace.csv",
        "kernel_trace.csv",
        "marker_api_trace.csv",
        "trace.json",
    ]
    .map(Path::new)
    .into();
    super::keep_one_a_set(&mut paths, |path| Some(path));
    let kept: Vec<&str> = paths.iter().filter_map(|path| path.to_str()).collect();
    assert_eq!(
        kept,
        [
            "a/7_kernel_trace.csv",
            "b/7_hip_api_trace.csv",
            "kernel_trace.csv",
            "marker_api_trace.csv",
            "trace.json"
        ]
    );
}
