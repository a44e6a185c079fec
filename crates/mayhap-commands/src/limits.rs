//! The memory that a filter may take, and how it grows.

use crate::Server;
use crate::settings::MEMORY;

/// Returns whether a filter of the first number of bytes may take the second number more.
pub type Allows<'a> = &'a dyn Fn(u64, u64) -> bool;

/// From this many bytes on, the server is asked whether it has them.
const LARGE: u64 = 1 << 20;

/// The limits of a server: that for one filter, its own, and the memory of its machine. What another server has accepted is always
/// allowed: refusing it would make the two differ.
pub(crate) fn allows<S: Server>(server: &S) -> impl Fn(u64, u64) -> bool {
    move |now, more| fits(server, now, more) || server.must_obey()
}

fn fits<S: Server>(server: &S, now: u64, more: u64) -> bool {
    let limit = MEMORY.get().unsigned_abs();
    if limit > 0 && now.saturating_add(more) > limit {
        return false;
    }
    if more < LARGE {
        return true;
    }
    let memory = server.memory();
    let fits_machine = memory.machine == 0 || more <= memory.machine;
    fits_machine && (memory.most == 0 || memory.used.saturating_add(more) <= memory.most)
}

/// The size of layer `index`, from 0, where the first has `first` and each `expansion` times the one before, as RedisBloom's have;
/// `None` where that overflows.
pub(crate) fn grown(first: u64, expansion: u32, index: u64) -> Option<u64> {
    let power = u32::try_from(index).unwrap_or(u32::MAX);
    u64::from(expansion).checked_pow(power)?.checked_mul(first)
}

/// The reason why keys or a filter were refused; nothing has changed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The filter does not grow, and has no room for all of the keys.
    Full,
    /// The filter has grown as often as it may.
    Expansions,
    /// The filter would take more memory than is allowed, or than there is.
    Memory,
    /// The rate of one more layer is too low to be had.
    Rate,
}
