//! Any bytes as a stream of server-sent events, in frames of any length: reading it ends, without a panic; the borders of
//! frames do not matter, nor does the shortcut for events that are alike.
//!
//! The first byte seeds the lengths of frames.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rooflens_load::delta::StreamedAnswer;
use rooflens_load::sse::{SseEvent, SseSplitter};

type Event = (Vec<u8>, Vec<u8>);

fuzz_target!(|bytes: &[u8]| {
    let Some((&seed, stream)) = bytes.split_first() else { return };
    let whole = split(stream, |_| stream.len().max(1));
    assert_eq!(whole, split(stream, |_| 1), "frames of one byte");
    let mut state = u32::from(seed) + 1;
    let random = split(stream, |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as usize % 17 + 1
    });
    assert_eq!(whole, random, "frames of random lengths");
    read(&whole);
    let _ = StreamedAnswer::default().whole(stream, 0);
});

fn split(stream: &[u8], mut length: impl FnMut(usize) -> usize) -> Vec<Event> {
    let mut splitter = SseSplitter::default();
    let mut events = Vec::new();
    let mut push = |event: SseEvent<'_>| events.push((event.name.to_vec(), event.data.to_vec()));
    let mut rest = stream;
    while !rest.is_empty() {
        let (frame, later) = rest.split_at(length(rest.len()).min(rest.len()));
        splitter.feed(frame, &mut push).expect("no event is too long");
        rest = later;
    }
    splitter.finish(&mut push).expect("no event is too long");
    events
}

/// With the shortcut and without.
fn read(events: &[Event]) {
    let (mut quick, mut slow) = (StreamedAnswer::default(), StreamedAnswer::without_shortcut());
    quick.reply = Some(String::new());
    slow.reply = Some(String::new());
    for (ts, (name, data)) in (0..).zip(events) {
        let event = SseEvent { name, data };
        assert_eq!(quick.event(event, ts), slow.event(event, ts), "{}", String::from_utf8_lossy(data));
    }
    assert_eq!(quick.chunks, slow.chunks);
    assert_eq!((quick.usage, &quick.finish, &quick.id), (slow.usage, &slow.finish, &slow.id));
    assert_eq!((&quick.text, &quick.reply, &quick.error), (&slow.text, &slow.reply, &slow.error));
    assert_eq!((quick.is_done, quick.is_complete()), (slow.is_done, slow.is_complete()));
}
