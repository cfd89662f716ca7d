//! A server of pages: what is refused before it starts, and how it ends. Its pages are tested in its own crate.

use std::io::{BufRead, BufReader, Read};

use super::*;

/// A process that does not outlive its test.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_would_let_strangers_in_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let (place, token) = (folder.path().to_str().unwrap(), folder.path().join("token"));
    std::fs::write(&token, "a-long-enough-token\n").unwrap();
    let token = token.to_str().unwrap();
    for (args, fact, hint) in [
        (&["--listen", "0.0.0.0:0"][..], "needs a token", "--token-file token"),
        (&["--listen", "0.0.0.0:0", "--token-file", token], "needs the name", "--allow-host NAME"),
        (&["--token-file", "/nowhere/token"], "/nowhere/token cannot be read", "head -c 24"),
        (&["--allow-host", "http://box"], "cannot be the name of a server", "without http://"),
    ] {
        let answer = run(&[&["serve", place, "--quiet"], args].concat());
        assert_eq!(answer.code, 2, "{args:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(fact) && answer.stderr.contains(hint), "{}", answer.stderr);
    }
    run(&["serve", "/nowhere/at/all"]).fails(2, "/nowhere/at/all cannot be read");
}

#[test]
fn it_serves_until_it_is_told_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let mut command = rooflens(&["serve", place, "--listen", "127.0.0.1:0"]);
    let mut child = Killed(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    let mut told = BufReader::new(child.0.stderr.take().unwrap());
    told.read_line(&mut line).unwrap();
    assert!(line.starts_with("no runs in "), "{line}");
    let address = line.split("http://").nth(1).unwrap().split(' ').next().unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200 OK") && page.contains("There are no runs here yet"), "{page}");
    assert!(Command::new("kill").args(["-TERM", &child.0.id().to_string()]).status().unwrap().success());
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
}
