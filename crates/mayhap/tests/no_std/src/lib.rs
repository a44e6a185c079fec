//! Proof that `mayhap` without its default features needs only `alloc`.
//!
//! If any dependency linked `std`, the panic handler below would be a second one, and an error.

#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;

use mayhap::hash::DrawnKey;
use mayhap::{Bloom, Digester, Insert, Scheme, SecretKey, Shape, kinds::SplitBlock};

/// Uses the crate, so that its code is really generated.
#[unsafe(no_mangle)]
pub extern "C" fn mayhap_no_std(key: u64) -> bool {
    let Ok(mut filter) = Bloom::with_capacity(1000, 0.01) else {
        return false;
    };
    filter.insert(&key);
    let scheme = Scheme::Native(Digester::SipHash {
        key: SecretKey::from_bytes([1; 16]),
    });
    let keyed = Shape::new(1024, 7).and_then(|shape| Bloom::new(shape, scheme));
    let Ok(mut keyed) = keyed else {
        return false;
    };
    let Ok(mut column) = SplitBlock::with_capacity(1000, 0.01) else {
        return false;
    };
    let key_of_its_own = DrawnKey::from_bits(key);
    keyed.insert_bytes(b"key")
        && Digester::Universal { key: key_of_its_own }.digest(b"key").hi > 0
        && filter.contains(&key) && column.insert(&key)
}

struct NoMemory;

// SAFETY: an allocator may always refuse; nothing is ever allocated, so nothing is freed.
unsafe impl GlobalAlloc for NoMemory {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: NoMemory = NoMemory;

#[panic_handler]
fn stop(_: &PanicInfo) -> ! {
    loop {}
}
