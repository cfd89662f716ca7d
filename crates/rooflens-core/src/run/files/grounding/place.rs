//! From an answer's numbers to pixels of the picture as a browser shows it: upright.

use serde_json::Value as Json;

use super::header::Stored;
use super::marks::{AnswerBox, Broken};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Seen {
    Parts(f64),
    Pixels { width: f64, height: f64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flag {
    /// It reaches over the picture's edge, and is drawn up to it.
    Clipped,
    Inverted,
    Outside,
    Empty,
    Malformed,
    CutOff,
    UnknownScale,
    UnknownPicture,
}

impl Flag {
    /// In boxes.jsonl, and for the reader of a page.
    const fn named(self) -> (&'static str, &'static str) {
        match self {
            Flag::Clipped => ("clipped", "clipped at the edge of the image"),
            Flag::Inverted => ("inverted", "corners in reverse order, swapped"),
            Flag::Outside => ("outside", "outside the image, not drawn"),
            Flag::Empty => ("empty", "empty, not drawn"),
            Flag::Malformed => ("malformed", "not four numbers, not drawn"),
            Flag::CutOff => ("cut_off", "truncated at the end of the answer, not drawn"),
            Flag::UnknownScale => ("unknown_scale", "in unknown units, not drawn"),
            Flag::UnknownPicture => ("unknown_picture", "on an image of unknown size, not drawn"),
        }
    }

    pub(crate) fn as_str(self) -> &'static str {
        self.named().0
    }

    pub(crate) fn words(self) -> &'static str {
        self.named().1
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Placed {
    /// Left, top, right and bottom in pixels of the upright picture.
    pub(crate) at: Option<[f64; 4]>,
    pub(crate) flags: Vec<Flag>,
}

impl Placed {
    pub(crate) fn nowhere(flag: Flag) -> Self {
        Placed { at: None, flags: vec![flag] }
    }
}

/// The picture as the model saw it, and how that is turned to be upright.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    width: f64,
    height: f64,
    /// The orientation of EXIF, 1 to 8; 1 where the model saw it upright.
    orientation: u8,
}

impl Frame {
    pub(crate) fn upright(&self) -> (f64, f64) {
        if self.orientation >= 5 { (self.height, self.width) } else { (self.width, self.height) }
    }

    /// Where a point of the picture that was seen lies in the upright one.
    fn turn(&self, x: f64, y: f64) -> (f64, f64) {
        let (w, h) = (self.width, self.height);
        match self.orientation {
            2 => (w - x, y),
            3 => (w - x, h - y),
            4 => (x, h - y),
            5 => (y, x),
            6 => (h - y, x),
            7 => (h - y, w - x),
            8 => (y, w - x),
            _ => (x, y),
        }
    }
}

/// What the model saw. A workload that turns pictures upright says so; one that says nothing gave them
/// as they are stored.
pub(crate) fn frame(stored: Option<Stored>, record: &Json) -> Option<Frame> {
    let was_turned = record["exif_transposed"].as_bool().unwrap_or(false);
    let side = |key: &str| record[key].as_f64().filter(|side| *side >= 1.0);
    match (stored, side("width").zip(side("height"))) {
        (_, Some((width, height))) if was_turned => Some(Frame { width, height, orientation: 1 }),
        (Some(stored), _) => {
            let frame = Frame {
                width: f64::from(stored.width),
                height: f64::from(stored.height),
                orientation: stored.orientation,
            };
            let (width, height) = frame.upright();
            Some(if was_turned { Frame { width, height, orientation: 1 } } else { frame })
        }
        (None, _) => None,
    }
}

pub(crate) fn place(found: &AnswerBox, scale: &Seen, frame: &Frame) -> Placed {
    let [x1, y1, x2, y2] = match found.numbers {
        Ok(numbers) => numbers,
        Err(Broken::Malformed) => return Placed::nowhere(Flag::Malformed),
        Err(Broken::CutOff) => return Placed::nowhere(Flag::CutOff),
    };
    let (per_x, per_y) = match scale {
        Seen::Parts(parts) => (frame.width / parts, frame.height / parts),
        Seen::Pixels { width, height } => (frame.width / width, frame.height / height),
    };
    let mut flags = Vec::new();
    if x2 < x1 || y2 < y1 {
        flags.push(Flag::Inverted);
    }
    let (left, right) = (x1.min(x2) * per_x, x1.max(x2) * per_x);
    let (top, bottom) = (y1.min(y2) * per_y, y1.max(y2) * per_y);
    if left == right || top == bottom {
        return Placed::nowhere(Flag::Empty);
    }
    // So little over the edge is rounding.
    let over = |value: f64, end: f64| value < -1e-6 * end || value > end * (1.0 + 1e-6);
    let is_over = |low: f64, high: f64, end: f64| over(low, end) || over(high, end);
    if is_over(left, right, frame.width) || is_over(top, bottom, frame.height) {
        flags.push(Flag::Clipped);
    }
    let (left, right) = (left.clamp(0.0, frame.width), right.clamp(0.0, frame.width));
    let (top, bottom) = (top.clamp(0.0, frame.height), bottom.clamp(0.0, frame.height));
    if left >= right || top >= bottom {
        return Placed::nowhere(Flag::Outside);
    }
    let ((ax, ay), (bx, by)) = (frame.turn(left, top), frame.turn(right, bottom));
    Placed { at: Some([ax.min(bx), ay.min(by), ax.max(bx), ay.max(by)]), flags }
}
