//! Reads the events pipe on a thread of its own, so that a workload never waits for us.

use std::io::{PipeReader, Read};
use std::sync::mpsc::{self, Receiver, Sender};

use super::event::WorkloadEvent;

/// What came through the pipe.
pub(super) enum Line {
    /// An event.
    Event(WorkloadEvent),
    /// Something else.
    Garbage(Vec<u8>),
}

/// A line longer than this is none of ours; its rest is thrown away.
const LONGEST_LINE: usize = 1 << 20;

/// Starts reading. The channel ends when nobody holds the other end of the pipe any more.
pub(super) fn start(pipe: PipeReader) -> Receiver<Line> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || read(pipe, &sender));
    receiver
}

fn read(mut pipe: PipeReader, to: &Sender<Line>) {
    let mut buffer = [0; 1 << 14];
    let mut line = Vec::new();
    loop {
        let read = match pipe.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(read) => &buffer[..read],
        };
        for &byte in read {
            if byte != b'\n' {
                if line.len() < LONGEST_LINE {
                    line.push(byte);
                }
            } else if !send(&mut line, to) {
                return;
            }
        }
    }
    if !line.is_empty() {
        send(&mut line, to);
    }
}

/// Whether anybody still listens.
fn send(line: &mut Vec<u8>, to: &Sender<Line>) -> bool {
    let line = std::mem::take(line);
    if line.iter().all(u8::is_ascii_whitespace) {
        return true;
    }
    let sent = WorkloadEvent::parse(&line).map_or(Line::Garbage(line), Line::Event);
    to.send(sent).is_ok()
}
