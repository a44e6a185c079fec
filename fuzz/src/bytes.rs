//! The input as a tape: each choice takes its bytes from the front, and zeros at the end.

/// The rest of the input.
pub struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    /// Returns whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let taken = self.take(N);
        array[..taken.len()].copy_from_slice(taken);
        array
    }

    pub fn u8(&mut self) -> u8 {
        u8::from_le_bytes(self.array())
    }

    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    pub fn f64(&mut self) -> f64 {
        f64::from_bits(self.u64())
    }

    /// Draws one of the first `count` numbers.
    pub fn below(&mut self, count: u64) -> u64 {
        self.u16() as u64 % count
    }

    /// Takes up to `count` bytes, as many as there are.
    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// Draws a key: often one byte, so that keys repeat.
    pub fn key(&mut self) -> Vec<u8> {
        match self.u8() {
            length @ 0..=40 => self.take(length as usize).to_vec(),
            byte => vec![byte],
        }
    }

    pub fn keys(&mut self) -> Vec<Vec<u8>> {
        let count = self.u8() % 48;
        (0..count).map(|_| self.key()).collect()
    }
}
