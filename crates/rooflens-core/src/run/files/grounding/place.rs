//! From an answer's numbers to pixels of the picture as a browser shows it: upright.

use serde_json::Value as Json;

use super::header::Stored;
use super::marks::{AnswerBox, Broken};

/// What a model's coordinates are counted in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Seen {
    /// Parts of each side: this many are all of it.
    Parts(f64),
    /// Pixels of a picture of this size.
    Pixels { width: f64, height: f64 },
}

/// What is to be known about a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flag {
    /// It reaches over the picture's edge, and is drawn up to it.
    Clipped,
    /// Its second corner came first.
    Inverted,
    /// All of it lies outside of the picture.
    Outside,
    /// It has no area.
    Empty,
    /// It is not four numbers.
    Malformed,
    /// The answer ends in it.
    CutOff,
    /// What the numbers are counted in is not known.
    UnknownScale,
    /// The size of the picture is not known.
    UnknownPicture,
}

impl Flag {
    /// Its word in boxes.jsonl.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Flag::Clipped => "clipped",
            Flag::Inverted => "inverted",
            Flag::Outside => "outside",
            Flag::Empty => "empty",
            Flag::Malformed => "malformed",
            Flag::CutOff => "cut_off",
            Flag::UnknownScale => "unknown_scale",
            Flag::UnknownPicture => "unknown_picture",
        }
    }

    /// The same for the reader of a page.
    pub fn words(self) -> &'static str {
        match self {
            Flag::Clipped => "clipped at the edge of the image",
            Flag::Inverted => "corners in reverse order, swapped",
            Flag::Outside => "outside the image, not drawn",
            Flag::Empty => "empty, not drawn",
            Flag::Malformed => "not four numbers, not drawn",
            Flag::CutOff => "truncated at the end of the answer, not drawn",
            Flag::UnknownScale => "in unknown units, not drawn",
            Flag::UnknownPicture => "on an image of unknown size, not drawn",
        }
    }
}

/// A box at its place, or why it has none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Placed {
    /// Left, top, right and bottom in pixels of the upright picture.
    pub(crate) at: Option<[f64; 4]>,
    /// What was done to it.
    pub(crate) flags: Vec<Flag>,
}

impl Placed {
    /// A box that is not drawn.
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
    /// Width and height of the upright picture.
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

/// Puts a box where it belongs.
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
