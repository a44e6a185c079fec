//! Compressed input: gzip and Zstandard, unpacked as it is read. Other packings are recognised, so that their bytes are
//! never taken for lines.
//!
//! What can be unpacked before the first damage, or before the end of a file that was cut off, is given first; then comes
//! the error.

use std::io::{self, BufRead, Chain, Cursor, Read};
use std::ops::Range;

use flate2::{Crc, Decompress, FlushDecompress, Status};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder, StreamingDecoder};

use crate::amounts::show_bytes;

/// The file, after what was read of it to see what it is. Decompressors read a few bytes at a time.
pub(crate) type Bytes<R> = Chain<Cursor<Vec<u8>>, R>;

/// The bytes that begin a file of each packing: those in this range, counted from 0, may be any.
struct Magic(&'static [u8], Range<usize>, Packing);

/// From the descriptions of the formats. What follows of bzip2 and lzma makes sure that they are not text.
const MAGICS: &[Magic] = &[
    Magic(&[0x1F, 0x8B], 0..0, Packing::Gzip),
    Magic(&[0x28, 0xB5, 0x2F, 0xFD], 0..0, Packing::Zstd),
    Magic(b"\xFD7zXZ\0", 0..0, Packing::Other(&XZ)),
    Magic(
        b"]\0\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
        3..5,
        Packing::Other(&LZMA),
    ),
    Magic(b"BZh\x001AY&SY", 3..4, Packing::Other(&BZIP2)),
    Magic(
        b"BZh\0\x17\x72\x45\x38\x50\x90",
        3..4,
        Packing::Other(&BZIP2),
    ),
    Magic(b"\x04\x22\x4D\x18", 0..0, Packing::Other(&LZ4)),
    Magic(b"\x02\x21\x4C\x18", 0..0, Packing::Other(&LZ4)),
    Magic(b"PK\x03\x04", 0..0, Packing::Other(&ZIP)),
    Magic(b"PK\x05\x06", 0..0, Packing::Other(&ZIP)),
    Magic(b"7z\xBC\xAF\x27\x1C", 0..0, Packing::Other(&SEVEN_ZIP)),
    Magic(b"Rar!\x1A\x07", 0..0, Packing::Other(&RAR)),
    Magic(&[0x1F, 0x9D], 0..0, Packing::Other(&COMPRESS)),
    Magic(&[0x1F, 0xA0], 0..0, Packing::Other(&COMPRESS)),
    Magic(b"LZIP\x01", 0..0, Packing::Other(&LZIP)),
    Magic(b"\x89LZO\0\r\n\x1A\n", 0..0, Packing::Other(&LZOP)),
    Magic(b"\xFF\x06\0\0sNaPpY", 0..0, Packing::Other(&SNAPPY)),
];

/// A packing that is not read here: its name, and what unpacks a file of it to standard output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Other {
    pub(crate) name: &'static str,
    pub(crate) unpack: &'static str,
}

const XZ: Other = Other::of("xz", "xz -dc");
const LZMA: Other = Other::of("lzma", "xz -dc");
const BZIP2: Other = Other::of("bzip2", "bzip2 -dc");
const LZ4: Other = Other::of("lz4", "lz4 -dc");
const ZIP: Other = Other::of("zip", "unzip -p");
const SEVEN_ZIP: Other = Other::of("7z", "7z x -so");
const RAR: Other = Other::of("rar", "unrar p -inul");
const COMPRESS: Other = Other::of("compress", "gzip -dc");
const LZIP: Other = Other::of("lzip", "lzip -dc");
const LZOP: Other = Other::of("lzop", "lzop -dc");
const SNAPPY: Other = Other::of("snappy", "snzip -dc");

impl Other {
    const fn of(name: &'static str, unpack: &'static str) -> Other {
        Other { name, unpack }
    }
}

impl Magic {
    /// Returns whether some bytes are its beginning, or begin with it.
    fn agrees_with(&self, beginning: &[u8]) -> bool {
        let Magic(magic, free, _) = self;
        let mut pairs = magic.iter().zip(beginning).enumerate();
        // A line that ends is text: nobody is kept waiting for the next.
        let is_free = |i, byte| free.contains(&i) && byte != b'\n';
        pairs.all(|(i, (expected, byte))| expected == byte || is_free(i, *byte))
    }
}

/// The bytes that begin a frame of a Zstandard file that holds no data, after a first one from 0x50 to 0x5F.
const SKIPPED: &[u8] = &[0x2A, 0x4D, 0x18];

/// The packing of a file, by its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstd,
    Other(&'static Other),
    /// More bytes are needed to decide.
    Unknown,
}

