//! A page: one file that needs no other.

use std::fmt::Write as _;

use super::{Figure, Report, Section, Table};

/// Colours, type and layout.
const STYLE: &str = include_str!("page.css");

/// Sorting and copying of tables. The page shows everything without it.
const SCRIPT: &str = include_str!("page.js");

/// Writes the whole page.
pub(super) fn page(report: &Report) -> String {
    let title = prose(&report.title);
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<header>\n<p class=\"kicker\">mayhap eval</p>\n<h1>{title}</h1>\n"
    );
    if !report.is_whole {
        page.push_str(
            "<p class=\"warning\" role=\"note\">The run was interrupted. What it had measured by then is \
             here; the rest is missing.</p>\n",
        );
    }
    page.push_str("<ul class=\"findings\">\n");
    for finding in &report.findings {
        push(&mut page, format_args!("<li>{}</li>\n", prose(finding)));
    }
    page.push_str("</ul>\n</header>\n<main>\n");
    if let Some(verdicts) = &report.verdicts {
        page.push_str("<section>\n<h2>The verdicts</h2>\n");
        push_table(&mut page, verdicts);
        page.push_str("</section>\n");
    }
    let mut figures = 0;
    for section in &report.sections {
        push_section(&mut page, section, &mut figures);
    }
    page.push_str("<section class=\"records\">\n<h2>All that was measured</h2>\n");
    push_table(&mut page, &report.records);
    page.push_str("</section>\n<section>\n<h2>How it was measured</h2>\n<dl>\n");
    for (name, value) in &report.parameters {
        push(
            &mut page,
            format_args!(
                "<div><dt>{}</dt><dd>{}</dd></div>\n",
                escape(name),
                escape(value)
            ),
        );
    }
    push(
        &mut page,
        format_args!(
            "</dl>\n</section>\n</main>\n<footer><p>Made by mayhap {}. This file needs no network.</p></footer>\n\
             <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
            env!("CARGO_PKG_VERSION")
        ),
    );
    page
}

fn push_section(page: &mut String, section: &Section, figures: &mut usize) {
    // In some an interrupted run has nothing to draw.
    let drawn: Vec<&Figure> = section.figures.iter().filter(|it| !it.is_empty()).collect();
    let is_written = !section.cards.is_empty() || !section.tables.is_empty();
    if drawn.is_empty() && !section.figures.is_empty() && !is_written {
        return;
    }
    push(
        page,
        format_args!("<section>\n<h2>{}</h2>\n", escape(section.heading)),
    );
    for paragraph in section.text.split('\n').filter(|text| !text.is_empty()) {
        push(page, format_args!("<p>{}</p>\n", prose(paragraph)));
    }
    if !drawn.is_empty() {
        page.push_str("<div class=\"figures\">\n");
    }
    for figure in &drawn {
        *figures += 1;
        let id = format!("figure-{figures}");
        let (class, title, picture) = match figure {
            Figure::Chart(chart) => ("", &chart.title, chart.figure(&id)),
            Figure::Panels(panels) => (" class=\"wide\"", &panels.title, panels.figure(&id)),
            Figure::Bits(bits) => ("", &bits.title, bits.figure(&id)),
        };
        push(
            page,
            format_args!(
                "<figure{class}><figcaption>{}</figcaption>{picture}</figure>\n",
                escape(title)
            ),
        );
    }
    if !drawn.is_empty() {
        page.push_str("</div>\n");
    }
    if !section.cards.is_empty() {
        page.push_str("<div class=\"cards\">\n");
        section
            .cards
            .iter()
            .for_each(|card| page.push_str(&card.figure()));
        page.push_str("</div>\n");
    }
    for table in &section.tables {
        push_table(page, table);
    }
    page.push_str("</section>\n");
}

