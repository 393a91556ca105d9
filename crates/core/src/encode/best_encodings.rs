//! The best encodings of a text by a unigram model, computed piece by piece.

use crate::encode::encoder::Encoder;
use crate::error::Result;
use crate::split::Text;
use crate::steps::Line;
use crate::steps::line::place_error;
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;

impl Encoder {
    /// Returns at most `most` encodings of a text without added tokens, the best first, with their sums of scores; none
    /// for tokens without scores.
    ///
    /// # Errors
    /// As [`Self::encode`].
    pub fn best_encodings(&self, text: Text<'_>, most: usize, stop: &Stop) -> Result<Vec<(Vec<u32>, f64)>> {
        if let Some(chars) = self.chars() {
            return chars.best_encodings(text, most, &Bounds::new(text.as_bytes().len(), stop));
        }
        let Some(unigram) = self.piece_encoder().unigram() else { return Ok(Vec::new()) };
        let mut ways = vec![(Vec::new(), 0.0)];
        let invalid = matches!(text, Text::Bytes(bytes) if std::str::from_utf8(bytes).is_err());
        let replaced = invalid.then(|| Line::with_replacements(text.as_bytes(), 0, true));
        let origins = replaced.as_ref().and_then(Line::origins);
        let text = replaced.as_ref().map_or(text, |line| Text::Str(line.text()));
        let bounds = Bounds::new(text.as_bytes().len(), stop);
        let done = self.for_each_piece(text, true, &bounds, |piece, own| {
            let next = unigram.best_encodings(piece, most, stop).map_err(|error| place_error(error, own))?;
            let both = |(ids, sum): &(Vec<u32>, f64)| {
                let joined = |(more, own): &(Vec<u32>, f64)| ([&ids[..], more].concat(), sum + own);
                next.iter().map(joined).collect::<Vec<_>>()
            };
            ways = ways.iter().flat_map(both).collect();
            ways.sort_by(|left, right| right.1.total_cmp(&left.1));
            ways.truncate(most);
            Ok(())
        });
        done.map_err(|error| place_error(error, origins)).map(|()| ways)
    }
}