impl Packing {
    pub(crate) fn of(beginning: &[u8]) -> Packing {
        if matches!(beginning, [0x50..=0x5F, rest @ ..] if rest == SKIPPED) {
            return Packing::Zstd;
        }
        let mut is_unknown =
            matches!(beginning, [0x50..=0x5F, rest @ ..] if SKIPPED.starts_with(rest));
        for magic in MAGICS.iter().filter(|magic| magic.agrees_with(beginning)) {
            if beginning.len() >= magic.0.len() {
                return magic.2;
            }
            is_unknown = true;
        }
        match is_unknown {
            true => Packing::Unknown,
            false => Packing::Plain,
        }
    }
}

fn damaged(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// The bytes given to the decompressor of gzip at a time.
const PIECE_BYTES: usize = 512;

/// Room for all that a piece can become, at most 1032 bytes of one byte, and for a window before: what does not fit
/// when the data is found to be damaged would be lost.
const UNPACKED_PIECE_BYTES: usize = PIECE_BYTES * 1032 + (64 << 10);

/// The members of a gzip file, one after another, and zeros after the last.
pub struct Gzip<R> {
    input: R,
    inflate: Decompress,
    sum: Crc,
    place: Stage,
    /// Room for what is unpacked, and where in it is what was not read yet.
    unpacked: Vec<u8>,
    unread: Range<usize>,
    failed: Option<io::Error>,
}

/// The place of the input in a member.
#[derive(Clone, Copy)]
enum Stage {
    FirstHeader,
    Header,
    Body,
    Sum,
    End,
}

impl<R: BufRead> Gzip<R> {
    /// Reads the members of `input`.
    pub fn new(input: R) -> Gzip<R> {
        Gzip {
            input,
            inflate: Decompress::new(false),
            sum: Crc::new(),
            place: Stage::FirstHeader,
            unpacked: vec![0; UNPACKED_PIECE_BYTES],
            unread: 0..0,
            failed: None,
        }
    }

    /// Unpacks some more; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        self.place = match self.place {
            Stage::FirstHeader => self.header("its gzip header is damaged")?,
            Stage::Header => match self.ends_in_zeros()? {
                true => Stage::End,
                false => self.header("what follows its end is not gzip")?,
            },
            Stage::Body => self.body()?,
            Stage::Sum => {
                let mut stated = [0; 8];
                self.input.read_exact(&mut stated)?;
                let (sum, amount) = (self.sum.sum(), self.sum.amount());
                if stated[..4] != sum.to_le_bytes() || stated[4..] != amount.to_le_bytes() {
                    return Err(damaged("its gzip checksum does not match"));
                }
                Stage::Header
            }
            Stage::End => return Ok(false),
        };
        Ok(true)
    }

    /// Leaves out zeros, with which tapes and disks fill up; true when nothing follows them.
    fn ends_in_zeros(&mut self) -> io::Result<bool> {
        loop {
            let bytes = self.input.fill_buf()?;
            if bytes.is_empty() {
                return Ok(true);
            }
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            let all = zeros == bytes.len();
            self.input.consume(zeros);
            if !all {
                return Ok(false);
            }
        }
    }

    /// Reads the header of a member (RFC 1952, 2.3). Its checksum guards no content, and is not compared.
    fn header(&mut self, wrong: &str) -> io::Result<Stage> {
        let mut fixed = [0; 10];
        self.input.read_exact(&mut fixed)?;
        let [0x1F, 0x8B, 8, flags @ ..0x20, ..] = fixed else {
            return Err(damaged(wrong));
        };
        if flags & 4 != 0 {
            let mut length = [0; 2];
            self.input.read_exact(&mut length)?;
            self.skip(u64::from(u16::from_le_bytes(length)))?;
        }
        // A name, and a comment, which end in a zero.
        for _ in 0..(flags >> 3 & 1) + (flags >> 4 & 1) {
            let mut byte = [1];
            while byte != [0] {
                self.input.read_exact(&mut byte)?;
            }
        }
        if flags & 2 != 0 {
            self.skip(2)?;
        }
        self.inflate.reset(false);
        self.sum.reset();
        Ok(Stage::Body)
    }

    fn skip(&mut self, count: u64) -> io::Result<()> {
        match io::copy(&mut self.input.by_ref().take(count), &mut io::sink())? == count {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Unpacks one piece of a member.
    fn body(&mut self) -> io::Result<Stage> {
        let bytes = self.input.fill_buf()?;
        let piece = &bytes[..bytes.len().min(PIECE_BYTES)];
        let ended = piece.is_empty();
        let before = (self.inflate.total_in(), self.inflate.total_out());
        let status = self
            .inflate
            .decompress(piece, &mut self.unpacked, FlushDecompress::None);
        self.input
            .consume((self.inflate.total_in() - before.0) as usize);
        let count = (self.inflate.total_out() - before.1) as usize;
        self.unread = 0..count;
        self.sum.update(&self.unpacked[..count]);
        match status {
            Ok(Status::StreamEnd) => Ok(Stage::Sum),
            Ok(_) if ended && count == 0 => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(Stage::Body),
            Err(_) => Err(damaged("its gzip data is damaged")),
        }
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.unread.is_empty() {
                let count = self.unread.len().min(buffer.len());
                let end = self.unread.start + count;
                buffer[..count].copy_from_slice(&self.unpacked[self.unread.start..end]);
                self.unread.start = end;
                return Ok(count);
            }
            if let Some(error) = self.failed.take() {
                self.place = Stage::End;
                return Err(error);
            }
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return Ok(0),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.failed = Some(in_words(error)),
            }
        }
    }
}

