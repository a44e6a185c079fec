//! Lines and measured points, as SVG.
//!
//! Colours are classes that the page defines, so that one picture works on a light and a dark page. Series
//! differ in colour and in the form of their marks, and a chart has no more of them than there are colours:
//! more series, such as all kinds, are drawn as [`Panels`], one for each.

use std::fmt::Write as _;

use super::axis::{Axis, Scale, Spacing};
use super::html::escape;

/// The size of a chart, and of the room around its field, in its own units.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 396.0;
const LEFT: f64 = 92.0;
const RIGHT: f64 = 38.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 60.0;

/// The number of colours. A chart with more series would use one twice.
pub const COLOURS: usize = 8;

/// A picture of series over two axes.
///
/// ```
/// use mayhap_lab::report::{Axis, Chart, Mark, Series, Spacing, Unit};
///
/// let axis = |label, unit| Axis { label, unit, spacing: Spacing::Linear };
/// let chart = Chart {
///     title: "Rate by load".into(),
///     description: "The rate rises with the load.".into(),
///     x: axis("load", Unit::Rate),
///     y: axis("rate", Unit::Rate),
///     series: vec![Series {
///         name: "blocked".into(),
///         line: vec![(0.5, 0.002), (1.0, 0.01)],
///         marks: vec![Mark { x: 1.0, y: 0.0101, interval: Some((0.0099, 0.0103)), text: "1.01 %".into() }],
///         ..Series::default()
///     }],
/// };
/// assert!(chart.figure("load").starts_with("<svg"));
/// ```
pub struct Chart {
    /// The title.
    pub title: String,
    /// A description for readers who cannot see it.
    pub description: String,
    /// The axis from left to right.
    pub x: Axis,
    /// The axis from bottom to top.
    pub y: Axis,
    /// The series, drawn in order, the last on top.
    pub series: Vec<Series>,
}

/// A series: a line, marks, or both.
#[derive(Default)]
pub struct Series {
    /// The name in the legend; a series without one is not in it.
    pub name: String,
    /// The points of its line, from left to right.
    pub line: Vec<(f64, f64)>,
    /// The range around it: the place along the first axis, and the two ends along the second.
    pub band: Vec<(f64, f64, f64)>,
    /// The measured points.
    pub marks: Vec<Mark>,
    /// Set if it is only for comparison: drawn neutral, and dashed.
    pub is_reference: bool,
}

impl Series {
    /// Makes a dashed line that others are compared with.
    pub fn reference(name: &str, line: Vec<(f64, f64)>) -> Series {
        Series {
            name: name.into(),
            line,
            is_reference: true,
            ..Series::default()
        }
    }
}

/// A measured point.
pub struct Mark {
    /// The place along the first axis.
    pub x: f64,
    /// The place along the second.
    pub y: f64,
    /// Its confidence interval, or its spread.
    pub interval: Option<(f64, f64)>,
    /// The text that is shown when it is pointed at.
    pub text: String,
}

/// The area of the picture in which values lie.
struct Field {
    x: Scale,
    y: Scale,
}

impl Field {
    /// Makes the field that includes everything that these charts draw.
    fn of(charts: &[&Chart]) -> Field {
        let series = || charts.iter().flat_map(|chart| &chart.series);
        let lines = || series().flat_map(|series| &series.line);
        let marks = || series().flat_map(|series| &series.marks);
        let bands = || series().flat_map(|series| &series.band);
        let ends = |mark: &Mark| {
            let (low, high) = mark.interval.unwrap_or((mark.y, mark.y));
            [low, mark.y, high]
        };
        let (x, y) = (&charts[0].x, &charts[0].y);
        // Theory reaches rates that nobody can measure: the measured points decide how far down to show.
        let measured: Vec<f64> = marks().flat_map(ends).collect();
        let least = measured
            .iter()
            .copied()
            .filter(|y| *y > 0.0)
            .fold(f64::MAX, f64::min);
        let shown = |value: f64| match y.spacing {
            Spacing::Log => value.max(least.min(1.0)),
            _ => value,
        };
        let drawn = lines().map(|point| shown(point.1));
        let drawn = drawn.chain(bands().flat_map(|(_, low, high)| [shown(*low), shown(*high)]));
        let across = lines()
            .map(|point| point.0)
            .chain(marks().map(|mark| mark.x));
        Field {
            x: x.scale(across.chain(bands().map(|band| band.0))),
            y: y.scale(measured.iter().copied().chain(drawn)),
        }
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + self.x.place(value) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        TOP + (1.0 - self.y.place(value)) * (HEIGHT - TOP - BOTTOM)
    }
}

impl Chart {
    /// The colour of each series; references have none.
    fn colours(&self) -> impl Iterator<Item = Option<usize>> {
        let mut next = 0;
        self.series.iter().map(move |series| {
            let colour = (!series.is_reference).then_some(next);
            next += usize::from(!series.is_reference);
            colour
        })
    }

