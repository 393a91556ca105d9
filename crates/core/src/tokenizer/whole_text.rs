//! Models whose texts are whole pieces of characters, as `SentencePiece`'s are: one step before merging and one after it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::{Error, Result};
use crate::kinds::sentencepiece::normalize::{AddedSpace, Normalizer};
use crate::kinds::sentencepiece::shown_texts::{ShownTexts, Strip};
use crate::kinds::sentencepiece::{CharEngine, CharEngineOptions, CharRule};
use crate::split::special::{AddedToken, AddedTokenFlags};
use crate::steps::Spec;
use crate::steps::charsmap::Charsmap;
use crate::steps::options::StepOptions;
use crate::vocab::Vocab;

/// The kinds of steps.
pub const SENTENCEPIECE: &str = "sentencepiece";
/// The step after decoding.
pub const DENORMALIZER: &str = "denormalizer";

/// What encodes texts and shows tokens.
#[derive(Debug)]
pub struct WholeText {
    /// The engine.
    pub engine: CharEngine,
    /// The shown texts of tokens, if they differ from the bytes.
    pub shown: Option<ShownTexts>,
}

/// The parts of a model that its engine needs.
#[derive(Debug)]
pub struct WholeTextModel<'m> {
    /// The tokens.
    pub vocab: &'m Vocab,
    /// The score of each.
    pub scores: Option<&'m [f64]>,
    /// The way a text becomes tokens.
    pub rule: CharRule,
    /// The ids of tokens that no text becomes.
    pub unused: &'m [u32],
    /// Whether a character without a token becomes its bytes.
    pub byte_fallback: bool,
    /// The id of other characters without a token.
    pub unknown: Option<u32>,
}

impl WholeTextModel<'_> {
    /// Makes the engine of a model's steps and added tokens. Those with the flag `normalized` are symbols of the engine.
    ///
    /// # Errors
    /// [`Error::Model`] for a step or a flag of an added token that this engine does not have, and as [`CharEngine::new`].
    pub fn engine(&self, normalizers: &[Spec], decoders: &[Spec], added: &[AddedToken]) -> Result<WholeText> {
        let is_ascending = self.unused.is_sorted_by(|left, right| left < right);
        if !is_ascending || self.unused.iter().any(|&id| self.vocab.token(id).is_none()) {
            return Err(Error::model("unused_ids must be ids of tokens, ascending", None));
        }
        let normalizer = match normalizers {
            [] => Normalizer { charsmap: None, dummy: AddedSpace::Nowhere, remove_extra: false, escape: false },
            [step] if step.kind == SENTENCEPIECE => rewriting("normalizers", step)?,
            [.., step] => return Err(refuse_step("normalizers", step)),
        };
        let (first, last) = match decoders {
            [] => (None, None),
            [step] if step.kind == DENORMALIZER => (None, Some(step)),
            [step] => (Some(step), None),
            [first, last] if last.kind == DENORMALIZER => (Some(first), Some(last)),
            [.., step] => return Err(refuse_step("decoders", step)),
        };
        let symbol = AddedTokenFlags { normalized: true, ..AddedTokenFlags::default() };
        let (symbols, others): (Vec<_>, Vec<_>) =
            added.iter().partition(|token| token.flags == symbol && !token.special);
        if let Some(token) = others.iter().find(|token| token.flags != AddedTokenFlags::default()) {
            let problem =
                format!("the added token {:?} has flags that SentencePiece's steps do not have", token.content);
            return Err(Error::model(problem, Some(token.id)));
        }
        let frozen = symbols.into_iter().map(|token| (token.content.clone(), token.id)).collect();
        let &Self { vocab, scores, rule: way, unused, byte_fallback, unknown } = self;
        let options = CharEngineOptions { scores, way, unused, byte_fallback, unknown, frozen, normalizer };
        let denormalizer = last.map(|step| rewriting("decoders", step)).transpose()?;
        let shown = first.map(|step| self.shown(step, added)).transpose()?;
        let shown = shown.map(|shown| shown.with_denormalizer(denormalizer));
        Ok(WholeText { engine: CharEngine::new(vocab, options)?, shown })
    }

    fn shown(&self, step: &Spec, added: &[AddedToken]) -> Result<ShownTexts> {
        if step.kind != SENTENCEPIECE {
            return Err(refuse_step("decoders", step));
        }
        let mut options = StepOptions::new("decoders", step);
        let strip = options.choice("strip", Strip::from_name)?;
        let unknown = options.text("unknown")?;
        options.finish()?;
        Ok(ShownTexts::new(self.vocab, added, self.byte_fallback, self.unknown.map(|id| (id, unknown)), strip))
    }
}

fn refuse_step(field: &'static str, step: &Spec) -> Error {
    StepOptions::new(field, step).error("does not run with SentencePiece's steps")
}

/// The normalizer of a step that rewrites a whole text.
fn rewriting(field: &'static str, step: &Spec) -> Result<Normalizer> {
    let mut options = StepOptions::new(field, step);
    let charsmap = STANDARD.decode(options.text("charsmap")?);
    let charsmap = charsmap.map_err(|_| options.error("has a charsmap that is not base 64"))?;
    let charsmap = (!charsmap.is_empty()).then(|| Charsmap::new(&charsmap)).transpose()?;
    let dummy = options.choice("dummy", AddedSpace::from_name)?;
    let (remove_extra, escape) = (options.flag("remove_extra")?, options.flag("escape")?);
    options.finish()?;
    Ok(Normalizer { charsmap, dummy, remove_extra, escape })
}
