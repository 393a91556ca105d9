//! Finds changes of script in a text, by the tables of HF tokenizers.

use super::script_table::RUNS;

/// The number of a character's script; 0 for a character that fits any script.
fn script_of(char: char) -> u8 {
    let next = RUNS.partition_point(|&(first, _)| first <= u32::from(char));
    RUNS[next - 1].1
}

/// The starts of stretches of one script. The text before the first start is in none.
pub fn script_starts(text: &str) -> Vec<usize> {
    let mut last = 0;
    let mut starts = Vec::new();
    for (at, char) in text.char_indices() {
        let script = script_of(char);
        if script != 0 {
            if script != last {
                starts.push(at);
            }
            last = script;
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_fit_any_script() {
        assert!(RUNS.is_sorted_by_key(|&(first, _)| first) && RUNS[0].0 == 0);
        assert_eq!(script_starts(" ab cдe"), [1, 5, 7]);
        assert_eq!(script_starts("日ーかカ"), [0]);
        assert!(script_starts("  ").is_empty());
    }
}