    /// Returns whether no series has a point or a line; references do not count.
    pub(super) fn is_empty(&self) -> bool {
        let mut own = self.series.iter().filter(|series| !series.is_reference);
        own.all(|series| series.line.is_empty() && series.marks.is_empty())
    }

    /// Draws the picture, with a legend in words. `id` is unique on the page.
    ///
    /// # Panics
    ///
    /// When there are more series than [`COLOURS`], references aside.
    pub fn figure(&self, id: &str) -> String {
        let mut figure = self.picture(id, &Field::of(&[self]));
        figure.push_str(&self.legend());
        figure
    }

    /// Draws the picture alone, in a field that others may share.
    fn picture(&self, id: &str, field: &Field) -> String {
        let coloured = self.series.iter().filter(|series| !series.is_reference);
        assert!(
            coloured.count() <= COLOURS,
            "{}: too many series",
            self.title
        );
        let mut svg = format!(
            r#"<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="group" aria-labelledby="{id}-title" aria-describedby="{id}-text"><title id="{id}-title">{}</title><desc id="{id}-text">{}</desc>"#,
            escape(&self.title),
            escape(&self.description),
        );
        self.draw_axes(field, &mut svg);
        for (series, colour) in self.series.iter().zip(self.colours()) {
            series.draw(field, colour, &mut svg);
        }
        svg.push_str("</svg>");
        svg
    }

    fn draw_axes(&self, field: &Field, svg: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for tick in &field.y.ticks {
            let y = field.y(*tick);
            let text = field.y.show(*tick);
            push(
                svg,
                format_args!(
                    r#"<path class="grid" d="M{LEFT} {y:.1}H{right}"/><text class="tick" x="{:.1}" y="{:.1}" text-anchor="end">{text}</text>"#,
                    LEFT - 8.0,
                    y + 4.5
                ),
            );
        }
        // In a panel a digit is twelve units wide: labels that would touch are left out.
        let ticks = &field.x.ticks;
        let longest = ticks
            .iter()
            .map(|tick| field.x.show(*tick).chars().count())
            .max();
        let room = (right - LEFT) / ticks.len().saturating_sub(1).max(1) as f64;
        let every = ((longest.unwrap_or(0) as f64 + 1.0) * 12.0 / room)
            .ceil()
            .max(1.0) as usize;
        for (i, tick) in ticks.iter().enumerate() {
            let x = field.x(*tick);
            let text = match i % every {
                0 => field.x.show(*tick),
                _ => String::new(),
            };
            // A long number at the right end would be cut off.
            let (at, anchor) = match x > right - 1.0 && text.len() > 6 {
                true => (WIDTH - 2.0, "end"),
                false => (x, "middle"),
            };
            push(
                svg,
                format_args!(
                    r#"<path class="grid" d="M{x:.1} {TOP}V{bottom}"/><text class="tick" x="{at:.1}" y="{:.1}" text-anchor="{anchor}">{text}</text>"#,
                    // Below the lowest label of the other axis, which extends to here.
                    bottom + 26.0
                ),
            );
        }
        push(
            svg,
            format_args!(
                r#"<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/><text class="label" x="{:.1}" y="{:.1}" text-anchor="middle">{}</text><text class="label" x="4" y="17">{}</text>"#,
                (LEFT + right) / 2.0,
                HEIGHT - 9.0,
                escape(self.x.label),
                escape(self.y.label)
            ),
        );
    }

