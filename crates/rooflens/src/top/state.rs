//! Where somebody is, and what a key does. Nothing is drawn here.

use ratatui::crossterm::event::KeyCode;
use rooflens_core::overview::Overview;

use super::rows::{TopPane, TopRow, TopScope, columns, first_order, rows};

#[derive(Debug, Clone)]
pub(crate) struct TopView {
    pub(crate) pane: TopPane,
    pub(crate) scope: TopScope,
    pub(crate) selected: usize,
    pub(crate) offset: usize,
    /// The column that it is sorted by, and whether the largest comes first.
    pub(crate) order: (usize, bool),
    /// Only rows that have this text.
    pub(crate) filter: String,
    /// The rows, filtered and sorted.
    pub(crate) rows: Vec<TopRow>,
}

/// Where somebody is.
pub(crate) struct TopState<'a> {
    overview: &'a Overview,
    path: Vec<TopView>,
    pub(crate) is_typing: bool,
    pub(crate) is_helping: bool,
    page: usize,
    /// Columns on the screen, likewise: nobody sees an order by another.
    columns: usize,
}

impl<'a> TopState<'a> {
    pub(crate) fn new(overview: &'a Overview) -> Self {
        let path = vec![view(overview, TopPane::Ledger, TopScope::default())];
        TopState { overview, path, is_typing: false, is_helping: false, page: 10, columns: usize::MAX }
    }

    pub(crate) fn overview(&self) -> &'a Overview {
        self.overview
    }

    pub(crate) fn view(&self) -> &TopView {
        // There is always one: only what was entered is left.
        &self.path[self.path.len() - 1]
    }

    fn view_mut(&mut self) -> &mut TopView {
        let last = self.path.len() - 1;
        &mut self.path[last]
    }

    pub(crate) fn row(&self) -> Option<&TopRow> {
        self.view().rows.get(self.view().selected)
    }

    /// Takes note of how many rows are on the screen, and moves it so that the chosen row is one of them.
    pub(crate) fn show(&mut self, page: usize) {
        self.page = page.max(1);
        let page = self.page;
        let view = self.view_mut();
        view.offset = view.offset.min(view.selected).max((view.selected + 1).saturating_sub(page));
    }

    pub(crate) fn show_columns(&mut self, columns: usize) {
        self.columns = columns.max(1);
    }

    pub(crate) fn tab(&self) -> TopPane {
        self.path[0].pane
    }

    /// Does what a key means. False where it means the end.
    pub(crate) fn press(&mut self, key: KeyCode) -> bool {
        if self.is_helping {
            self.is_helping = false;
            return key != KeyCode::Char('q');
        }
        if self.is_typing {
            self.type_filter(key);
            return true;
        }
        match key {
            KeyCode::Char('q') => return false,
            KeyCode::Char('?' | 'h') => self.is_helping = true,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Char(digit @ '1'..='4') => {
                let at = usize::from(digit as u8 - b'1');
                self.open_tab(TopPane::TABS[at]);
            }
            KeyCode::Tab => self.turn(1),
            KeyCode::BackTab => self.turn(TopPane::TABS.len() - 1),
            KeyCode::Enter | KeyCode::Right => self.enter(),
            KeyCode::Esc | KeyCode::Backspace | KeyCode::Left => self.back(),
            KeyCode::Char('c') => self.switch(TopPane::Classes),
            KeyCode::Char('l') => self.switch(TopPane::Layers),
            KeyCode::Char('k') => self.switch(TopPane::Kernels),
            KeyCode::Char('s') => self.sort_by_next(),
            KeyCode::Char('r') => self.reverse(),
            KeyCode::Up => self.select(|at, _| at.saturating_sub(1)),
            KeyCode::Down => self.select(|at, _| at + 1),
            KeyCode::PageUp => self.select(usize::saturating_sub),
            KeyCode::PageDown => self.select(|at, page| at + page),
            KeyCode::Home => self.select(|_, _| 0),
            KeyCode::End => self.select(|_, _| usize::MAX),
            _ => {}
        }
        true
    }

    fn type_filter(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.view_mut().filter.clear();
            }
            KeyCode::Backspace => drop(self.view_mut().filter.pop()),
            KeyCode::Char(letter) => self.view_mut().filter.push(letter),
            _ => {}
        }
        self.fill();
    }

    fn fill(&mut self) {
        let overview = self.overview;
        let view = self.view_mut();
        view.rows = chosen(overview, view);
        view.selected = view.selected.min(view.rows.len().saturating_sub(1));
    }

    fn select(&mut self, to: impl Fn(usize, usize) -> usize) {
        let page = self.page.max(1);
        let view = self.view_mut();
        view.selected = to(view.selected, page).min(view.rows.len().saturating_sub(1));
    }

    fn open_tab(&mut self, pane: TopPane) {
        self.path = vec![view(self.overview, pane, TopScope::default())];
    }

    fn turn(&mut self, by: usize) {
        let at = TopPane::TABS.iter().position(|pane| *pane == self.tab()).unwrap_or(0);
        self.open_tab(TopPane::TABS[(at + by) % TopPane::TABS.len()]);
    }

    fn enter(&mut self) {
        if let Some((pane, scope)) = self.row().and_then(|row| row.leads_to.clone()) {
            self.path.push(view(self.overview, pane, scope));
        }
    }

    fn back(&mut self) {
        if !self.view().filter.is_empty() {
            self.view_mut().filter.clear();
            self.fill();
        } else if self.path.len() > 1 {
            self.path.pop();
        }
    }

    /// Shows what is in scope in another way: by class, by layer or by kernel. At the ledger and at steps, that of the row.
    fn switch(&mut self, pane: TopPane) {
        let of_row = || self.row().and_then(|row| row.leads_to.clone()).map(|(_, scope)| scope);
        let (scope, is_inner) = match self.view().pane {
            TopPane::Ledger | TopPane::Steps => (of_row(), true),
            _ => (Some(self.view().scope.clone()), false),
        };
        let Some(scope) = scope else { return };
        if !is_inner && self.path.len() > 1 {
            self.path.pop();
        }
        self.path.push(view(self.overview, pane, scope));
    }

    fn sort_by_next(&mut self) {
        let shown = self.columns;
        let view = self.view_mut();
        let column = (view.order.0 + 1) % columns(view.pane).len().min(shown);
        // Names begin with the first letter, numbers with the largest.
        view.order = (column, column > 0);
        self.fill();
    }

    fn reverse(&mut self) {
        let view = self.view_mut();
        view.order.1 = !view.order.1;
        self.fill();
    }
}

