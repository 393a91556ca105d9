//! Searches the best paths through a lattice from its end, most promising first, as `SentencePiece` does.
//!
//! The promise of a path is exact, because the best path to each place is known. Sums have single precision. Among
//! equal promises the order of a binary heap decides: `WaitingPaths` has the order of C++'s standard library. If too
//! many paths wait, the search drops the worst, and finally ends without a result.

use hashbrown::HashSet;

use crate::error::Result;
use crate::threads::parallel::Stop;

/// The paths after which the search ends without a result.
const MOST_PATHS: usize = 500_000;
/// The waiting paths after which the search drops the worst.
const MOST_WAITING: usize = 10_000;
/// The paths that a drop keeps for each requested one.
const KEPT: usize = 10;
/// The most paths that a drop keeps.
const MOST_KEPT: usize = 512;
/// The new paths since the last drop after which the search also drops the worst.
const MOST_SINCE: usize = 100_000;
/// The drops after which the search ends without a result.
const MOST_TIMES: usize = 10;
/// The steps between two checks of the stop flag.
const STEPS_PER_LOOK: usize = 1 << 12;

/// A token that occurs in a text.
#[derive(Debug, Clone, Copy)]
pub struct BestEdge {
    /// Its start in the text.
    pub start: usize,
    /// Its end.
    pub end: usize,
    /// Its score.
    pub score: f32,
}

/// The end of a path through the text: its first token, and the path that follows it.
#[derive(Debug, Clone, Copy)]
struct Path {
    /// None for the place before the text.
    edge: Option<usize>,
    start: usize,
    after: Option<usize>,
    /// The sum of the scores.
    sum: f32,
}

/// Paths by their promise: a binary heap, in which equal ones have the order of C++'s standard library.
#[derive(Debug, Default)]
struct WaitingPaths(Vec<(f32, usize)>);

impl WaitingPaths {
    fn push(&mut self, promise: f32, path: usize) {
        self.0.push((promise, path));
        self.rise(self.0.len() - 1);
    }

    fn pop(&mut self) -> Option<(f32, usize)> {
        let last = self.0.pop()?;
        let Some(&top) = self.0.first() else { return Some(last) };
        let (mut hole, len) = (0, self.0.len());
        // The hole sinks to the bottom, and the last element rises from there.
        while 2 * hole + 2 < len {
            let right = 2 * hole + 2;
            let better = if self.0[right].0 < self.0[right - 1].0 { right - 1 } else { right };
            self.0[hole] = self.0[better];
            hole = better;
        }
        if 2 * hole + 2 == len {
            self.0[hole] = self.0[len - 1];
            hole = len - 1;
        }
        self.0[hole] = last;
        self.rise(hole);
        Some(top)
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.0[(at - 1) / 2].0 < self.0[at].0 {
            self.0.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }
}

/// The tokens of a path through a text, by number, and the sum of their scores.
pub type BestPath = (Vec<usize>, f32);

#[derive(Debug)]
struct PathSearch<'e> {
    edges: &'e [BestEdge],
    /// By place: the starts of the edges that end there.
    ends: Vec<usize>,
    /// By edge: the highest sum of a path that ends with it.
    promises: Vec<f32>,
    paths: Vec<Path>,
    waiting: WaitingPaths,
}

impl PathSearch<'_> {
    /// Extends a path by each token that can come before it.
    fn extend_path(&mut self, number: usize) {
        let Path { start, sum, .. } = self.paths[number];
        if start == 0 {
            self.waiting.push(sum, self.paths.len());
            self.paths.push(Path { edge: None, start: 0, after: Some(number), sum });
        }
        for edge in self.ends[start]..self.ends[start + 1] {
            self.waiting.push(self.promises[edge] + sum, self.paths.len());
            let BestEdge { start, score, .. } = self.edges[edge];
            self.paths.push(Path { edge: Some(edge), start, after: Some(number), sum: score + sum });
        }
    }

    /// The tokens of a path that begins with the text.
    fn tokens(&self, number: usize) -> Vec<usize> {
        let (mut tokens, mut at) = (Vec::new(), Some(number));
        while let Some(path) = at.map(|at| self.paths[at]) {
            tokens.extend(path.edge);
            at = path.after;
        }
        tokens
    }

    /// Keeps the best `kept` waiting paths, and returns the number of paths that these consist of.
    fn drop_worst(&mut self, kept: usize) -> usize {
        let (mut shorter, mut parts) = (WaitingPaths::default(), HashSet::new());
        for _ in 0..kept {
            let Some((promise, path)) = self.waiting.pop() else { break };
            shorter.push(promise, path);
            let mut at = Some(path);
            while let Some(part) = at.filter(|&part| parts.insert(part)) {
                at = self.paths[part].after;
            }
        }
        self.waiting = shorter;
        parts.len()
    }
}

