//! One frame: verdict, tabs, table, detail, keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};
use rooflens_analyze::analyses::{Trace, Verdict};
use rooflens_report::text::{clean, elide, width, wrap};

use super::rows::{TopPane, TopRow, columns};
use super::state::{TopState, TopView};

#[derive(Debug, Clone, Copy)]
pub(crate) struct TopLook {
    pub(crate) color: bool,
    pub(crate) unicode: bool,
}

/// The keys that matter; on a narrow screen those that lead to the others.
const ALL_KEYS: &str = "Enter open  Esc back  c class  l layer  k kernel  s sort  / find  ? keys  q quit";
/// Smaller than this, nothing can be read.
const SMALLEST: (u16, u16) = (40, 10);
/// Lines of the verdict.
const VERDICT: u16 = 2;
/// Lines below the table.
const DETAIL: u16 = 14;
/// Columns of a name, where others can go for it.
const NAME: usize = 36;
/// Columns beside the name that stay.
const FEWEST_NUMBERS: usize = 3;
/// Space between columns.
const GAP: usize = 2;

const HELP: &[(&str, &str)] = &[
    ("1 2 3 4, Tab", "ledger, kernels, steps, layers"),
    ("up, down, PgUp, PgDn", "choose a row"),
    ("Enter", "open it: a phase, its classes, their kernels"),
    ("Esc", "go back"),
    ("c l k", "show this by class, by layer, by kernel"),
    ("s r", "sort by the next column, reverse the order"),
    ("/", "filter rows; Enter keeps the filter, Esc clears it"),
    ("?", "these keys"),
    ("q, Ctrl-C", "quit"),
];

pub(crate) fn draw(frame: &mut Frame<'_>, state: &mut TopState<'_>, look: TopLook) {
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let words = format!("The terminal is too small: {}x{} is needed.", SMALLEST.0, SMALLEST.1);
        frame.render_widget(Paragraph::new(words), area);
        return;
    }
    let detail = details(state, area.width as usize);
    let room = area.height.saturating_sub(VERDICT + 6);
    let detail_rows = (detail.len() as u16).min(DETAIL).min(room / 2);
    let [head, verdict, tabs, way, table, below, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(VERDICT),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(3),
        Constraint::Length(if detail_rows > 0 { detail_rows + 1 } else { 0 }),
        Constraint::Length(1),
    ])
    .areas(area);
    let strong = Style::new().add_modifier(Modifier::BOLD);
    frame.render_widget(Line::styled(elide(&title(state), area.width as usize), strong), head);
    frame.render_widget(Paragraph::new(sentence(state, area.width as usize)), verdict);
    frame.render_widget(tab_line(state, look), tabs);
    frame.render_widget(way_line(state, area.width as usize, look), way);
    draw_table(frame, state, table, look);
    if detail_rows > 0 {
        let lines: Vec<Line<'_>> = std::iter::once(String::new()).chain(detail).map(Line::from).collect();
        frame.render_widget(Paragraph::new(lines), below);
    }
    frame.render_widget(key_line(state, area.width as usize, look), keys);
    if state.is_helping {
        draw_help(frame, area);
    }
}

fn title(state: &TopState<'_>) -> String {
    let trace = state.overview().analyzed.findings.get::<Trace>();
    let sources = trace.map(|trace| clean(&trace.sources.join(", "))).unwrap_or_default();
    format!("rooflens top  {sources}")
}

