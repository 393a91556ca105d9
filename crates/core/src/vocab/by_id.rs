//! A table by id, whose memory grows with the number of tokens and not with the largest id.
//!
//! A file chooses its ids, and a single id can be as high as a vocabulary allows. An array holds the values of ids
//! below a limit that grows with the number of tokens. A hash table holds the few above it, which no published
//! vocabulary has.

use hashbrown::HashMap;

/// The most values of the array for each token.
const PER_TOKEN: usize = 4;
/// The values of the array in addition.
const FREE: usize = 1 << 16;

/// A value for each id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ById<T> {
    /// The values of the lower ids, including holes.
    near: Box<[T]>,
    far: HashMap<u32, T>,
    size: usize,
}

impl<T> ById<T> {
    /// The same value for each of `ids`, in which an id can occur several times.
    pub fn with_value(ids: impl Iterator<Item = u32> + Clone, value: impl Fn() -> T) -> Self {
        let most = ids.clone().count() * PER_TOKEN + FREE;
        let (mut near, mut size) = (0, 0);
        for end in ids.clone().map(|id| id as usize + 1) {
            near = if end <= most { near.max(end) } else { near };
            size = size.max(end);
        }
        let far = if near == size {
            HashMap::default()
        } else {
            ids.filter(|&id| id as usize >= near).map(|id| (id, value())).collect()
        };
        Self { near: std::iter::repeat_with(value).take(near).collect(), far, size }
    }

    /// The largest id + 1.
    #[inline]
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// The memory of the table in bytes, without memory that its values own.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.near) + self.far.capacity() * size_of::<(u32, T)>()
    }

    /// The value of an id. An id that is not in the table has no value, or the initial value.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, id: u32) -> Option<&T> {
        match self.near.get(id as usize) {
            Some(value) => Some(value),
            None => self.far(id),
        }
    }

    /// The value of an id, to change it.
    #[inline(always)]
    pub fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        match self.near.get_mut(id as usize) {
            Some(value) => Some(value),
            None => self.far.get_mut(&id),
        }
    }

    /// The values of the lower ids by id, which are all in most vocabularies.
    #[inline(always)]
    #[must_use]
    pub fn dense(&self) -> &[T] {
        &self.near
    }

    #[cold]
    fn far(&self, id: u32) -> Option<&T> {
        self.far.get(&id)
    }

    /// All ids below the limit, and those in the table above it, ascending.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        let mut far: Vec<u32> = self.far.keys().copied().collect();
        far.sort_unstable();
        (0..self.near.len() as u32).chain(far)
    }
}

impl<T: Default> ById<T> {
    /// The default value for each of `ids`.
    pub fn new(ids: impl Iterator<Item = u32> + Clone) -> Self {
        Self::with_value(ids, T::default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_id_costs_no_more_than_a_small_one() {
        let mut table = ById::<u64>::new([3, 16_777_215, 0, 3].into_iter());
        assert_eq!((table.dense().len(), table.far.len(), table.size()), (4, 1, 16_777_216));
        for id in [0, 3, 16_777_215] {
            *table.get_mut(id).unwrap() += u64::from(id) + 1;
        }
        assert_eq!([0, 2, 3, 16_777_215].map(|id| *table.get(id).unwrap()), [1, 0, 4, 16_777_216]);
        assert!(table.get(16_777_214).is_none() && table.get(u32::MAX).is_none() && table.get_mut(4).is_none());
        assert_eq!(table.ids().collect::<Vec<_>>(), [0, 1, 2, 3, 16_777_215]);
    }

    #[test]
    fn the_array_grows_with_the_number_of_tokens() {
        for (count, near) in [(1_000, FREE + 4_000), (20_000, 100_000)] {
            let table = ById::<u8>::new((0..count - 1).chain([near as u32 - 1]));
            assert_eq!((table.dense().len(), table.far.len()), (near, 0));
        }
        let table = ById::<u8>::new((0..999).chain([FREE as u32 + 4_000]));
        assert_eq!((table.dense().len(), table.far.len(), table.size()), (999, 1, FREE + 4_001));
        assert_eq!(ById::<u8>::new(std::iter::empty()).size(), 0);
    }
}