/// Describes an end that comes too early.
fn in_words(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::new(error.kind(), "it is cut off"),
        _ => error,
    }
}

/// The frames of a Zstandard file, one after another.
pub(crate) struct Frames<R: Read> {
    /// The rest of the input, when no frame has it.
    input: Option<Bytes<R>>,
    frame: Option<Box<Frame<R>>>,
    failed: Option<io::Error>,
}

type Frame<R> = StreamingDecoder<Bytes<R>, FrameDecoder>;

impl<R: Read> Frames<R> {
    pub(crate) fn new(input: Bytes<R>) -> Frames<R> {
        Frames {
            input: Some(input),
            frame: None,
            failed: None,
        }
    }

    /// Begins the next frame; false at the end of the input.
    fn begin(&mut self, mut input: Bytes<R>) -> io::Result<bool> {
        loop {
            let mut magic = Vec::new();
            input.by_ref().take(4).read_to_end(&mut magic)?;
            if magic.is_empty() {
                return Ok(false);
            }
            if let [0x50..=0x5F, 0x2A, 0x4D, 0x18] = magic[..] {
                let mut length = [0; 4];
                input.read_exact(&mut length)?;
                let length = u64::from(u32::from_le_bytes(length));
                io::copy(&mut input.by_ref().take(length), &mut io::sink())?;
                continue;
            }
            let (beginning, file) = input.into_inner();
            magic.extend_from_slice(&beginning.get_ref()[beginning.position() as usize..]);
            let frame = Frame::new(Cursor::new(magic).chain(file));
            let frame =
                frame.map_err(|error| damaged(&format!("no valid Zstandard frame: {error}")))?;
            self.frame = Some(Box::new(frame));
            return Ok(true);
        }
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(frame) = &mut self.frame {
                match frame.read(buffer) {
                    Ok(0) => {}
                    Ok(count) => return Ok(count),
                    Err(_) if self.failed.is_some() => self.frame = None,
                    Err(_) => {
                        self.failed = Some(damaged("its Zstandard data is damaged or cut off"));
                        // The decoder keeps a window back until the frame ends: an empty last block, and a
                        // checksum that is not looked at, end it.
                        let end = [1, 0, 0, 0, 0, 0, 0];
                        let strategy = BlockDecodingStrategy::All;
                        if frame.decoder.decode_blocks(&end[..], strategy).is_err() {
                            self.frame = None;
                        }
                        continue;
                    }
                }
            }
            if let Some(error) = self.failed.take() {
                self.frame = None;
                return Err(error);
            }
            if let Some(frame) = self.frame.take() {
                // The decoder reads the checksum, and leaves it to us to compare it.
                let stated = frame.decoder.get_checksum_from_data();
                if stated.is_some() && stated != frame.decoder.get_calculated_checksum() {
                    return Err(damaged("its Zstandard checksum does not match"));
                }
                self.input = Some(frame.into_inner());
            }
            let Some(input) = self.input.take() else {
                return Ok(0);
            };
            if !self.begin(input)? {
                return Ok(0);
            }
        }
    }
}

/// A filter that is being unpacked, up to a limit: a small file can unpack to a thousand times its size. A filter that is
/// not compressed may have any size, because its file is as large.
pub struct Unpacked<R> {
    bytes: R,
    left: u64,
}

/// The most bytes of a filter that is compressed.
const UNPACKED_BYTES: u64 = 1 << 30;

impl<R: Read> Unpacked<R> {
    /// Reads what a file unpacks to.
    pub fn new(bytes: R) -> Unpacked<R> {
        Unpacked {
            bytes,
            left: UNPACKED_BYTES,
        }
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            io::Error::other(format!(
                "it unpacks to more than {}: unpack it first, with gunzip",
                show_bytes(UNPACKED_BYTES)
            ))
        })?;
        Ok(count)
    }
}
