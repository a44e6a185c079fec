//! `mayhap uniq`: each line the first time it is seen, in input order.
//!
//! By default a 64-bit hash of every distinct key is kept, so that no line is lost in practice. A filter
//! takes a few bits per key instead, and loses some: how many is stated. `--exact` looks a second time.

mod args;
mod budget;
mod checkpoint;
mod counts;
mod distinct;
mod every;
mod exact;
mod first;
mod full;
mod kept;
mod losses;
mod repeats;
mod seen;
mod summary;

use mayhap_program::amounts;
use mayhap_program::exit::Exit;
use mayhap_program::failure::Result;
use mayhap_program::global::Global;
use mayhap_program::input::Input;

use crate::plan;

pub(crate) use args::Args;
use seen::Seen;

impl Args {
    pub(crate) fn run(mut self, global: &Global) -> Result<Exit> {
        self.check_options()?;
        self.key = self.key.printing(self.print);
        let mut sources = Input::open_all(&self.files)?;
        self.refuse_to_write_what_is_read(&sources)?;
        if self.count {
            return counts::run(&mut self, &sources, global);
        }
        if self.unique || self.repeated {
            return repeats::run(&mut self, &sources, global);
        }
        if self.exact {
            for source in &mut sources {
                source.keep()?;
            }
            return exact::run(&self, &sources, global);
        }
        let seen = self.open_seen(global.threads())?;
        first::run(&self, seen, sources, global)
    }

    /// Opens what keeps the lines seen: hashes, or a filter.
    fn open_seen(&mut self, threads: usize) -> Result<Seen> {
        let (promise, secret) = (self.promise, &self.secret);
        if let Some(path) = &self.seen {
            return Seen::saved(path, self.size, self.grow, self.wait, secret, promise);
        }
        if let Some(size) = self.filter()? {
            return Seen::filter(size, secret, promise);
        }
        let default = || plan::default("MAYHAP_MEMORY", amounts::bytes);
        match self
            .memory
            .map_or_else(default, |memory| Ok(Some(memory)))?
        {
            Some(memory) => Seen::within(self.key.lines.keep_to(memory)),
            None => Seen::hashes(threads),
        }
    }
}
