//! A filter of any kind under a key, and the length of its generations.

use std::ffi::CStr;
use std::io::{Read, Write};

use mayhap::format::native::{self, Metadata};
use mayhap::{AnyFilter, Assemble as _, Rotation};

use crate::Server;
use crate::encoding::{Damage, opened, sealed, text};
use crate::settings::secret;
use crate::value::sealed::Sealed;
use crate::value::{self, Log, Mover, Snapshot, Type, Value, check_version};

/// A filter of any kind.
#[derive(Clone)]
pub struct Native {
    pub(super) filter: AnyFilter,
    /// The milliseconds of a generation, for a window by time; else 0.
    pub(super) period: u64,
}

/// The generations that a window by time has, besides the current one.
pub(super) const GENERATIONS: u64 = 3;

impl Native {
    /// Reads what [`Value::write`] has written, and no byte more.
    pub(super) fn load(mut input: &mut dyn Read) -> Result<Native, Damage> {
        let (filter, _) = native::read(&mut input, secret()).map_err(text)?;
        let mut tail = [0; 16];
        let read = input.read_exact(&mut tail);
        read.map_err(|error| error.to_string())?;
        let period = opened(&tail).map_err(|_| "the checksum of its period is wrong")?;
        let period = u64::from_le_bytes(period.try_into().expect("eight bytes"));
        Native::of(filter, period)
    }

    /// A filter that forgets by time, if there is a period.
    pub(super) fn of(filter: AnyFilter, period: u64) -> Result<Native, Damage> {
        let by_time = matches!(&filter, AnyFilter::Windowed(filter) if filter.rotation() == Rotation::ByCaller);
        if period > 0 && !by_time {
            return Err(
                "only a filter of the kind windowed that was made with WINDOW forgets by time"
                    .into(),
            );
        }
        Ok(Native { filter, period })
    }

    /// Begins the generation of this moment, if it has not begun; returns it then.
    pub(super) fn turn<S: Server>(&mut self, server: &S) -> Option<u64> {
        let AnyFilter::Windowed(filter) = &mut self.filter else {
            return None;
        };
        // A replica begins a generation when its master does.
        let generation = server.now().checked_div(self.period)?;
        if generation <= filter.generation() || server.must_obey() {
            return None;
        }
        filter.advance_to(generation);
        Some(generation)
    }
}

impl Sealed for Native {}

impl Value for Native {
    const TYPE: Type = Type::Native;
    const NAME: &CStr = c"mayhapflt";
    const VERSION: i32 = 1;
    const COPIED_BY: &str = "MAYHAP.DUMP and MAYHAP.RESTORE";

    /// Writes the filter as a native file, then the period and its checksum.
    fn write(&self, mut output: &mut dyn Write) -> mayhap::Result<()> {
        native::write(&self.filter, &Metadata::default(), &mut output)?;
        output.write_all(&sealed(self.period.to_le_bytes().to_vec()))?;
        Ok(())
    }

    fn read(version: i32, mut input: &mut dyn Snapshot) -> Result<Native, Damage> {
        check_version::<Native>(version)?;
        Native::load(&mut input)
    }

    fn rewrite(&self, log: &mut dyn Log) -> mayhap::Result<()> {
        let mut bytes = Vec::new();
        self.write(&mut bytes)?;
        log.whole(c"MAYHAP.RESTORE", &bytes);
        Ok(())
    }

    fn bytes(&self) -> u64 {
        size_of::<Native>() as u64 + self.filter.description().bits.div_ceil(8)
    }

    fn reallocate(&mut self, _: &impl Mover) {
        value::reallocate(&mut self.filter);
    }
}
