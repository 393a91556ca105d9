//! Ids put around those of each text: special tokens that begin and end documents.

/// What is put around.
#[derive(Debug, Clone, Copy, Default)]
pub struct Around<'a> {
    /// The id before the first of each text.
    pub first: Option<u32>,
    /// The id behind the last of each text.
    pub last: Option<u32>,
    /// Which texts get them; None for all.
    pub which: Option<&'a [bool]>,
}

impl Around<'_> {
    /// The ids of texts that end at `ends`, with what is put around them, and their new ends. Ids behind the last end belong
    /// to a text that goes on, and stay.
    ///
    /// # Panics
    /// `ends` do not ascend within the ids, or `which` is shorter than `ends`.
    #[must_use]
    pub fn put(&self, ids: &[u32], ends: &[u64]) -> (Vec<u32>, Vec<u64>) {
        let more = usize::from(self.first.is_some()) + usize::from(self.last.is_some());
        let mut longer = Vec::with_capacity(ids.len() + more * ends.len());
        let mut new_ends = Vec::with_capacity(ends.len());
        let mut start = 0;
        for (text, &end) in ends.iter().enumerate() {
            let (own, end) = (self.which.is_none_or(|which| which[text]), end as usize);
            longer.extend(self.first.filter(|_| own));
            longer.extend_from_slice(&ids[start..end]);
            longer.extend(self.last.filter(|_| own));
            new_ends.push(longer.len() as u64);
            start = end;
        }
        longer.extend_from_slice(&ids[start..]);
        (longer, new_ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_put_around_texts() {
        let (ids, ends) = ([1, 2, 3, 4], [2, 2, 3]);
        let both = Around { first: Some(8), last: Some(9), which: None };
        assert_eq!(both.put(&ids, &ends), (vec![8, 1, 2, 9, 8, 9, 8, 3, 9, 4], vec![4, 6, 9]));
        let last = Around { first: None, ..both };
        assert_eq!(last.put(&ids, &ends), (vec![1, 2, 9, 9, 3, 9, 4], vec![3, 4, 6]));
        let some = Around { which: Some(&[true, false, false]), ..both };
        assert_eq!(some.put(&ids, &ends), (vec![8, 1, 2, 9, 3, 4], vec![4, 4, 5]));
        assert_eq!(Around::default().put(&ids, &ends), (ids.to_vec(), ends.to_vec()));
        assert_eq!(both.put(&[], &[]), (vec![], vec![]));
    }
}
