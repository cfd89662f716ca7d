//! Where labels can stand without covering anything.

use crate::figure::svg::{self, Point};

/// Free pixels next to words.
const BREATH: f64 = 2.5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

impl Area {
    pub(crate) fn around((x, y): Point, radius: f64) -> Self {
        Area { left: x - radius, top: y - radius, right: x + radius, bottom: y + radius }
    }

    /// Where words stand whose baseline begins at a point.
    pub(crate) fn of(words: &str, size: f64, (x, y): Point) -> Self {
        let (left, right) = (x - BREATH, x + svg::width(words, size) + BREATH);
        Area { left, top: y - size * 0.85, right, bottom: y + size * 0.25 }
    }

    fn touches(&self, other: &Area) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn holds(&self, other: &Area) -> bool {
        self.left <= other.left
            && other.right <= self.right
            && self.top <= other.top
            && other.bottom <= self.bottom
    }

    /// Whether a straight line goes through it: by cutting the line at each edge in turn.
    fn is_crossed(&self, (from, to): &(Point, Point)) -> bool {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let (mut start, mut end) = (0.0_f64, 1.0_f64);
        let edges = [
            (-dx, from.0 - self.left),
            (dx, self.right - from.0),
            (-dy, from.1 - self.top),
            (dy, self.bottom - from.1),
        ];
        for (speed, room) in edges {
            if speed == 0.0 {
                if room < 0.0 {
                    return false;
                }
            } else if speed < 0.0 {
                start = start.max(room / speed);
            } else {
                end = end.min(room / speed);
            }
        }
        start <= end
    }
}

pub(crate) struct OccupiedAreas {
    bounds: Area,
    areas: Vec<Area>,
    words: Vec<Area>,
    lines: Vec<(Point, Point)>,
}

impl OccupiedAreas {
    pub(crate) fn within(bounds: Area) -> Self {
        OccupiedAreas { bounds, areas: vec![], words: vec![], lines: vec![] }
    }

    pub(crate) fn take(&mut self, area: Area) {
        self.areas.push(area);
    }

    /// An area of words, that no other line may cross.
    pub(crate) fn take_words(&mut self, area: Area) {
        self.words.push(area);
        self.take(area);
    }

    pub(crate) fn take_line(&mut self, points: &[Point]) {
        self.lines.extend(points.windows(2).map(|pair| (pair[0], pair[1])));
    }

    pub(crate) fn is_free(&self, area: &Area) -> bool {
        self.bounds.holds(area)
            && !self.areas.iter().any(|taken| taken.touches(area))
            && !self.lines.iter().any(|line| area.is_crossed(line))
    }

    pub(crate) fn hides_nothing(&self, area: &Area) -> bool {
        self.bounds.holds(area) && !self.areas.iter().any(|taken| taken.touches(area))
    }

    pub(crate) fn is_open(&self, from: Point, to: Point) -> bool {
        !self.words.iter().any(|area| area.is_crossed(&(from, to)))
    }

    pub(crate) fn settle(&mut self, words: &str, size: f64, starts: &[Point]) -> Option<Point> {
        let found = starts.iter().find(|start| self.is_free(&Area::of(words, size, **start)))?;
        self.take_words(Area::of(words, size, *found));
        Some(*found)
    }
}

/// Heights as near as possible to those wanted, `gap` apart, between `top` and `bottom`.
pub(crate) fn spread(wanted: &[f64], gap: f64, (top, bottom): (f64, f64)) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|one, other| wanted[*one].total_cmp(&wanted[*other]));
    // Groups of labels that lie gap upon gap, each with where its first stands and how many it has: while
    // two touch they become one, and share the way they are moved.
    let mut groups: Vec<(f64, usize)> = vec![];
    for index in &order {
        let mut group = (wanted[*index], 1);
        while let Some(before) =
            groups.last().copied().filter(|before| before.0 + before.1 as f64 * gap > group.0)
        {
            groups.pop();
            let (many, more) = (before.1 as f64, group.1 as f64);
            let first = (before.0 * many + (group.0 - many * gap) * more) / (many + more);
            group = (first, before.1 + group.1);
        }
        groups.push(group);
    }
    let stacked = groups.iter().flat_map(|(first, many)| (0..*many).map(move |row| first + row as f64 * gap));
    let mut heights = wanted.to_vec();
    for (rank, (index, height)) in order.iter().zip(stacked).enumerate() {
        let (above, below) = (rank as f64 * gap, (order.len() - 1 - rank) as f64 * gap);
        heights[*index] = height.min(bottom - below).max(top + above);
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQUARE: Area = Area { left: 0.0, top: 0.0, right: 10.0, bottom: 10.0 };

    #[test]
    fn lines_cross_areas() {
        assert!(SQUARE.is_crossed(&((-5.0, 5.0), (15.0, 5.0))));
        assert!(SQUARE.is_crossed(&((2.0, 2.0), (3.0, 3.0))));
        assert!(!SQUARE.is_crossed(&((-5.0, 0.0), (5.0, -9.0))));
        assert!(!SQUARE.is_crossed(&((11.0, 0.0), (11.0, 10.0))));
    }

    #[test]
    fn labels_do_not_touch() {
        let mut places = OccupiedAreas::within(Area { left: 0.0, top: 0.0, right: 200.0, bottom: 40.0 });
        let starts = [(5.0, 15.0), (5.0, 35.0)];
        assert_eq!(places.settle("one", 12.0, &starts), Some((5.0, 15.0)));
        assert_eq!(places.settle("two", 12.0, &starts), Some((5.0, 35.0)));
        assert_eq!(places.settle("three", 12.0, &starts), None);
    }

    #[test]
    fn heights_are_spread() {
        assert_eq!(spread(&[50.0, 55.0, 10.0], 15.0, (0.0, 100.0)), [45.0, 60.0, 10.0]);
        assert_eq!(spread(&[99.0, 98.0], 15.0, (0.0, 100.0)), [100.0, 85.0]);
    }
}
