//! Native files whose checksums fit, so that fuzzing reaches what they guard.

use mayhap::SecretKey;
use xxhash_rust::xxh3::xxh3_64;

const HEADER: usize = 64;
const CHUNK: usize = 1 << 20;

/// The secret of the golden files that have one.
pub fn secret() -> SecretKey {
    SecretKey::from_bytes(*b"sixteen secrets!")
}

/// Makes every checksum, and the secret's check value, fit the file, as a
/// forger would. `None` when there is not even a header.
pub fn forged(data: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = data.to_vec();
    let header = bytes.first_chunk_mut::<HEADER>()?;
    if header[12..14] == [1, 0] {
        header[16..24].copy_from_slice(&secret().check_value().to_le_bytes());
    }
    let checksum = xxh3_64(&header[..56]);
    header[56..].copy_from_slice(&checksum.to_le_bytes());
    let size = u64::from_le_bytes(*header[24..].first_chunk()?);
    let flags = header[14];
    // Whatever does not fit stays as it is, for the reader to find.
    let _ = forge_trailer(&mut bytes, size, flags);
    Some(bytes)
}

fn forge_trailer(bytes: &mut [u8], size: u64, flags: u8) -> Option<()> {
    let body = usize::try_from(size.div_ceil(64)).ok()?.checked_mul(8)?;
    let (body, trailer) = bytes[HEADER..].split_at_mut_checked(body)?;
    let mut end = 0;
    for chunk in body.chunks(CHUNK) {
        *trailer.get_mut(end..)?.first_chunk_mut()? = xxh3_64(chunk).to_le_bytes();
        end += 8;
    }
    if flags & 1 != 0 {
        end += 4 + u32::from_le_bytes(*trailer.get(end..)?.first_chunk()?) as usize;
    }
    if flags & 2 != 0 {
        end += 64;
    }
    let checksum = xxh3_64(trailer.get(..end)?);
    *trailer.get_mut(end..)?.first_chunk_mut()? = checksum.to_le_bytes();
    Some(())
}
