//! Allocations of loading and changing a filter, counted by the allocator of this program.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Read;

use mayhap::format::native::{self, Metadata};
use mayhap::format::{self, Format};
use mayhap::{
    AnyFilter, Assemble as _, Bitmap, Digester, Hashing, Insert, Kind, Scheme,
    kinds::{BlockedShape, Guarded},
};

/// The system's allocator, which counts for each thread.
struct Meter;

#[global_allocator]
static METER: Meter = Meter;

thread_local! {
    /// The bytes that are allocated now, the maximum, and the sum of all allocations.
    static BYTES: Cell<[usize; 3]> = const { Cell::new([0; 3]) };

    /// The most bytes that one allocation may have.
    static LARGEST: Cell<usize> = const { Cell::new(usize::MAX) };
}

fn is_too_large(bytes: usize) -> bool {
    LARGEST.try_with(Cell::get).is_ok_and(|most| bytes > most)
}

/// Counts allocated and freed bytes. One thread may free what another allocates.
fn note(came: usize, went: usize) {
    let _ = BYTES.try_with(|bytes| {
        let [now, most, all] = bytes.get();
        let now = now.wrapping_add(came);
        // A block that moves exists twice for a moment.
        let most = if (now as isize) < 0 {
            most
        } else {
            most.max(now)
        };
        bytes.set([now.wrapping_sub(went), most, all.wrapping_add(came)]);
    });
}