    fn legend(&self) -> String {
        let mut list = String::from(r#"<ul class="legend">"#);
        let named = self
            .series
            .iter()
            .zip(self.colours())
            .filter(|(series, _)| !series.name.is_empty());
        for (series, colour) in named {
            let mut swatch = String::new();
            if !series.band.is_empty() {
                push(
                    &mut swatch,
                    format_args!(
                        r#"<path class="band {}" d="M1 3H27V13H1z"/>"#,
                        class(colour)
                    ),
                );
            }
            if !series.line.is_empty() {
                push(
                    &mut swatch,
                    format_args!(r#"<path class="line {}" d="M1 8H27"/>"#, class(colour)),
                );
            }
            if !series.marks.is_empty() {
                push(
                    &mut swatch,
                    format_args!(
                        r#"<path class="mark {}" d="{}"/>"#,
                        class(colour),
                        form(colour, 14.0, 8.0)
                    ),
                );
            }
            push(
                &mut list,
                format_args!(
                    r#"<li><svg class="swatch" viewBox="0 0 28 16" aria-hidden="true">{swatch}</svg>{}</li>"#,
                    escape(&series.name)
                ),
            );
        }
        list.push_str("</ul>");
        list
    }
}

impl Series {
    fn draw(&self, field: &Field, colour: Option<usize>, svg: &mut String) {
        let class = class(colour);
        if !self.band.is_empty() {
            let upper = self.band.iter().map(|(x, _, high)| (x, high));
            let lower = self.band.iter().rev().map(|(x, low, _)| (x, low));
            let points = upper
                .chain(lower)
                .map(|(x, y)| format!("{:.1} {:.1}", field.x(*x), field.y(*y)));
            let path = points.collect::<Vec<String>>().join("L");
            push(
                svg,
                format_args!(r#"<path class="band {class}" d="M{path}z"/>"#),
            );
        }
        if !self.line.is_empty() {
            let mut path = String::new();
            let has = |i: usize| self.line.get(i).is_some_and(|point| field.y.has(point.1));
            for (i, (x, y)) in self.line.iter().enumerate() {
                // One point past the edge leads the line to it; further points are left out.
                let leads = has(i + 1) || i > 0 && has(i - 1);
                if !has(i) && !leads {
                    continue;
                }
                let command = if path.is_empty() { 'M' } else { 'L' };
                push(
                    &mut path,
                    format_args!("{command}{:.1} {:.1}", field.x(*x), field.y(*y)),
                );
            }
            push(
                svg,
                format_args!(r#"<path class="line {class}" d="{path}"/>"#),
            );
        }
        for mark in &self.marks {
            let (x, y) = (field.x(mark.x), field.y(mark.y));
            push(
                svg,
                format_args!(
                    r#"<g class="point" role="img" aria-label="{0}"><title>{0}</title>"#,
                    escape(&mark.text)
                ),
            );
            if let Some((low, high)) = mark.interval {
                let (low, high) = (field.y(low), field.y(high));
                push(
                    svg,
                    format_args!(
                        r#"<path class="bar {class}" d="M{x:.1} {low:.1}V{high:.1}M{:.1} {low:.1}h6M{:.1} {high:.1}h6"/>"#,
                        x - 3.0,
                        x - 3.0
                    ),
                );
            }
            push(
                svg,
                format_args!(
                    r#"<path class="mark {class}" d="{}"/></g>"#,
                    form(colour, x, y)
                ),
            );
        }
    }
}

fn class(colour: Option<usize>) -> String {
    colour.map_or_else(|| "reference".into(), |colour| format!("c{colour}"))
}

/// The outline of a mark at a place.
fn form(colour: Option<usize>, x: f64, y: f64) -> String {
    let outline = match colour.unwrap_or(0) % 5 {
        0 => "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
        1 => "m-4 -4h8v8h-8z",
        2 => "m0 -5.5l5 9h-10z",
        3 => "m0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
        _ => "m0 5.5l5 -9h-10z",
    };
    format!("M{x:.1} {y:.1}{outline}")
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("a string takes all");
}

/// Charts with the same axes, one beside the other: for more series than there are colours.
///
/// All have one scale, so that they can be compared, and one legend: the series of each have the same names.
pub struct Panels {
    /// The title of all.
    pub title: String,
    /// The charts, in order; each has the title of its panel.
    pub charts: Vec<Chart>,
}

impl Panels {
    /// Draws the pictures, with one legend. `id` is unique on the page.
    pub fn figure(&self, id: &str) -> String {
        // If too little was measured, a panel would be empty.
        let drawn = self.charts.iter().filter(|chart| !chart.is_empty());
        let charts: Vec<&Chart> = drawn.collect();
        let Some(first) = charts.first() else {
            return String::new();
        };
        let field = Field::of(&charts);
        let mut panels = first.legend();
        panels.push_str(r#"<div class="panels">"#);
        for (index, chart) in charts.iter().enumerate() {
            push(
                &mut panels,
                format_args!(
                    r#"<div class="panel"><h3>{}</h3>{}</div>"#,
                    escape(&chart.title),
                    chart.picture(&format!("{id}-{index}"), &field)
                ),
            );
        }
        panels.push_str("</div>");
        panels
    }
}

#[cfg(test)]
mod tests {
    use super::super::axis::Unit;
    use super::*;

    #[test]
    fn every_series_is_drawn_and_named() {
        let axis = |spacing| Axis {
            label: "a < b",
            unit: Unit::Rate,
            spacing,
        };
        let chart = Chart {
            title: "T".into(),
            description: "D".into(),
            x: axis(Spacing::Linear),
            y: axis(Spacing::Log),
            series: vec![
                Series::reference("bound", vec![(0.0, 0.5), (1.0, 1e-9)]),
                Series {
                    name: "blocked".into(),
                    marks: vec![Mark {
                        x: 0.5,
                        y: 0.0,
                        interval: Some((0.0, 1e-6)),
                        text: "none & less".into(),
                    }],
                    ..Series::default()
                },
            ],
        };

        let figure = chart.figure("f");

        assert_eq!(figure.matches(r#"class="mark c0""#).count(), 2);
        assert_eq!(figure.matches(r#"class="line reference""#).count(), 2);
        assert!(figure.contains("a &lt; b") && figure.contains("none &amp; less"));
        assert!(!figure.contains("NaN") && !figure.contains("inf"));
        assert!(figure.contains(r#"role="img" aria-label="none &amp; less""#));
        // Down to what was measured, not to where the line ends.
        assert!(figure.contains(">1e-6<") && !figure.contains(">1e-9<"));
    }
}