fn view(overview: &Overview, pane: TopPane, scope: TopScope) -> TopView {
    let order = first_order(pane);
    let mut view =
        TopView { pane, scope, selected: 0, offset: 0, order, filter: String::new(), rows: Vec::new() };
    view.rows = chosen(overview, &view);
    view
}

/// The rows that have the text of the filter, in the order that was asked for.
fn chosen(overview: &Overview, view: &TopView) -> Vec<TopRow> {
    let mut found = rows(view.pane, &view.scope, overview);
    let wanted = view.filter.to_lowercase();
    let has = |text: &str| text.to_lowercase().contains(&wanted);
    found.retain(|row| {
        wanted.is_empty()
            || row.values.iter().any(|value| has(&value.shown()))
            || (view.pane != TopPane::Ledger && row.detail.iter().any(|line| has(line)))
    });
    let (column, is_descending) = view.order;
    // The order of names is the one that they come in: of time, and of the model.
    if column == 0 && view.pane != TopPane::Kernels && view.pane != TopPane::Classes {
        if is_descending {
            found.reverse();
        }
        return found;
    }
    found.sort_by(|a, b| {
        let (a, b) = (&a.values[column], &b.values[column]);
        let order = match (a.number(), b.number()) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            (None, None) => a.shown().cmp(&b.shown()),
            // What was not measured comes last either way.
            (a, b) => return a.is_none().cmp(&b.is_none()),
        };
        if is_descending { order.reverse() } else { order }
    });
    found
}
