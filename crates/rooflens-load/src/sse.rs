//! Server-sent events, split out of the frames of a body as they arrive.
//!
//! An event within one frame is handed on where it lies; only what a border between frames cuts is copied.

use memchr::memchr2;

/// An event may be this long: a whole answer in one event fits, and a stream without line ends does not fill memory.
pub(crate) const MAX_EVENT_BYTES: usize = 64 << 20;

/// An event of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// Its name (`event:`), empty where it has none.
    pub name: &'a [u8],
    /// Its data; several lines are joined by `\n`.
    pub data: &'a [u8],
}

/// An event is longer than [`MAX_EVENT_BYTES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {MAX_EVENT_BYTES} bytes")]
pub struct EventTooLong;

/// Splits a stream of bytes into events, whatever the borders of its frames.
#[derive(Debug)]
pub struct SseSplitter {
    line: Vec<u8>,
    /// Data of the event so far, of frames before this one or of several lines.
    data: Vec<u8>,
    has_data: bool,
    name: Vec<u8>,
    /// The last line ended with `\r`: a `\n` that follows belongs to it.
    after_return: bool,
    /// Nothing was read yet: a byte order mark may come.
    is_start: bool,
    limit: usize,
}

impl Default for SseSplitter {
    fn default() -> Self {
        SseSplitter::with_limit(MAX_EVENT_BYTES)
    }
}

type Single<'a> = Option<&'a [u8]>;

impl SseSplitter {
    pub(crate) fn with_limit(limit: usize) -> Self {
        SseSplitter {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            name: Vec::new(),
            after_return: false,
            is_start: true,
            limit,
        }
    }

    /// Takes the next frame and hands on the events that it completes.
    pub fn feed(&mut self, frame: &[u8], mut on_event: impl FnMut(SseEvent<'_>)) -> Result<(), EventTooLong> {
        let mut rest = frame;
        let mut single: Single<'_> = None;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            if rest[0] == b'\n' {
                rest = &rest[1..];
            }
        }
        while let Some(end) = memchr2(b'\n', b'\r', rest) {
            let line = &rest[..end];
            let is_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if is_return {
                match rest.first() {
                    Some(b'\n') => rest = &rest[1..],
                    Some(_) => {}
                    None => self.after_return = true,
                }
            }
            if self.line.is_empty() {
                self.take_line(line, &mut single, &mut on_event)?;
            } else {
                self.check(self.line.len() + line.len())?;
                self.line.extend_from_slice(line);
                self.take_own_line(&mut single, &mut on_event)?;
            }
        }
        self.check(self.line.len() + rest.len() + self.data.len())?;
        self.line.extend_from_slice(rest);
        self.keep(&mut single)
    }

    /// The stream ended: hands on an event that no blank line ended.
    pub fn finish(&mut self, mut on_event: impl FnMut(SseEvent<'_>)) -> Result<(), EventTooLong> {
        let mut single = None;
        if !self.line.is_empty() {
            self.take_own_line(&mut single, &mut on_event)?;
        }
        self.keep(&mut single)?;
        self.dispatch(None, &mut on_event);
        Ok(())
    }

    /// The carried line is complete: it cannot be lent together with `self`, so it is taken out and put back.
    fn take_own_line(
        &mut self,
        single: &mut Single<'_>,
        on_event: &mut impl FnMut(SseEvent<'_>),
    ) -> Result<(), EventTooLong> {
        let mut line = std::mem::take(&mut self.line);
        self.keep(single)?;
        let mut own: Single<'_> = None;
        self.take_line(&line, &mut own, on_event)?;
        self.keep(&mut own)?;
        line.clear();
        self.line = line;
        Ok(())
    }

    fn take_line<'f>(
        &mut self,
        mut line: &'f [u8],
        single: &mut Single<'f>,
        on_event: &mut impl FnMut(SseEvent<'_>),
    ) -> Result<(), EventTooLong> {
        if self.is_start {
            self.is_start = false;
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(single.take(), on_event);
            return Ok(());
        }
        let Some(value) = line.strip_prefix(b"data") else {
            if let Some(name) = field(line, b"event") {
                self.name.clear();
                self.name.extend_from_slice(name);
            }
            return Ok(());
        };
        let value = match value {
            [] => value,
            [b':', b' ', value @ ..] | [b':', value @ ..] => value,
            _ => return Ok(()),
        };
        if single.is_none() && !self.has_data {
            *single = Some(value);
            return Ok(());
        }
        self.keep(single)?;
        self.check(self.data.len() + value.len())?;
        self.data.push(b'\n');
        self.data.extend_from_slice(value);
        Ok(())
    }

    /// Copies data that lies in the frame, as the frame ends or another line follows.
    fn keep(&mut self, single: &mut Single<'_>) -> Result<(), EventTooLong> {
        if let Some(data) = single.take() {
            self.check(data.len())?;
            self.data.extend_from_slice(data);
            self.has_data = true;
        }
        Ok(())
    }

    fn dispatch(&mut self, single: Single<'_>, on_event: &mut impl FnMut(SseEvent<'_>)) {
        if let Some(data) = single {
            on_event(SseEvent { name: &self.name, data });
        } else if self.has_data {
            on_event(SseEvent { name: &self.name, data: &self.data });
            self.data.clear();
            self.has_data = false;
        }
        self.name.clear();
    }

    fn check(&self, bytes: usize) -> Result<(), EventTooLong> {
        if bytes > self.limit { Err(EventTooLong) } else { Ok(()) }
    }
}

fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    match line.strip_prefix(name)? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Owned = (String, String);

    fn split(frames: &[&[u8]]) -> Vec<Owned> {
        let mut events = Vec::new();
        let mut splitter = SseSplitter::default();
        let mut push = |event: SseEvent<'_>| {
            events.push((
                String::from_utf8_lossy(event.name).into_owned(),
                String::from_utf8_lossy(event.data).into_owned(),
            ));
        };
        for frame in frames {
            splitter.feed(frame, &mut push).unwrap();
        }
        splitter.finish(&mut push).unwrap();
        events
    }

    fn data(text: &str) -> Owned {
        (String::new(), text.to_owned())
    }

    /// As one frame, in frames of one byte, and cut at each place.
    fn in_every_split(stream: &[u8], expected: &[Owned]) {
        assert_eq!(split(&[stream]), expected, "one frame");
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(split(&bytes), expected, "frames of one byte");
        for cut in 0..=stream.len() {
            assert_eq!(split(&[&stream[..cut], &stream[cut..]]), expected, "cut at {cut}");
        }
    }

    #[test]
    fn every_line_end_separates_events() {
        for end in ["\n", "\r\n", "\r"] {
            let stream = format!("data: a{end}{end}data: b c{end}{end}");
            in_every_split(stream.as_bytes(), &[data("a"), data("b c")]);
        }
    }

    #[test]
    fn comments_ids_and_retries_are_no_data() {
        let stream = b": ping\n\nid: 7\nretry: 10\ndata: a\n: in between\n\nid: 8\n\n:\n\ndata: b\n\n";
        in_every_split(stream, &[data("a"), data("b")]);
    }

    #[test]
    fn names_belong_to_one_event() {
        let stream = b"event: error\ndata: {}\n\ndata: x\n\nevent:y\n\ndata: z\n\n";
        in_every_split(stream, &[("error".into(), "{}".into()), data("x"), data("z")]);
    }

    #[test]
    fn lines_of_data_are_joined() {
        in_every_split(b"data: a\ndata:\ndata:  b\ndata\n\n", &[data("a\n\n b\n")]);
    }

    #[test]
    fn the_last_event_may_lack_its_blank_line() {
        in_every_split(b"data: a\n\ndata: b", &[data("a"), data("b")]);
        in_every_split(b"data: a\n\ndata: b\n", &[data("a"), data("b")]);
        in_every_split(b"data: a\n\ndata: b\r\n", &[data("a"), data("b")]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_once() {
        in_every_split("\u{feff}data: a\n\n\u{feff}data: b\n\n".as_bytes(), &[data("a")]);
    }

    #[test]
    fn other_fields_that_begin_alike_are_ignored() {
        in_every_split(b"database: 1\ndata2\neventual: x\n\ndata: a\n\n", &[data("a")]);
    }

    #[test]
    fn empty_data_is_an_event() {
        in_every_split(b"data:\n\ndata\n\n", &[data(""), data("")]);
    }

    #[test]
    fn an_endless_line_is_an_error_and_takes_no_more_memory() {
        let mut splitter = SseSplitter::with_limit(100);
        let mut result = Ok(());
        for _ in 0..50 {
            result = splitter.feed(b"data: 0123456789", |_| {});
            if result.is_err() {
                break;
            }
        }
        assert_eq!(result, Err(EventTooLong));
        let mut splitter = SseSplitter::with_limit(100);
        let lines = (0..50).try_for_each(|_| splitter.feed(b"data: 0123456789\n", |_| {}));
        assert_eq!(lines, Err(EventTooLong));
    }
}
