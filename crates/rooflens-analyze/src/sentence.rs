//! What the sentences of findings contain.

pub use rooflens_schema::format::{
    count, share as percent, short_amount as amount, short_time as time, things, whole_percent,
};

/// A name in a sentence: a Python frame in a far folder keeps only its file and function.
pub(crate) fn code(name: &str) -> String {
    let folders = name.find('(').and_then(|line| name[..line].rfind('/')).filter(|_| name.len() > LONG);
    format!("`{}`", folders.map_or(name, |slash| &name[slash + 1..]))
}

/// Longer names are cut, in bytes.
const LONG: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_folders_are_left_out() {
        assert_eq!(code("threading.py(359): wait"), "`threading.py(359): wait`");
        let far = "/tmp/torchinductor_root/dn/cdniggnbpjo6ck7jj7d4oel3kskalexpx.py(6894): partition_0";
        assert_eq!(code(far), "`cdniggnbpjo6ck7jj7d4oel3kskalexpx.py(6894): partition_0`");
    }
}
