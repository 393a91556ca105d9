//! The specification of a step: its kind, and options by name. A row of a table of steps takes the options that it knows.
//! An option that is left over is an error.

use crate::error::{Error, Result};

/// The value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(String),
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(i64),
    /// Not given.
    Nothing,
}

/// A step as a model holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The name of its row.
    pub kind: String,
    /// Its options by name.
    pub options: Vec<(String, Value)>,
}

/// The options of a step that are not taken yet.
#[derive(Debug)]
pub struct StepOptions<'s> {
    place: &'static str,
    spec: &'s Spec,
    left: Vec<&'s (String, Value)>,
}

impl<'s> StepOptions<'s> {
    pub(super) fn new(place: &'static str, spec: &'s Spec) -> Self {
        Self { place, spec, left: spec.options.iter().collect() }
    }

    /// The error of this step.
    pub(super) fn wrong(&self, problem: &str) -> Error {
        Error::model(format!("the step {:?} in {} {problem}", self.spec.kind, self.place), None)
    }

    fn take(&mut self, name: &str) -> Result<&'s Value> {
        let place = self.left.iter().position(|(other, _)| other == name);
        place.map(|place| &self.left.remove(place).1).ok_or_else(|| self.wrong(&format!("lacks the option {name:?}")))
    }

    /// An option that is a text.
    pub(super) fn text(&mut self, name: &str) -> Result<&'s str> {
        match self.take(name)? {
            Value::Text(text) => Ok(text),
            _ => Err(self.wrong(&format!("needs a text as the option {name:?}"))),
        }
    }

    /// An option that is one character.
    pub(super) fn char(&mut self, name: &str) -> Result<char> {
        let mut chars = self.text(name)?.chars();
        match (chars.next(), chars.next()) {
            (Some(char), None) => Ok(char),
            _ => Err(self.wrong(&format!("needs one character as the option {name:?}"))),
        }
    }

    /// An option that is yes or no.
    pub(super) fn flag(&mut self, name: &str) -> Result<bool> {
        self.flag_or_nothing(name)?.ok_or_else(|| self.wrong(&format!("needs true or false as the option {name:?}")))
    }

    /// An option that is yes, no, or left open.
    pub(super) fn flag_or_nothing(&mut self, name: &str) -> Result<Option<bool>> {
        match self.take(name)? {
            Value::Flag(flag) => Ok(Some(*flag)),
            Value::Nothing => Ok(None),
            _ => Err(self.wrong(&format!("needs true, false or null as the option {name:?}"))),
        }
    }

    /// An option that is a count.
    pub(super) fn count(&mut self, name: &str) -> Result<usize> {
        match self.take(name)? {
            Value::Number(number) => {
                let count = u32::try_from(*number).ok().map(|count| count as usize);
                count.ok_or_else(|| self.wrong(&format!("needs a count below 2^32 as the option {name:?}")))
            }
            _ => Err(self.wrong(&format!("needs a count as the option {name:?}"))),
        }
    }

    /// Ends the reading: no option may be left.
    pub(super) fn finish(self) -> Result<()> {
        match self.left.first() {
            Some((name, _)) => Err(self.wrong(&format!("has no option {name:?}"))),
            None => Ok(()),
        }
    }
}
