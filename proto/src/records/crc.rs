//! CRC-32C (Castagnoli), the checksum of a record batch.

/// The checksum of these bytes.
#[cfg(feature = "std")]
pub fn crc32c(bytes: &[u8]) -> u32 {
    ::crc32c::crc32c(bytes)
}

/// The checksum of these bytes.
#[cfg(not(feature = "std"))]
pub fn crc32c(bytes: &[u8]) -> u32 {
    table::crc32c(bytes)
}

/// A byte at a time, where the processor's instruction cannot be asked for.
#[cfg(any(test, not(feature = "std")))]
mod table {
    /// The polynomial with its bits reversed.
    const POLYNOMIAL: u32 = 0x82f6_3b78;

    static TABLE: [u32; 256] = make();

    const fn make() -> [u32; 256] {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let mut crc = index as u32;
            let mut bit = 0;
            while bit < 8 {
                crc = if crc & 1 == 0 {
                    crc >> 1
                } else {
                    (crc >> 1) ^ POLYNOMIAL
                };
                bit += 1;
            }
            table[index] = crc;
            index += 1;
        }
        table
    }

    pub(super) fn crc32c(bytes: &[u8]) -> u32 {
        let step = |crc: u32, byte: &u8| {
            let index = (crc ^ u32::from(*byte)) & 0xff;
            (crc >> 8) ^ TABLE.get(index as usize).copied().unwrap_or_default()
        };
        !bytes.iter().fold(!0, step)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn both_ways_give_the_known_sums() {
        let ascending: Vec<u8> = (0..32).collect();
        for (bytes, sum) in [
            (&b""[..], 0),
            (b"123456789", 0xe306_9283),
            (&[0; 32], 0x8a91_36aa),
            (&[0xff; 32], 0x62a8_ab43),
            (&ascending, 0x46dd_794e),
        ] {
            assert_eq!(crc32c(bytes), sum);
            assert_eq!(table::crc32c(bytes), sum);
        }
    }
}
