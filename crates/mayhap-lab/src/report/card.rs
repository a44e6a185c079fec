//! A card for one experiment: the result of others and ours, side by side.

use std::fmt::Write as _;

use super::html::prose;
use super::table::Tone;

/// One experiment.
///
/// ```
/// use mayhap_lab::report::{Card, Tone};
///
/// let card = Card {
///     title: "The rate of UUIDs".into(),
///     origin: "post 004".into(),
///     verdict: (Tone::Good, "agrees".into()),
///     facts: vec![("printed", "0.0296".into()), ("here", "0.0299".into())],
///     note: String::new(),
/// };
/// assert!(card.figure().contains("<dt>printed</dt><dd>0.0296</dd>"));
/// ```
pub struct Card {
    /// The title.
    pub title: String,
    /// The origin.
    pub origin: String,
    /// The verdict.
    pub verdict: (Tone, String),
    /// The figures that are compared: a name and a figure each.
    pub facts: Vec<(&'static str, String)>,
    /// A remark.
    pub note: String,
}

impl Card {
    /// Formats the card, as a part of a page.
    pub fn figure(&self) -> String {
        let (tone, verdict) = &self.verdict;
        let mut card = format!(
            r#"<article class="card"><header><h3>{}</h3><p class="origin">{}</p><p class="verdict {}">{}</p></header><dl class="facts">"#,
            prose(&self.title),
            prose(&self.origin),
            tone.class(),
            prose(verdict),
        );
        // A dash means that there is no figure.
        for (name, figure) in self.facts.iter().filter(|fact| fact.1 != "–") {
            write!(
                card,
                "<div><dt>{}</dt><dd>{}</dd></div>",
                prose(name),
                prose(figure)
            )
            .expect("a string takes all");
        }
        card.push_str("</dl>");
        if !self.note.is_empty() {
            write!(
                card,
                r#"<p class="note">{}</p>"#,
                prose(&sentence(&self.note))
            )
            .expect("a string takes all");
        }
        card.push_str("</article>");
        card
    }
}

/// Capitalises the text.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}
