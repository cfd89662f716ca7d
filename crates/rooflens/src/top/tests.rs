//! Frames as a terminal would show them, and what keys do.

use std::path::PathBuf;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyCode;
use rooflens_core::model::ModelRequest;
use rooflens_core::observer::Unobserved;
use rooflens_core::overview::{Overview, overview};
use rooflens_core::self_test::EXAMPLES;

use super::draw::{TopLook, draw};
use super::rows::TopPane;
use super::state::TopState;

const PLAIN: TopLook = TopLook { color: false, unicode: true };

fn example() -> Overview {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decode-eager.json");
    std::fs::write(&path, EXAMPLES[0].contents).unwrap();
    overview(&[path], &ModelRequest::default(), &Unobserved::shared()).unwrap()
}

fn press(state: &mut TopState<'_>, keys: &str) {
    for key in keys.split_whitespace() {
        let key = match key {
            "enter" => KeyCode::Enter,
            "esc" => KeyCode::Esc,
            "tab" => KeyCode::Tab,
            "backtab" => KeyCode::BackTab,
            "down" => KeyCode::Down,
            "up" => KeyCode::Up,
            "end" => KeyCode::End,
            "pagedown" => KeyCode::PageDown,
            "backspace" => KeyCode::Backspace,
            word => KeyCode::Char(word.chars().next().unwrap()),
        };
        assert!(state.press(key), "{key:?}");
    }
}

fn frame(state: &mut TopState<'_>, (width, height): (u16, u16), look: TopLook) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state, look)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn the_ledger_at_80_columns() {
    let overview = example();
    insta::assert_snapshot!(frame(&mut TopState::new(&overview), (80, 24), PLAIN));
}

#[test]
fn a_phase_its_classes_their_kernels_and_back() {
    let overview = example();
    let mut state = TopState::new(&overview);
    press(&mut state, "enter");
    assert_eq!(state.view().pane, TopPane::Classes);
    press(&mut state, "enter");
    insta::assert_snapshot!(frame(&mut state, (80, 24), PLAIN));
    // Kernels of the class alone, and they make up all of it.
    let share: f64 = state.view().rows.iter().filter_map(|row| row.values[4].number()).sum();
    assert!(
        (share - 1.0).abs() < 1e-9 && state.view().rows.iter().all(|row| row.values[1].shown() == "gemm")
    );
    press(&mut state, "esc l");
    assert_eq!(state.view().scope.phase, Some(Some(rooflens_schema::tables::PhaseKind::Decode)));
    press(&mut state, "esc esc esc");
    assert_eq!((state.view().pane, state.tab()), (TopPane::Ledger, TopPane::Ledger));
}

#[test]
fn steps_and_what_is_in_one() {
    let overview = example();
    let mut state = TopState::new(&overview);
    press(&mut state, "3 down down");
    insta::assert_snapshot!(frame(&mut state, (100, 20), PLAIN));
    press(&mut state, "enter");
    assert_eq!(state.view().scope.step, Some(2));
    let total = |state: &TopState<'_>| {
        let column = if state.view().pane == TopPane::Kernels { 3 } else { 2 };
        state.view().rows.iter().filter_map(|row| row.values[column].number()).sum::<f64>()
    };
    let by_first = total(&state);
    press(&mut state, "k");
    assert_eq!((state.view().pane, total(&state)), (TopPane::Kernels, by_first));
}

#[test]
fn rows_are_filtered_sorted_and_reversed() {
    let overview = example();
    let mut state = TopState::new(&overview);
    press(&mut state, "2");
    let names = |state: &TopState<'_>| -> Vec<String> {
        state.view().rows.iter().map(|row| row.values[0].shown()).collect()
    };
    let all = names(&state);
    press(&mut state, "r");
    assert_eq!(names(&state), all.iter().rev().cloned().collect::<Vec<_>>());
    press(&mut state, "/ F L A S H");
    assert_eq!(names(&state).len(), 1);
    let typed = frame(&mut state, (80, 24), PLAIN);
    assert!(typed.contains("/FLASH_") && typed.contains("Esc clear"), "{typed}");
    // While a filter is typed, q is a letter.
    press(&mut state, "q");
    assert!(names(&state).is_empty() && frame(&mut state, (80, 24), PLAIN).contains("no row has this text"));
    press(&mut state, "backspace enter esc");
    assert_eq!(names(&state).len(), all.len());
    // At 80 columns the last one has no room, and is no order either.
    press(&mut state, "s s s");
    assert_eq!(state.view().order, (0, false));
    let mut sorted = all.clone();
    sorted.sort();
    assert_eq!(names(&state), sorted);
}

#[test]
fn tabs_help_and_the_end() {
    let overview = example();
    let mut state = TopState::new(&overview);
    press(&mut state, "tab");
    assert_eq!(state.tab(), TopPane::Kernels);
    press(&mut state, "backtab backtab");
    assert_eq!(state.tab(), TopPane::Layers);
    press(&mut state, "?");
    insta::assert_snapshot!(frame(&mut state, (80, 24), PLAIN));
    press(&mut state, "x");
    assert!(!state.is_helping && !state.press(KeyCode::Char('q')));
}

#[test]
fn every_size_can_be_drawn_and_the_chosen_row_is_seen() {
    let overview = example();
    let mut state = TopState::new(&overview);
    press(&mut state, "2 end");
    let last = state.row().unwrap().values[0].shown();
    for size in [(200, 60), (80, 24), (60, 14), (40, 10), (39, 24), (80, 9), (1, 1)] {
        let drawn = frame(&mut state, size, PLAIN);
        let is_large_enough = size.0 >= 80 && size.1 >= 14;
        assert!(!is_large_enough || drawn.contains(&last[..12]), "{size:?}: {drawn}");
    }
    assert!(frame(&mut state, (39, 24), PLAIN).contains("too small"));
    // Nothing but ASCII where only that can be shown.
    let ascii = frame(&mut state, (80, 24), TopLook { color: false, unicode: false });
    assert!(!ascii.contains('▼') && ascii.contains("timev"), "{ascii}");
}

#[test]
fn colours_are_used_only_where_they_may_be() {
    let overview = example();
    let colored = |look: TopLook| {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        let mut state = TopState::new(&overview);
        terminal.draw(|frame| draw(frame, &mut state, look)).unwrap();
        let cells = terminal.backend().buffer().content().to_vec();
        cells.iter().any(|cell| cell.fg != ratatui::style::Color::Reset)
    };
    assert!(colored(TopLook { color: true, unicode: true }) && !colored(PLAIN));
}

#[test]
fn hostile_names_are_cleaned() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("x.json");
    let name = "evil\\u001b[2J\\u0007kernel";
    let events: Vec<String> = (0..3)
        .map(|at| {
            format!(
                "{{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"{name}\",\"pid\":0,\"tid\":7,\"ts\":{},\"dur\":5,\"args\":{{\"device\":0,\"stream\":7}}}}",
                at * 10
            )
        })
        .collect();
    std::fs::write(&path, format!("{{\"traceEvents\":[{}]}}", events.join(","))).unwrap();
    let overview = overview(&[path], &ModelRequest::default(), &Unobserved::shared()).unwrap();
    let mut state = TopState::new(&overview);
    press(&mut state, "2");
    let drawn = frame(&mut state, (80, 24), PLAIN);
    assert!(drawn.contains("evil") && !drawn.contains('\u{1b}') && !drawn.contains('\u{7}'), "{drawn}");
}