// SAFETY: every call is passed to `System` unchanged, whose guarantees are therefore these, or returns null, which
// every call may.
unsafe impl GlobalAlloc for Meter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_too_large(layout.size()) {
            return std::ptr::null_mut();
        }
        note(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_too_large(layout.size()) {
            return std::ptr::null_mut();
        }
        note(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if is_too_large(size) {
            return std::ptr::null_mut();
        }
        note(size, layout.size());
        // SAFETY: the caller keeps the contract of `realloc`, and `block` came from `System`.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note(0, layout.size());
        // SAFETY: the caller keeps the contract of `dealloc`, and `block` came from `System`.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Runs `action`; returns its result, the most bytes that were allocated at a time, and the sum of all allocations.
fn metered<T>(action: impl FnOnce() -> T) -> (T, usize, usize) {
    let [before, _, all] = BYTES.get();
    BYTES.set([before, before, all]);
    let done = action();
    let [_, most, all_after] = BYTES.get();
    (done, most.wrapping_sub(before), all_after.wrapping_sub(all))
}

/// The bytes of bits in each filter: just below the size that comes straight from the system, uncounted.
const BODY: u64 = 3 << 19;

/// Makes an empty filter of this kind with about this many bytes.
fn zeros(kind: Kind) -> AnyFilter {
    let keys = 10_000;
    let bits = kind.plan(keys, 0.01).expect("valid").bits;
    let plan = kind.plan(keys * 8 * BODY / bits, 0.01).expect("valid");
    let layout = AnyFilter::<Bitmap>::layout(&plan).expect("planned");
    let parts = layout
        .into_iter()
        .map(|bits| Bitmap::new(bits).expect("memory"));
    AnyFilter::assemble(&plan, parts.collect()).expect("planned")
}

/// Makes a filter with a list of this many short keys.
fn guarded(listed: u32) -> Guarded {
    let shape = BlockedShape::new(1, 1).expect("valid");
    let mut filter = Guarded::new(shape, Digester::default()).expect("small");
    filter.insert_all(0..10_000_u64);
    assert!(filter.stats().rate == 1.0);
    filter.refresh(0..listed).expect("memory");
    filter
}

fn encoded(filter: &AnyFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    native::write(filter, &Metadata::default(), &mut bytes).expect("memory");
    bytes
}

/// Asserts at most twice the file, and the buffers that it goes through.
#[track_caller]
fn assert_at_most_twice(most: usize, file: &[u8], what: &str) {
    println!("{what}: {most} bytes at most for a file of {}", file.len());
    assert!(most > file.len() / 2, "{what}: the measure sees the filter");
    let allowed = 2 * file.len() + (256 << 10);
    assert!(
        most <= allowed,
        "{what}: {most} bytes for a file of {}",
        file.len()
    );
}

#[test]
fn loading_takes_at_most_twice_the_file_for_every_kind() {
    let _alone = crate::alone();
    for &kind in Kind::ALL {
        let filter = match kind {
            // Enough listed keys to fill the file, each as short as possible.
            Kind::Guarded => guarded(100_000).into(),
            kind => zeros(kind),
        };
        let file = encoded(&filter);
        drop(filter);

        let (decoded, most, _) = metered(|| native::decode(&file, None));
        assert_eq!(decoded.expect("whole").0.kind(), kind);
        assert_at_most_twice(most, &file, kind.name());

        // A stream has no known length.
        let (read, most, _) = metered(|| native::read(file.take(u64::MAX), None));
        read.expect("whole");
        assert_at_most_twice(most, &file, kind.name());
    }
}

#[test]
fn loading_takes_at_most_twice_the_file_for_every_format() {
    let _alone = crate::alone();
    for (format, kind, scheme) in [
        (Format::Guava, Kind::Bloom, Some(Scheme::Guava64)),
        (Format::Spark, Kind::Bloom, Some(Scheme::Spark1)),
        (Format::Dcso, Kind::Bloom, Some(Scheme::Dcso)),
        (Format::Parquet, Kind::SplitBlock, None),
    ] {
        let mut description = zeros(kind).description();
        description.bits = description.bits.next_multiple_of(64);
        if let Some(scheme) = scheme {
            description.hashing = Hashing::Scheme(scheme);
        }
        let filter = AnyFilter::new(&description).expect("memory");
        let mut file = Vec::new();
        format::convert(&filter, format, &mut file).expect("a format that holds it");
        drop(filter);

        let (opened, most, _) = metered(|| format::open(&file, None));

        opened.expect("whole");
        assert_at_most_twice(most, &file, format.name());
    }
}

#[test]
fn listed_keys_that_are_inserted_or_reported_cost_no_new_list_each() {
    let _alone = crate::alone();
    const LISTED: u32 = 100_000;
    const CHANGED: u32 = 20_000;
    let mut filter = guarded(LISTED);
    let file = encoded(&filter.clone().into()).len();

    let (_, _, inserting) = metered(|| {
        for key in 0..CHANGED {
            assert!(filter.insert(&key), "it was on the list");
        }
    });
    let (_, _, reporting) = metered(|| {
        for key in LISTED..LISTED + CHANGED {
            assert!(filter.report_false_positive(&key).expect("memory"));
        }
    });

    // A new list for each would be 20 000 times the file.
    println!("{inserting} and {reporting} bytes allocated, for a file of {file}");
    assert!(inserting < 50 * file && reporting < 50 * file);
    assert_eq!(filter.listed(), LISTED as usize);
    assert!((0..LISTED + CHANGED).all(|key| filter.contains(&key) == (key < CHANGED)));
    let again = native::decode(&encoded(&filter.clone().into()), None).expect("whole");
    assert_eq!(again.0, filter.into());
}

/// The words of a changed list are made when they are written: without memory for them that was a panic.
#[test]
fn a_changed_list_that_cannot_be_written_for_lack_of_memory_is_an_error() {
    let _alone = crate::alone();
    let mut filter = guarded(60_000);
    filter.insert(&7_u32);

    LARGEST.set(100_000);
    let written = native::write(&filter, &Metadata::default(), std::io::sink());
    LARGEST.set(usize::MAX);

    assert!(
        matches!(written, Err(mayhap::Error::Memory { .. })),
        "{written:?}"
    );
    native::write(&filter, &Metadata::default(), std::io::sink()).expect("there is memory again");
}
