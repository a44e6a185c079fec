//! Parser of a server's answers, in version 2 of its protocol: a server speaks no other unless a client asks for it.
//!
//! A batch has an integer per key. The parser of the client library, made of combinators for every type, takes
//! more time for those than the server takes for the batch; a loop over the bytes of a line does not.
//!
//! The server's data is bounded: the length of a line, the values of an answer, their depth, and, by the socket,
//! the bytes of all of it. Nothing is allocated for a length that was only announced.

use std::io::{self, Read};

use redis::{ErrorKind, RedisError, RedisResult, Value};

/// The bytes that are read at once, and the most bytes of a line.
const BUFFER: usize = 64 << 10;

/// The most values of an answer: many times those of the largest frame.
const MOST_VALUES: usize = 1 << 20;

/// The most levels of values in each other: an array of keys in the answer to a transaction is the second.
const MOST_DEPTH: usize = 16;

/// The room that is allocated before a value has arrived.
const FIRST_ROOM: usize = 4096;

/// A buffer of bytes that were read and not parsed yet.
pub(crate) struct Reader {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Reader {
    pub(crate) fn new() -> Reader {
        Reader {
            buffer: vec![0; BUFFER].into(),
            start: 0,
            end: 0,
        }
    }

    /// Reads the next answer.
    pub(crate) fn value(&mut self, input: &mut impl Read) -> RedisResult<Value> {
        let mut values = 0;
        self.nested(input, &mut values, 0)
    }

    fn nested(
        &mut self,
        input: &mut impl Read,
        values: &mut usize,
        depth: usize,
    ) -> RedisResult<Value> {
        *values += 1;
        if *values > MOST_VALUES || depth > MOST_DEPTH {
            return Err(strange("more values than any answer has"));
        }
        let line = self.line(input)?;
        let (&kind, text) = line
            .split_first()
            .ok_or_else(|| strange("an empty line instead of an answer"))?;
        match kind {
            b':' => Ok(Value::Int(number(text)?)),
            b'+' if text == b"OK" => Ok(Value::Okay),
            b'+' => match std::str::from_utf8(text) {
                Ok(text) => Ok(Value::SimpleString(text.into())),
                Err(_) => Err(strange("a text that is not UTF-8")),
            },
            // Only the library can make the value of an error.
            b'-' => redis::parse_redis_value(&[line, b"\r\n"].concat()),
            b'$' => match number(text)? {
                -1 => Ok(Value::Nil),
                length => self.bulk(input, length).map(Value::BulkString),
            },
            b'*' => {
                let length = number(text)?;
                if length == -1 {
                    return Ok(Value::Nil);
                }
                let length = usize::try_from(length).map_err(|_| strange("a negative length"))?;
                let mut array = Vec::with_capacity(length.min(FIRST_ROOM));
                for _ in 0..length {
                    array.push(self.nested(input, values, depth + 1)?);
                }
                Ok(Value::Array(array))
            }
            _ => Err(strange("a line that begins as no answer does")),
        }
    }

    /// Reads the next line, without its end.
    fn line(&mut self, input: &mut impl Read) -> RedisResult<&[u8]> {
        let mut looked = 0;
        loop {
            let held = &self.buffer[self.start..self.end];
            let end = held[looked..].iter().position(|&byte| byte == b'\n');
            if let Some(end) = end.map(|end| looked + end) {
                let line = self.start..self.start + end;
                self.start = line.end + 1;
                return match self.buffer[line].strip_suffix(b"\r") {
                    Some(line) => Ok(line),
                    None => Err(strange("a line without a carriage return")),
                };
            }
            looked = held.len();
            self.fill(input)?;
        }
    }

    /// Reads this many bytes, and the end of the line after them.
    fn bulk(&mut self, input: &mut impl Read, length: i64) -> RedisResult<Vec<u8>> {
        let length = usize::try_from(length).map_err(|_| strange("a negative length"))?;
        let held = &self.buffer[self.start..self.end];
        let held = &held[..held.len().min(length)];
        let mut bytes = Vec::with_capacity(length.min(BUFFER));
        bytes.extend_from_slice(held);
        self.start += held.len();
        // If anything is missing, the buffer is empty.
        let missing = length - bytes.len();
        input.take(missing as u64).read_to_end(&mut bytes)?;
        if bytes.len() < length {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        match self.line(input)? {
            [] => Ok(bytes),
            _ => Err(strange("more bytes than were announced")),
        }
    }

    /// Reads more bytes after those in the buffer.
    fn fill(&mut self, input: &mut impl Read) -> RedisResult<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            return Err(strange("a line longer than any answer has"));
        }
        match input.read(&mut self.buffer[self.end..])? {
            0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            count => {
                self.end += count;
                Ok(())
            }
        }
    }
}

