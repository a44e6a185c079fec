//! A filter under a key: one of the library's, and how long its generations are.

use std::io::{Read, Write};

use mayhap::format::native::{self, Metadata};
use mayhap::{AnyFilter, Assemble as _, Rotation};
use xxhash_rust::xxh3::xxh3_64;

use crate::server::Context;
use crate::settings::secret;

/// A filter of any kind.
#[derive(Clone)]
pub(crate) struct Native {
    pub(crate) filter: AnyFilter,
    /// The milliseconds of a generation, for a window by time; else 0.
    pub(super) period: u64,
}

/// The generations that a window by time has, besides the current one.
pub(super) const GENERATIONS: u64 = 3;

impl Native {
    /// The filter as a native file, then the period and its checksum.
    pub(crate) fn write(&self, output: &mut dyn Write) -> mayhap::Result<()> {
        native::write(&self.filter, &Metadata::default(), &mut *output)?;
        let period = self.period.to_le_bytes();
        output.write_all(&period)?;
        output.write_all(&xxh3_64(&period).to_le_bytes())?;
        Ok(())
    }

    /// Reads what was written, and no byte more.
    pub(crate) fn read(input: &mut dyn Read) -> Result<Native, String> {
        let read = native::read(&mut *input, secret()).map_err(|error| error.to_string());
        let (filter, _) = read?;
        let mut tail = [0; 16];
        let read = input.read_exact(&mut tail);
        read.map_err(|error| error.to_string())?;
        let (period, sum) = tail.split_at(8);
        if xxh3_64(period).to_le_bytes() != sum {
            return Err("the checksum of its period is wrong".into());
        }
        let period = u64::from_le_bytes(period.try_into().expect("eight bytes"));
        Native::of(filter, period)
    }

    /// A filter that forgets by time, if there is a period.
    pub(super) fn of(filter: AnyFilter, period: u64) -> Result<Native, String> {
        let by_time = matches!(&filter, AnyFilter::Windowed(filter) if filter.rotation() == Rotation::ByCaller);
        if period > 0 && !by_time {
            return Err(
                "only a filter of the kind windowed that was made with WINDOW forgets by time"
                    .into(),
            );
        }
        Ok(Native { filter, period })
    }

    /// The memory it takes.
    pub(crate) fn bytes(&self) -> u64 {
        size_of::<Native>() as u64 + self.filter.description().bits.div_ceil(8)
    }

    /// Begins the generation of this moment, if it has not begun; returns it then.
    pub(super) fn turn(&mut self, context: Context<'_>) -> Option<u64> {
        let AnyFilter::Windowed(filter) = &mut self.filter else {
            return None;
        };
        // A replica does what its master says, when it says so.
        let generation = context.now().checked_div(self.period)?;
        if generation <= filter.generation() || context.must_obey() {
            return None;
        }
        filter.advance_to(generation);
        Some(generation)
    }
}