fn push_table(page: &mut String, table: &Table) {
    let caption = escape(&table.caption);
    push(
        page,
        format_args!(
            "<div class=\"table\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\"><table>\
             <caption>{caption}</caption>\n<thead><tr>"
        ),
    );
    let class = |column: usize| {
        let mut cells = table.rows.iter().filter_map(|row| row.get(column));
        if cells.clone().any(|cell| cell.show().len() > 60) {
            return " class=\"text long\"";
        }
        match cells.any(super::Cell::is_text) {
            true => " class=\"text\"",
            false => "",
        }
    };
    let classes: Vec<&str> = (0..table.columns.len()).map(class).collect();
    for (column, class) in table.columns.iter().zip(&classes) {
        push(
            page,
            format_args!("<th scope=\"col\"{class}>{}</th>", escape(column.title)),
        );
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        page.push_str("<tr>");
        for (i, (cell, class)) in row.iter().zip(&classes).enumerate() {
            let mut shown = escape(&cell.show());
            if let Some(tone) = cell.tone() {
                shown = format!("<span class=\"tone {}\">{shown}</span>", tone.class());
            }
            let value = cell.value();
            let sorted = match value.is_number() {
                true => format!(" data-value=\"{value}\""),
                false => String::new(),
            };
            match i {
                0 => push(
                    page,
                    format_args!("<th scope=\"row\"{class}{sorted}>{shown}</th>"),
                ),
                _ => push(page, format_args!("<td{class}{sorted}>{shown}</td>")),
            }
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

/// Formats a sentence: escaped, and with numbers and their units kept on one line.
pub(super) fn prose(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let joined = (0..characters.len()).map(|i| {
        let is_digit = |i: usize| characters.get(i).is_some_and(char::is_ascii_digit);
        let is_thousand = (i + 1..i + 4).all(is_digit) && !is_digit(i + 4);
        let joins =
            i > 0 && is_digit(i - 1) && (is_thousand || characters.get(i + 1) == Some(&'%'));
        match characters[i] {
            ' ' if joins => '\u{202F}',
            character => character,
        }
    });
    escape(&joined.collect::<String>())
}

/// Escapes the characters that are markup in HTML.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

fn push(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("a string takes all");
}

#[cfg(test)]
mod tests {
    use super::super::{Cell, Column, Panels};
    use super::*;

    fn interrupted(sections: Vec<Section>) -> Report {
        Report {
            title: "<script>alert(1)</script>".into(),
            findings: vec!["a & b".into()],
            notes: Vec::new(),
            parameters: vec![("data", "\"><img>".into())],
            verdicts: None,
            sections,
            records: Table {
                caption: "c".into(),
                columns: vec![Column::shown("a", "A")],
                rows: vec![vec![Cell::text("<b>")], vec![Cell::Rate(0.5)]],
            },
            is_whole: false,
        }
    }

    /// Guards against a heading over an empty frame, which an interrupted run showed.
    #[test]
    fn a_section_with_nothing_to_draw_is_left_out() {
        let mut empty = Section::new("Nothing yet", "text");
        empty.figures = vec![Figure::Panels(Panels {
            title: "Panels of nothing".into(),
            charts: Vec::new(),
        })];
        let said = Section::new("Words alone", "text");

        let page = page(&interrupted(vec![empty, said]));

        assert!(!page.contains("Nothing yet") && !page.contains("Panels of nothing"));
        assert!(page.contains("Words alone"));
    }

    #[test]
    fn thousands_and_units_stay_on_one_line_and_lists_of_digits_do_not() {
        assert_eq!(
            prose("1 000 000 keys at 1 %"),
            "1\u{202f}000\u{202f}000 keys at 1\u{202f}%"
        );
        assert_eq!(prose("4 7 2 5 3 and 10 of 20"), "4 7 2 5 3 and 10 of 20");
    }

    #[test]
    fn names_of_files_are_not_markup() {
        let page = page(&interrupted(Vec::new()));

        assert!(
            !page.contains("<script>alert") && !page.contains("<img>") && !page.contains("<b>")
        );
        assert!(page.contains("data-value=\"0.5\"") && page.contains("interrupted"));
        assert!(!page.contains("http"), "nothing is fetched");
    }
}