/// Returns at most `most` paths through a text of `len` bytes, the best first. `edges` are the tokens in the order of
/// their ends, then of their starts. None if the search gives up.
///
/// # Errors
/// [`crate::Error::Interrupted`].
pub fn best_paths(edges: &[BestEdge], len: usize, most: usize, stop: &Stop) -> Result<Option<Vec<BestPath>>> {
    let ends = edges_by_end(edges, len);
    let (promises, best) = best_sums(edges, &ends, len);
    let paths = vec![Path { edge: None, start: len, after: None, sum: 0.0 }];
    let mut search = PathSearch { edges, ends, promises, paths, waiting: WaitingPaths::default() };
    search.waiting.push(best, 0);
    let kept = MOST_KEPT.min(most.saturating_mul(KEPT));
    let (mut results, mut since, mut limit, mut times) = (Vec::new(), 1, MOST_SINCE, 0);
    for step in 1usize.. {
        let Some((promise, number)) = search.waiting.pop() else { break };
        if step % STEPS_PER_LOOK == 0 {
            stop.check()?;
        }
        if number > 0 && search.paths[number].edge.is_none() {
            results.push((search.tokens(number), promise));
            if results.len() == most {
                break;
            }
            continue;
        }
        let before = search.paths.len();
        search.extend_path(number);
        since += search.paths.len() - before;
        let waiting = search.waiting.0.len();
        let shortened = waiting >= MOST_WAITING || (waiting > kept && since >= limit);
        times += usize::from(shortened);
        if search.paths.len() >= MOST_PATHS || times > MOST_TIMES {
            return Ok(None);
        }
        if shortened {
            since = search.drop_worst(kept);
            limit = since + MOST_SINCE;
        }
    }
    Ok(Some(results))
}

/// By place: the starts of the edges that end there.
fn edges_by_end(edges: &[BestEdge], len: usize) -> Vec<usize> {
    let mut ends = Vec::with_capacity(len + 2);
    let mut at = 0;
    for place in 0..=len {
        ends.push(at);
        at += edges[at..].iter().take_while(|edge| edge.end == place).count();
    }
    ends.push(at);
    ends
}

/// By edge, the highest sum of a path that ends with it; and the highest sum of a path through the text.
fn best_sums(edges: &[BestEdge], ends: &[usize], len: usize) -> (Vec<f32>, f32) {
    let (mut sums, mut best) = (vec![0.0f32; edges.len()], vec![0.0f32; len + 1]);
    for place in 1..=len {
        let edges_here = ends[place]..ends[place + 1];
        for edge in edges_here.clone() {
            sums[edge] = best[edges[edge].start] + edges[edge].score;
        }
        if !edges_here.is_empty() {
            best[place] = sums[edges_here].iter().copied().fold(f32::NEG_INFINITY, f32::max);
        }
    }
    (sums, best[len])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_paths_come_first_and_a_wide_search_gives_up() {
        let edge = |start, end, score| BestEdge { start, end, score };
        let edges = [edge(0, 1, -1.0), edge(0, 2, -1.5), edge(1, 2, -1.0)];
        let found = best_paths(&edges, 2, 9, &Stop::default()).unwrap().unwrap();
        assert_eq!(found, [(vec![1], -1.5), (vec![0, 2], -2.0)]);
        let wide: Vec<_> = (1..=400usize)
            .flat_map(|end| (end.saturating_sub(2)..end).map(move |start| edge(start, end, -1.0)))
            .collect();
        assert_eq!(best_paths(&wide, 400, 1 << 20, &Stop::default()).unwrap(), None);
        let stop = Stop::default();
        stop.raise();
        assert!(best_paths(&wide, 400, 1 << 20, &stop).is_err());
    }
}
