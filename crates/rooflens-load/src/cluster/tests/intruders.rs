use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use super::*;

#[test]
fn a_wrong_token_is_refused_and_does_no_harm() {
    with_workers(&[&pretend], |addresses| {
        let wrong = ClusterOptions::new(SharedToken::new(b"another token of tests").unwrap(), None);
        let mut count = 0;
        let mut sink = |_: RequestRecord| count += 1;
        let refused = run_on_workers(addresses, &job(10), &wrong, &mut sink, &Idle).unwrap_err().to_string();
        assert!(refused.contains(&addresses[0]) && refused.contains("refused"), "{refused}");
        assert!(refused.contains("tokens differ"), "{refused}");
        assert_eq!(count, 0);
        assert_eq!(run(addresses, &job(10)).1.len(), 10);
    });
}

#[test]
fn garbage_is_hung_up_on_and_does_no_harm() {
    let frame = |kind: u8, length: u32, text: &[u8]| [&[kind][..], &length.to_be_bytes(), text].concat();
    let hello = br#"{"type":"hello","version":2,"nonce":[1,2,3]}"#;
    let old = br#"{"type":"hello","version":0,"nonce":[]}"#;
    let garbage: Vec<Vec<u8>> = vec![
        b"GET / HTTP/1.1\r\nhost: x\r\n\r\n".to_vec(),
        vec![0; 10_000],
        vec![0xff; 10_000],
        frame(0, u32::MAX, b""),
        frame(0, 5, b"hello"),
        frame(1, 5, &[b'x'; 37]),
        frame(0, hello.len() as u32, hello),
        frame(0, old.len() as u32, old),
        frame(0, 14, br#"{"type":"bye"}"#),
        frame(0, 4_000, &[b'['; 4_000]),
        Vec::new(),
    ];
    with_workers(&[&pretend], |addresses| {
        for bytes in &garbage {
            let mut socket = TcpStream::connect(&addresses[0]).unwrap();
            // It may have hung up before all was written.
            let _ = socket.write_all(bytes);
            let _ = socket.shutdown(Shutdown::Write);
            let mut answer = Vec::new();
            let _ = socket.read_to_end(&mut answer);
            let answer = String::from_utf8_lossy(&answer).into_owned();
            assert!(!answer.contains("authenticated"), "{answer}");
        }
        assert_eq!(run(addresses, &job(10)).1.len(), 10);
    });
}

#[test]
fn what_is_no_worker_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut socket, _) = listener.accept().unwrap();
            socket.write_all(b"SSH-2.0-OpenSSH_9.6\r\n").unwrap();
        });
        let (outcome, _) = run(&[address], &job(1));
        assert!(outcome.unwrap_err().to_string().contains("not the protocol"));
    });
    drop(listener);
    for nobody in ["127.0.0.1:1", "no port", ""] {
        let (outcome, _) = run(&[nobody.to_owned()], &job(1));
        assert!(outcome.unwrap_err().to_string().starts_with("worker "), "{nobody}");
    }
    assert!(run(&[], &job(1)).0.unwrap_err().to_string().contains("no workers"));
}
