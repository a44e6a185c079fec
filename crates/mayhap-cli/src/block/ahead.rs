//! Packed inputs, unpacked in part before their turn by idle threads.
//!
//! Lines have one order, so what is unpacked early waits in memory: [`MOST_BYTES`] of all inputs together, in pieces.
//! In its turn, an input is read from its pieces first, and then from where they end; the error of a damaged one follows
//! its pieces. An input that cannot be opened early is opened again in its turn, which reports why.
//!
//! Only files are read early. The program that writes a pipe may still be writing the files after it: if one input is a
//! pipe, all are read in their turn.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use mayhap_program::failure::Result;
use mayhap_program::input::{Input, Reader};

use crate::lines::BLOCK_BYTES;

/// The most bytes that wait for their turn.
const MOST_BYTES: usize = 64 << 20;

/// The bytes of a piece: about a millisecond of unpacking, after which a thread looks for something else to do.
const PIECE_BYTES: usize = BLOCK_BYTES;

/// The most inputs that are open before their turn: eight unpack as fast as sixteen threads look up lines.
const MOST_INPUTS: usize = 8;

/// The bytes of an input, of which some may have been unpacked early.
pub(super) type Bytes = Box<dyn Read + Send>;

/// The inputs whose turn has not come.
pub(crate) struct Ahead {
    state: Mutex<State>,
    /// Signalled when a thread has filled a piece.
    done: Condvar,
    /// The number of bytes read from the files so far, for the progress bar.
    seen: Arc<AtomicU64>,
}

struct State {
    waiting: VecDeque<Waiting>,
    /// The number of the first of them: how many have had their turn.
    first: usize,
    /// The most inputs that may be open.
    open: usize,
    /// The pieces that may still be filled, and memory for some of them.
    left: usize,
    spare: Vec<Vec<u8>>,
    /// True when a thread has ended that should not have.
    is_broken: bool,
}

struct Waiting {
    input: Arc<Input>,
    stage: Stage,
}

/// The stage of an input before its turn.
enum Stage {
    Closed,
    /// A thread is filling a piece.
    Away,
    Open(Box<Early>),
    /// Not to be opened before its turn.
    Later,
}

/// The next piece of an input, to be filled.
pub(crate) struct Step {
    number: usize,
    input: Arc<Input>,
    early: Option<Box<Early>>,
    piece: Vec<u8>,
}

/// An input of which some was unpacked early: gives that, and then the rest.
pub(super) struct Early {
    pieces: VecDeque<Vec<u8>>,
    /// The bytes of the first piece that were read.
    at: usize,
    /// Why unpacking ended, after the pieces.
    failed: Option<io::Error>,
    rest: Reader,
    /// True when there is nothing more to unpack early.
    is_done: bool,
    /// The owner of the memory of pieces that were read.
    home: Weak<Ahead>,
}

