//! A library that answers as NVML would, by a script: a mock at the ABI, since there may be no device.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A mock of the library with its own script, in a folder that goes away with it.
pub struct MockNvml {
    folder: tempfile::TempDir,
}

impl MockNvml {
    /// Compiles it, with the C compiler that the workspace's own build needs, too.
    pub fn new(script: &str) -> Self {
        let mock = MockNvml { folder: tempfile::tempdir().unwrap() };
        std::fs::write(mock.folder.path().join("libnvidia-ml.so.1.script"), script).unwrap();
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../rooflens-collect/tests/all/mock_nvml/nvml.c");
        let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        let mut command = Command::new(compiler);
        command.args(["-shared", "-fPIC", "-O1", "-o"]).arg(mock.path()).arg(source);
        let done = command.arg("-ldl").output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        mock
    }

    /// The library.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("libnvidia-ml.so.1")
    }
}

/// Two devices: one that tells all there is, and one that tells little.
pub const TWO_DEVICES: &str = "\
driver 580.65.06
count 2
0.name NVIDIA H100 80GB HBM3
0.uuid GPU-00000000-0000-0000-0000-000000000000
0.util.gpu 97
0.util.memory 41
0.clock.sm 1980
0.clock.memory 2619
0.power 301500
0.power.limit 700000
0.energy 123456789012
0.temperature 54
0.memory.total 85520809984
0.memory.used 12884901888
0.throttle 68
0.pstate 2
0.processes 4242:10737418240,77:1048576
0.process.util 4242:88:1000,4242:93:2000,77:1:2000
0.gpm.support 1
0.gpm.2 61.5
0.gpm.3 33.25
0.gpm.5 48
0.gpm.10 72.5
0.gpm.20 1.5
0.gpm.21 2
0.gpm.60 !3
0.gpm.61 4
1.name NVIDIA T4
1.util.gpu 0
1.util.memory 0
1.clock.sm 300
1.power 9876
1.energy !3 5000
1.memory.total 15843721216
1.memory.used 0
1.throttle 1025
1.processes none
1.gpm.support 0
";
