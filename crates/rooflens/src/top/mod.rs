//! `rooflens top`: an answer to look through with keys.

mod draw;
mod rows;
mod state;
#[cfg(test)]
mod tests;

use std::io::{IsTerminal, Stdout, stdin, stdout};
use std::mem::ManuallyDrop;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rooflens_core::exit::Exit;
use rooflens_core::observer::{SharedObserver, Stop};
use rooflens_core::overview::Overview;

pub(crate) use self::draw::TopLook;
use self::draw::draw;
use self::state::{TopKey, TopState};
use crate::error::CliError;

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

/// Shows an answer until somebody quits, or the terminal is gone.
pub(crate) fn look_through(
    overview: &Overview,
    look: TopLook,
    observer: &SharedObserver,
) -> Result<(), CliError> {
    match follow_keys(overview, look, observer) {
        Err(_) if !stdin().is_terminal() => Ok(()),
        done => done,
    }
}

fn follow_keys(overview: &Overview, look: TopLook, observer: &SharedObserver) -> Result<(), CliError> {
    let failed = |source| CliError::Terminal { source };
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

/// Ctrl-C is a key like others while the terminal is ours.
fn is_interrupt(key: KeyEvent) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL) && matches!(key.code, KeyCode::Char('c' | 'd'))
}

fn meant(key: KeyEvent) -> Option<TopKey> {
    Some(match key.code {
        KeyCode::Char(letter) if key.modifiers.difference(KeyModifiers::SHIFT).is_empty() => {
            TopKey::Char(letter)
        }
        KeyCode::Enter => TopKey::Enter,
        KeyCode::Esc => TopKey::Escape,
        KeyCode::Backspace => TopKey::Backspace,
        KeyCode::Tab => TopKey::Tab,
        KeyCode::BackTab => TopKey::BackTab,
        KeyCode::Up => TopKey::Up,
        KeyCode::Down => TopKey::Down,
        KeyCode::Left => TopKey::Left,
        KeyCode::Right => TopKey::Right,
        KeyCode::PageUp => TopKey::PageUp,
        KeyCode::PageDown => TopKey::PageDown,
        KeyCode::Home => TopKey::Home,
        KeyCode::End => TopKey::End,
        _ => return None,
    })
}
