//! `Stages`: the steps of a model, in Python's types until the engine is made.

use pyo3::prelude::*;
use toksmith_core::Result;
use toksmith_core::encode::stages::Stages as CoreStages;
use toksmith_core::kinds::hf_characters::HfCharacters;
use toksmith_core::split::Splitter;
use toksmith_core::split::special::AddedTokenFlags;
use toksmith_core::steps::{DecoderChain, Spec, Value, decoders};

#[derive(FromPyObject)]
enum OptionValue {
    Flag(bool),
    Number(i64),
    Text(String),
}

type Step = (String, Vec<(String, Option<OptionValue>)>);

/// The steps by field; the flags of added tokens by content: `lstrip`, `rstrip`, `single_word`, `normalized`.
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
    /// Prefix, suffix, the unknown id, and whether unknown characters are fused, fall back to bytes, and are left out.
    #[pyo3(item)]
    symbols: Option<(String, String, Option<u32>, bool, bool, bool)>,
}

impl Stages {
    pub fn flags_of(&self, content: &str) -> AddedTokenFlags {
        let (lstrip, rstrip, single_word, normalized) = self.flags.get(content).copied().unwrap_or_default();
        AddedTokenFlags { lstrip, rstrip, single_word, normalized }
    }

    /// The core's parts: stages, the splitter for texts that no stage splits, and the decoders.
    pub fn parts(self) -> Result<(CoreStages, Splitter, Option<DecoderChain>)> {
        let specs = |steps: Vec<Step>| steps.into_iter().map(spec).collect::<Vec<_>>();
        let symbols = self.symbols.map(|symbols| {
            let (prefix, suffix, unknown, fuse_unknown, byte_fallback, drops_unknown) = symbols;
            HfCharacters { prefix, suffix, unknown, fuse_unknown, byte_fallback, drops_unknown }
        });
        let (stages, splitter) = CoreStages::of_specs(&specs(self.normalizers), &specs(self.splitters), symbols)?;
        let chain = specs(self.decoders);
        let chain = if chain.is_empty() { None } else { Some(decoders(&chain)?) };
        Ok((stages, splitter, chain))
    }
}

fn spec((kind, options): Step) -> Spec {
    let value = |value| match value {
        Some(OptionValue::Flag(flag)) => Value::Flag(flag),
        Some(OptionValue::Number(number)) => Value::Number(number),
        Some(OptionValue::Text(text)) => Value::Text(text),
        None => Value::Nothing,
    };
    Spec { kind, options: options.into_iter().map(|(name, option)| (name, value(option))).collect() }
}
