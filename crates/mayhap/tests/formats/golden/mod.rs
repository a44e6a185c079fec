//! Golden vectors: every value of Java and Guava must be reproduced bit for bit.
//!
//! `tests/data/golden` holds the vectors; its README.md describes each file, docs/schemes.md the
//! algorithm that made it. A test here covers one array of one file and asserts every entry of it; the
//! table in `data.rs` names all arrays, so none can be left out.

mod bitset; // java.util.BitSet and the bitmap sort of post 001
mod data; // reading the files: cases and their fields
mod digest_filter; // post 003
mod guava_filters; // whole Guava filters, single keys, unions
mod guava_headers; // Guava's readFrom on valid and damaged input
mod guava_sizing; // Guava's bits and hashes per capacity and rate
mod keys; // the keys and funnels the files name
mod manifest; // the files themselves
mod murmur3; // the hash under Guava's filters and post 004's
mod published; // vectors printed in the posts and the sizing specification
mod standard_filter; // post 004
mod three_hash_filter; // post 000
