//! Puts special ids around the ids of each text: the tokens that begin and end documents.

/// The ids around a text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Template<'a> {
    /// The id before the first of each text.
    pub first: Option<u32>,
    /// The id after the last of each text.
    pub last: Option<u32>,
    /// The texts that get the ids; None for all.
    pub which: Option<&'a [bool]>,
}

impl Template<'_> {
    /// Returns the ids of the texts, which end at `ends`, with the ids around them, and the new ends. Ids after the
    /// last end belong to an unfinished text and stay.
    ///
    /// # Panics
    /// `ends` do not ascend within the ids, or `which` is shorter than `ends`.
    #[must_use]
    pub fn apply(&self, ids: &[u32], ends: &[u64]) -> (Vec<u32>, Vec<u64>) {
        let added = usize::from(self.first.is_some()) + usize::from(self.last.is_some());
        let mut longer = Vec::with_capacity(ids.len() + added * ends.len());
        let mut new_ends = Vec::with_capacity(ends.len());
        let mut start = 0;
        for (text, &end) in ends.iter().enumerate() {
            let (selected, end) = (self.which.is_none_or(|which| which[text]), end as usize);
            longer.extend(self.first.filter(|_| selected));
            longer.extend_from_slice(&ids[start..end]);
            longer.extend(self.last.filter(|_| selected));
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
    fn ids_are_added_around_texts() {
        let (ids, ends) = ([1, 2, 3, 4], [2, 2, 3]);
        let both = Template { first: Some(8), last: Some(9), which: None };
        assert_eq!(both.apply(&ids, &ends), (vec![8, 1, 2, 9, 8, 9, 8, 3, 9, 4], vec![4, 6, 9]));
        let last = Template { first: None, ..both };
        assert_eq!(last.apply(&ids, &ends), (vec![1, 2, 9, 9, 3, 9, 4], vec![3, 4, 6]));
        let some = Template { which: Some(&[true, false, false]), ..both };
        assert_eq!(some.apply(&ids, &ends), (vec![8, 1, 2, 9, 3, 4], vec![4, 4, 5]));
        assert_eq!(Template::default().apply(&ids, &ends), (ids.to_vec(), ends.to_vec()));
        assert_eq!(both.apply(&[], &[]), (vec![], vec![]));
    }
}
