//! The specification of a step: its kind, and options by name. A row of a step table takes the options that it knows. A
//! remaining option is an error.

use serde::Deserialize;

use crate::error::{Error, Result};

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A text.
    Text(String),
    /// True or false.
    Flag(bool),
    /// A number.
    Number(i64),
    /// No value.
    Nothing,
}

/// A step in a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The name of its row.
    pub kind: String,
    /// Its options by name.
    pub options: Vec<(String, Value)>,
}

/// A row of a table of steps: the name of a kind, and the function that makes its steps.
pub type StepRow<T> = (&'static str, fn(&mut StepOptions<'_>) -> Result<Vec<T>>);

/// The options of a step that are not taken yet.
#[derive(Debug)]
pub struct StepOptions<'s> {
    place: &'static str,
    spec: &'s Spec,
    remaining: Vec<&'s (String, Value)>,
}

impl<'s> StepOptions<'s> {
    pub(crate) fn new(place: &'static str, spec: &'s Spec) -> Self {
        Self { place, spec, remaining: spec.options.iter().collect() }
    }

    /// Makes an error that names this step.
    pub(crate) fn error(&self, problem: &str) -> Error {
        Error::model(format!("the step {:?} in {} {problem}", self.spec.kind, self.place), None)
    }

    fn take(&mut self, name: &str) -> Result<&'s Value> {
        let place = self.remaining.iter().position(|(other, _)| other == name);
        place
            .map(|place| &self.remaining.remove(place).1)
            .ok_or_else(|| self.error(&format!("lacks the option {name:?}")))
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<&'s str> {
        match self.take(name)? {
            Value::Text(text) => Ok(text),
            _ => Err(self.error(&format!("needs a text as the option {name:?}"))),
        }
    }

    /// Takes an option whose text `from_name` knows.
    pub(crate) fn choice<T>(&mut self, name: &str, from_name: fn(&str) -> Option<T>) -> Result<T> {
        let value = self.text(name)?;
        from_name(value).ok_or_else(|| self.error(&format!("has the unknown value {value:?} as the option {name:?}")))
    }

    pub(crate) fn char(&mut self, name: &str) -> Result<char> {
        let mut chars = self.text(name)?.chars();
        match (chars.next(), chars.next()) {
            (Some(char), None) => Ok(char),
            _ => Err(self.error(&format!("needs one character as the option {name:?}"))),
        }
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<bool> {
        self.flag_or_nothing(name)?.ok_or_else(|| self.error(&format!("needs true or false as the option {name:?}")))
    }

    /// Takes an option that is true, false or null.
    pub(crate) fn flag_or_nothing(&mut self, name: &str) -> Result<Option<bool>> {
        match self.take(name)? {
            Value::Flag(flag) => Ok(Some(*flag)),
            Value::Nothing => Ok(None),
            _ => Err(self.error(&format!("needs true, false or null as the option {name:?}"))),
        }
    }

    pub(crate) fn count(&mut self, name: &str) -> Result<usize> {
        match self.take(name)? {
            Value::Number(number) => {
                let count = u32::try_from(*number).ok().map(|count| count as usize);
                count.ok_or_else(|| self.error(&format!("needs a count below 2^32 as the option {name:?}")))
            }
            _ => Err(self.error(&format!("needs a count as the option {name:?}"))),
        }
    }

    /// Checks that no option is left.
    pub(crate) fn finish(self) -> Result<()> {
        match self.remaining.first() {
            Some((name, _)) => Err(self.error(&format!("has no option {name:?}"))),
            None => Ok(()),
        }
    }
}
