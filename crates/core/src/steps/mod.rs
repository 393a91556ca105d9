//! The steps of a model beside merging: what normalizes a text, what cuts it into pieces, and what makes tokens a text
//! again. A model holds them as values ([`Spec`]), and each kind is one row of a table here.
//!
//! Reading order: [`mod@line`], the text that steps rewrite, with the origins of its bytes if they are asked for; this
//! file; the three tables [`mod@normalizers`], [`mod@splitters`] and [`mod@decoders`]. They use [`options`] of a step, [`find`] for
//! regexes and texts, [`bytes`], [`charsmap`], `scripts` (from `script_table`) and [`placed`], a step with its place in
//! the model.
//!
//! Left out: models in which no step rewrites a text do not come here: their splitters are those of [`crate::split`].
//! [`crate::encode::staged`] says when the steps run.

pub mod bytes;
pub mod charsmap;
pub mod decoders;
pub mod find;
pub mod line;
pub mod normalizers;
pub mod options;
pub mod placed;
mod script_table;
mod scripts;
pub mod splitters;

pub use decoders::Chain;
pub use line::{Line, Origin};
pub use normalizers::NormalizeStep;
pub use options::{Spec, Value};
pub use placed::Placed;
pub use splitters::{Joined, Pieces, SplitStep};

use crate::error::Result;
use crate::text::bounds::Bounds;
use options::StepOptions;

/// A row of a table of steps: the name of a kind, and what makes the steps of it.
type StepRow<T> = (&'static str, fn(&mut StepOptions<'_>) -> Result<Vec<T>>);

/// The steps that `specs` say, made by the rows of a table; `field` is the one that holds them.
fn made<T>(field: &'static str, specs: &[Spec], rows: &[StepRow<T>]) -> Result<Vec<Placed<T>>> {
    let mut steps = Vec::new();
    for (place, spec) in specs.iter().enumerate() {
        let mut options = StepOptions::new(field, spec);
        let Some((kind, make)) = rows.iter().find(|(kind, _)| *kind == spec.kind) else {
            return Err(options.wrong("is not executed yet; the model can be loaded and saved, but not run"));
        };
        steps.extend(make(&mut options)?.into_iter().map(|step| Placed { step, field, place, kind }));
        options.finish()?;
    }
    Ok(steps)
}

/// What is done to a text before tokens are searched in it.
///
/// # Errors
/// [`crate::Error::Model`] for a step that no row knows or that lacks an option, [`crate::Error::Option`] for a regex that does not
/// compile.
pub fn normalizers(specs: &[Spec]) -> Result<Vec<Placed<NormalizeStep>>> {
    made("normalizers", specs, normalizers::ROWS)
}

/// What cuts a text into pieces.
///
/// # Errors
/// Those of [`normalizers()`].
pub fn splitters(specs: &[Spec]) -> Result<Vec<Placed<SplitStep>>> {
    made("splitters", specs, splitters::ROWS)
}

/// What makes tokens a text again.
///
/// # Errors
/// Those of [`normalizers()`].
pub fn decoders(specs: &[Spec]) -> Result<Chain> {
    Ok(Chain::new(made("decoders", specs, decoders::ROWS)?))
}

/// The normalized line.
///
/// # Errors
/// [`crate::Error::Pattern`] when a regex engine gives up, and [`crate::Error::TooLong`].
pub fn normalize(normalizers: &[Placed<NormalizeStep>], line: &mut Line<'_>, bounds: &Bounds<'_>) -> Result<()> {
    normalizers.iter().try_for_each(|normalizer| normalizer.apply(line, bounds))
}

/// The pieces of a line, one after another in one text.
///
/// # Errors
/// Those of [`normalize`].
pub fn split(splitters: &[Placed<SplitStep>], line: Line<'_>, bounds: &Bounds<'_>) -> Result<Joined> {
    let mut pieces = Pieces::new(line);
    for splitter in splitters {
        pieces.split(splitter, bounds)?;
    }
    Ok(pieces.join())
}
