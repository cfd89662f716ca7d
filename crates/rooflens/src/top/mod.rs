//! `rooflens top`: an answer to look through with keys.

mod draw;
mod rows;
mod state;
#[cfg(test)]
mod tests;

use std::io::{IsTerminal, Stdout, stdin, stdout};
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueHint;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rooflens_core::error::Hint;
use rooflens_core::exit::Exit;
use rooflens_core::observer::{SharedObserver, Stop};
use rooflens_core::overview::{Overview, overview};

use self::draw::{TopLook, draw};
use self::state::TopState;
use crate::args::ModelArgs;
use crate::console::Console;
use crate::error::CliError;
use crate::progress;

const EXAMPLES: &str = "\
Examples:
  rooflens top runs/first                     ledger, kernels, steps and layers of a run
  rooflens top trace.json.gz
  rooflens top traces/                        all ranks of a job

Keys: 1 to 4 or Tab for a pane, Enter to open a row (a phase, its classes, their kernels), Esc to go back, s to sort, \
/ to filter, ? for all keys, q to quit. `rooflens kernels top` prints the kernels as a table.";

/// Look through ledger, kernels, steps and layers in the terminal
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Run directory, or traces of one job
    #[arg(value_name = "INPUT", required = true, value_hint = ValueHint::AnyPath)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    floor: ModelArgs,
}

pub(crate) fn run(args: Args, console: &Console) -> Result<Exit, CliError> {
    // Before anything is read: a trace may take minutes.
    if !stdout().is_terminal() || !stdin().is_terminal() {
        return Err(CliError::usage(
            "standard input and output are not a terminal: there is nothing to look through",
            Hint::leading("as a table:", "rooflens kernels top INPUT, or rooflens analyze INPUT"),
        ));
    }
    let observer = progress::observer(console, progress::READING);
    let found = overview(&args.inputs, &args.floor.request(), &observer)?;
    let screen = console.screen(0);
    let look = TopLook { color: screen.color, unicode: screen.unicode };
    match follow_keys(&found, look, &observer) {
        Err(_) if !stdin().is_terminal() => {}
        done => done?,
    }
    Ok(Exit::Fine)
}

/// How long a key is waited for before somebody who wants to end the program is looked for.
const WAIT: Duration = Duration::from_millis(200);

/// Puts the terminal back as it was, also when the program fails.
struct RawScreen {
    // Dropping a `Terminal` prints an error if the cursor cannot be shown, and panics if there is no terminal to print
    // to. `restore` shows the cursor.
    terminal: ManuallyDrop<Terminal<CrosstermBackend<Stdout>>>,
}

impl RawScreen {
    fn open() -> std::io::Result<Self> {
        // A message about a bug is printed where it stays.
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            before(info);
        }));
        enable_raw_mode()?;
        // Not `Terminal::clear`: it asks where the cursor is, and not every terminal answers.
        let opened = execute!(stdout(), EnterAlternateScreen, Clear(ClearType::All))
            .and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        opened.map(|terminal| RawScreen { terminal: ManuallyDrop::new(terminal) }).inspect_err(|_| restore())
    }
}

impl Drop for RawScreen {
    fn drop(&mut self) {
        restore();
    }
}

/// Nothing can be done where the terminal is gone.
fn restore() {
    let _ = disable_raw_mode();
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
}

fn follow_keys(overview: &Overview, look: TopLook, observer: &SharedObserver) -> Result<(), CliError> {
    let failed = |source: std::io::Error| {
        let hint = Hint::words("TERM names the kind of terminal: echo $TERM");
        CliError::environment(format!("the terminal failed: {source}"), hint)
    };
    let mut screen = RawScreen::open().map_err(failed)?;
    end_with_the_terminal();
    let mut state = TopState::new(overview);
    let mut is_changed = true;
    while observer.stop() == Stop::No {
        if is_changed {
            screen.terminal.draw(|frame| draw(frame, &mut state, look)).map_err(failed)?;
        }
        is_changed = event::poll(WAIT).map_err(failed)?;
        if !is_changed {
            continue;
        }
        match event::read().map_err(failed)? {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                let goes_on = !is_interrupt(key) && meant(key).is_none_or(|key| state.press(key));
                if !goes_on {
                    break;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Ends the program where its terminal is gone: reading keys would never end then, and take a whole core.
#[expect(clippy::exit, reason = "the thread that reads keys never comes back then")]
fn end_with_the_terminal() {
    std::thread::spawn(|| {
        while stdin().is_terminal() {
            std::thread::sleep(WAIT);
        }
        std::process::exit(Exit::Interrupted.code().into());
    });
}

fn is_interrupt(key: KeyEvent) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL) && matches!(key.code, KeyCode::Char('c' | 'd'))
}

/// Letters mean nothing together with Control or Alt.
fn meant(key: KeyEvent) -> Option<KeyCode> {
    let is_plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    (is_plain || !matches!(key.code, KeyCode::Char(_))).then_some(key.code)
}
