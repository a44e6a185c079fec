//! One thing that was tried: what others had, and what comes out here, side by side.

use std::fmt::Write as _;

use super::html::prose;
use super::table::Tone;

/// One thing that was tried.
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
    /// What was tried.
    pub title: String,
    /// Where it is from.
    pub origin: String,
    /// What is to be thought of it.
    pub verdict: (Tone, String),
    /// What stands side by side: a name and a figure each.
    pub facts: Vec<(&'static str, String)>,
    /// What there is to be said besides.
    pub note: String,
}

impl Card {
    /// The card, as a part of a page.
    pub fn figure(&self) -> String {
        let (tone, verdict) = &self.verdict;
        let mut card = format!(
            r#"<article class="card"><header><h3>{}</h3><p class="origin">{}</p><p class="verdict {}">{}</p></header><dl class="facts">"#,
            prose(&self.title),
            prose(&self.origin),
            tone.class(),
            prose(verdict),
        );
        // A dash says that there is nothing to say.
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

/// The text, beginning with a capital letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}
