//! A panic is a bug of Rooflens, and says so in one line instead of a page.

use std::io::Write;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};

/// Only the first panic is told: a thread's panic becomes its parent's.
static TOLD: AtomicBool = AtomicBool::new(false);

pub(crate) fn install_hook() {
    std::panic::set_hook(Box::new(|info| {
        // Damage of an input that is caught is told by a note.
        if !rooflens_ingest::is_guarded() && !TOLD.swap(true, Ordering::SeqCst) {
            // Nothing can be done where standard error is closed.
            let _ = std::io::stderr().write_all(report(info).as_bytes());
        }
    }));
}

fn report(info: &PanicHookInfo<'_>) -> String {
    let place = info.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
    let what = info.payload_as_str().unwrap_or("no message").replace('\n', " ");
    format!(
        "error: this is a bug in rooflens {}{place}: {what}\n\
         hint: please report this line, with the command you ran and the output of `rooflens doctor`\n",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_panic_is_told_in_one_line_with_a_hint() {
        static SAID: Mutex<String> = Mutex::new(String::new());
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(|info| {
            if let Ok(mut said) = SAID.lock() {
                *said = report(info);
            }
        }));
        let caught = std::thread::spawn(|| panic!("two\nlines")).join();
        std::panic::set_hook(before);
        assert!(caught.is_err());
        let said = SAID.lock().expect("nobody panics with it").clone();
        assert!(said.starts_with("error: this is a bug in rooflens "), "{said}");
        assert!(said.contains("bug.rs:") && said.contains(": two lines\nhint: "), "{said}");
        assert_eq!(said.lines().count(), 2, "{said}");
    }
}