impl Ahead {
    pub(super) fn new(sources: Vec<Input>, seen: &Arc<AtomicU64>) -> Ahead {
        let waiting = |input| Waiting {
            input: Arc::new(input),
            stage: Stage::Closed,
        };
        let state = State {
            waiting: sources.into_iter().map(waiting).collect(),
            first: 0,
            open: 0,
            left: MOST_BYTES / PIECE_BYTES,
            spare: Vec::new(),
            is_broken: false,
        };
        Ahead {
            state: Mutex::new(state),
            done: Condvar::new(),
            seen: Arc::clone(seen),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets inputs be unpacked before their turn, unless one is a pipe.
    pub(super) fn allow(&self) {
        let mut state = self.lock();
        let is_live = state.waiting.iter().any(|waiting| waiting.input.is_live());
        state.open = if is_live { 0 } else { MOST_INPUTS };
    }

    /// Returns whether all inputs have had their turn.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().waiting.is_empty()
    }

    /// The input whose turn it is, and what reads it.
    pub(super) fn next(&self) -> Option<(Arc<Input>, Result<Bytes>)> {
        let mut state = self.lock();
        loop {
            let first = state.waiting.front()?;
            if !matches!(first.stage, Stage::Away) {
                break;
            }
            if state.is_broken {
                return None;
            }
            let waited = self.done.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
        state.first += 1;
        let Waiting { input, stage } = state.waiting.pop_front()?;
        drop(state);
        let reader: Result<Bytes> = match stage {
            Stage::Open(early) => Ok(early),
            Stage::Closed | Stage::Away | Stage::Later => {
                let reader = input.reader(&self.seen);
                reader.map(|reader| Box::new(reader) as Bytes)
            }
        };
        Some((input, reader))
    }

    /// The number of pieces that can be filled now, each by a thread.
    pub(crate) fn tasks(&self) -> usize {
        let state = self.lock();
        state.able().count().min(state.left)
    }

    /// Begins the next piece, of the first input that has one.
    pub(crate) fn begin(&self) -> Option<Step> {
        let mut state = self.lock();
        let place = state.able().next().filter(|_| state.left > 0)?;
        state.left -= 1;
        let number = state.first + place;
        let piece = state.spare.pop().unwrap_or_default();
        let Waiting { input, stage } = &mut state.waiting[place];
        let early = match std::mem::replace(stage, Stage::Away) {
            Stage::Open(early) => Some(early),
            _ => None,
        };
        Some(Step {
            number,
            input: Arc::clone(input),
            early,
            piece,
        })
    }

    /// Opens the input, if it is not yet, and fills the piece.
    pub(crate) fn work_on(self: &Arc<Self>, step: Step) {
        let Step {
            number,
            input,
            early,
            mut piece,
        } = step;
        let mut early = early.or_else(|| Early::open(&input, self));
        if let Some(early) = &mut early {
            early.fill(&mut piece);
        }
        let mut state = self.lock();
        if piece.is_empty() {
            state.take_back(piece);
        } else if let Some(early) = &mut early {
            early.pieces.push_back(piece);
        }
        let place = number - state.first;
        state.waiting[place].stage = early.map_or(Stage::Later, Stage::Open);
        self.done.notify_all();
    }

    /// Wakes everyone who waits for a thread that has ended in the middle of its work.
    pub(crate) fn abandon(&self) {
        self.lock().is_broken = true;
        self.done.notify_all();
    }
}

impl State {
    /// The places of inputs that can be unpacked early.
    fn able(&self) -> impl Iterator<Item = usize> {
        let waiting = self.waiting.iter().take(self.open).enumerate();
        waiting.filter_map(|(place, waiting)| match &waiting.stage {
            Stage::Closed => waiting.input.is_named().then_some(place),
            Stage::Open(early) => (!early.is_done).then_some(place),
            Stage::Away | Stage::Later => None,
        })
    }

    /// Takes the memory of a piece that was read.
    fn take_back(&mut self, mut piece: Vec<u8>) {
        piece.clear();
        self.left += 1;
        self.spare.push(piece);
    }
}

impl Early {
    /// Opens an input, if that is possible. A plain one is not read early: that takes no longer than copying it once more.
    fn open(input: &Input, home: &Arc<Ahead>) -> Option<Box<Early>> {
        let rest = input.reader(&home.seen).ok()?;
        Some(Box::new(Early {
            pieces: VecDeque::new(),
            at: 0,
            failed: None,
            is_done: rest.is_plain(),
            rest,
            home: Arc::downgrade(home),
        }))
    }

    /// Fills an empty piece with what comes next.
    fn fill(&mut self, piece: &mut Vec<u8>) {
        if self.is_done {
            return;
        }
        let mut bytes = (&mut self.rest).take(PIECE_BYTES as u64);
        self.failed = bytes.read_to_end(piece).err();
        self.is_done = self.failed.is_some() || piece.len() < PIECE_BYTES;
    }
}

impl Read for Early {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(piece) = self.pieces.front() {
            let count = buffer.len().min(piece.len() - self.at);
            let end = self.at + count;
            buffer[..count].copy_from_slice(&piece[self.at..end]);
            self.at = end;
            if end == piece.len() {
                self.at = 0;
                let piece = self.pieces.pop_front();
                if let (Some(piece), Some(home)) = (piece, self.home.upgrade()) {
                    home.lock().take_back(piece);
                }
            }
            return Ok(count);
        }
        self.failed.take().map_or(Ok(()), Err)?;
        self.rest.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::path::{Path, PathBuf};

    use super::*;

    /// A file of this many bytes of one kind, packed.
    fn pack(folder: &Path, byte: u8, length: usize) -> PathBuf {
        let path = folder.join(format!("{byte}"));
        let file = std::fs::File::create(&path).expect("room");
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        packed.write_all(&vec![byte; length]).expect("room");
        packed.finish().expect("room");
        path
    }

    fn ahead(paths: &[PathBuf]) -> Arc<Ahead> {
        let sources = Input::open_all(paths).expect("they are there");
        Arc::new(Ahead::new(sources, &Arc::default()))
    }

    /// Fills pieces as long as some can be filled; how many.
    fn fill(ahead: &Arc<Ahead>) -> usize {
        let mut count = 0;
        while let Some(step) = ahead.begin() {
            ahead.work_on(step);
            count += 1;
        }
        count
    }

    #[test]
    fn what_is_unpacked_early_is_bounded_and_is_read_in_its_turn() {
        let folder = tempfile::tempdir().expect("room");
        let length = (40 << 20) + 1000;
        let paths: Vec<_> = (0..3)
            .map(|byte| pack(folder.path(), byte, length))
            .collect();
        let ahead = ahead(&paths);
        ahead.allow();

        let most = MOST_BYTES / PIECE_BYTES;
        assert_eq!((fill(&ahead), ahead.lock().left), (most, 0));
        let mut before = 0;
        for (byte, path) in (0..).zip(&paths) {
            let (input, reader) = ahead.next().expect("one more");
            assert_eq!(input.name(), path);
            let mut bytes = Vec::new();
            reader
                .expect("open")
                .read_to_end(&mut bytes)
                .expect("whole");
            assert!(bytes.len() == length && bytes.iter().all(|found| *found == byte));
            // What was read made room for the next.
            before += fill(&ahead);
        }
        assert!(before > 0 && ahead.next().is_none());
        let state = ahead.lock();
        assert_eq!((state.left, state.spare.len()), (most, most));
    }

    #[test]
    fn plain_files_and_those_further_on_are_left_until_their_turn() {
        let folder = tempfile::tempdir().expect("room");
        let plain = folder.path().join("plain");
        std::fs::write(&plain, vec![b'x'; 1 << 20]).expect("room");
        let packed = pack(folder.path(), 1, 1000);
        let mut paths = vec![packed; MOST_INPUTS + 1];
        paths[0].clone_from(&plain);
        let ahead = ahead(&paths);

        assert_eq!(fill(&ahead), 0);
        ahead.allow();
        assert_eq!(ahead.tasks(), MOST_INPUTS);
        // One to find that it is plain, and one for all of each other.
        assert_eq!(fill(&ahead), MOST_INPUTS);
        let left = MOST_BYTES / PIECE_BYTES - (MOST_INPUTS - 1);
        assert_eq!(ahead.lock().left, left);
        let (_, reader) = ahead.next().expect("the first");
        let mut bytes = Vec::new();
        reader
            .expect("open")
            .read_to_end(&mut bytes)
            .expect("whole");
        assert!(bytes == std::fs::read(&plain).expect("readable"));
        assert_eq!(fill(&ahead), 1);
    }

    /// The error of a damaged file is reported in its turn, after what could be unpacked.
    #[test]
    fn a_file_that_is_cut_off_fails_after_its_pieces() {
        let folder = tempfile::tempdir().expect("room");
        let path = pack(folder.path(), 7, 1 << 20);
        let whole = std::fs::read(&path).expect("readable");
        std::fs::write(&path, &whole[..whole.len() - 4]).expect("room");
        let ahead = ahead(&[path]);
        ahead.allow();
        assert!(fill(&ahead) > 3);

        let (_, reader) = ahead.next().expect("one");
        let mut bytes = Vec::new();
        let failed = reader.expect("open").read_to_end(&mut bytes);

        assert_eq!(failed.expect_err("cut off").to_string(), "it is cut off");
        assert_eq!(bytes.len(), 1 << 20);
    }
}
