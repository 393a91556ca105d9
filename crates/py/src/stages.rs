//! `Stages`: the steps of a model, in Python's types until the engine is made.

use pyo3::prelude::*;
use toksmith_core::Result;
use toksmith_core::encode::stages::Stages as CoreStages;
use toksmith_core::kinds::hf_characters::HfCharacters;
use toksmith_core::split::Splitter;
use toksmith_core::split::special::Flags;
use toksmith_core::steps::{Chain, Spec, Value, decoders, normalizers, splitters};

/// The value of an option.
#[derive(FromPyObject)]
enum Given {
    Flag(bool),
    Number(i64),
    Text(String),
}

type Step = (String, Vec<(String, Option<Given>)>);

/// The steps by field; flags of added tokens by content: `lstrip`, `rstrip`, `single_word`, `normalized`.
#[derive(FromPyObject)]
pub struct Stages {
    #[pyo3(item)]
    normalizers: Vec<Step>,
    #[pyo3(item)]
    splitters: Vec<Step>,
    #[pyo3(item)]
    decoders: Vec<Step>,
    #[pyo3(item)]
    pub flags: std::collections::HashMap<String, (bool, bool, bool, bool)>,
    /// Prefix, suffix, the unknown id, whether unknown characters are joined, fall back to bytes, and are left out.
    #[pyo3(item)]
    symbols: Option<(String, String, Option<u32>, bool, bool, bool)>,
}

impl Stages {
    /// The flags of an added token.
    pub fn flags_of(&self, content: &str) -> Flags {
        let (lstrip, rstrip, single_word, normalized) = self.flags.get(content).copied().unwrap_or_default();
        Flags { lstrip, rstrip, single_word, normalized }
    }

    /// What the core is made of: stages, what cuts texts where no stage does, and what makes texts of tokens.
    pub fn parts(self) -> Result<(CoreStages, Splitter, Option<Chain>)> {
        let specs = |steps: Vec<Step>| steps.into_iter().map(spec).collect::<Vec<_>>();
        let cuts = specs(self.splitters);
        let mut stages = CoreStages { normalizers: normalizers(&specs(self.normalizers))?, ..CoreStages::default() };
        let mut splitter = Splitter::of_steps(&cuts)?;
        if !splitter.only_cuts() {
            stages.splitters = splitters(&cuts)?;
            splitter = Splitter::of_steps(&[])?;
        }
        stages.symbols = self.symbols.map(|symbols| {
            let (prefix, suffix, unknown, fuse_unknown, byte_fallback, drops_unknown) = symbols;
            HfCharacters { prefix, suffix, unknown, fuse_unknown, byte_fallback, drops_unknown }
        });
        let chain = specs(self.decoders);
        let chain = if chain.is_empty() { None } else { Some(decoders(&chain)?) };
        Ok((stages, splitter, chain))
    }
}

fn spec((kind, options): Step) -> Spec {
    let value = |value| match value {
        Some(Given::Flag(flag)) => Value::Flag(flag),
        Some(Given::Number(number)) => Value::Number(number),
        Some(Given::Text(text)) => Value::Text(text),
        None => Value::Nothing,
    };
    Spec { kind, options: options.into_iter().map(|(name, option)| (name, value(option))).collect() }
}
