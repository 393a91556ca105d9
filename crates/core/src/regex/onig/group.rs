//! What a parenthesis of Oniguruma begins.

use super::reader::PatternReader;
use super::shape::RegexShape;

/// The farthest that a look-behind may look, in characters.
const FARTHEST: usize = 255;

impl PatternReader {
    /// A group after its `(`.
    pub fn group(&mut self) -> Option<RegexShape> {
        if !self.take('?') {
            // `(*` calls the program around the engine.
            return if self.peek() == Some('*') { None } else { self.capturing("(") };
        }
        match self.next()? {
            ':' => self.body("(?:").map(RegexShape::grouped),
            '>' => self.body("(?>").map(RegexShape::grouped),
            '=' => self.body("(?=").and_then(ahead),
            '!' => self.forgetting("(?!").and_then(ahead),
            '<' if self.take('=') => self.behind("(?<="),
            '<' if self.take('!') => self.behind("(?<!"),
            '<' => self.named('>'),
            '\'' => self.named('\''),
            _ => {
                self.at -= 1;
                self.options()
            }
        }
    }

    /// The content of a group; takes its `)` too.
    fn body(&mut self, opening: &str) -> Option<RegexShape> {
        let flags = self.flags;
        self.out.push_str(opening);
        let shape = self.alternatives()?;
        self.out.push(')');
        self.flags = flags;
        self.take(')').then_some(shape)
    }

    /// A group that captures.
    fn capturing(&mut self, opening: &str) -> Option<RegexShape> {
        let number = self.groups.len();
        self.groups.push(None);
        let shape = RegexShape { captures: true, ..self.body(opening)?.grouped() };
        self.groups[number] = Some(shape);
        Some(shape)
    }

    /// A group with a name after `(?<` or `(?'`.
    fn named(&mut self, end: char) -> Option<RegexShape> {
        let name = self.name(end)?;
        if self.names.iter().any(|(other, _)| *other == name) {
            return None;
        }
        let opening = format!("(?<{name}>");
        self.names.push((name, self.groups.len()));
        self.capturing(&opening)
    }

    /// A name; takes its end too.
    pub fn name(&mut self, end: char) -> Option<String> {
        let mut name = String::new();
        loop {
            match self.next()? {
                char if char == end && !name.is_empty() => return Some(name),
                char if char.is_ascii_alphabetic() || char == '_' => name.push(char),
                char if char.is_ascii_digit() && !name.is_empty() => name.push(char),
                _ => return None,
            }
        }
    }

    /// A body whose captures nothing after it can refer to.
    fn forgetting(&mut self, opening: &str) -> Option<RegexShape> {
        let before = self.groups.len();
        let shape = self.body(opening)?;
        self.groups[before..].fill(None);
        Some(shape)
    }

    /// A look-behind at one length of text for each branch.
    fn behind(&mut self, opening: &str) -> Option<RegexShape> {
        let shape = self.body(opening)?;
        let is_simple = shape.even && shape.max? <= FARTHEST && !shape.asks && !shape.captures && !shape.is_folded();
        is_simple.then(|| shape.place())
    }

    /// Options, for a group or for what follows in this one, branches included.
    fn options(&mut self) -> Option<RegexShape> {
        let (before, mut flags) = (self.flags, self.flags);
        let mut on = true;
        let first = self.at;
        let alone = loop {
            match self.next()? {
                'i' => flags.fold = on,
                'm' => flags.dot_all = on,
                'x' => flags.extended = on,
                '-' => on = false,
                // `(?)` is not an option.
                ')' if self.at - first > 1 => break true,
                ':' => break false,
                _ => return None,
            }
        };
        self.out.push_str(match (before.fold, flags.fold) {
            (false, true) => "(?i:",
            (true, false) => "(?-i:",
            _ => "(?:",
        });
        self.flags = flags;
        let shape = self.alternatives()?;
        self.flags = before;
        self.out.push(')');
        (alone || self.take(')')).then(|| shape.grouped())
    }
}

/// A look-ahead. If it looks any distance ahead from each place, time is quadratic, and Oniguruma takes fewer steps.
fn ahead(shape: RegexShape) -> Option<RegexShape> {
    shape.max.is_some().then(|| shape.place())
}
