//! The steps of a model around merging: normalizers, splitters and decoders. A model holds them as values ([`Spec`]),
//! and each kind is one row of a table here.
//!
//! Reading order: [`mod@line`], the text that steps rewrite, with optional origins of its bytes; this file; the three
//! tables [`mod@normalizers`], [`mod@splitters`] and [`mod@decoders`]. They use [`options`] of a step, [`find`] for
//! regexes and texts, [`bytes`], [`charsmap`], `scripts` (from `script_table`) and [`located`], a step with its place
//! in the model.
//!
//! Left out: models in which no step rewrites a text, which use the splitters of [`crate::split`]; and the order in
//! which steps run, which [`crate::encode::staged`] has.

pub mod bytes;
pub mod charsmap;
pub mod decoders;
pub mod find;
pub mod line;
pub mod located;
pub mod normalizers;
pub mod options;
mod script_table;
mod scripts;
pub mod splitters;

pub use decoders::DecoderChain;
pub use line::{Line, Origin};
pub use located::LocatedStep;
pub use normalizers::NormalizeStep;
pub use options::{Spec, Value};
pub use splitters::{Joined, Pieces, SplitStep};

use crate::error::Result;
use crate::text::bounds::Bounds;
use options::{StepOptions, StepRow};

/// Makes the steps of `specs` by the rows of a table; `field` is the model's field that holds them.
fn make_steps<T>(field: &'static str, specs: &[Spec], rows: &[StepRow<T>]) -> Result<Vec<LocatedStep<T>>> {
    let mut steps = Vec::new();
    for (place, spec) in specs.iter().enumerate() {
        let mut options = StepOptions::new(field, spec);
        let Some((kind, make)) = rows.iter().find(|(kind, _)| *kind == spec.kind) else {
            return Err(options.error("is not executed yet; the model can be loaded and saved, but not run"));
        };
        steps.extend(make(&mut options)?.into_iter().map(|step| LocatedStep { step, field, place, kind }));
        options.finish()?;
    }
    Ok(steps)
}

/// Makes the normalizers, which rewrite a text before tokens are searched in it.
///
/// # Errors
/// [`crate::Error::Model`] for an unknown step or one that lacks an option, [`crate::Error::Option`] for a regex that
/// does not compile.
pub fn normalizers(specs: &[Spec]) -> Result<Vec<LocatedStep<NormalizeStep>>> {
    make_steps("normalizers", specs, normalizers::ROWS)
}

/// Makes the splitters, which cut a text into pieces.
///
/// # Errors
/// As [`normalizers()`].
pub fn splitters(specs: &[Spec]) -> Result<Vec<LocatedStep<SplitStep>>> {
    make_steps("splitters", specs, splitters::ROWS)
}

/// Makes the decoders, which turn tokens into a text.
///
/// # Errors
/// As [`normalizers()`].
pub fn decoders(specs: &[Spec]) -> Result<DecoderChain> {
    Ok(DecoderChain { decoders: make_steps("decoders", specs, decoders::ROWS)? })
}

/// Normalizes a line.
///
/// # Errors
/// [`crate::Error::Pattern`] if a regex engine gives up, and [`crate::Error::TooLong`].
pub fn normalize(normalizers: &[LocatedStep<NormalizeStep>], line: &mut Line<'_>, bounds: &Bounds<'_>) -> Result<()> {
    normalizers.iter().try_for_each(|normalizer| normalizer.apply(line, bounds))
}

/// Splits a line; the pieces are one after another in one text.
///
/// # Errors
/// As [`normalize`].
pub fn split(splitters: &[LocatedStep<SplitStep>], line: Line<'_>, bounds: &Bounds<'_>) -> Result<Joined> {
    let mut pieces = Pieces::new(line);
    for splitter in splitters {
        pieces.split(splitter, bounds)?;
    }
    Ok(pieces.join())
}
