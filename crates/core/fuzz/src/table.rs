//! Parses token tables of files, which anyone can have written.

use toksmith_core::table::{
    dump_number_lines, dump_token_lines, parse_number_lines, parse_tiktoken, parse_token_lines,
};
use toksmith_core::vocab::{MergeRule, Tables, Unit, Vocab};

/// Parses `data` as each kind of table, builds a vocabulary of a well-formed one, and writes and reads it again.
///
/// # Panics
/// If the table differs after that.
pub fn any(data: &[u8]) {
    let [count, columns, data @ ..] = data else { return };
    if let Ok(tokens) = parse_tiktoken(data) {
        let tables = Tables { blob: &tokens.blob, ends: &tokens.ends, ids: &tokens.ids, merges: &[] };
        let _ = Vocab::new(Unit::Byte, MergeRule::Bytes, true, tables);
        let _ = Vocab::new(Unit::Char, MergeRule::Bytes, false, tables);
    }
    let count = usize::from(*count);
    if let Ok((tokens, _)) = parse_token_lines(data, 0, count) {
        let lines = dump_token_lines(&tokens.blob, &tokens.ends, &tokens.ids).expect("what was read can be written");
        assert_eq!(parse_token_lines(&lines, 0, count).expect("what was written can be read").0, tokens);
    }
    let columns = usize::from(columns % 8) + 1;
    if let Ok((table, _)) = parse_number_lines(data, 0, count, columns) {
        let lines = dump_number_lines(&table, columns);
        assert_eq!(parse_number_lines(&lines, 0, count, columns).expect("what was written can be read").0, table);
    }
}
