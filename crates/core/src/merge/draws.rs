//! Pseudo-random numbers from a seed, by `SplitMix64`.

/// The generator of pseudo-random numbers.
#[derive(Debug, Clone)]
pub struct Draws(u64);

impl Draws {
    /// The generator of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = self.0;
        number = (number ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ number >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        number ^ number >> 31
    }

    /// The next number, at least 0 and below 1.
    #[allow(clippy::cast_precision_loss)] // 53 bits fit
    pub fn next_fraction(&mut self) -> f64 {
        (self.next_number() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_equal_splitmix64() {
        let mut draws = Draws::new(1_234_567);
        assert_eq!([draws.next_number(), draws.next_number()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }
}