/// Parses the digits of a line.
fn number(text: &[u8]) -> RedisResult<i64> {
    // Nearly all lines are the answer to a key.
    if let [digit @ b'0'..=b'9'] = text {
        return Ok(i64::from(digit - b'0'));
    }
    let number = std::str::from_utf8(text).ok();
    let number = number.and_then(|text| text.parse().ok());
    number.ok_or_else(|| strange("something else where a number should be"))
}

fn strange(what: &'static str) -> RedisError {
    (ErrorKind::Parse, "the server answered", what.to_string()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An input that returns at most this many bytes at once.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(self.1).min(buffer.len());
            let (now, later) = self.0.split_at(count);
            buffer[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    fn random(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
        (*state >> 33) % below
    }

    /// Writes an answer of any type.
    fn write(state: &mut u64, depth: u64, output: &mut Vec<u8>) {
        match random(state, if depth < 4 { 9 } else { 7 }) {
            0 => output.extend_from_slice(b"+OK\r\n"),
            1 => output.extend_from_slice(b"+QUEUED\r\n"),
            2 => output.extend_from_slice(b"-WRONGTYPE Operation against a key\r\n"),
            3 => output.extend_from_slice(b"$-1\r\n"),
            4 => output.extend_from_slice(b"*-1\r\n"),
            5 => {
                let bytes = vec![b'\r'; random(state, 300) as usize];
                output.extend_from_slice(format!("${}\r\n", bytes.len()).as_bytes());
                output.extend_from_slice(&bytes);
                output.extend_from_slice(b"\r\n");
            }
            6 => {
                let number = random(state, u64::MAX) as i64 >> random(state, 64);
                output.extend_from_slice(format!(":{}\r\n", -number).as_bytes());
            }
            _ => {
                let length = random(state, 12);
                output.extend_from_slice(format!("*{length}\r\n").as_bytes());
                (0..length).for_each(|_| write(state, depth + 1, output));
            }
        }
    }

    #[test]
    fn answers_are_read_as_the_library_reads_them_however_they_arrive() {
        let mut state = 16;
        for round in 0..2000 {
            let mut first = Vec::new();
            write(&mut state, 0, &mut first);
            let mut both = first.clone();
            write(&mut state, 0, &mut both);
            let expected = [&first[..], &both[first.len()..]]
                .map(|answer| redis::parse_redis_value(answer).expect("an answer"));

            let mut input = Slow(&both, 1 + round % 97);
            let mut reader = Reader::new();
            let read = [0, 1].map(|_| reader.value(&mut input).expect("an answer"));

            assert_eq!(read, expected, "{}", String::from_utf8_lossy(&both));
            assert!(reader.value(&mut input).is_err(), "there is no third");
        }
    }

    #[test]
    fn invalid_answers_are_refused_and_take_no_memory() {
        let deep = b"*1\r\n".repeat(100_000);
        let many = [&b"*1000000000\r\n"[..], &b":1\r\n".repeat(2 << 20)].concat();
        let long = [&b"+"[..], &vec![b'x'; 1 << 20]].concat();
        for answer in [
            &b""[..],
            b"\r\n",
            b"hello\r\n",
            b"+OK\n",
            b":\r\n",
            b":one\r\n",
            b":99999999999999999999\r\n",
            b"$-7\r\n",
            b"*-9\r\n",
            b"$3\r\nabcd\r\n",
            b"$3\r\nab",
            b"$9223372036854775807\r\nabc",
            b"*1000000000\r\n*1000000000\r\n",
            b"*2\r\n:1\r\n",
            b"+\xFF\r\n",
            &deep,
            &many,
            &long,
        ] {
            let read = Reader::new().value(&mut Slow(answer, 1 << 16));
            let shown = String::from_utf8_lossy(&answer[..answer.len().min(40)]);
            assert!(read.is_err(), "{shown:?}: {read:?}");
        }
    }

    #[test]
    fn changed_answers_are_read_or_refused_but_never_panic() {
        let mut state = 17;
        for _ in 0..5000 {
            let mut answer = Vec::new();
            write(&mut state, 0, &mut answer);
            for _ in 0..=random(&mut state, 3) {
                let at = random(&mut state, answer.len() as u64) as usize;
                answer[at] = b"0123456789+-:$*\r\n x"[random(&mut state, 19) as usize];
            }

            let read = Reader::new().value(&mut &answer[..]);

            // If the library can read it too, both are the same.
            if let (Ok(read), Ok(expected)) = (read, redis::parse_redis_value(&answer)) {
                assert_eq!(read, expected, "{}", String::from_utf8_lossy(&answer));
            }
        }
    }
}
