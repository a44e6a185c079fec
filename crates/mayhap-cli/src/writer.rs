//! A thread that writes what another gathers.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// The bytes that are gathered before they are written.
pub(crate) const BUFFER_BYTES: usize = 256 << 10;

/// A thread that writes. It is never joined: flushing has waited for it already.
pub(crate) struct Writer {
    full: SyncSender<Vec<u8>>,
    done: Receiver<io::Result<Vec<u8>>>,
    /// The pieces that are not yet known to be written.
    waiting: usize,
}

impl Writer {
    pub(crate) fn new(mut file: File) -> Writer {
        let (full, pieces) = sync_channel::<Vec<u8>>(1);
        let (back, done) = sync_channel(4);
        thread::spawn(move || {
            for mut piece in pieces {
                let outcome = file.write_all(&piece).map(|()| {
                    piece.clear();
                    piece
                });
                if back.send(outcome).is_err() {
                    return;
                }
            }
        });
        Writer {
            full,
            done,
            waiting: 0,
        }
    }

    /// Hands a piece over; gives an empty one back. Fails when one before it could not be written.
    pub(crate) fn write(&mut self, piece: Vec<u8>) -> io::Result<Vec<u8>> {
        self.waiting += 1;
        // If the thread has ended, its last message says why.
        let _ = self.full.send(piece);
        match self.waiting {
            ..3 => Ok(Vec::with_capacity(BUFFER_BYTES)),
            _ => self.receive(),
        }
    }

    pub(crate) fn wait(&mut self) -> io::Result<()> {
        while self.waiting > 0 {
            self.receive()?;
        }
        Ok(())
    }

    fn receive(&mut self) -> io::Result<Vec<u8>> {
        self.waiting -= 1;
        let gone = || io::Error::other("the thread that writes has ended");
        self.done.recv().map_err(|_| gone())?
    }
}