fn sentence(state: &TopState<'_>, columns: usize) -> Vec<Line<'static>> {
    let verdict = state.overview().analyzed.findings.get::<Verdict>();
    let sentence = verdict.map(|verdict| clean(&verdict.sentence)).unwrap_or_default();
    let mut lines = wrap(&sentence, columns);
    if lines.len() > usize::from(VERDICT) {
        lines.truncate(usize::from(VERDICT));
        if let Some(last) = lines.last_mut() {
            let more = " … more in `rooflens analyze`";
            let room = columns.saturating_sub(more.chars().count());
            let kept: String = last.chars().take(room).collect();
            *last = format!("{}{more}", kept.trim_end());
        }
    }
    lines.into_iter().map(Line::from).collect()
}

fn tab_line(state: &TopState<'_>, look: TopLook) -> Line<'static> {
    let mut spans = Vec::new();
    for (number, pane) in (1..).zip(TopPane::TABS) {
        let style = match pane == state.tab() {
            true => chosen_style(look),
            false => Style::new(),
        };
        spans.push(Span::styled(format!(" {number} {} ", pane.title()), style));
        spans.push(Span::raw(" "));
    }
    Line::from(spans)
}

fn way_line(state: &TopState<'_>, columns: usize, look: TopLook) -> Line<'static> {
    let view = state.view();
    let arrow = if look.unicode { " › " } else { " > " };
    let mut way = view.scope.words(state.overview());
    way.push(view.pane.title().to_lowercase());
    let mut words = way.join(arrow);
    if state.is_typing || !view.filter.is_empty() {
        let cursor = if state.is_typing { "_" } else { "" };
        words.push_str(&format!("   /{}{cursor}", clean(&view.filter)));
    }
    if state.overview().times.is_merged && view.pane == TopPane::Steps {
        words.push_str("   (too many steps: later ones are merged)");
    }
    let style = if look.color { Style::new().fg(Color::Cyan) } else { Style::new() };
    Line::styled(elide(&words, columns), style)
}

fn key_line(state: &TopState<'_>, columns: usize, look: TopLook) -> Line<'static> {
    let words = match state.is_typing {
        true => "type to filter   Enter keep   Esc clear",
        false if columns >= ALL_KEYS.len() => ALL_KEYS,
        false => "Enter open  Esc back  s sort  / find  ? keys  q quit",
    };
    let style = if look.color { Style::new().fg(Color::DarkGray) } else { Style::new() };
    Line::styled(elide(words, columns), style)
}

fn chosen_style(look: TopLook) -> Style {
    let style = Style::new().add_modifier(Modifier::REVERSED);
    if look.color { style.fg(Color::Cyan) } else { style }
}

fn details(state: &TopState<'_>, columns: usize) -> Vec<String> {
    let Some(row) = state.row() else { return Vec::new() };
    let lines = row.detail.iter().map(|line| clean(line));
    // Wrapping would join the columns of a line that fits.
    lines.flat_map(|line| if width(&line) <= columns { vec![line] } else { wrap(&line, columns) }).collect()
}

fn draw_table(frame: &mut Frame<'_>, state: &mut TopState<'_>, area: Rect, look: TopLook) {
    let page = usize::from(area.height.saturating_sub(1));
    state.show(page);
    let view = state.view();
    let shown = &view.rows[view.offset.min(view.rows.len())..view.rows.len().min(view.offset + page)];
    let widths = widths(view, shown, usize::from(area.width), look);
    let columns = widths.len();
    let mut lines = vec![header(view, &widths, look)];
    if view.rows.is_empty() {
        let why = if view.filter.is_empty() {
            "nothing to show here"
        } else {
            "no row has this text: Esc clears it"
        };
        lines.push(Line::from(why));
    }
    for (at, row) in (view.offset..).zip(shown) {
        let is_chosen = at == view.selected;
        let style = if is_chosen { chosen_style(look) } else { Style::new() };
        lines.push(Line::styled(row_text(row, &widths), style));
    }
    frame.render_widget(Paragraph::new(lines), area);
    state.show_columns(columns);
}

fn header(view: &TopView, widths: &[usize], look: TopLook) -> Line<'static> {
    let titles: Vec<String> = (0..columns(view.pane).len()).map(|at| column_title(view, at, look)).collect();
    let line = joined(titles.iter().map(String::as_str), widths, |at| at > 0 && is_number(view, at));
    Line::styled(line, Style::new().add_modifier(Modifier::BOLD))
}

fn column_title(view: &TopView, at: usize, look: TopLook) -> String {
    let mark = match (at == view.order.0, view.order.1, look.unicode) {
        (false, ..) => "",
        (true, true, true) => "▼",
        (true, false, true) => "▲",
        (true, true, false) => "v",
        (true, false, false) => "^",
    };
    format!("{}{mark}", columns(view.pane)[at])
}

fn is_number(view: &TopView, at: usize) -> bool {
    columns(view.pane)[at] != "class"
}

fn row_text(row: &TopRow, widths: &[usize]) -> String {
    let values: Vec<String> = row.values.iter().map(|value| clean(&value.shown())).collect();
    let is_number = |at: usize| row.values[at].number().is_some() || values[at] == "–";
    joined(values.iter().map(String::as_str), widths, is_number)
}

/// Cells beside each other; what is no number is cut where it is too long.
fn joined<'a>(
    cells: impl Iterator<Item = &'a str>,
    widths: &[usize],
    is_number: impl Fn(usize) -> bool,
) -> String {
    let mut line = String::new();
    for (at, (cell, room)) in cells.zip(widths).enumerate() {
        if at > 0 {
            line.push_str(&" ".repeat(GAP));
        }
        let cell = elide(cell, *room);
        let padding = " ".repeat(room.saturating_sub(width(&cell)));
        match is_number(at) {
            true => line.extend([padding.as_str(), cell.as_str()]),
            false => line.extend([cell.as_str(), padding.as_str()]),
        }
    }
    line
}

/// As wide as what they hold; the first has the rest. Columns without room are left out.
fn widths(view: &TopView, shown: &[TopRow], all: usize, look: TopLook) -> Vec<usize> {
    let count = columns(view.pane).len();
    let widest = |at: usize| {
        let cells = shown.iter().map(|row| width(&clean(&row.values[at].shown())));
        cells.chain([width(&column_title(view, at, look)) + 1]).max().unwrap_or_default()
    };
    let mut others: Vec<usize> = (1..count).map(widest).collect();
    let left = |others: &[usize]| all.saturating_sub(others.iter().map(|column| column + GAP).sum());
    // Names tell kernels apart: the last columns go first.
    while left(&others) < NAME && others.len() > FEWEST_NUMBERS {
        others.pop();
    }
    std::iter::once(left(&others).max(8)).chain(others).collect()
}

fn draw_help(frame: &mut Frame<'_>, area: Rect) {
    let keys = HELP.iter().map(|(key, _)| key.len()).max().unwrap_or_default();
    let lines: Vec<Line<'_>> =
        HELP.iter().map(|(key, what)| Line::from(format!(" {key:<keys$}  {what} "))).collect();
    let wide = lines.iter().map(Line::width).max().unwrap_or_default() as u16 + 2;
    let (wide, tall) = (wide.min(area.width), (lines.len() as u16 + 2).min(area.height));
    let place = Rect::new((area.width - wide) / 2, (area.height - tall) / 2, wide, tall);
    frame.render_widget(Clear, place);
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(" Keys ")), place);
}
