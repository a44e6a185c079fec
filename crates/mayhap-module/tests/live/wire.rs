use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// A connection that shows replies as they are on the wire, in one line.
pub(crate) struct Wire {
    stream: BufReader<TcpStream>,
}

/// Longer than any command takes: a server that is silent for so long hangs.
const PATIENCE: Duration = Duration::from_secs(30);

impl Wire {
    pub(crate) fn new(port: u16) -> Wire {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("a server");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        Wire {
            stream: BufReader::new(stream),
        }
    }

    /// Speaks RESP3 from now on.
    pub(crate) fn resp3(mut self) -> Wire {
        assert!(self.ask("HELLO 3").starts_with('{'));
        self
    }

    /// Sends a command of words without blanks, and returns its reply.
    pub(crate) fn ask(&mut self, command: &str) -> String {
        let words: Vec<&[u8]> = command.split(' ').map(str::as_bytes).collect();
        self.send(&words);
        self.reply()
    }

    /// Sends a command whose last words are bytes, and returns its reply.
    pub(crate) fn ask_with(&mut self, command: &str, bytes: &[&[u8]]) -> String {
        let words = command.split(' ').map(str::as_bytes);
        let words: Vec<&[u8]> = words.chain(bytes.iter().copied()).collect();
        self.send(&words);
        self.reply()
    }

    pub(crate) fn send(&mut self, words: &[&[u8]]) {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            bytes.extend(format!("${}\r\n", word.len()).bytes());
            bytes.extend(*word);
            bytes.extend(b"\r\n");
        }
        self.stream.get_mut().write_all(&bytes).expect("sent");
    }

    /// The next reply: errors as `-...`, integers as `:1`, booleans as `#t`, texts as `$...` or `+...`, nothing as `_`,
    /// numbers as `,0.5`, arrays as `[a b]`, maps as `{a b}`.
    pub(crate) fn reply(&mut self) -> String {
        let reply = self.bytes();
        String::from_utf8_lossy(&reply).into_owned()
    }

    /// The bytes of the text that comes next, without the sign before them.
    pub(crate) fn text(&mut self) -> Vec<u8> {
        let reply = self.bytes();
        assert_eq!(reply.first(), Some(&b'$'), "{}", reply.escape_ascii());
        reply[1..].to_vec()
    }

    /// A number and a text that come next, as an array of two.
    pub(crate) fn pair(&mut self) -> (u64, Vec<u8>) {
        assert_eq!(self.line(), "*2");
        let number = self.line();
        (number[1..].parse().expect("a number"), self.text())
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line);
        assert!(read.expect("a reply in time") > 0, "the server is gone");
        line.trim_end().to_string()
    }

    fn bytes(&mut self) -> Vec<u8> {
        let line = self.line();
        let (sign, rest) = line.split_at(1);
        let many = |wire: &mut Wire, times: usize, ends: [u8; 2]| {
            let count: usize = rest.parse().expect("a count");
            let parts: Vec<Vec<u8>> = (0..count * times).map(|_| wire.bytes()).collect();
            [&ends[..1], &parts.join(&b' '), &ends[1..]].concat()
        };
        match sign {
            "$" | "=" if rest != "-1" => {
                let length: usize = rest.parse().expect("a length");
                let mut text = vec![0; length + 2];
                self.stream.read_exact(&mut text).expect("a text");
                text.truncate(length);
                [b"$", &text[..]].concat()
            }
            "*" if rest != "-1" => many(self, 1, *b"[]"),
            "%" => many(self, 2, *b"{}"),
            "$" | "*" | "_" => b"_".to_vec(),
            _ => line.into_bytes(),
        }
    }
}
