//! The figures of the spatial filter: how each area fares, predicted and measured.
//!
//! Not a timing. `--rounds` for the filters behind each number. After Palmieri, Calderoni, Maio, 2014.

use mayhap::{
    Digester, Shape,
    kinds::{AreaStats, Spatial, SpatialShape},
};
use mayhap_bench::Result;
use mayhap_bench::arguments::Arguments;
use mayhap_bench::data::{absent, members};
use mayhap_bench::figures::{Figures, digits};

/// How many absent keys each filter is asked for.
const ABSENT: u64 = 100_000;

fn main() -> Result<()> {
    let arguments = Arguments::parse(Arguments {
        keys: vec![],
        urls: vec![],
        rates: vec![],
        rounds: 500,
        only: vec![],
        record: false,
    })?;
    let mut figures = Figures::new("figures-spatial", "how the areas of a filter fare");
    for (cells, hashes, members) in [
        (4096, 5, &[100; 4][..]),
        (16_384, 10, &[200; 5]),
        (16_384, 10, &[500, 300, 200, 100, 50]),
    ] {
        let cells = Shape::new(cells, hashes)?;
        table(&mut figures, cells, members, arguments.rounds as u64)?;
    }
    figures.close(arguments.record)
}

/// What the filters of some rounds did, by area.
#[derive(Clone, Default)]
struct Measured {
    claimed: u64,
    mistaken: u64,
    cells: f64,
}

fn table(figures: &mut Figures, cells: Shape, sizes: &[u64], rounds: u64) -> Result<()> {
    let shape = SpatialShape::new(cells, sizes.len() as u32)?;
    let mut measured = vec![Measured::default(); sizes.len()];
    for round in 0..rounds {
        run(shape, sizes, round, &mut measured)?;
    }
    let forecast = shape.forecast(sizes)?;
    let mut rows = Vec::new();
    for ((area, measured), &keys) in forecast.iter().zip(&measured).zip(sizes) {
        rows.push(row(area, measured, keys, rounds));
    }
    let total: f64 = forecast.iter().map(|area| area.rate).sum();
    let free = forecast.iter().zip(sizes);
    let free: f64 = free.map(|(area, &keys)| area.error_free(keys)).product();
    let claimed: u64 = measured.iter().map(|area| area.claimed).sum();
    let blank = String::new;
    rows.push([
        "all".into(),
        sizes.iter().sum::<u64>().to_string(),
        digits(total),
        digits(claimed as f64 / (rounds * ABSENT) as f64),
        blank(),
        blank(),
        blank(),
        blank(),
        blank(),
        digits(free),
    ]);
    let heads = [
        "area",
        "keys",
        "rate",
        "measured",
        "taken for higher",
        "measured",
        "cells",
        "measured",
        "emersion",
        "error-free",
    ];
    let title = format!("{} cells, {} for each key", cells.bits(), cells.hashes());
    figures.add(&title, heads, &rows);
    Ok(())
}

fn run(shape: SpatialShape, sizes: &[u64], round: u64, measured: &mut [Measured]) -> Result<()> {
    let mut filter = Spatial::new(shape, Digester::default())?;
    let keys = |area: usize| {
        let first = round << 32 | (area as u64) << 24;
        members(first..first + sizes[area])
    };
    for area in 0..sizes.len() {
        for key in keys(area) {
            filter.insert_area(&key, area as u32 + 1)?;
        }
    }
    for (area, measured) in measured.iter_mut().enumerate() {
        let mistaken = keys(area).filter(|key| filter.area(key) > Some(area as u32 + 1));
        measured.mistaken += mistaken.count() as u64;
    }
    for key in absent(round * ABSENT..(round + 1) * ABSENT) {
        if let Some(area) = filter.area(&key) {
            measured[area as usize - 1].claimed += 1;
        }
    }
    for (measured, now) in measured.iter_mut().zip(filter.area_stats()) {
        measured.cells += now.cells;
    }
    Ok(())
}

fn row(forecast: &AreaStats, measured: &Measured, keys: u64, rounds: u64) -> [String; 10] {
    let rounds_of = |count: u64| (rounds * count) as f64;
    [
        forecast.area.to_string(),
        keys.to_string(),
        digits(forecast.rate),
        digits(measured.claimed as f64 / rounds_of(ABSENT)),
        digits(forecast.error),
        digits(measured.mistaken as f64 / rounds_of(keys)),
        format!("{:.2}", forecast.cells),
        format!("{:.2}", measured.cells / rounds as f64),
        digits(forecast.emersion),
        digits(forecast.error_free(keys)),
    ]
}
