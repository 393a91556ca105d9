//! The steps of a model around cutting and merging, and the symbols of pieces of characters.

use crate::error::{Error, Result, shorten};
use crate::kinds::hf_characters::HfCharacters;
use crate::split::Splitter;
use crate::split::special::AddedToken;
use crate::steps::splitters::Prepend;
use crate::steps::{Line, LocatedStep, NormalizeStep, Spec, SplitStep, normalize, normalizers, splitters};
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;

/// The steps of a model around cutting and merging.
#[derive(Debug, Default)]
pub struct Stages {
    /// The normalizers, which run first.
    pub normalizers: Vec<LocatedStep<NormalizeStep>>,
    /// The splitters, if one of them rewrites the text or leaves a part out; otherwise the encoder's splitter cuts it.
    pub splitters: Vec<LocatedStep<SplitStep>>,
    /// The symbols of pieces of characters; None if each character must have a token.
    pub symbols: Option<HfCharacters>,
}

impl Stages {
    /// Makes the stages of a model's normalizers and splitters, and the splitter of texts that no stage splits.
    ///
    /// # Errors
    /// As [`normalizers()`] and [`Splitter::from_steps`].
    pub fn of_specs(rewriting: &[Spec], cutting: &[Spec], symbols: Option<HfCharacters>) -> Result<(Self, Splitter)> {
        let mut stages = Self { normalizers: normalizers(rewriting)?, splitters: Vec::new(), symbols };
        let mut splitter = Splitter::from_steps(cutting)?;
        if !splitter.only_cuts() {
            stages.splitters = splitters(cutting)?;
            splitter = Splitter::from_steps(&[])?;
        }
        Ok((stages, splitter))
    }

    /// Whether there are no steps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.normalizers.is_empty() && self.splitters.is_empty() && self.symbols.is_none()
    }

    /// The added tokens with the texts that decoding shows. A token of the normalized text shows its normalized
    /// content.
    ///
    /// # Errors
    /// As [`Self::normalize_added`].
    pub fn shown_tokens(&self, added: &[AddedToken]) -> Result<Vec<AddedToken>> {
        let (mut tokens, stop) = (added.to_vec(), Stop::default());
        let bounds = self.content_bounds(added, &stop);
        for token in tokens.iter_mut().filter(|token| token.flags.normalized) {
            let mut line = Line::new(&token.content);
            self.normalize_added(&mut line, &bounds)?;
            token.content = line.text().to_owned();
        }
        Ok(tokens)
    }

    pub(crate) fn needs_origins(&self) -> bool {
        self.splitters.iter().any(|splitter| matches!(**splitter, SplitStep::Metaspace(_, Prepend::First)))
    }

    /// The bounds for the contents of added tokens, taken as one text.
    #[must_use]
    pub fn content_bounds<'s>(&self, added: &[AddedToken], stop: &'s Stop) -> Bounds<'s> {
        Bounds::new(added.iter().map(|token| token.content.len()).sum(), stop)
    }

    /// Normalizes the content of an added token.
    ///
    /// # Errors
    /// [`Error::Model`] if it cannot be normalized within the bounds.
    pub fn normalize_added(&self, line: &mut Line<'_>, bounds: &Bounds<'_>) -> Result<()> {
        let content = shorten(line.text()).into_owned();
        normalize(&self.normalizers, line, bounds).map_err(|error| {
            Error::model(format!("the added token {content:?} cannot be normalized: {}", error.without_offset()), None)
        })
    }

    /// Whether a regex runs, which takes longer than the length of the text suggests.
    #[must_use]
    pub fn uses_regex(&self) -> bool {
        self.normalizers.iter().any(|step| step.uses_regex()) || self.splitters.iter().any(|step| step.uses_regex())
    }
}
