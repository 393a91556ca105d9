//! What a model does to a text besides cutting and merging: its steps, and what pieces of characters consist of.

use crate::error::{Error, Result, shortened};
use crate::kinds::hf_characters::HfCharacters;
use crate::split::special::AddedToken;
use crate::steps::splitters::Prepend;
use crate::steps::{Line, NormalizeStep, Placed, SplitStep, normalize};
use crate::text::bounds::Bounds;
use crate::threads::parallel::Stop;

/// What is done to a text besides cutting and merging.
#[derive(Debug, Default)]
pub struct Stages {
    /// The steps that come first.
    pub normalizers: Vec<Placed<NormalizeStep>>,
    /// The steps that cut the text, if one of them rewrites it or leaves a part out; otherwise the encoder's own splitter
    /// cuts it.
    pub splitters: Vec<Placed<SplitStep>>,
    /// What pieces of characters are made of; None where each character must have a token.
    pub symbols: Option<HfCharacters>,
}

impl Stages {
    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.normalizers.is_empty() && self.splitters.is_empty() && self.symbols.is_none()
    }

    /// The added tokens with the texts that decoding shows. A token that is found in the normalized text shows its normalized
    /// content.
    ///
    /// # Errors
    /// Those of [`Self::normalize_added`].
    pub fn shown(&self, added: &[AddedToken]) -> Result<Vec<AddedToken>> {
        let (mut shown, stop) = (added.to_vec(), Stop::default());
        let bounds = self.bounds_of(added, &stop);
        for token in shown.iter_mut().filter(|token| token.flags.normalized) {
            let mut line = Line::new(&token.content);
            self.normalize_added(&mut line, &bounds)?;
            token.content = line.text().to_owned();
        }
        Ok(shown)
    }

    /// Whether a step asks for origins.
    pub(crate) fn ask_for_origins(&self) -> bool {
        self.splitters.iter().any(|splitter| matches!(**splitter, SplitStep::Metaspace(_, Prepend::First)))
    }

    /// The bounds of the contents of added tokens, which are one text.
    #[must_use]
    pub fn bounds_of<'s>(&self, added: &[AddedToken], stop: &'s Stop) -> Bounds<'s> {
        Bounds::new(added.iter().map(|token| token.content.len()).sum(), stop)
    }

    /// Normalizes the content of an added token.
    ///
    /// # Errors
    /// [`Error::Model`] for one that cannot be normalized within the bounds.
    pub fn normalize_added(&self, line: &mut Line<'_>, bounds: &Bounds<'_>) -> Result<()> {
        let content = shortened(line.text()).into_owned();
        normalize(&self.normalizers, line, bounds).map_err(|error| {
            Error::model(format!("the added token {content:?} cannot be normalized: {}", error.unplaced()), None)
        })
    }

    /// Whether it searches with a regex, which takes longer than the length of the text suggests.
    #[must_use]
    pub fn searches(&self) -> bool {
        self.normalizers.iter().any(|step| step.searches()) || self.splitters.iter().any(|step| step.searches())
    }
}
